// Vitest's global set-up: an HTTP endpoint that starts radosgw at the first request. Tests run in separate processes,
// so the process that outlives them all must own the server.

import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestProject } from 'vitest/node'
import { type RunningRadosgw, startRadosgw } from './radosgw.ts'

declare module 'vitest' {
  interface ProvidedContext {
    radosgwDoor: string
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  let running: Promise<RunningRadosgw> | undefined
  const door = createServer((_, response) => {
    running ??= startRadosgw()
    running.then(
      ({ endpoint, credentials }) => response.end(JSON.stringify({ endpoint, credentials })),
      (error: unknown) => response.writeHead(503).end(String(error)),
    )
  })
  // No time-out here, so that a waiting test gets the real error of the server.
  door.requestTimeout = 0
  door.listen(0, '127.0.0.1')
  await once(door, 'listening')
  project.provide('radosgwDoor', `http://127.0.0.1:${(door.address() as AddressInfo).port}/`)
  return async () => {
    door.close()
    door.closeAllConnections()
    await running?.then(
      (radosgw) => radosgw.stop(),
      () => {},
    )
  }
}
