// The page of a run in a real browser: its drawing, its past, comparisons, forks, copies; and texts that want out.
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { compileFunction } from 'node:vm'
import { gzipSync } from 'node:zlib'
import { activity, type Engine, graph, type HistoryEvent, machine, open, signal, typed, workflow } from 'pawl'
import { server } from 'pawl/server'
import { testEngine } from 'pawl/testing'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { diffOf } from '../../ui/src/data/diff.ts'
import { testOf } from '../../ui/src/pages/run/copies.ts'
import { pairsOf } from '../../ui/src/pages/run/pairs.ts'
import { hostile } from './hostile-strings.ts'
import { axe, openBrowser, openPage } from './support.ts'

const agreed = signal<{ readonly by: string }>('agreed')
const charge = activity('charge', { retry: { maxAttempts: 2, initial: '1ms' } }, async (cents: number, { attempt }) => {
  if (cents > 100 && attempt === 1) throw new Error('the bank did not answer')
  return { receipt: `R-${cents}` }
})
const order = workflow('order', async (ctx, input: { readonly cents: number }) => {
  const { receipt } = await ctx.run(charge, input.cents)
  const { by } = await ctx.wait(agreed)
  const parcel = await ctx.run('pack', () => `parcel of ${receipt} for ${by}`)
  return { parcel }
})
const sheet = graph<readonly number[]>('sheet')
  .step('rows', async ({ input }) => input)
  .each('square', { after: ['rows'], over: ({ results }) => results.rows, retry: 'none' }, async ({ item }) => {
    if (item === 3) throw new Error('three does not add up')
    return item * item
  })
  .step('sorry', { after: ['square'], rule: 'oneFailed' }, async () => 'sorry')
  .wait('agreed', { after: ['sorry'] }, agreed)
  .step('publish', { after: ['agreed'] }, async () => 'out')
const think = activity('think', async (left: number) => left)
const agent = machine('agent', {
  input: typed<number>(),
  state: typed<{ readonly at: 'thinking' | 'waiting'; readonly left: number }>(),
  output: typed<string>(),
  activities: { think },
  signals: { agreed },
}).on({
  start: (left, act) => [{ at: 'thinking', left }, act.run('think', left)],
  activityCompleted: {
    think: ({ left }, _, act) =>
      left === 0 ? [{ at: 'waiting', left }] : [{ at: 'thinking', left: left - 1 }, act.run('think', left - 1)],
  },
  signal: { agreed: (state, _, act) => [state, act.complete('done')] },
})
const asks = activity('ask_a_person', (_: string, { signal: stopped }) => {
  return new Promise<string>((resolve) => stopped.addEventListener('abort', () => resolve('stopped')))
})
const stuck = workflow('stuck', async (ctx) => ctx.run(asks, 'how much?'))
const leaf = workflow('leaf', async (ctx) => ctx.run('grow', () => 1))
const branch = workflow('branch', async (ctx) => ctx.child(leaf, undefined, { workflowId: 'leaf-1' }))
const tree = workflow('tree', async (ctx) => ctx.child(branch, undefined, { workflowId: 'branch-1' }))
const hostiles = workflow('hostiles <img src=x onerror="window.__ran=1">', async (ctx, texts: readonly string[]) => {
  for (const [at, text] of texts.entries())
    await ctx.run(`${at} ${text.replaceAll(/\p{Cc}/gu, '')}`.slice(0, 200), () => ({ [text]: text }))
  const cause = Object.assign(new Error(texts.join('\n')), { name: texts[0] })
  throw Object.assign(new Error(texts.slice(0, 40).join(' ')), { name: texts[1], cause })
})

let browser: Browser
let engine: Engine
let url: string
let stop: () => Promise<void>

beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'pawl-ui-'))
  const workflows = [order, sheet, agent, stuck, leaf, branch, tree, hostiles]
  const quiet = { log: (): void => {} }
  engine = await open(`sqlite:${join(folder, 'pawl.db')}`, {
    workflows,
    activities: [charge, think, asks],
    logger: quiet,
  })
  engine.work({ signals: false })
  const api = server(engine, { ui: true, logger: quiet })
  url = (await api.listen({ port: 0 })).url
  stop = async () => {
    await api.close({ grace: 0 })
    await engine.close()
    await rm(folder, { recursive: true })
  }
  browser = await openBrowser()
})

afterAll(async () => {
  await browser?.close()
  await stop?.()
})

async function historyOf(workflowId: string): Promise<HistoryEvent[]> {
  const found: HistoryEvent[] = []
  for await (const event of engine.get({ workflowId }).history()) found.push(event)
  return found
}

