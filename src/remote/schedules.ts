// Schedules on a server.
import type { Schedule, Schedules } from '../addons/schedules/schedules.ts'
import { defined } from '../core/base/defined.ts'
import { type KnownSchemas, parseInput, runNameOf, type WorkflowOptions } from '../core/browser.ts'
import type { Startable } from '../core/index.ts'
import type { InputOf } from '../operations/inputs.ts'
import type { Connection } from './connection.ts'
import { RemoteRun } from './run.ts'

interface Named {
  readonly workflow?: Startable<never, unknown> & {
    readonly options?: WorkflowOptions
    readonly schemas?: KnownSchemas
  }
  readonly run?: object
}

export class RemoteSchedules implements Pick<Schedules, 'set' | 'get' | 'list'> {
  readonly #server: Connection

  constructor(server: Connection) {
    this.#server = server
  }

  /** Creates a schedule or replaces its timing and options. */
  set: Schedules['set'] = async (id, given) => {
    const { workflow, run } = given as Named
    if (workflow?.is === 'workflow') await parseInput(workflow, given.input)
    // A definition says where its runs wait; a server has only its name.
    const { queue, priority } = workflow?.options ?? {}
    const own = { ...defined({ queue, priority }), ...run }
    const plan = { ...byName(given), ...(Object.keys(own).length > 0 && { run: own }) }
    await this.#server.call('schedules.set', { ...plan, schedule: id } as InputOf<'schedules.set'>)
    return this.get(id)
  }

  get(id: string): Schedule {
    const server = this.#server
    const schedule = { schedule: id }
    return {
      id,
      describe: () => server.call('schedules.get', schedule),
      update: (change) => server.call('schedules.update', { ...byName(change as Named), ...schedule }),
      pause: (note) => server.call('schedules.pause', defined({ ...schedule, note })),
      resume: () => server.call('schedules.resume', schedule),
      delete: () => server.call('schedules.delete', schedule),
      trigger: async () => new RemoteRun(server, (await server.call('schedules.trigger', schedule)).runId),
      slots: (range) => server.call('schedules.slots', { ...range, ...schedule }),
      backfill: async (range) => (await server.call('schedules.backfill', { ...range, ...schedule })).slots,
    }
  }

  list: Schedules['list'] = (page) => this.#server.call('schedules.list', page ?? {})
}

/** A server knows workflows by their names. */
function byName({ workflow, ...given }: Named): object {
  return workflow === undefined ? given : { ...given, workflow: runNameOf(workflow) }
}
