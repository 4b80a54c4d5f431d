// Follows a run: every event of its history, and why it waits in between, until it ends.
import type { Command } from 'commander'
import { systemClock } from '../../core/runtime/clock.ts'
import type { HistoryEvent, Status, Why } from '../../index.ts'
import { withLive } from '../live.ts'
import { type CommonOptions, commandOnRun, runRef, withCommonOptions } from '../options.ts'
import { clockTime, columns, paint, paintStatus, plain, print, printError, printJsonLine } from '../output.ts'
import { whyLines } from '../show-why.ts'

export function tailCommand(): Command {
  const description = 'follow a run: print every event of its history as it happens, until the run ends'
  return withCommonOptions(commandOnRun('tail', description)).action(tail)
}

async function tail(id: string, options: CommonOptions): Promise<void> {
  const ref = runRef(id)
  const run = typeof ref === 'string' ? ref : `w:${ref.workflowId}`
  const { json } = options
  await withLive(options, async (client) => {
    const onConnection = (state: 'open' | 'lost'): void => {
      if (state === 'lost' && !json) printError(paint('dim', 'the connection broke; trying again'))
    }
    for await (const each of client.live('live.run', { run, payloads: json === true }, { onConnection })) {
      const { event, data } = each
      if (json) printJsonLine(each)
      else if (event === 'history') print(historyLine(data))
      else if (event === 'gap') print(paint('yellow', `events of generations ${data.from} to ${data.to} are not kept`))
      else if (event === 'end') print(paintStatus(data.status))
      else if (data.why && data.why.reason !== 'ended') print(stateText(data.status, data.why))
    }
  })
}

function historyLine(event: HistoryEvent): string {
  const { at, type, step } = event
  const name = 'name' in event && typeof event.name === 'string' ? event.name : ''
  const time = clockTime(new Date(at), systemClock.now())
  return `${paint('dim', time)}  ${type.padEnd(18)} ${plain(step ?? name)}`.trimEnd()
}

/** Why the run makes no progress: not part of its history, so indented. */
function stateText(status: Status, why: Why): string {
  const now = systemClock.now()
  const lines = whyLines(timed(why), now, columns() - 4)
  return [paintStatus(status), ...lines.map((line) => `    ${plain(line)}`)].join('\n')
}

// Live events have their times as texts.
function timed(why: Why): Why {
  return 'until' in why && why.until !== undefined ? { ...why, until: new Date(why.until) } : why
}
