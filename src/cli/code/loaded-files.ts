// The files that this process loads: those of the user, not of packages and not of pawl.
import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { fileURLToPath } from 'node:url'
import { digest } from '../../core/base/digest.ts'
import type { LoadedFile } from './messages.ts'

/** The folder of pawl: src in the repository, dist in the package. */
const own = new URL('../../', import.meta.url).href

/** The digest of a file that cannot be read. */
export const MISSING = 'missing'

export function digestOf(path: string): string {
  try {
    return digest(readFileSync(path, 'latin1'))
  } catch {
    return MISSING
  }
}

/** Calls `found` with every file that is loaded from now on, once. A file that an import misses counts, too. */
export function watchLoading(found: (file: LoadedFile) => void): void {
  const seen = new Set<string>()
  const note = (url: string): void => {
    if (!url.startsWith('file:') || url.startsWith(own) || url.includes('/node_modules/')) return
    const path = fileURLToPath(new URL(url.replace(/[?#].*$/, '')))
    if (seen.has(path)) return
    seen.add(path)
    found([path, digestOf(path)])
  }
  registerHooks({
    resolve(specifier, context, next) {
      try {
        return next(specifier, context)
      } catch (error) {
        const { parentURL } = context
        if (/^\.{0,2}\//.test(specifier) && parentURL !== undefined) note(new URL(specifier, parentURL).href)
        throw error
      }
    },
    load(url, context, next) {
      note(url)
      return next(url, context)
    },
  })
}
