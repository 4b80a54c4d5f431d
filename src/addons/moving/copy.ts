// Copies one run to the target, where it is held, and verifies the copy: what the target then has is read back, and its
// digest is compared with that of the source.

import { digest } from '../../core/base/digest.ts'
import { codecsOf, isEncoded } from '../../core/base/envelope.ts'
import { limits } from '../../core/base/limits.ts'
import { digestOfRun, type StoredTurn, type TransferOperation, type WholeRun } from '../../core/stores/driver.ts'
import { type MovePorts, Refusal, type Side, transfer } from './ports.ts'

/** Returns the digest of the run at the source, which it must still have when it leaves. */
export async function copyRun(ports: MovePorts, runId: string, codecs: Set<string>): Promise<string> {
  const { from, to } = ports
  const run = await wholeRun(from, runId)
  if (!run) throw new Refusal(runId, 'changed', `run ${runId} is not in ${from.place} any more`)
  for (const text of [run.head.input, ...run.inbox.map(({ body }) => body)]) noteCodecs(text, codecs)
  const seen = digestOfRun(run)
  if ((await put(ports, run)) === 'there') return seen
  const sent = await eachTurn(from, run, async (generation, turns) => {
    for (const { body } of turns) noteCodecs(body, codecs)
    await expectDone(ports, { type: 'append', runId, move: ports.move, generation, turns })
  })
  const copied = await wholeRun(to, runId)
  const ids = new Set(run.inbox.map(({ id }) => id))
  const isSame = copied && digestOfRun(copied, ids) === seen
  if (!isSame || (await eachTurn(to, run, async () => {})) !== sent) {
    const problem = `the copy of run ${runId} in ${to.place} differs from the run in ${from.place}`
    throw new Refusal(runId, 'different', `${problem}. Check that no other program writes to the tables of pawl.`)
  }
  return seen
}

export async function wholeRun(side: Side, runId: string): Promise<WholeRun | undefined> {
  const read = await transfer(side, { type: 'read', runId })
  return read.outcome === 'read' ? read.run : undefined
}

async function put({ from, to, move }: MovePorts, run: WholeRun): Promise<'done' | 'there'> {
  const { runId, workflowId } = run.head
  const first = await transfer(to, { type: 'put', move, run })
  const isOther = first.outcome === 'taken' && first.runId !== runId
  // A namesake that came from the same place was beside this run there, too.
  const mayBeBeside = isOther && (await wholeRun(from, first.runId)) !== undefined
  const { outcome } = mayBeBeside ? await transfer(to, { type: 'put', move, run, beside: true }) : first
  if (outcome === 'done' || outcome === 'there') return outcome
  if (outcome === 'other') {
    const text = `run ${runId} is in ${to.place}, held by another move. Finish that move, or end it with --abort`
    throw new Refusal(runId, 'otherMove', text)
  }
  const what = isOther ? `run ${first.runId} with workflow id '${workflowId}' is in progress` : `run ${runId} exists`
  throw new Refusal(runId, 'taken', `${what} in ${to.place}. Wait until it ends, or end it`)
}

async function expectDone({ to }: MovePorts, operation: TransferOperation & { readonly runId: string }): Promise<void> {
  const { outcome } = await transfer(to, operation)
  if (outcome === 'done') return
  const text = `run ${operation.runId} is not held for this move in ${to.place} any more (${outcome}). Repeat the command`
  throw new Refusal(operation.runId, 'changed', text)
}

/** Visits the turns of all kept generations in pages, and returns a digest of them. */
async function eachTurn(
  { send }: Side,
  { head: { runId, generation: newest } }: WholeRun,
  visit: (generation: number, turns: readonly StoredTurn[]) => Promise<void>,
): Promise<string> {
  let sum = ''
  for (let generation = Math.max(1, newest - limits.generationsKept + 1); generation <= newest; generation++) {
    for (let after = 0; ; ) {
      const ask = { type: 'history', runId, generation, after, turns: limits.historyPageTurns } as const
      const [page] = await send((store) => store.load([ask]))
      const turns = page?.type === 'history' ? page.turns : []
      const last = turns.at(-1)
      if (!last) break
      await visit(generation, turns)
      for (const { seq, count, turnId, epoch, body } of turns)
        sum = digest(JSON.stringify([sum, generation, seq, count, turnId, epoch, body]))
      after = last.seq + Math.max(1, last.count)
    }
  }
  return sum
}

function noteCodecs(text: string, codecs: Set<string>): void {
  if (isEncoded(text)) for (const id of codecsOf(text)) codecs.add(id)
}
