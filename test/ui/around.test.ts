// The pages around the runs, in a real browser and on SQLite: start from a schema, schedules, workers and queues,
// definitions, builds, saved views, audit trail, tokens.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Engine, open, workflow } from 'pawl'
import { connect } from 'pawl/client'
import { server } from 'pawl/server'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Json } from '../../src/core/base/value.ts'
import { hostileTexts } from './hostile-texts.ts'
import { axe, openBrowser, openPage } from './support.ts'

const quiet = { log: (): void => {} }
const TOKEN = 'a-token-of-this-test'
const RUN = '01890000-0000-7000-8000-000000000000'

const shipment = z.object({
  city: z.string().min(1),
  grams: z.number().int().min(1),
  speed: z.enum(['slow', 'fast']).default('slow'),
  tags: z.array(z.string()).optional(),
  payment: z.union([
    z.object({ by: z.literal('card'), last4: z.string() }),
    z.object({ by: z.literal('invoice'), days: z.number() }),
  ]),
})
const ship = workflow('ship', { input: shipment }, async (_, given: z.output<typeof shipment>) => given)
const waits = workflow('waits', async (ctx) => ctx.sleep('1h'))
const parcel = (nodes: Json) => ({ name: 'parcel', nodes })

let browser: Browser
let folder: string
let engine: Engine
let url: string
let close: () => Promise<void>

beforeAll(async () => {
  browser = await openBrowser()
  folder = mkdtempSync(join(tmpdir(), 'pawl-ui-'))
  engine = await open(`sqlite:${join(folder, 'pawl.db')}`, { workflows: [ship, waits], activities: [], logger: quiet })
  const worker = engine.work({ signals: false, id: 'worker-1', pin: true })
  const api = server(engine, { ui: true, logger: quiet, token: TOKEN })
  ;({ url } = await api.listen({ port: 0 }))
  await worker.ready
  close = async () => {
    await api.close({ grace: 0 })
    await engine.close()
  }
})

afterAll(async () => {
  await browser?.close()
  await close?.()
  rmSync(folder, { recursive: true, force: true })
})

/** A page whose tab has a token. */
async function signedIn(token: string, path: string, options = {}): ReturnType<typeof openPage> {
  const look = await openPage(browser, options)
  await look.page.addInitScript(`sessionStorage.setItem('pawl.token', ${JSON.stringify(token)})`)
  await look.page.goto(url + path)
  return look
}

async function confirm(page: Page, verb: string): Promise<void> {
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('button', { name: verb, exact: true }).click()
  await dialog.waitFor({ state: 'detached' })
}

