import { readFileSync } from 'node:fs'
import type { Place } from './adapter.ts'
import type { Figures } from './results.ts'

/** Nothing for engines without a server of their own. */
export function serverMemory({ serverProcessId }: Place): Figures {
  if (serverProcessId === undefined) return {}
  const status = readFileSync(`/proc/${serverProcessId}/status`, 'utf8')
  return { serverMegabytes: Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1_024 }
}
