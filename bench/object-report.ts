// What objects.ts found, as tables; what S3 asks for it; and the bars.
import type { RequestKind, Requests } from './object-place.ts'
import { requestKinds } from './object-place.ts'
import type { Noise } from './quiet.ts'
import { renderTable } from './report.ts'

/** Dollars per million requests of S3 Standard in us-east-1, list price of 2026. HEAD is not used. Traffic and bytes kept are not counted. */
const dollarsPerMillion: Requests = { put: 5, list: 5, get: 0.4, delete: 0 }
/** A month as AWS counts it: 730 hours. */
const minutesPerMonth = 730 * 60

/** Medians, from a run's start to its result. */
export interface RunFigures {
  ms: number
  /** Writes of the log, which follow each other. */
  logWrites: number
}

export interface Latency {
  oneStep: RunFigures
  tenSteps: RunFigures
  furtherStep: RunFigures
  /** p50 of the writes among them, as this process sees them. */
  roundTripMs: number
  noisy: boolean
  noise: Noise
}

export interface Load {
  name: string
  steps: number
  stepsPerSecond?: number
  requests: Requests
  /** p50 of its runs, from start to result. */
  runMs: number
  noisy: boolean
  /** Absent where the load of the machine changes nothing that is counted. */
  noise?: Noise
}

export interface Idle {
  minutes: number
  requests: Requests
}

export interface ObjectFigures {
  latency: Latency
  /** Without what an idle worker costs anyway. */
  alone: readonly Load[]
  offered: readonly Load[]
  saturated: Load
  idle: Idle
}

export function renderObjects(label: string, figures: ObjectFigures): string {
  return [
    `Measured on: ${label}.\n`,
    renderLatency(figures.latency),
    '',
    renderLoads(figures),
    '',
    renderIdle(figures.idle),
    '',
    renderBars(figures),
    '\n! other programs took CPU meanwhile',
  ].join('\n')
}

function renderLatency(latency: Latency): string {
  const { oneStep, tenSteps, furtherStep, roundTripMs } = latency
  const line = (name: string, { ms, logWrites }: RunFigures): string[] => [
    name,
    ms.toFixed(1) + mark(latency),
    (ms / roundTripMs).toFixed(2),
    logWrites.toFixed(0),
  ]
  return renderTable(
    ['p50', 'ms', 'round trips', 'writes in sequence'],
    [
      line('one write: the round trip', { ms: roundTripMs, logWrites: 1 }),
      line('a one-step run, start to result', oneStep),
      line('a ten-step run, start to result', tenSteps),
      line('each further step', furtherStep),
    ],
  )
}

function renderLoads({ alone, offered, saturated }: ObjectFigures): string {
  const head = ['requests per 1,000 steps', 'PUT', 'GET', 'LIST', 'DELETE', 'all']
  const lines = [...alone, ...offered, saturated].map((load) => [
    load.name,
    ...requestKinds.map((kind) => show(perThousand(load, load.requests[kind]))),
    show(perThousand(load, sum(load.requests))),
    `$${dollarsPerMillionSteps(load).toFixed(2)}`,
    load.stepsPerSecond === undefined ? '-' : load.stepsPerSecond.toFixed(0) + mark(load),
    load.runMs.toFixed(0) + mark(load),
  ])
  return renderTable([...head, '$ per million steps', 'steps/s', 'p50 ms of a run'], lines)
}

function renderIdle({ minutes, requests }: Idle): string {
  const perMinute = (kind: RequestKind): number => requests[kind] / minutes
  const monthly = (dollars(requests) / minutes) * minutesPerMonth
  return renderTable(
    ['requests per minute', 'PUT', 'GET', 'LIST', 'DELETE', '$ per month'],
    [['an idle worker', ...requestKinds.map((kind) => show(perMinute(kind))), `$${monthly.toFixed(2)}`]],
  )
}

interface Bar {
  name: string
  measured: number
  unit: string
  atMost: number
  noisy: boolean
}

function renderBars(figures: ObjectFigures): string {
  const lines = barsOf(figures).map(({ name, measured, unit, atMost, noisy }) => [
    name,
    `${measured.toFixed(2)} ${unit}`,
    `at most ${atMost}`,
    (measured <= atMost ? 'pass' : 'MISS') + (noisy ? '!' : ''),
  ])
  return renderTable(['bar', 'pawl', 'wanted', 'verdict'], lines)
}

function barsOf({ latency, alone, saturated, idle }: ObjectFigures): Bar[] {
  const { oneStep, furtherStep, roundTripMs, noisy } = latency
  const time = { unit: 'round trips', noisy }
  const counted = { unit: 'writes in sequence', noisy: false }
  return [
    { name: 'one-step run, time', measured: oneStep.ms / roundTripMs, atMost: 5, ...time },
    { name: 'one-step run, counted', measured: oneStep.logWrites, atMost: 5, ...counted },
    { name: 'further step, time', measured: furtherStep.ms / roundTripMs, atMost: 1, ...time },
    { name: 'further step, counted', measured: furtherStep.logWrites, atMost: 1, ...counted },
    ...alone.map((load) => ({
      name: load.name,
      measured: sum(load.requests) / load.steps,
      unit: 'requests a step',
      atMost: 4,
      noisy: false,
    })),
    {
      name: saturated.name,
      measured: perThousand(saturated, sum(saturated.requests)),
      unit: 'requests per 1,000 steps',
      atMost: 20,
      noisy: saturated.noisy,
    },
    {
      name: 'an idle worker',
      measured: idle.requests.list / idle.minutes,
      unit: 'lists a minute',
      atMost: 12,
      noisy: false,
    },
  ]
}

const sum = (requests: Requests): number => requestKinds.reduce((total, kind) => total + requests[kind], 0)

const dollars = (requests: Requests): number =>
  requestKinds.reduce((total, kind) => total + requests[kind] * dollarsPerMillion[kind], 0) / 1e6

const dollarsPerMillionSteps = (load: Load): number => (dollars(load.requests) / load.steps) * 1e6

const perThousand = (load: Load, count: number): number => (count / load.steps) * 1_000

const mark = ({ noisy }: { noisy: boolean }): string => (noisy ? '!' : '')

const show = (value: number): string => value.toFixed(value >= 100 || value === 0 ? 0 : 1)