describe('I13: the pages around the runs', () => {
  test('A10: a run is started from the form of its schema, twice pressed once started', async () => {
    const { page, complaints } = await signedIn(TOKEN, '/start')
    await page.getByRole('link', { name: /^ship/ }).click()
    await page.getByLabel('city').fill('Rome')
    await page.getByLabel('grams').fill('250')
    await page.getByRole('combobox', { name: 'speed' }).selectOption('fast')
    await page.getByLabel('tags given').check()
    await page.getByRole('button', { name: 'Add' }).click()
    await page.getByLabel('1 *').fill('fragile')
    await page.getByLabel('One of').selectOption({ label: 'by "invoice"' })
    await page.getByLabel('days').fill('30')
    await page.getByText('Options').click()
    await page.getByLabel('Workflow id').fill('shipment-1')
    await page.getByText(/^pawl start ship .*--workflow-id shipment-1$/).waitFor()
    await page.getByRole('button', { name: 'Start ship' }).dblclick()
    await page.getByText('It completed').waitFor()
    const input = { city: 'Rome', grams: 250, speed: 'fast', tags: ['fragile'], payment: { by: 'invoice', days: 30 } }
    expect(await engine.get({ workflowId: 'shipment-1' }).result()).toEqual(input)
    expect(await engine.count({ workflowId: 'shipment-1' })).toBe(1)

    // What the schema refuses is said by the run, and the input of an earlier run can be used again, as JSON.
    await page.goto(`${url}/start/ship?as=json`)
    await page.getByLabel(/^Input, as JSON/).fill('{"city":"Rome"}')
    await page.getByRole('button', { name: 'Start ship' }).click()
    await page.getByText(/^It failed: /).waitFor()
    await page.goto(`${url}/start/ship?as=json`)
    await page.getByRole('button', { name: 'Use: Input, shipment-1' }).click()
    await page.getByRole('button', { name: 'Start ship' }).click()
    await page.getByText('It completed').waitFor()
    expect(complaints).toEqual([])
    await page.close()
  })

  test('T3: a schedule is seen on its calendar, triggered, paused, backfilled after a count, and deleted', async () => {
    await engine.schedules.set('nightly', { cron: '0 3 * * *', workflow: waits })
    const { page, complaints } = await signedIn(TOKEN, '/schedules')
    await page.getByRole('link', { name: 'nightly' }).click()
    const calendar = page.getByRole('table', { name: 'Slots by day' })
    await calendar.getByText('03:00').nth(34).waitFor()
    await page.getByRole('button', { name: 'Trigger nightly' }).click()
    await confirm(page, 'Trigger')
    await page.getByRole('table', { name: 'Newest runs' }).getByText('by hand').waitFor()

    await page.getByRole('button', { name: 'Pause nightly' }).click()
    await page.getByLabel('Note, for those who resume it').fill('audit week')
    await confirm(page, 'Pause')
    await page.getByText('audit week').first().waitFor()
    expect(await engine.schedules.get('nightly').describe()).toMatchObject({ paused: true, note: 'audit week' })
    await page.getByRole('button', { name: 'Resume nightly' }).click()
    await confirm(page, 'Resume')

    await page.getByRole('button', { name: 'Backfill' }).click()
    await page.getByLabel('From (UTC)').fill('2026-01-01T00:00')
    await page.getByLabel('To (UTC)').fill('2026-01-03T12:00')
    await page.getByText('3 slots in this range').waitFor()
    await confirm(page, 'Backfill')
    await expect.poll(() => engine.count({ workflow: waits })).toBe(4)

    await page.getByRole('button', { name: 'Delete' }).click()
    await confirm(page, 'Delete')
    await page.getByText('There is no schedule yet').waitFor()
    expect(complaints).toEqual([])
    await page.close()
  })

  test('W4: workers, what waits in a queue without a worker, and the overview that says so', async () => {
    const { runId } = await engine.start(waits, undefined, { queue: 'mail', workflowId: 'mail-1' })
    const { page, complaints } = await signedIn(TOKEN, '/workers')
    const queue = page.getByRole('table', { name: 'Queues' }).getByRole('row', { name: /mail/ })
    await queue.getByText('no living worker takes from it').waitFor()
    await page.getByRole('link', { name: 'worker-1' }).click()
    await page
      .getByRole('region', { name: 'Worker worker-1' })
      .getByText(/ship, waits/)
      .waitFor()
    await page.getByRole('link', { name: 'Overview' }).first().click()
    await page.getByText('No living worker takes from queue mail').waitFor()
    await page.getByRole('link', { name: 'See queues' }).click()
    await queue.waitFor()
    await engine.get(runId).terminate('over')
    await page.reload()
    await page.getByText('Nothing waits for a worker').waitFor()
    expect(complaints).toEqual([])
    await page.close()
  })

  test('A10: versions of a definition, and the difference between two', async () => {
    const wait = { id: 'wait', delay: '1s', workflow: 'waits' } as const
    await engine.submit(parcel([{ id: 'first', workflow: 'waits' }]))
    await engine.submit(
      parcel([
        { id: 'first', workflow: 'waits' },
        { ...wait, after: ['first'] },
      ]),
    )
    const { page, complaints } = await signedIn(TOKEN, '/definitions')
    await page.getByRole('link', { name: 'parcel' }).click()
    const lines = page.getByRole('group', { name: 'from version 1 to version 2' })
    await lines.getByText('"id": "wait"').waitFor()
    expect(await lines.locator('.add').allInnerTexts()).toContainEqual(expect.stringContaining('"delay": "1s"'))
    await page.getByRole('combobox', { name: 'From version' }).selectOption('2')
    await page.getByText('Both versions are the same.').waitFor()
    expect(new URL(page.url()).searchParams.get('from')).toBe('2')
    expect(complaints).toEqual([])
    await page.close()
  })

  test('N1: a build is rolled out after its check was read; every change is in the audit trail', async () => {
    await engine.builds.keepCheck('two', [
      {
        ...{ runId: RUN, workflowId: 'ship-9', name: 'ship', status: 'waiting', verdict: 'differs' },
        failure: { type: 'DeterminismError', message: 'recorded charge, requested pay', retryable: false },
      } as never,
    ])
    await engine.builds.rollOut('two', 5)
    const { page, complaints } = await signedIn(TOKEN, '/builds')
    await page.getByText('two does not fit 1 of 1 run.').waitFor()
    await page.getByText('recorded charge, requested pay').waitFor()
    await page.getByRole('button', { name: 'Roll out two' }).click()
    await page.getByLabel('Share of new runs, in percent').fill('25')
    await confirm(page, 'Roll out')
    await page.getByRole('img', { name: /two 25 %/ }).waitFor()

    await page.keyboard.press('g')
    await page.keyboard.press('a')
    await page.getByLabel('Operation, or all of a kind').selectOption('builds.')
    const trail = page.getByRole('table', { name: 'Changes, newest first' })
    await trail.getByRole('row', { name: /builds\.rollOut two done/ }).waitFor()
    expect(await trail.getByRole('row').count()).toBe(2)
    await page.getByLabel('Target').fill('nothing')
    await page.getByText('No change matches').waitFor()
    expect(complaints).toEqual([])
    await page.close()
  })

  test('O4: a filter is saved as a view for everybody, and the histogram narrows it', async () => {
    const { page, complaints } = await signedIn(TOKEN, '/runs?q=workflow%3Aship')
    await page.getByRole('link', { name: 'shipment-1' }).waitFor()
    await page.getByRole('button', { name: 'Save view' }).click()
    await page.getByLabel('Name of the view').fill('Shipments')
    await confirm(page, 'Save view')
    await page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name: 'Shipments' }).waitFor()
    await page.getByRole('img', { name: /^Runs by the time of their start: 3/ }).waitFor()
    await page.getByRole('button', { name: 'As a table' }).click()
    await page.getByRole('region', { name: 'Runs by the time of their start' }).getByRole('cell').first().waitFor()
    await page.getByRole('button', { name: 'Delete view' }).click()
    await confirm(page, 'Delete view')
    await page.getByRole('link', { name: 'Shipments' }).waitFor({ state: 'detached' })
    expect(complaints).toEqual([])
    await page.close()
  })

  test('O8: a token sees only what it may do: reader, operator and admin', async () => {
    const admin = connect(url, { token: TOKEN })
    await engine.schedules.set('scoped', { every: '1d', workflow: waits })
    for (const scope of ['read', 'operate'] as const) {
      const { token } = await admin.call('tokens.create', { name: `a-${scope}`, scope })
      const { page } = await signedIn(token, '/schedules/scoped')
      await page.getByText('every 1d').waitFor()
      if (scope === 'read') await page.getByText('Your token has the scope read; this needs operate.').waitFor()
      else await page.getByRole('button', { name: 'Trigger scoped' }).waitFor()
      const buttons = page.getByRole('button', { name: /^(?:Trigger|Pause|Backfill|Delete)/ })
      expect(await buttons.count()).toBe(scope === 'read' ? 0 : 4)
      await page.goto(`${url}/builds`)
      await page.getByText(`Your token has the scope ${scope}; this needs admin.`).waitFor()
      expect(await page.getByRole('button', { name: /^(?:Roll out|Retire)/ }).count()).toBe(0)
      for (const path of ['/audit', '/tokens']) {
        await page.goto(url + path)
        await page.getByText(`Your token has the scope ${scope}; this needs admin.`).waitFor()
      }
      await page.close()
    }
    await engine.schedules.get('scoped').delete()
    await admin.close()
  })

  test('O8: a token is made, shown once, and revoked', async () => {
    const { page } = await signedIn(TOKEN, '/tokens')
    await page.getByRole('button', { name: 'Create token' }).click()
    await page.getByLabel('Name, for the audit trail').fill('grace')
    await page.getByRole('dialog').getByRole('button', { name: 'Create token', exact: true }).click()
    const made = page.getByRole('dialog', { name: 'Copy it now: it is not shown again.' })
    expect(await made.locator('code').innerText()).toMatch(/^pawl_/)
    await made.getByRole('button', { name: 'Close' }).last().click()
    await page.getByRole('button', { name: 'Revoke grace' }).click()
    await confirm(page, 'Revoke')
    await page.getByRole('row', { name: /grace read .* revoked/ }).waitFor()
    await page.close()
  })

  test('how long runs are kept is set after what it deletes was counted, and taken back', async () => {
    const { page, complaints } = await signedIn(TOKEN, '/health')
    await page.getByText('Ended runs are kept forever.').waitFor()
    await page.getByRole('button', { name: 'Set', exact: true }).click()
    await page.getByLabel(/^Keep ended runs for/).fill('365d')
    await page.getByLabel(/^Type delete/).fill('delete')
    await page.getByText('0 runs would be deleted now.').waitFor()
    await confirm(page, 'Set')
    await page.getByText('"365d"').waitFor()
    await page.getByRole('button', { name: 'Keep all' }).click()
    await confirm(page, 'Keep all')
    await page.getByText('Ended runs are kept forever.').waitFor()
    expect(complaints).toEqual([])
    await page.close()
  })

  test('a lost connection is told, what was read stays, and it recovers by itself', async () => {
    const { page } = await openPage(browser)
    await page.addInitScript(`sessionStorage.setItem('pawl.token', ${JSON.stringify(TOKEN)})`)
    await page.clock.install()
    await page.goto(`${url}/health`)
    await page.getByText(/^Live ·/).waitFor()
    await page.route('**/api/**', (route) => route.abort())
    // The page asks again after five seconds, and tells after four.
    await page.clock.fastForward(6_000)
    await page.clock.fastForward(5_000)
    await page.getByText(/^Connection lost/).waitFor()
    await page.getByText('The store answers, and workers are alive.').waitFor()
    await page.unroute('**/api/**')
    await page.clock.fastForward(20_000)
    await page.getByText(/^Live ·/).waitFor()
    await page.close()
  })
})

