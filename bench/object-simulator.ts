// SIMULATOR of an S3 server in a process of its own, so that it takes no time from the worker that is measured.
// It ends with the process that forked it.
// From the source, because 'pawl/testing' does not export the server: it is for pawl's own tests.
import { type S3Requests, startS3Simulator } from '../src/testing/s3-simulator.ts'
import type { S3Identity } from './object-place.ts'

export type SimulatorReport =
  | { type: 'ready'; url: string; credentials: S3Identity }
  | { type: 'requests'; requests: S3Requests }

const [, , eachWayMs = '10'] = process.argv
// Half of the round trip passes before a request is carried out, half before its answer leaves.
const faults = { latencyMs: Number(eachWayMs), slow: 1, slowMs: Number(eachWayMs) }
const simulator = await startS3Simulator({ faults })
const { url, credentials, requests } = simulator

const tell = (report: SimulatorReport): void => void process.send?.(report)

process.on('message', () => tell({ type: 'requests', requests }))
process.once('disconnect', () => void simulator.stop())
// An interrupt from the keyboard reaches the whole group; the worker has to be able to drain first.
process.on('SIGINT', () => {})
tell({ type: 'ready', url, credentials })
