// Imports a peer. Node resolves a bare name from the file that asks for it, so this file has to stand
// beside the peers' node_modules; nothing else in the repository can reach them by accident.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const modules = join(import.meta.dirname, 'node_modules')

/** The caller names the part of the peer's module it uses: type checking must not need the peers. */
export async function loadPeer<Module>(name: string): Promise<Module> {
  return await import(name)
}

export function peerFile(name: string, ...path: string[]): string {
  return join(modules, name, ...path)
}

export function peerVersion(name: string): string {
  try {
    const manifest: unknown = JSON.parse(readFileSync(peerFile(name, 'package.json'), 'utf8'))
    return hasVersion(manifest) ? manifest.version : 'unknown'
  } catch {
    return 'not installed'
  }
}

function hasVersion(manifest: unknown): manifest is { version: string } {
  return typeof manifest === 'object' && manifest !== null && 'version' in manifest
}