function box(page: Page, name: string) {
  return page.locator('.step-box').getByRole('button', { name: new RegExp(` ${name} `) })
}

describe('I13: the page of a run', () => {
  test('the graph is drawn and coloured live; a list opens into its items', async () => {
    await engine.start(sheet, [1, 2, 3], { workflowId: 'sheet-1' })
    const { page, complaints } = await openPage(browser)
    await page.goto(`${url}/w/sheet-1/graph`)
    await page.getByRole('button', { name: /agreed.*waits, after sorry/ }).waitFor()
    await page.getByRole('button', { name: /Show the items of square/ }).click()
    await page.locator('.items').getByText('[2]').click()
    const panel = page.getByRole('complementary', { name: /square/ })
    await panel.getByText('three does not add up').waitFor()
    await panel.getByRole('button', { name: 'Close' }).click()

    await box(page, 'rows').focus()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('ArrowDown')
    expect(await page.evaluate('document.activeElement.textContent')).toContain('sorry')

    await engine.get({ workflowId: 'sheet-1' }).signal(agreed, { by: 'ada' })
    await page.getByRole('button', { name: /publish.*done, after agreed/ }).waitFor()
    expect(complaints).toEqual([])
    await page.close()
  })

  test('a machine is drawn with its moves, and its state at any event', async () => {
    const run = await engine.start(agent, 2, { workflowId: 'agent-1' })
    const { page, complaints } = await openPage(browser)
    await page.goto(`${url}/w/agent-1/graph`)
    await page.getByRole('group', { name: 'States of the machine' }).getByText('waiting').waitFor()
    const moves = page.getByRole('region', { name: 'Moves' })
    await moves.getByText('"waiting"').waitFor()
    await run.signal(agreed, { by: 'ada' })
    await moves.getByRole('cell', { name: 'completed' }).waitFor()
    const [, second] = (await historyOf('agent-1')).filter(({ type }) => type === 'StateMoved')
    await page.goto(`${url}/w/agent-1/graph?at=${second?.seq}`)
    await moves.getByText('"thinking"').waitFor()
    expect(await page.locator('.state-box').count()).toBe(1)
    expect(complaints).toEqual([])
    await page.close()
  })

  test('the past: steps, timeline and status are those after the event, and operations wait', async () => {
    await engine.start(order, { cents: 500 }, { workflowId: 'order-past' })
    const { page, complaints } = await openPage(browser)
    await page.goto(`${url}/w/order-past/steps`)
    await page.getByRole('cell', { name: 'agreed' }).waitFor()
    const slider = page.getByRole('slider', { name: 'Event that the page shows' })
    await slider.fill('1')
    const past = page.getByRole('region', { name: 'State of the run at an event' })
    await past.getByText('charge was requested').waitFor()
    expect(new URL(page.url()).searchParams.get('at')).toBe('1')
    await page.getByRole('cell', { name: 'agreed' }).waitFor({ state: 'detached' })
    await page.getByRole('cell', { name: 'running' }).waitFor()
    expect(await page.getByRole('button', { name: 'Cancel…' }).isDisabled()).toBe(true)
    await page.keyboard.press('Escape')
    await page.getByRole('region', { name: 'Why it makes no progress' }).waitFor()
    await page.keyboard.press('ArrowLeft')
    await past.waitFor()
    expect(complaints).toEqual([])
    await page.close()
  })

  test('a fork takes another result, and is compared with the run it came from', async () => {
    const run = await engine.start(order, { cents: 7 }, { workflowId: 'order-fork' })
    await run.signal(agreed, { by: 'ada' })
    await run.result()
    const { page, complaints } = await openPage(browser)
    await page.goto(`${url}/w/order-fork`)
    await page.getByRole('treegrid', { name: 'Timeline' }).getByText('pack').waitFor()
    await page.keyboard.press('f')
    const dialog = page.getByRole('dialog', { name: 'Fork order-fork' })
    await dialog.getByLabel('Results of kept steps').selectOption('charge')
    await dialog.getByRole('textbox', { name: /^charge/ }).fill('{"receipt":"R-by-hand"}')
    await dialog.getByText('Another result is recorded for charge').waitFor()
    await dialog.getByText(/^pawl fork .* --result 'activity:charge#1=/).waitFor()
    await dialog.getByRole('button', { name: 'Fork and compare' }).click()
    await page.waitForURL(/vs=/)
    await page.getByText('It completed').waitFor()
    await page.keyboard.press('7')
    const compare = page.getByRole('region', { name: 'Compare', exact: true })
    await compare.getByText('All 3 steps ended the same way').waitFor()
    await compare.getByText('parcel of R-by-hand for ada').waitFor()
    expect(complaints).toEqual([])
    await page.close()
  })

  test('a step is completed by hand, with the same as a command', async () => {
    const run = await engine.start(stuck, undefined, { workflowId: 'stuck-1' })
    const { page, complaints } = await openPage(browser)
    await page.goto(`${url}/w/stuck-1`)
    await page.getByRole('row', { name: /ask_a_person/ }).click()
    await page.getByRole('button', { name: 'More operations' }).click()
    await page.getByRole('menuitem', { name: 'Complete by hand…' }).click()
    const dialog = page.getByRole('dialog', { name: 'Complete by hand stuck-1' })
    await dialog.getByLabel('Result, as JSON').fill('"a lot"')
    await dialog.getByLabel('Note, for those who resume it').fill('asked by phone')
    await dialog.getByText(/^pawl resume .* --step '?activity:ask_a_person#1'? --result/).waitFor()
    await dialog.getByRole('button', { name: 'Complete by hand' }).click()
    await page.getByText('It completed').waitFor()
    expect(await run.result()).toBe('a lot')
    expect(complaints).toEqual([])
    await page.close()
  })

  test('parents and children are a tree, and a run is copied as what runs it again', async () => {
    await engine.start(tree, undefined, { workflowId: 'tree-1' }).then((run) => run.result())
    const { page, complaints } = await openPage(browser)
    await page.goto(`${url}/w/branch-1/children`)
    const rows = page.getByRole('treegrid').getByRole('row')
    await rows.getByText('leaf-1').waitFor()
    expect((await rows.allTextContents()).slice(1).map((row) => /[a-z]+-1/.exec(row)?.[0])).toEqual([
      ...['tree-1', 'branch-1', 'leaf-1'],
    ])
    await page.getByRole('button', { name: 'More operations' }).click()
    await page.getByRole('menuitem', { name: 'Copy this run…' }).click()
    await page.getByText('pawl start branch', { exact: true }).waitFor()
    await page.getByText("import { branch } from './workflows.ts'").waitFor()
    expect(complaints).toEqual([])
    await page.close()
  })

  test('the test that a run is copied as passes, and does what the run did', async () => {
    const run = await engine.start(order, { cents: 900 }, { workflowId: 'order-copy' })
    await run.signal(agreed, { by: '\u202e</script>' })
    await run.result()
    const source = testOf(await run.describe(), await historyOf('order-copy'))
    const code = source.replaceAll(/^import .*$/gm, '').replace(/^test\(.*, async/m, 'return (async')
    const names = ['testEngine', 'expect', 'signal', 'order', 'charge']
    const body = compileFunction(code, names)
    await (body as (...given: readonly unknown[]) => Promise<void>)(testEngine, expect, signal, order, charge)
    expect(source).toContain('the bank did not answer')
    expect(source).not.toContain('\u202e')
  })

  test('200 hostile texts in every field: no script runs, nothing is reported, the layout holds', async () => {
    const attributes = Object.fromEntries(hostile.slice(0, 12).map((text, at) => [`a${at}`, text.slice(0, 60)]))
    const memo = Object.fromEntries(hostile.map((text, at) => [text === '__proto__' ? `key ${at}` : text, text]))
    const workflowId = '"><img src=x onerror="window.__ran=1">'
    const run = await engine.start(hostiles, hostile, { workflowId, attributes, memo })
    await run.result().catch(() => {})
    const other = await engine.start(hostiles, hostile.slice(3, 20), { attributes })
    await other.result().catch(() => {})
    for (const viewport of [
      { width: 1_440, height: 900 },
      { width: 380, height: 800 },
    ]) {
      const { page, complaints } = await openPage(browser, { viewport })
      const [step] = await run.steps()
      const about = `/runs/${run.runId}`
      const shown: readonly (readonly [path: string, what: string])[] = [
        [`${about}/timeline?step=${encodeURIComponent(step?.key ?? '')}`, '.panel .json'],
        [`${about}/steps`, '.list td'],
        [`${about}/history?event=9`, '.panel .json'],
        [`${about}/values`, '.values .json'],
        [`${about}/children`, '.state'],
        [`${about}/graph`, '.state'],
        [`${about}/compare?vs=${other.runId}`, '.compare td'],
      ]
      // A narrow page has the same texts: the widest of them are looked at again.
      for (const [path, what] of viewport.width > 1_000 ? shown : shown.slice(0, 4)) {
        await page.goto(url + path)
        await page.locator(what).first().waitFor()
        const escaped = '#content script, #content img, #content iframe, #content style, #content link, #content b b'
        expect(await page.locator(escaped).count(), path).toBe(0)
        const sideways = 'document.documentElement.scrollWidth - document.documentElement.clientWidth'
        expect(await page.evaluate(sideways), `${path} at ${viewport.width}`).toBe(0)
      }
      await page.keyboard.press('f')
      await page.getByRole('dialog').getByText('Done again').waitFor()
      await page.keyboard.press('Escape')
      await page.getByRole('button', { name: 'More operations' }).click()
      await page.getByRole('menuitem', { name: 'Copy this run…' }).click()
      await page.getByRole('dialog').locator('pre.test').waitFor()
      expect(await page.evaluate('window.__ran'), `at ${viewport.width}`).toBeUndefined()
      expect(complaints).toEqual([])
      await page.close()
    }
  })

  test.for([
    { width: 1_440, height: 900, colorScheme: 'light' },
    { width: 380, height: 800, colorScheme: 'dark' },
  ] as const)('axe has nothing serious to say, $colorScheme, at $width', async ({ colorScheme, ...viewport }) => {
    const id = `axe-${colorScheme}`
    await engine.start(sheet, [1, 3], { workflowId: `${id}-sheet` })
    await engine.start(agent, 1, { workflowId: `${id}-agent` })
    await engine.start(order, { cents: 1 }, { workflowId: id })
    const { page, complaints } = await openPage(browser, { viewport, colorScheme })
    const pages = [
      [`/w/${id}-sheet/graph`, '.opener'],
      [`/w/${id}-agent/graph`, '.state-box'],
      [`/w/${id}/history?at=1`, '.events .at'],
      [`/w/${id}/compare`, '.choose li'],
      [`/w/${id}/compare?vs=w%3A${id}-sheet`, '.compare td'],
      ['/w/tree-1/children', 'table.tree td'],
    ] as const
    for (const [path, what] of viewport.width > 1_000 ? pages : pages.slice(0, 3)) {
      await page.goto(url + path)
      await page.locator(what).first().waitFor()
      expect(await axe(page), path).toEqual([])
      const sideways = 'document.documentElement.scrollWidth - document.documentElement.clientWidth'
      expect(await page.evaluate(sideways), `${path} scrolls sideways`).toBe(0)
    }
    await page.goto(`${url}/w/${id}`)
    await page.getByRole('treegrid', { name: 'Timeline' }).getByText('agreed').waitFor()
    await page.keyboard.press('f')
    await page.getByRole('dialog').getByText('Done again').waitFor()
    expect(await axe(page), 'fork').toEqual([])
    expect(complaints).toEqual([])
    await page.close()
  })
})

test('I13: what the first page loads is at most 250 kB, and drawing is not part of it', async () => {
  const folder = join(import.meta.dirname, '..', '..', 'dist', 'ui')
  const index = await readFile(join(folder, 'index.html'), 'utf8')
  const loaded = [...index.matchAll(/(?:src|href)="\/(assets\/[^"]+)"/g)].map(([, path = '']) => path)
  expect(loaded.join(' ')).toMatch(/\.js.*\.css/)
  const sizes = await Promise.all(loaded.map(async (path) => gzipSync(await readFile(join(folder, path))).length))
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(250_000)
  expect(loaded.filter((path) => /drawing|graph|machine/.test(path))).toEqual([])
})

describe('I13: what the page of a run computes', () => {
  test('a difference names the lines that were taken away and added', () => {
    const lines = diffOf('a\nb\nc\nd', 'a\nx\nc\nd\ne').map(({ kind, text }) => `${kind} ${text}`)
    expect(lines).toEqual(['same a', 'del b', 'add x', 'same c', 'same d', 'add e'])
  })

  test('steps of two runs are matched by their keys; what only one has stands alone', () => {
    const step = (key: string, state: 'completed' | 'failed') =>
      ({ step: key, key, kind: 'step', state, attempts: 1 }) as const
    const pairs = pairsOf([step('a', 'completed'), step('b', 'failed')], [step('c', 'failed'), step('a', 'completed')])
    expect(pairs.map(({ key, here, there, differs }) => [key, here?.state, there?.state, differs])).toEqual([
      ...[
        ['a', 'completed', 'completed', false],
        ['b', 'failed', undefined, true],
      ],
      ['c', undefined, 'failed', true],
    ])
  })
})
