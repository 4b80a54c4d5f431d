// What tests of the web UI share: a server with runs to look at, and a browser that reports what it did not like.
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { activity, type Engine, graph, open, signal, workflow } from 'pawl'
import { type ServerOptions, server } from 'pawl/server'
import type { Browser, Page } from 'playwright-core'

export { openBrowser } from './browser.ts'

export const approval = signal<{ readonly by: string }>('approval')
const charge = activity('charge', async (cents: number) => ({ receipt: `R-${cents}` }))

/** Waits for an approval between two steps. */
export const order = workflow('order', async (ctx, cents: number) => {
  const paid = await ctx.run(charge, cents)
  const { by } = await ctx.wait(approval)
  return { ...paid, by }
})
export const fails = workflow('fails', async () => {
  throw new TypeError('as <b>planned</b>')
})
const pipeline = graph<number>('pipeline')
  .step('first', async () => 1)
  .wait('agreed', { after: ['first'] }, approval)
  .step('last', { after: ['agreed'] }, async () => 2)
/** Each step is two events of its history. */
export const long = workflow('long', async (ctx, steps: number) => {
  for (let n = 0; n < steps; n++) await ctx.run('step', () => n)
})
export const all = [order, fails, pipeline, long] as const

const quiet = { log: (): void => {} }

export interface Place extends AsyncDisposable {
  readonly engine: Engine
  readonly url: string
}

/** A server with the UI, and a worker. */
export async function openPlace(options: ServerOptions = {}): Promise<Place> {
  const engine = await open('memory:', { workflows: all, activities: [charge], logger: quiet })
  engine.work({ signals: false })
  const api = server(engine, { ui: true, logger: quiet, ...options })
  const { url } = await api.listen({ port: 0 })
  const close = async (): Promise<void> => {
    await api.close({ grace: 0 })
    await engine.close()
  }
  return { engine, url, [Symbol.asyncDispose]: close }
}

export interface Look {
  readonly page: Page
  /** Errors, and reports of the content security policy. */
  readonly complaints: string[]
}

export async function openPage(browser: Browser, options: Parameters<Browser['newPage']>[0] = {}): Promise<Look> {
  const page = await browser.newPage({ viewport: { width: 1_440, height: 900 }, ...options })
  const complaints: string[] = []
  page.on('pageerror', (error) => complaints.push(String(error)))
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text())
  })
  return { page, complaints }
}

interface Finding {
  readonly id: string
  readonly impact: string
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[]
}

const axePath = createRequire(import.meta.url).resolve('axe-core')

/** What axe finds that is serious. The policy of the page forbids scripts of others, so it is run by the debugger. */
export async function axe(page: Page): Promise<string[]> {
  await page.evaluate(await readFile(axePath, 'utf8'))
  const found = await page.evaluate<readonly Finding[]>('axe.run().then(({ violations }) => violations)')
  return found
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) =>
      nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)} ${failureSummary}`),
    )
}
