// Reads the options of activities and children. The functions that use the options check them.
import { defined } from '../../core/base/defined.ts'
import { PawlError } from '../../core/base/errors.ts'
import { checkKnownName } from '../../core/base/names.ts'
import { type Duration, milliseconds } from '../../core/base/time.ts'
import type { Json } from '../../core/base/value.ts'
import { quote } from '../../core/base/visible.ts'
import {
  type ActivityOptions,
  type ChildOptions,
  checkPriority,
  type Placement,
  type Retry,
  type RetryPolicy,
  retryRule,
} from '../../core/index.ts'
import { ObjectReader, objectAt } from './object-reader.ts'
import { kindOf, type Path, type Problems } from './problems.ts'

export function readActivityOptions(fields: ObjectReader): ActivityOptions {
  return defined({
    startToClose: readDuration(fields, 'startToClose', 'timeout'),
    scheduleToStart: readDuration(fields, 'scheduleToStart'),
    scheduleToClose: readDuration(fields, 'scheduleToClose'),
    heartbeat: readDuration(fields, 'heartbeat'),
    retry: readRetry(fields),
    ...readPlacement(fields),
  })
}

export function readChildOptions(fields: ObjectReader): ChildOptions {
  return defined({
    runTimeout: readDuration(fields, 'runTimeout', 'timeout'),
    executionTimeout: readDuration(fields, 'executionTimeout'),
    parentClose: fields.checked('parentClose', oneOf(['cancel', 'terminate', 'abandon'])),
    ...readPlacement(fields),
  })
}

export function readDuration(fields: ObjectReader, name: string, alias?: string): Duration | undefined {
  const check = (value: Json): Duration => {
    milliseconds(value as Duration, name)
    return value as Duration
  }
  return fields.checked(name, check, alias)
}

/** A check that the value is one of the words. */
export function oneOf<const Word extends string>(words: readonly Word[]): (value: Json) => Word {
  return (value) => {
    const found = words.find((word) => word === value)
    if (found !== undefined) return found
    const shown = typeof value === 'string' ? quote(value) : kindOf(value)
    throw new PawlError('INPUT_INVALID', `${shown} is not allowed; expected one of ${words.join(', ')}`)
  }
}

function readPlacement(fields: ObjectReader): Placement {
  return defined({
    queue: fields.checked('queue', (value) => checkKnownName(value, 'the name of a queue')),
    priority: fields.checked('priority', (value) => checkPriority(value as number)),
  })
}

const presets = ['none', 'exponential', 'quadraticMinutes'] as const

function readRetry(fields: ObjectReader): Retry | undefined {
  const field = fields.take('retry')
  if (field === undefined) return undefined
  const { value, path } = field
  if (typeof value === 'object') return readPolicy(value, path, fields.problems)
  return fields.problems.attempt(path, 'INVALID_VALUE', () => oneOf(presets)(value))
}

function readPolicy(value: Json, path: Path, problems: Problems): RetryPolicy | undefined {
  const policy = objectAt(value, path, problems)
  if (policy === undefined) return undefined
  const fields = new ObjectReader(policy, path, problems)
  const settings = ['maxAttempts', 'initial', 'max', 'factor', 'jitter'] as const
  for (const name of settings) {
    fields.checked(name, (setting) => {
      if (setting !== null) return retryRule({ [name]: setting })
      throw new PawlError('INPUT_INVALID', `retry.${name} is null; leave it out or give a value`)
    })
  }
  readTypes(fields, 'nonRetryable')
  readTypes(fields, 'retryable')
  fields.finish()
  return policy
}

function readTypes(fields: ObjectReader, name: 'nonRetryable' | 'retryable'): void {
  for (const [index, type] of (fields.typed(name, 'list') ?? []).entries()) {
    const path = [...fields.path, name, index]
    const check = (): string => checkKnownName(type, 'the type of a failure')
    fields.problems.attempt(path, 'INVALID_VALUE', check)
  }
}
