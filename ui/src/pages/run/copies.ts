// A run as text that runs again: as a command, as a request, and as a test.
import type { HistoryEvent, RunRecord } from 'pawl/client'
import { jsonOf, shellWord } from '../../data/format.ts'

type Started = Pick<RunRecord, 'name' | 'input' | 'queue'>

export function startCommand({ name, input, queue }: Started): string {
  const given = input === undefined ? [] : [jsonOf(input, 0)]
  const options = queue === 'default' ? [] : ['--queue', queue]
  return ['pawl', 'start', name, ...given, ...options].map(shellWord).join(' ')
}

export function startRequest({ name, input, queue }: Started, origin: string): string {
  const body = { workflow: name, input, ...(queue !== 'default' && { queue }) }
  const type = shellWord('content-type: application/json')
  return `curl -X POST ${shellWord(`${origin}/api/v1/runs`)} -H ${type} -d ${shellWord(jsonOf(body, 0))}`
}

/** A name as an identifier of JavaScript. */
function identifier(name: string): string {
  const words = name.split(/[^A-Za-z0-9]+/).filter((word) => word !== '')
  const joined = words.map((word, at) => (at === 0 ? word : word.charAt(0).toUpperCase() + word.slice(1))).join('')
  return /^[A-Za-z]/.test(joined) ? joined : `the${joined}`
}

function literal(value: unknown, indent = '  '): string {
  if (value === undefined) return 'undefined'
  // In a JSON text these two characters may stand as they are; they are shown escaped, like all that hides.
  const hidden = /[\p{Cf}\u2028\u2029\u007f-\u009f]/gu
  const escaped = jsonOf(value).replace(hidden, (each) =>
    [...Array(each.length).keys()].map((at) => `\\u${each.charCodeAt(at).toString(16).padStart(4, '0')}`).join(''),
  )
  return escaped.replaceAll('\n', `\n${indent}`)
}

interface Recorded {
  readonly name: string
  readonly answers: ({ readonly result: unknown } | { readonly failure: string })[]
}

/** What each activity answered, in the order in which it was asked. */
function activitiesOf(events: readonly HistoryEvent[]): readonly Recorded[] {
  const byStep = new Map<string, Recorded['answers']>()
  const byName = new Map<string, string[]>()
  for (const event of events) {
    if (event.type === 'StepStarted' && event.kind === 'activity') {
      byName.set(event.name, [...(byName.get(event.name) ?? []), event.step])
      byStep.set(event.step, [])
    }
    if (event.type === 'StepRetried' && !event.leftOpen)
      byStep.get(event.step)?.push({ failure: event.failure.message })
    if (event.type === 'StepFailed') byStep.get(event.step)?.push({ failure: event.failure.message })
    if (event.type === 'StepCompleted') byStep.get(event.step)?.push({ result: event.result })
  }
  return [...byName].map(([name, steps]) => ({ name, answers: steps.flatMap((step) => byStep.get(step) ?? []) }))
}

/** A test that does what the run did: activities answer as they did, and signals come as they came. */
export function testOf(run: RunRecord, events: readonly HistoryEvent[]): string {
  const workflow = identifier(run.name)
  const recorded = activitiesOf(events)
  const names = recorded.map(({ name }) => identifier(name))
  const signals = events.filter((event) => event.type === 'SignalReceived')
  const imports = [workflow, ...new Set(names)].filter((name, at, all) => all.indexOf(name) === at)
  const stubs = recorded.flatMap(({ answers }, at) => {
    const list = answers.map((answer) =>
      'result' in answer
        ? `() => (${literal(answer.result, '    ')})`
        : `() => { throw new Error(${literal(answer.failure)}) }`,
    )
    return [
      `  const ${names[at]}Answers = [${list.map((each) => `\n    ${each},`).join('')}\n  ]`,
      `  engine.stub(${names[at]}, async () => ${names[at]}Answers.shift()?.())`,
    ]
  })
  const sent = signals.flatMap((event) =>
    event.type === 'SignalReceived'
      ? [`  await run.signal(signal(${literal(event.name)}), ${literal(event.payload)})`]
      : [],
  )
  return [
    `// As run ${run.runId} went. Change the import to where your definitions are.`,
    ...(sent.length > 0 ? ["import { signal } from 'pawl'"] : []),
    "import { testEngine } from 'pawl/testing'",
    "import { expect, test } from 'vitest'",
    `import { ${imports.join(', ')} } from './workflows.ts'`,
    '',
    `test(${literal(`${run.name} as it went`)}, async () => {`,
    `  const engine = await testEngine({ workflows: [${workflow}], activities: [${[...new Set(names)].join(', ')}] })`,
    ...stubs,
    `  const run = await engine.start(${workflow}, ${literal(run.input)})`,
    ...sent,
    ...endOf(run),
    '  await engine.close()',
    '})',
    '',
  ].join('\n')
}

function endOf({ status, output, failure }: RunRecord): readonly string[] {
  if (status === 'completed') return [`  expect(await run.result()).toEqual(${literal(output)})`]
  if (status === 'failed') return [`  await expect(run.result()).rejects.toThrow(${literal(deepest(failure))})`]
  if (status === 'cancelled') return ['  await expect(run.result()).rejects.toThrow()']
  return [`  expect((await run.describe()).status).toBe(${literal(status)})`]
}

function deepest(failure: RunRecord['failure']): string {
  return failure?.cause ? deepest(failure.cause) : (failure?.message ?? '')
}
