// How a server serves the web UI: to browsers, under a strict policy, and not in the way of programs.
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { type Engine, open } from 'pawl'
import { server } from 'pawl/server'
import { afterAll, beforeAll, expect, test } from 'vitest'

const execute = promisify(execFile)
const root = join(import.meta.dirname, '..', '..')
const html: Readonly<Record<string, string>> = { accept: 'text/html,application/xhtml+xml' }

let engine: Engine

beforeAll(async () => {
  await execute(process.execPath, [join(root, 'scripts', 'build-ui.ts'), '--if-needed'], { cwd: root })
  engine = await open('memory:')
}, 120_000)

afterAll(() => engine.close())

function get(path: string, { ui = true, headers = html, method = 'GET' } = {}) {
  const url = `http://localhost${path}`
  return server(engine, { ui, open: true }).fetch(
    new Request(url, { method, headers: { host: 'localhost', ...headers } }),
  )
}

test('I13: a page is the same file at every address, and only its own files run in it', async () => {
  const [first, deep] = await Promise.all([get('/'), get('/runs/w%3Aorder-1/history?event=3')])
  const [text, same] = await Promise.all([first.text(), deep.text()])
  expect(first.status).toBe(200)
  expect(first.headers.get('content-type')).toBe('text/html; charset=utf-8')
  expect(first.headers.get('cache-control')).toBe('no-cache')
  expect(same).toBe(text)
  const policy = first.headers.get('content-security-policy') ?? ''
  expect(policy).toMatch(/^default-src 'none'; script-src 'self'; style-src 'self';/)
  expect(policy).not.toMatch(/unsafe|https?:/)
  expect(text).not.toMatch(/<script>| style=| on\w+=/)
})

test('I13: files with a hash in their name are kept for good', async () => {
  const text = await (await get('/')).text()
  const assets = [...text.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, path = '']) => path)
  expect(assets.length).toBeGreaterThanOrEqual(2)
  for (const path of assets) {
    expect(path).toMatch(/-[\w-]{8}\.(?:js|css)$/)
    const answer = await get(path, { headers: {} })
    expect(answer.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
  }
})

test('I13: what the first page loads is at most 250 kB, compressed', async () => {
  const text = await (await get('/')).text()
  const scripts = [...text.matchAll(/src="(\/assets\/[^"]+\.js)"/g)].map(([, path = '']) => path)
  const bodies = await Promise.all(scripts.map(async (path) => gzipSync(await (await get(path)).text()).length))
  expect(bodies.reduce((sum, bytes) => sum + bytes, 0)).toBeLessThanOrEqual(250_000)
})

test('I13: programs get the errors of the API, and a server without the option serves no page', async () => {
  expect((await get('/runs', { headers: { accept: 'application/json' } })).status).toBe(404)
  expect((await get('/api/v1/nothing')).headers.get('content-type')).toBe('application/problem+json')
  expect((await get('/', { ui: false })).headers.get('content-type')).toBe('application/problem+json')
  expect((await get('/assets/../../../package.json', { headers: {} })).status).toBe(404)
  expect((await get('/', { method: 'POST' })).status).toBe(404)
})

test('I13: a link from another site leads to a page, under a name of this server alone', async () => {
  const across = { ...html, 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' }
  expect((await get('/runs', { headers: across })).status).toBe(200)
  const api = server(engine, { ui: true, open: true })
  const stranger = new Request('http://evil.example/', { headers: { ...html, host: 'evil.example' } })
  expect((await api.fetch(stranger)).status).toBe(421)
})
