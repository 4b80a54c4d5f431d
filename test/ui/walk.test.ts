// A walk through the web UI in a real browser, as a person would use it.
import { connect } from 'pawl/client'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { axe, fails, long, openBrowser, openPage, openPlace, order, type Place } from './support.ts'

let browser: Browser
let place: Place

beforeAll(async () => {
  browser = await openBrowser()
  place = await openPlace()
})

afterAll(async () => {
  await browser?.close()
  await place?.[Symbol.asyncDispose]()
})

describe('I13: the web UI', () => {
  test('a run is started, watched, signalled by the why bar, and seen to complete', async () => {
    const { page, complaints } = await openPage(browser)
    await page.goto(`${place.url}/`)
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    expect(new URL(page.url()).pathname).toBe('/overview')
    await page.keyboard.press('g')
    await page.keyboard.press('r')
    await page.getByRole('heading', { name: 'Runs' }).waitFor()
    await page.getByText('Live ·').waitFor()
    // A run that starts before the list was read is in it.
    await page.getByText('No run has been started yet').waitFor()
    await page.getByText('0 runs').waitFor()

    const run = await place.engine.start(order, 500, { workflowId: 'order-1' })
    await page.getByRole('button', { name: '1 newer' }).click()
    const row = page.getByRole('row', { name: /order-1/ })
    await row.getByText('Waits for the signal approval').waitFor()
    await row.getByRole('link', { name: 'order-1' }).click()

    const bar = page.getByRole('region', { name: 'Why it makes no progress' })
    await bar.getByText('It waits for the signal approval').waitFor()
    expect(await bar.getByText(/^pawl signal order-1 approval/).count()).toBe(1)
    await bar.getByLabel('Payload, as JSON').fill('{"by":"ada"}')
    await bar.getByRole('button', { name: 'Send signal' }).click()
    await bar.getByText('It completed').waitFor()
    expect(await run.result()).toEqual({ receipt: 'R-500', by: 'ada' })

    await page.getByRole('link', { name: 'Input and result' }).click()
    await page.getByText('"R-500"').waitFor()
    expect(complaints).toEqual([])
    await page.close()
  })

  test('an address shows what it showed before: deep links, reload, back and forward', async () => {
    const { runId } = await place.engine.start(order, 700, { workflowId: 'order-deep' })
    const { page, complaints } = await openPage(browser)
    await page.goto(`${place.url}/w/order-deep/history?event=1`)
    const panel = page.getByRole('complementary', { name: 'Event 1' })
    await panel.getByText('charge was requested').waitFor()
    await page.reload()
    await panel.getByText('charge was requested').waitFor()

    await page.getByRole('link', { name: 'Timeline' }).click()
    await page.getByRole('row', { name: /charge/ }).click()
    await page.getByRole('complementary', { name: 'charge' }).getByText('"R-700"').waitFor()
    await page.goBack()
    await panel.waitFor()
    await page.goForward()
    await page.getByRole('treegrid', { name: 'Timeline' }).waitFor()

    await page.goto(`${place.url}/runs?q=status%3Awaiting%20id%3Aorder-deep`)
    await page.getByRole('link', { name: 'order-deep' }).waitFor()
    await page.getByRole('button', { name: 'Remove id:order-deep' }).click()
    await page.waitForURL(`${place.url}/runs?q=status%3Awaiting`)
    await page.goBack()
    await page.waitForURL(/order-deep/)
    expect(runId).toMatch(/^[0-9a-f-]{36}$/)
    expect(complaints).toEqual([])
    await page.close()
  })

  test('a selection is operated on, and only that; each refusal is shown', async () => {
    const one = await place.engine.start(order, 1, { workflowId: 'bulk-1' })
    const other = await place.engine.start(order, 2, { workflowId: 'bulk-2' })
    const { page } = await openPage(browser)
    await page.goto(`${place.url}/runs?q=bulk-`)
    await page.getByRole('checkbox', { name: 'Select bulk-1' }).click()
    await page.getByRole('button', { name: 'Cancel…' }).click()
    const dialog = page.getByRole('dialog', { name: 'Cancel 1 run?' })
    await dialog.getByText('bulk-1').waitFor()
    await dialog.getByRole('button', { name: 'Cancel 1 run' }).click()
    await dialog.getByText('1 of 1 done').waitFor()
    await expect(one.result()).rejects.toThrow(/cancelled/i)
    expect((await other.describe()).status).not.toBe('cancelled')
    await page.close()
  })

  test('a batch shows the runs that match, and is done to those', async () => {
    const runs = await Promise.all([1, 2, 3].map((n) => place.engine.start(order, n, { workflowId: `batch-${n}` })))
    const { page } = await openPage(browser)
    await page.goto(`${place.url}/runs?q=batch-`)
    await page.getByRole('link', { name: 'batch-3' }).waitFor()
    await page.keyboard.press('*')
    await page.getByRole('button', { name: 'Cancel…' }).click()
    await page.getByRole('button', { name: 'Show which runs' }).click()
    await page.getByText('Exactly these runs').waitFor()
    await page.getByRole('button', { name: 'Cancel 3 runs' }).click()
    await page.getByText('done: 3 of 3 done').waitFor()
    for (const run of runs) await expect(run.result()).rejects.toThrow(/cancelled/i)
    await page.close()
  })

  test('everything on the way is done with the keyboard', async () => {
    await place.engine.start(order, 5, { workflowId: 'keys-1' })
    const { page } = await openPage(browser)
    await page.goto(`${place.url}/runs?q=keys-`)
    await page.getByRole('link', { name: 'keys-1' }).waitFor()
    await page.keyboard.press('j')
    await page.keyboard.press('Enter')
    await page.getByRole('region', { name: 'Why it makes no progress' }).waitFor()
    await page.keyboard.press('4')
    await page.getByText('the run of order was started').waitFor()
    await page.keyboard.press('p')
    await page.getByRole('dialog', { name: 'Pause keys-1' }).waitFor()
    await page.keyboard.press('Escape')
    await page.keyboard.press('?')
    await page.getByRole('dialog', { name: 'Keys' }).waitFor()
    await page.keyboard.press('Escape')
    await page.keyboard.press('Control+k')
    await page.keyboard.type('keys-1')
    await page.getByRole('option', { name: /keys-1/ }).waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('region', { name: 'Why it makes no progress' }).waitFor()
    await page.close()
  })

  test('a long history is read in pages, and only what is in sight is in the page', async () => {
    const run = await place.engine.start(long, 2_000)
    await run.result()
    const { page, complaints } = await openPage(browser)
    await page.goto(`${place.url}/runs/${run.runId}/history`)
    await page.getByText('the run completed').waitFor()
    const rows = page.getByRole('region', { name: 'History' }).getByRole('listitem')
    expect(await rows.count()).toBeLessThan(100)
    await page.evaluate("document.querySelector('.events').scrollTop = 0")
    await page.getByText('the run of long was started').waitFor()
    expect(await rows.count()).toBeLessThan(100)
    await page.getByRole('link', { name: 'Timeline' }).click()
    const steps = page.getByRole('treegrid', { name: 'Timeline' }).getByRole('row')
    await steps.first().waitFor()
    expect(await steps.count()).toBeLessThan(100)
    expect(complaints).toEqual([])
    await page.close()
  })

  test('what a run holds is shown as text, never as a page', async () => {
    const run = await place.engine.start(fails, undefined, { workflowId: '<img src=x onerror=alert(1)>' })
    await run.result().catch(() => {})
    const { page, complaints } = await openPage(browser)
    await page.goto(`${place.url}/runs/${run.runId}`)
    await page.getByText('It failed: TypeError: as <b>planned</b>').waitFor()
    expect(await page.locator('#content img, #content b b').count()).toBe(0)
    await page.getByRole('link', { name: 'Input and result' }).click()
    await page
      .getByText(/walk|support\.ts:\d+/)
      .first()
      .waitFor()
    expect(complaints).toEqual([])
    await page.close()
  })

  test('a server with a token asks for it, and keeps it for the tab alone', async () => {
    const token = 'a-token-of-this-test'
    await using locked = await openPlace({ token })
    const { page } = await openPage(browser)
    await page.goto(`${locked.url}/runs`)
    await page.getByLabel('Token').fill('wrong-token-of-this-test')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('alert').waitFor()
    await page.getByLabel('Token').fill(token)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('No run has been started yet').waitFor()
    expect(await page.evaluate('JSON.stringify(localStorage) + document.cookie')).not.toContain(token)
    await page.close()
  })

  test('with a token that only reads, operations are shown, disabled, with the scope they need', async () => {
    await using locked = await openPlace({ token: 'a-token-of-this-test' })
    const admin = connect(locked.url, { token: 'a-token-of-this-test' })
    const { token } = await admin.call('tokens.create', { name: 'reader', scope: 'read' })
    const run = await locked.engine.start(order, 1)
    const { page } = await openPage(browser)
    await page.goto(`${locked.url}/runs/${run.runId}`)
    await page.getByLabel('Token').fill(token)
    await page.getByRole('button', { name: 'Sign in' }).click()
    const pause = page.getByRole('button', { name: 'Pause…' })
    await page.locator('button:disabled', { hasText: 'Pause…' }).waitFor()
    expect(await pause.getAttribute('title')).toBe('Your token has the scope read; this needs operate.')
    await admin.close()
    await page.close()
  })

  for (const colorScheme of ['light', 'dark'] as const) {
    test.for([
      { width: 1_440, height: 900 },
      { width: 380, height: 800 },
    ])(`axe has nothing serious to say, ${colorScheme}, at $width × $height`, async (viewport) => {
      const id = `axe-${colorScheme}-${viewport.width}`
      const run = await place.engine.start(order, 9, { workflowId: id, attributes: { region: 'eu' } })
      const failed = await place.engine.start(fails, undefined, { workflowId: `${id}-failed` })
      await failed.result().catch(() => {})
      const pages: readonly (readonly [path: string, shown: string | RegExp])[] = [
        ['/runs', id],
        ['/runs?q=nothing-', 'No run matches this filter'],
        [`/runs/${failed.runId}`, /^It failed/],
        [`/runs/${run.runId}`, 'Fold idle time'],
        [`/runs/${run.runId}/steps`, 'Attempts'],
        [`/runs/${run.runId}/history?event=1`, 'Event 1'],
        [`/runs/${run.runId}/values`, 'Raw'],
        [`/runs/${run.runId}/children`, 'This run has started no children.'],
      ]
      const { page, complaints } = await openPage(browser, { viewport, colorScheme })
      for (const [path, shown] of pages) {
        await page.goto(place.url + path)
        await page.locator('#content').getByText(shown, { exact: true }).first().waitFor({ state: 'attached' })
        expect(await axe(page), `${path} at ${viewport.width}`).toEqual([])
        const sideways = 'document.documentElement.scrollWidth - document.documentElement.clientWidth'
        expect(await page.evaluate(sideways), `${path} scrolls sideways at ${viewport.width}`).toBe(0)
      }
      expect(complaints).toEqual([])
      await page.close()
    })
  }
})
