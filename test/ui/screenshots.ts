// Makes pictures of every page of the web UI, in both themes and for a phone:
//
//     npm run screenshots -- <folder>
//
// It serves sample workflows from a store in memory, brings them to states that are worth looking at, and writes one PNG
// for each page and look. Pages of their own are rows of `shots`.
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { samples } from '../../src/cli/demo/sample-workflows.ts'
import { open } from '../../src/index.ts'
import { server } from '../../src/server/index.ts'
import { openBrowser } from './browser.ts'

const looks = [
  { name: 'light', viewport: { width: 1_440, height: 900 }, colorScheme: 'light' },
  { name: 'dark', viewport: { width: 1_440, height: 900 }, colorScheme: 'dark' },
  { name: '380', viewport: { width: 380, height: 800 }, colorScheme: 'light' },
] as const

interface Shot {
  readonly name: string
  readonly path: string
  /** What is in sight once the page is ready. */
  readonly ready: string
  readonly act?: (page: Page) => Promise<void>
}

const shots: readonly Shot[] = [
  { name: 'runs', path: '/runs', ready: 'text=order-1003' },
  { name: 'runs-filtered', path: '/runs?q=status%3Afailed', ready: 'text=order-1001' },
  { name: 'runs-empty', path: '/runs?q=nothing-', ready: 'text=No run matches' },
  { name: 'run-timeline', path: '/w/order-1002?step=step%3Acharge%231', ready: '.panel .json' },
  { name: 'run-graph', path: '/w/order-1001/graph?step=step%3Acharge%231', ready: '.panel .stack' },
  { name: 'run-steps', path: '/w/order-1002/steps', ready: '.list td' },
  { name: 'run-history', path: '/w/order-1002/history?event=4', ready: '.panel .json' },
  { name: 'run-values', path: '/w/order-1001/values', ready: '.values .json' },
  { name: 'run-children', path: '/w/settlement-1/children', ready: 'table.tree td' },
  { name: 'run-past', path: '/w/order-1001/history?at=6', ready: '.why.past .more' },
  { name: 'run-compare', path: '/w/order-1001/compare?vs=w%3Aorder-1003', ready: '.compare td' },
  {
    name: 'run-fork',
    path: '/w/order-1001',
    ready: '.names .name',
    act: async (page) => {
      await page.keyboard.press('f')
      const input = page.getByRole('textbox', { name: /^Input/ })
      await input.fill((await input.inputValue()).replace('1001', '1004'))
    },
  },
  {
    name: 'run-copy',
    path: '/w/trip-4',
    ready: '.names .name',
    act: async (page) => {
      await page.getByRole('button', { name: 'More operations' }).click()
      await page.getByRole('menuitem', { name: 'Copy this run…' }).click()
      await page.locator('pre.test').waitFor()
    },
  },
]

async function main(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true })
  const logger = { log: (): void => {} }
  await using engine = await open('memory:', { ...samples, logger })
  engine.work({ signals: false })
  const [orders, trips, settlement] = samples.workflows
  const ended = [
    ...[1001, 1002, 1003, 1004, 1005].map((number, at) => {
      const input = { number, cents: 4_990 + 100 * at, region: 'eu' }
      const attributes = { region: input.region, cents: input.cents }
      return engine.start(orders, input, { workflowId: `order-${number}`, attributes })
    }),
    ...[3, 4].map((number) => engine.start(trips, { number }, { workflowId: `trip-${number}` })),
    engine.start(settlement, undefined, { workflowId: 'settlement-1' }),
  ]
  for (const run of await Promise.all(ended)) {
    // Orders that nothing fails stay as they are: they wait for an approval.
    for (;;) {
      const why = await run.why()
      if (why.reason === 'ended' || why.reason === 'signal') break
      await run.result({ timeout: '200ms' }).catch(() => {})
    }
  }
  const api = server(engine, { ui: true, logger })
  const { url } = await api.listen({ port: 0 })
  const browser = await openBrowser()
  for (const { name: look, ...options } of looks) {
    const page = await browser.newPage({ ...options, reducedMotion: 'reduce' })
    for (const { name, path, ready, act } of shots) {
      await page.goto(url + path)
      await page.locator(ready).first().waitFor()
      await act?.(page)
      await page.evaluate('document.fonts.ready')
      await page.screenshot({ path: join(folder, `${name}-${look}.png`), animations: 'disabled' })
    }
    await page.close()
  }
  await browser.close()
  await api.close({ grace: 0 })
  console.log(`${shots.length * looks.length} pictures in ${folder}`)
}

await main(process.argv[2] ?? 'screenshots')
