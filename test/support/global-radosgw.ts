// Vitest's global set-up: a door behind which radosgw is started when the first test knocks. Tests run in processes
// of their own, so the one that lives as long as all of them has to own the server.

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
  // A test that waits must not hear of a time-out of the door instead of what went wrong behind it.
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