/** What is there once a page has what it shows. */
const SHOWN = '#content .page :is(table, .answer, .choices, .state, form), .list'
const all = ['/overview', '/start', '/schedules', '/definitions', '/workers', '/builds', '/health', '/audit', '/tokens']

describe('I13: hostile texts and every size', () => {
  // Before the hostile texts: they make long pages, and axe slow.
  test.for([
    { colorScheme: 'light', width: 1_440 },
    { colorScheme: 'dark', width: 380 },
  ] as const)('axe has nothing serious to say, $colorScheme, at $width', async ({ colorScheme, width }) => {
    const { page, complaints } = await signedIn(TOKEN, '/overview', { viewport: { width, height: 800 }, colorScheme })
    for (const path of [...all, '/start/ship', '/definitions/parcel', '/workers/worker-1']) {
      await page.goto(url + path)
      await page.locator(SHOWN).first().waitFor()
      expect(await axe(page), `${path} at ${width}`).toEqual([])
      expect(await sideways(page), path).toEqual([])
    }
    expect(complaints).toEqual([])
    await page.close()
  })

  test('200 hostile texts where these pages show texts: no script, no report, no broken layout', async () => {
    const client = connect(url, { token: TOKEN })
    await client.startMany(
      waits,
      hostileTexts.map((text) => ({ queue: nameOf(text), workflowId: nameOf(text) })),
    )
    for (const text of hostileTexts.slice(0, 20)) {
      await client.call('views.set', { view: nameOf(text), query: `id:"${nameOf(text).replaceAll('"', '')}"` })
    }
    for (const text of hostileTexts.slice(0, 8)) {
      await engine.schedules.set(nameOf(text), { every: '1d', workflow: waits, paused: true, note: text })
    }
    await engine.builds.keepCheck(
      'hostile',
      hostileTexts.map(
        (text) =>
          ({
            ...{ runId: RUN, workflowId: text, name: text, status: 'waiting', verdict: 'differs' },
            failure: { type: 'Error', message: text, retryable: false },
          }) as never,
      ),
    )
    const phone = { viewport: { width: 380, height: 800 }, colorScheme: 'dark' }
    const { page, complaints } = await signedIn(TOKEN, '/overview', phone)
    const asked: string[] = []
    page.on('dialog', (dialog) => {
      asked.push(dialog.message())
      void dialog.dismiss()
    })
    for (const path of [...all, '/runs', `/schedules/${encodeURIComponent(nameOf(hostileTexts[0] ?? ''))}`]) {
      await page.goto(url + path)
      await page.locator(SHOWN).first().waitFor()
      expect(await sideways(page), path).toEqual([])
      expect(await page.evaluate('window.pwned'), path).toBeUndefined()
      expect(await page.locator('#content :is(img, iframe, script, object, embed)').count(), path).toBe(0)
    }
    expect([asked, complaints]).toEqual([[], []])
    await client.close()
    await page.close()
  })
})

/** A text as a name or an id may be: without control characters, and not empty. */
function nameOf(text: string): string {
  return (
    text
      .replace(/\p{Cc}/gu, ' ')
      .trim()
      .slice(0, 200) || 'empty'
  )
}

/** What is wider than the window: the page, or the region that scrolls. */
function sideways(page: Page): Promise<string[]> {
  return page.evaluate(`[document.documentElement, ...document.querySelectorAll('.page')]
    .filter((each) => each.scrollWidth > each.clientWidth + 1).map((each) => each.className || each.tagName)`)
}
