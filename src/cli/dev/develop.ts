// `pawl dev` with files. This process has the store, the API and the watch; the user's code runs in a process of its
// own, which is replaced when a file changes.
import { relative } from 'node:path'
import { defined } from '../../core/base/defined.ts'
import { limits } from '../../core/base/limits.ts'
import { shellWord } from '../../core/base/shell.ts'
import { formatDuration } from '../../core/base/time.ts'
import { systemClock } from '../../core/runtime/clock.ts'
import type { FromCode, Loaded, Question } from '../code/messages.ts'
import { Supervisor } from '../code/supervisor.ts'
import { type LogFormat, loggerOf } from '../log-option.ts'
import { openStore, type StoreOption, suggestedCommand } from '../options.ts'
import { clockTime, errorLine, paint, plain, print, printError, proseLines, showStore } from '../output.ts'
import { stopSignal } from '../stop-signal.ts'
import { listen } from './listen.ts'
import { FileWatch } from './watch-files.ts'

export interface DevPlace extends StoreOption {
  readonly host: string
  readonly port?: number
  readonly log?: LogFormat
}

/** How soon other workers take over the runs of a code process that died. */
const LEASE = '5s'
/** How long running steps get when the command is stopped. */
const STOP_MS = 2_000

export async function develop(files: readonly string[], place: DevPlace): Promise<void> {
  const { store, codecs, log } = place
  const talk = new Talk(place)
  const watch = new FileWatch((paths) => {
    talk.changed(paths)
    code.changed()
  })
  const setup = { files, store, ...defined({ codecs, log }), worker: { lease: LEASE }, isDev: true } as const
  const code = new Supervisor(setup, limits.graceMs, {
    files: (found) => watch.add(found),
    ready: (loaded, ms) => talk.ready(loaded, ms),
    failed: (message, oldGoesOn) => talk.failed(message, oldGoesOn),
    died: (ending, pauseMs) => talk.died(ending, pauseMs),
    heard: (message) => talk.heard(message),
  })
  const { stopped } = stopSignal(() => code.killAll())
  try {
    // The code is loaded while the store is opened.
    const loading = code.load()
    const logger = loggerOf(log)
    const engine = await openStore(place, { logger })
    const asked = {
      query: (question: Question) => code.query(question),
      otherMetrics: () => code.metrics(),
    }
    const api = await listen(engine, place, { ...asked, logger })
    await Promise.race([loading, stopped])
    talk.introduce(api.url)
    await stopped
    print('stopping (again to stop at once)')
    watch.close()
    await Promise.all([code.stop(STOP_MS), api.server.close({ grace: STOP_MS })])
    await engine.close()
    process.exit(0)
  } catch (error) {
    watch.close()
    code.killAll()
    throw error
  }
}

/** What the command prints. Until the introduction it only remembers. */
class Talk {
  readonly #place: DevPlace
  #loaded: Loaded | undefined
  #failure: string | undefined
  #isIntroduced = false

  constructor(place: DevPlace) {
    this.#place = place
  }

  introduce(url: string): void {
    this.#isIntroduced = true
    print(`pawl is ready after ${formatDuration(Math.round(process.uptime() * 100) * 10)}`)
    print(`  web UI      ${paint('bold', `${url}/`)}`)
    print(`  api         ${paint('bold', `${url}/api/v1`)}`)
    print(`  store       ${showStore(this.#place.store)}`)
    if (this.#loaded) this.#showLoaded(this.#loaded)
    print(paint('dim', 'It reloads when the files change. Ctrl-C stops it.'))
    if (this.#failure !== undefined) this.failed(this.#failure, false)
  }

  #showLoaded({ workflows, activities, hasCodecs }: Loaded): void {
    print(`  workflows   ${listed(workflows)}`)
    print(`  activities  ${listed(activities)}`)
    const first = workflows.toSorted()[0] ?? (activities[0] === undefined ? undefined : `activity:${activities[0]}`)
    if (first !== undefined) {
      const command = suggestedCommand(this.#place, `pawl start ${shellWord(first)} '{}' --wait`)
      print(`  try         ${paint('cyan', command)}`)
    }
    if (hasCodecs && this.#place.codecs === undefined) {
      const problem = 'the files export codecs, but the API does not have them'
      printError(paint('yellow', `note: ${problem}. Name their file: --codecs <file>`))
    }
  }

  ready(loaded: Loaded, ms: number): void {
    const before = this.#loaded
    this.#loaded = loaded
    this.#failure = undefined
    if (!this.#isIntroduced) return
    if (before) this.#say(`${paint('green', 'reloaded')} in ${Math.round(ms)} ms${differenceOf(before, loaded)}`)
    else this.#showLoaded(loaded)
  }

  changed(paths: readonly string[]): void {
    const names = paths.map((path) => plain(relative('.', path)))
    const shown = names.length > 3 ? `${names.slice(0, 3).join(', ')} and ${names.length - 3} more` : names.join(', ')
    this.#say(paint('dim', `${shown} changed`))
  }

  failed(message: string, oldGoesOn: boolean): void {
    this.#failure = message
    if (!this.#isIntroduced) return
    printError(errorLine(proseLines(message)))
    const then = oldGoesOn ? 'The code before goes on' : 'No code is loaded'
    printError(`${then}; the next save tries again.`)
  }

  died(ending: string, pauseMs: number): void {
    const next = `It is started again in ${formatDuration(pauseMs)}, or when a file changes.`
    printError(errorLine(`the process with the code ended: ${ending}. ${next}`))
  }

  heard(message: FromCode): void {
    if (message.type === 'cutOff') {
      for (const step of message.steps)
        this.#say(paint('yellow', `${plain(step)} was cut off, which counts as an attempt`))
    }
    if (message.type !== 'paused') return
    const { runId, workflow, failure } = message
    this.#say(paint('magenta', `a run of ${plain(workflow)} is paused: ${plain(failure.message)}`))
    print(`  ${suggestedCommand(this.#place, `pawl why ${runId}`)}`)
  }

  #say(text: string): void {
    const now = systemClock.now()
    print(`${paint('dim', clockTime(new Date(now), now))} ${text}`)
  }
}

function listed(names: readonly string[]): string {
  return names.map(plain).toSorted().join(', ') || paint('dim', 'none')
}

function differenceOf(before: Loaded, now: Loaded): string {
  const added = now.workflows.filter((name) => !before.workflows.includes(name))
  const gone = before.workflows.filter((name) => !now.workflows.includes(name))
  const parts = [
    ...(added.length > 0 ? [`new: ${listed(added)}`] : []),
    ...(gone.length > 0 ? [`gone: ${listed(gone)}`] : []),
  ]
  return parts.length === 0 ? '' : ` (${parts.join('; ')})`
}
