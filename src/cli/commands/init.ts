// Writes a small project that works: workflows, a program that starts one, a test.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { basename, join, relative, resolve } from 'node:path'
import { Command } from 'commander'
import { PawlError } from '../../core/base/errors.ts'
import { shellWord } from '../../core/base/shell.ts'
import { projectFiles } from '../init/project.ts'
import { paint, print } from '../output.ts'

export function initCommand(): Command {
  return new Command('init')
    .description('write a small project that works: workflows, a program that starts one, a test')
    .argument('[folder]', 'where to write it', '.')
    .action(init)
}

function init(folder: string): void {
  const path = resolve(folder)
  const files = Object.entries(projectFiles(nameOf(path)))
  // Nothing is written if anything is in the way.
  const there = files.map(([name]) => name).filter((name) => existsSync(join(path, name)))
  if (there.length > 0) {
    throw new PawlError(
      'INPUT_INVALID',
      `${folder} has ${there.join(', ')} already, and init overwrites nothing. Choose another folder: pawl init my-project`,
    )
  }
  mkdirSync(path, { recursive: true })
  for (const [name, text] of files) {
    writeFileSync(join(path, name), text, { flag: 'wx' })
    print(`wrote ${join(relative('.', path), name)}`)
  }
  print()
  print('Next:')
  const steps = [
    ...(path === resolve('.') ? [] : [`cd ${shellWord(relative('.', path))}`]),
    'npm install',
    'npm test',
    'npm run dev          # then, in another terminal: npm start',
  ]
  for (const step of steps) print(`  ${paint('cyan', step)}`)
}

/** A name that npm takes. */
function nameOf(path: string): string {
  const name = basename(path)
    .toLowerCase()
    .replace(/[^a-z0-9-]+/g, '-')
    .replace(/^-+|-+$/g, '')
  return name || 'workflows'
}
