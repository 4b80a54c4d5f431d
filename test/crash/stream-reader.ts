// A reader of streams that gets killed. It keeps what it read in files, and continues behind that. It ends with its
// parent. Usage: node test/crash/stream-reader.ts <url of a server> <folder> <lease in ms> <number>
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { flushCompileCache } from 'node:module'
import { join } from 'node:path'
import { sleep, systemClock } from '../../src/core/runtime/clock.ts'
import { connect } from '../../src/remote/index.ts'
import { words } from './stream-tale.ts'

const [, , url = '', folder = '', , number = '0'] = process.argv

process.on('disconnect', () => process.exit(0))
const client = connect(url)

async function follow(runId: string): Promise<void> {
  const file = join(folder, `reader-${number}-${runId}`)
  // A line that was cut off by the kill was not read.
  const kept = existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : []
  if (kept.at(-1) === 'end') return
  writeFileSync(file, kept.map((line) => `${line}\n`).join(''))
  for await (const { offset, chunk, part } of client.get(runId).stream(words, { from: kept.length })) {
    appendFileSync(file, `${JSON.stringify({ offset, part: part.number, chunk })}\n`)
  }
  appendFileSync(file, 'end\n')
}

flushCompileCache()
process.send?.('ready')
const followed = new Set<string>()
for (;;) {
  const runs = existsSync(join(folder, 'runs'))
    ? readFileSync(join(folder, 'runs'), 'utf8').split('\n').slice(0, -1)
    : []
  for (const runId of runs) {
    if (followed.has(runId)) continue
    followed.add(runId)
    void follow(runId).catch((error: unknown) => {
      process.stderr.write(`${String(error)}\n`)
      followed.delete(runId)
    })
  }
  await sleep(systemClock, 100)
}
