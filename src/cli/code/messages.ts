// What the process of a command and the processes with the user's code say to each other.
import type { Failure, MetricsSnapshot, WorkerOptions } from '../../index.ts'
import type { LogFormat } from '../log-option.ts'

/** A file, and the digest of what was read from it. */
export type LoadedFile = readonly [path: string, digest: string]

/** What a code process loads and how it works. It is sent, because arguments of a process are visible to others. */
export interface CodeSetup {
  readonly files: readonly string[]
  readonly store: string
  readonly codecs?: string
  readonly log?: LogFormat
  readonly worker: WorkerOptions
  /** Its build changes with every file, so that a paused run is tried again after any edit; and it pins no run. */
  readonly isDev: boolean
}

export type ToCode =
  | { readonly type: 'load'; readonly setup: CodeSetup }
  | { readonly type: 'work' }
  | { readonly type: 'drain'; readonly graceMs: number }
  | { readonly type: 'query'; readonly id: number; readonly question: Question }
  | { readonly type: 'metrics'; readonly id: number }

export interface Question {
  readonly run: string
  readonly name: string
  readonly payload?: unknown
}

export interface Loaded {
  readonly workflows: readonly string[]
  readonly activities: readonly string[]
  /** True if the files export codecs. */
  readonly hasCodecs: boolean
}

export type FromCode =
  | ({ readonly type: 'loaded'; readonly files: readonly LoadedFile[] } & Loaded)
  | { readonly type: 'failed'; readonly message: string; readonly files: readonly LoadedFile[] }
  | { readonly type: 'ready' }
  /** A file that was loaded later, by an import in a function. */
  | { readonly type: 'also'; readonly file: LoadedFile }
  | { readonly type: 'answer'; readonly id: number; readonly result: unknown }
  | { readonly type: 'refused'; readonly id: number; readonly code: string; readonly message: string }
  /** Its metrics: as asked for, or for the last time. */
  | { readonly type: 'metrics'; readonly id?: number; readonly snapshot: MetricsSnapshot }
  | { readonly type: 'paused'; readonly runId: string; readonly workflow: string; readonly failure: Failure }
  | { readonly type: 'cutOff'; readonly steps: readonly string[] }
