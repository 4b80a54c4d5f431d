// What every entry point exports, as a list in the repository: a name that is added, or gone, is a decision that a reviewer sees.
// `npx vitest run --project unit test/types/exports.test.ts -u` writes it anew.
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '..', '..')

type Manifest = { readonly exports: Readonly<Record<string, { readonly types: string }>> }

/** Values by their names, types as `type Name`. */
function exportsOf(path: string, asTypes = false): string[] {
  const text = readFileSync(path, 'utf8').replace(/\/\*[^]*?\*\/|^\s*\/\/.*$/gm, '')
  const named = (isType: boolean, name: string): string => (isType ? `type ${name}` : name)
  const found: string[] = []
  for (const [, type, list = ''] of text.matchAll(/^export (type )?\{([^}]*)\}/gm)) {
    for (const each of list.split(',').filter((item) => item.trim() !== '')) {
      const [, own, name, alias] = /^\s*(type )?(\w+)(?: as (\w+))?\s*$/.exec(each) ?? []
      found.push(named(asTypes || Boolean(type ?? own), alias ?? name ?? each))
    }
  }
  for (const [, type, from = ''] of text.matchAll(/^export (type )?\* from '(.+)'/gm))
    found.push(...exportsOf(join(dirname(path), from), asTypes || type !== undefined))
  const declared = /^export (?:declare )?(?:async )?(interface|type|class|abstract class|const|function\*?) (\w+)/gm
  for (const [, kind = '', name = ''] of text.matchAll(declared))
    found.push(named(asTypes || kind === 'interface' || kind === 'type', name))
  return found
}

test('house: every entry point exports what the list says', async () => {
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest
  const lists = Object.entries(manifest.exports).map(([entry, { types }]) => {
    const source = types.replace('./dist/', 'src/').replace(/\.d\.ts$/, '.ts')
    const names = exportsOf(join(root, source)).toSorted()
    return `${entry.replace('.', 'pawl')}\n${names.map((name) => `  ${name}\n`).join('')}`
  })
  await expect(lists.join('\n')).toMatchFileSnapshot('exports.txt')
})

test('house: what an entry point exports at run time is in the list', async () => {
  const list = readFileSync(join(import.meta.dirname, 'exports.txt'), 'utf8')
  const [first = ''] = list.split('\n\n')
  const values = first
    .split('\n')
    .slice(1)
    .map((line) => line.trim())
  const known = values.filter((name) => name !== '' && !name.startsWith('type '))
  expect(Object.keys(await import('pawl')).toSorted()).toEqual(known)
})

test('house: everything that pawl exports has a comment for editors', () => {
  const entry = readFileSync(join(root, 'src', 'index.ts'), 'utf8')
  const bare: string[] = []
  for (const [, list = '', from = ''] of entry.matchAll(/^export (?:type )?\{([^}]*)\} from '(.+)'/gm)) {
    const text = readFileSync(join(root, 'src', from), 'utf8')
    for (const [name] of list.matchAll(/\b(?!type )\w+/g)) {
      const declared = new RegExp(`^export (?:async )?(?:interface|type|class|const|function) ${name}\\b`, 'm')
      const at = declared.exec(text)?.index
      if (at !== undefined && !text.slice(0, at).endsWith('*/\n')) bare.push(name)
    }
  }
  expect(bare).toEqual([])
})
