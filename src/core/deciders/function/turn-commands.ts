// The commands of a turn: what the code has requested, cancelled and answered since the last turn.
import type {
  AcceptUpdate,
  AnswerUpdate,
  CancelRequests,
  Command,
  ContinueRun,
  EndRun,
  MakeToken,
} from '../../kernel/command.ts'
import { commandOf, type PendingRequest } from './pending-request.ts'

export class TurnCommands {
  #requests: PendingRequest[] = []
  #cancelled: string[] = []
  #met: string[] = []
  #patched: string[] = []
  #tokens: MakeToken[] = []

  add(pending: PendingRequest): void {
    this.#requests.push(pending)
  }

  remove(pending: PendingRequest): void {
    this.#requests = this.#requests.filter((each) => each !== pending)
  }

  has(pending: PendingRequest): boolean {
    return this.#requests.includes(pending)
  }

  /** `isMet`: the request was a condition that came true. */
  cancel(key: string, isMet = false): void {
    this.#cancelled.push(key)
    if (isMet) this.#met.push(key)
  }

  patch(id: string): void {
    this.#patched.push(id)
  }

  makeToken(key: string, token: string): void {
    this.#tokens.push({ type: 'MakeToken', key, token })
  }

  take(
    answers: readonly (AcceptUpdate | AnswerUpdate)[],
    ending: EndRun | ContinueRun | undefined,
    unfinished: readonly string[],
  ): readonly Command[] {
    const requests = this.#requests
    const cancelled = this.#cancelled
    const met = this.#met
    const patched = this.#patched
    const tokens = this.#tokens
    this.#requests = []
    this.#cancelled = []
    this.#met = []
    this.#patched = []
    this.#tokens = []
    // Messages to other runs are sent even if the code did not await them; the end cancels all other requests.
    // Conditions that came true are named before the end, because the history would otherwise show them as cancelled.
    const marks = patched.map((id) => ({ type: 'MarkPatch' as const, id }))
    if (ending)
      return [
        ...marks,
        ...answers,
        ...requests.filter(isSent).map(commandOf),
        ...cancelCommand(met, met),
        withLost(ending, requests.filter(isLost), unfinished),
      ]
    const commands = requests.map(commandOf)
    if (cancelled.length + patched.length + tokens.length + answers.length === 0) return commands
    return [...marks, ...tokens, ...answers, ...commands, ...cancelCommand(cancelled, met)]
  }
}

function cancelCommand(keys: readonly string[], met: readonly string[]): readonly CancelRequests[] {
  return keys.length === 0 ? [] : [{ type: 'CancelRequests', keys, ...(met.length > 0 && { met }) }]
}

// Work that a completed run requested and never began most likely lacks an `await`: the end names it.
function withLost(
  ending: EndRun | ContinueRun,
  lost: readonly PendingRequest[],
  unfinished: readonly string[],
): EndRun | ContinueRun {
  if (ending.type !== 'CompleteRun') return ending
  return {
    ...ending,
    ...(lost.length > 0 && { notBegun: lost.map(({ request }) => request.key) }),
    ...(unfinished.length > 0 && { cutOff: unfinished }),
  }
}

/** Steps and children that the end of the run keeps from starting. */
function isLost(pending: PendingRequest): boolean {
  const { type } = pending.request
  return type === 'RunStep' || (type === 'StartChild' && !isSent(pending))
}

/** Requests that take effect with the turn itself, even if it is the last. */
function isSent({ request }: PendingRequest): boolean {
  if (request.type === 'StartChild') return request.onClose === 'abandon'
  return request.type === 'SendMessage' || request.type === 'SetAttributes' || request.type === 'WriteStream'
}
