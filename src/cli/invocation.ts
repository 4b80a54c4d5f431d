// How to invoke this command line again: the command a user would type, and the files of its other processes. The files
// are .ts in the repository and .js in the package, where this module may be bundled into another folder.
import { basename, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const extension = import.meta.url.endsWith('.ts') ? '.ts' : '.js'

/** The command for this program, as it can be typed in the current folder. */
export function selfCommand(): string {
  const main = processFile('main')
  // The repository brings its own Node, which npx finds before an older one.
  if (extension === '.ts') return `npx node ${relative('.', main)}`
  return basename(process.argv[1] ?? '') === 'pawl' ? installedCommand() : `node ${relative('.', main)}`
}

/** `pawl`, or `npx pawl` if it is installed in a project and not on the path. */
export function installedCommand(): string {
  return /\bnode_modules\b.*\bpawl$/.test(process.argv[1] ?? '') ? 'npx pawl' : 'pawl'
}

/** The file of a module that runs as its own process; `name` is its path without the extension. */
export function processFile(name: string): string {
  return fileURLToPath(new URL(`../cli/${name}${extension}`, import.meta.url))
}
