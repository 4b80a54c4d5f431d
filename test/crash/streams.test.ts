// `kill -9` of the writers, readers and servers of streams. PAWL_STREAM_KILLS raises the number; the long form is
// `node test/crash/streams.ts --kills 600`.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { describeStreams, killStreams } from './stream-kills.ts'

const kills = Number(process.env['PAWL_STREAM_KILLS'] ?? 9)
const folder = mkdtempSync(join(tmpdir(), 'pawl-streams-'))

afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('every reader sees every acknowledged item once, in order, with its part, whichever process is killed', {
  timeout: 120_000 + kills * 3_000,
}, async () => {
  const seed = Number(process.env['PAWL_SEED'] ?? Date.now() % 1_000_000)
  const report = await killStreams({ store: `sqlite:${join(folder, 'streams.db')}`, kills, seed, pauseMs: 300 })
  const text = `seed ${seed}\n${describeStreams(report)}`
  console.log(text)
  expect(report.violations, text).toEqual([])
  expect(report.acknowledged, text).toBeGreaterThan(20)
})
