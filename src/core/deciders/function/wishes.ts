// What the code has asked for since it last came to rest, as the commands of a turn.
import type {
  AcceptUpdate,
  AnswerUpdate,
  Command,
  ContinueRun,
  EndRun,
  MakeToken,
} from '../../kernel/command.ts'
import { commandOf, type Request } from './request.ts'

export class Wishes {
  #asked: Request[] = []
  #calledOff: string[] = []
  #met: string[] = []
  #patched: string[] = []
  #tokens: MakeToken[] = []

  ask(request: Request): void {
    this.#asked.push(request)
  }

  unask(request: Request): void {
    this.#asked = this.#asked.filter((each) => each !== request)
  }

  has(request: Request): boolean {
    return this.#asked.includes(request)
  }

  callOff(key: string, isMet = false): void {
    this.#calledOff.push(key)
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
    const asked = this.#asked
    const calledOff = this.#calledOff
    const met = this.#met
    const patched = this.#patched
    const tokens = this.#tokens
    this.#asked = []
    this.#calledOff = []
    this.#met = []
    this.#patched = []
    this.#tokens = []
    // What others are told goes out even if nobody waits for it; the end cancels everything else that was asked for.
    // Conditions that came true are named before it, or the history would show them as cancelled.
    if (ending)
      return [
        ...answers,
        ...asked.filter(isTold).map(commandOf),
        ...(met.length > 0 ? [{ type: 'CallOff' as const, keys: met, met }] : []),
        without(ending, asked.filter(isLost), unfinished),
      ]
    const requests = asked.map(commandOf)
    if (calledOff.length + patched.length + tokens.length + answers.length === 0) return requests
    const marks = patched.map((id) => ({ type: 'MarkPatch' as const, id }))
    const came = met.length > 0 ? { met } : {}
    const off = calledOff.length > 0 ? [{ type: 'CallOff' as const, keys: calledOff, ...came }] : []
    return [...marks, ...tokens, ...answers, ...requests, ...off]
  }
}

// A forgotten `await`, most likely: somebody should hear of it.
function without(
  ending: EndRun | ContinueRun,
  lost: readonly Request[],
  unfinished: readonly string[],
): EndRun | ContinueRun {
  if (ending.type !== 'CompleteRun') return ending
  return {
    ...ending,
    ...(lost.length > 0 && { notBegun: lost.map(({ wanted }) => wanted.key) }),
    ...(unfinished.length > 0 && { cutOff: unfinished }),
  }
}

/** Whether it would have done something. */
function isLost(request: Request): boolean {
  const { type } = request.wanted
  return type === 'RunStep' || (type === 'StartChild' && !isTold(request))
}

/** Whether it is done by being asked for, even if the code ends in the same breath. */
function isTold({ wanted }: Request): boolean {
  if (wanted.type === 'StartChild') return wanted.onClose === 'abandon'
  return wanted.type === 'SendMessage' || wanted.type === 'SetAttributes'
}
