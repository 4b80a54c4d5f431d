// The addresses of the pages.
export const paths = {
  overview: '/overview',
  start: '/start',
  schedules: '/schedules',
  definitions: '/definitions',
  fleet: '/workers',
  builds: '/builds',
  health: '/health',
  audit: '/audit',
  tokens: '/tokens',
} as const

export function schedulePath(schedule: string): string {
  return `${paths.schedules}/${encodeURIComponent(schedule)}`
}

export function startPath(workflow: string): string {
  return `${paths.start}/${encodeURIComponent(workflow)}`
}

export function definitionPath(name: string): string {
  return `${paths.definitions}/${encodeURIComponent(name)}`
}

export function workerPath(worker: string): string {
  return `${paths.fleet}/${encodeURIComponent(worker)}`
}

export function runPath(run: string, tab?: string): string {
  return `/runs/${encodeURIComponent(run)}${tab === undefined ? '' : `/${tab}`}`
}

export function runsPath(query: string): string {
  return query === '' ? '/runs' : `/runs?q=${encodeURIComponent(query)}`
}
