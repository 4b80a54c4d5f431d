// pawl/client as a browser has it: bundled, without anything of Node.
import { join } from 'node:path'
import { createContext, runInContext } from 'node:vm'
import { gzipSync } from 'node:zlib'
import { type Engine, open, signal, workflow } from 'pawl'
import { server } from 'pawl/server'
import { rolldown } from 'rolldown'
import { expect, test } from 'vitest'

const entry = join(import.meta.dirname, '../../src/remote/index.ts')

/** What it weighs at most, in bytes. */
const WEIGHT_MAX = 20 * 1_024

async function bundled(treeshake: boolean): Promise<{ readonly text: string; readonly externals: readonly string[] }> {
  const externals: string[] = []
  const isExternal = (name: string): boolean => {
    if (/^[./]/.test(name)) return false
    externals.push(name)
    return true
  }
  // The format of a script has no `import.meta`.
  const transform = { define: { 'import.meta': '{}' } }
  const build = await rolldown({ input: entry, platform: 'browser', treeshake, external: isExternal, transform })
  const { output } = await build.generate({ format: 'iife', name: 'client', minify: treeshake })
  await build.close()
  return { text: output[0].code, externals }
}

test('I1: the client imports nothing of Node, even before unused code is removed', async () => {
  const { externals } = await bundled(false)
  expect(externals).toEqual([])
})

test('I1: bundled and compressed, it weighs no more than a small picture', async () => {
  const { text } = await bundled(true)
  expect(gzipSync(text).length).toBeLessThanOrEqual(WEIGHT_MAX)
})

/** The globals of a browser that the client may use. */
const browser = {
  ...{ fetch, URL, TextEncoder, TextDecoder, AbortController, crypto, performance, atob, btoa },
  ...{ setTimeout, clearTimeout, console },
}

test('I1: in a world without Buffer and process, it starts, signals, waits, and gets values exactly', async () => {
  const go = signal<unknown>('go')
  const echo = workflow('echo', async (ctx, input: unknown) => [input, await ctx.wait(go)])
  await using engine: Engine = await open('memory:', { workflows: [echo] })
  engine.work({ signals: false })
  const api = server(engine)
  const { url } = await api.listen({ port: 0 })
  const world = createContext({ ...browser, url })
  expect(runInContext('typeof Buffer + typeof process + typeof require', world)).toBe('undefinedundefinedundefined')
  const { text } = await bundled(true)
  const program = `${text}
    (async () => {
      const pawl = client.connect(url)
      const echo = client.workflow.declare('echo')
      const when = new Date(5)
      const run = await pawl.start(echo, { when, bytes: new Uint8Array([1, 2]), map: new Map([['a', undefined]]) })
      await run.signal(client.signal('go'), 7n)
      const [input, signalled] = await run.result({ timeout: '10s' })
      const failure = await run.signal(client.signal('go'), 1).catch((error) => error)
      const lines = []
      for await (const line of pawl.export()) lines.push(JSON.parse(line).status)
      return [
        input.when instanceof Date && input.when.getTime() === 5,
        input.bytes instanceof Uint8Array && input.bytes.join(),
        input.map instanceof Map && input.map.has('a') && input.map.get('a') === undefined,
        signalled === 7n,
        failure instanceof client.PawlError && failure.code,
        lines.join(),
      ].join(' ')
    })()`
  expect(await (runInContext(program, world) as Promise<string>)).toBe('true 1,2 true true RUN_ENDED completed')
  await api.close()
})
