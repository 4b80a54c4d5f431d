// One of many processes that all believe to hold the same run: writes a turn whenever it is told to, and says what the
// store answered. node test/crash/racer.ts <store>
import { systemClock } from '../../src/core/runtime/clock.ts'
import { systemRandom } from '../../src/core/runtime/random.ts'
import type { Lease } from '../../src/core/stores/store.ts'
import { openStore } from '../../src/stores/open.ts'

export interface Go {
  readonly runId: string
  readonly lease: Lease
  readonly seq: number
}

export interface Answer {
  readonly seq: number
  readonly turnId: number
  readonly outcome: string
}

const store = await openStore(process.argv[2] ?? '', systemClock)
async function write({ runId, lease, seq }: Go): Promise<Answer> {
  const turnId = systemRandom.integer()
  const body = JSON.stringify({ version: 1, build: 'race', events: [] })
  const nothing = { consumed: [], outbox: [], tasks: [], dropped: [] }
  const turn = { runId, lease, generation: 1, turnId, seq, count: 1, at: 0, body, ...nothing }
  const [committed] = await store.commit([{ ...turn, next: { type: 'hold' } }])
  return { seq, turnId, outcome: committed?.outcome ?? 'none' }
}

process.on('message', (go: Go) => void write(go).then((answer) => process.send?.(answer)))
process.on('disconnect', () => process.exit(0))
process.send?.('ready')
