// The files of a new project.
import { version } from '../../operations/version.ts'

export type ProjectFiles = Readonly<Record<string, string>>

export function projectFiles(name: string): ProjectFiles {
  return {
    'package.json': `${JSON.stringify(manifest(name), null, 2)}\n`,
    'tsconfig.json': `${JSON.stringify(compilerSettings, null, 2)}\n`,
    '.gitignore': 'node_modules/\n*.db\n*.db-*\n',
    'workflows.ts': workflows,
    'start.ts': start,
    'workflows.test.ts': tests,
  }
}

function manifest(name: string): object {
  return {
    name,
    private: true,
    type: 'module',
    engines: { node: '>=24' },
    scripts: {
      dev: 'pawl dev workflows.ts',
      start: 'node start.ts',
      test: 'node --test',
      check: 'tsc --noEmit',
    },
    dependencies: { pawl: `^${version()}` },
    devDependencies: { '@types/node': '^24.0.0', typescript: '>=5.8' },
  }
}

const compilerSettings = {
  compilerOptions: {
    target: 'es2024',
    module: 'nodenext',
    types: ['node'],
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    erasableSyntaxOnly: true,
    verbatimModuleSyntax: true,
    allowImportingTsExtensions: true,
  },
  include: ['*.ts'],
}

const workflows = `// What runs durably. \`npm run dev\` loads this file again whenever it changes.
import { activity, signal, TIMEOUT, workflow } from 'pawl'

export interface Order {
  id: string
  cents: number
}

// An activity has effects. It is retried until its result is recorded, and never runs again after that.
export const charge = activity('charge_card', async (order: Order, ctx) => {
  console.log(\`charging \${order.cents} cents, idempotency key \${ctx.idempotencyKey}\`)
  return \`receipt-\${order.id}\`
})

export const approval = signal<{ approved: boolean }>('approval')

// A workflow decides what happens. It waits for days as easily as for seconds.
export const order = workflow('order', async (ctx, input: Order) => {
  if (input.cents > 10_000) {
    const decision = await ctx.wait(approval, { timeout: '24h' })
    if (decision === TIMEOUT || !decision.approved) return { status: 'rejected' as const }
  }
  const receipt = await ctx.run(charge, input)
  await ctx.sleep('1s')
  return { status: 'paid' as const, receipt }
})
`

const start = `// Starts an order and waits for its result. A worker must be running: npm run dev
import { open } from 'pawl'
import { order } from './workflows.ts'

await using pawl = await open(process.env['PAWL_STORE'] ?? 'sqlite:./pawl.db')
const run = await pawl.start(order, { id: 'A1', cents: 1999 })
console.log(\`started run \${run.runId}\`)
console.log(await run.result())
`

const tests = `import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testEngine } from 'pawl/testing'
import { approval, charge, order } from './workflows.ts'

test('a small order is paid', async () => {
  await using engine = await testEngine({ workflows: [order], activities: [charge] })
  const run = await engine.start(order, { id: 'A1', cents: 1999 })
  assert.deepEqual(await run.result(), { status: 'paid', receipt: 'receipt-A1' })
})

test('a large order waits for an approval, also through a crash', async () => {
  await using engine = await testEngine({ workflows: [order], activities: [charge] })
  const run = await engine.start(order, { id: 'A2', cents: 50_000 })
  await engine.crash()
  await run.signal(approval, { approved: true })
  assert.deepEqual(await run.result(), { status: 'paid', receipt: 'receipt-A2' })
})

test('without an approval it is rejected after a day, which costs no time here', async () => {
  await using engine = await testEngine({ workflows: [order], activities: [charge] })
  const run = await engine.start(order, { id: 'A3', cents: 50_000 })
  assert.deepEqual(await run.result(), { status: 'rejected' })
})
`
