import { afterEach, beforeEach, expect, test } from 'vitest'
import { CommandLine } from './command-line.ts'

let cli: CommandLine

beforeEach(async () => {
  cli = await CommandLine.open()
})

afterEach(async () => {
  await cli[Symbol.asyncDispose]()
})

test('a token is made, shown once, used, listed and revoked', async () => {
  const made = await cli.pawl('token', 'create', 'deploy bot', '--scope', 'read', '--expires', '30d')
  expect(made.code).toBe(0)
  expect(made.stdout).toMatch(/^pawl_[0-9a-z]{12}_[0-9a-z]{40}\n$/)
  const token = made.stdout.trim()
  const [, id = ''] = token.split('_')
  expect(made.stderr).toContain(id)
  expect(made.stderr).toMatch(/first token: .* refuse requests without one/)
  expect((await cli.pawl('token', 'create', 'other', '--scope', 'read')).stderr).not.toMatch(/first token/)
  const listed = await cli.pawl('token', 'list', '--json')
  expect(JSON.parse(listed.stdout)).toMatchObject({
    items: expect.arrayContaining([expect.objectContaining({ id, name: 'deploy bot', scope: 'read' })]),
  })
  expect((await cli.pawl('token', 'list')).stdout).toMatch(/deploy bot +read .*valid until/)
  expect(listed.stdout).not.toContain(token)

  const program = cli.begin('serve', '--listen', '0')
  const url = await program.matches(/serves (http:\S+)/)
  const headers = { authorization: `Bearer ${token}` }
  expect((await fetch(`${url}/runs`)).status).toBe(401)
  expect((await fetch(`${url}/runs`, { headers })).status).toBe(200)
  const body = '{"workflow":"x"}'
  const start = { method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, body }
  expect((await fetch(`${url}/runs`, start)).status).toBe(403)

  const refused = await cli.pawl('runs', '--url', url.replace(/\/api.*/, ''))
  expect(refused.stderr).toMatch(/no token.*PAWL_TOKEN.*--token-file.*UNAUTHENTICATED/)

  expect((await cli.pawl('token', 'revoke', id)).stdout).toMatch(/is revoked/)
  expect((await cli.pawl('token', 'list')).stdout).toMatch(/revoked/)
  expect((await cli.pawl('token', 'revoke', 'nothing')).stderr).toMatch(/no token with the id 'nothing'/)
})

test('what is wrong with a token is told', async () => {
  const scope = await cli.pawl('token', 'create', 'x', '--scope', 'root')
  expect(scope).toMatchObject({ code: 2 })
  expect(scope.stderr).toMatch(/read, operate, admin/)
  expect((await cli.pawl('token', 'create', 'x')).stderr).toMatch(/required option '--scope/)
  const expires = await cli.pawl('token', 'create', 'x', '--scope', 'read', '--expires', 'soon')
  expect(expires).toMatchObject({ code: 2 })
})
