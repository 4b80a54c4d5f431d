// The version of pawl, from its manifest: two folders up, in src as in dist.
import { readFileSync } from 'node:fs'

export function version(): string {
  const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(manifest) as { readonly version: string }).version
}
