// Earlier releases of pawl as users had them: built and packed from commits of this repository, and unpacked beside the
// packages that this one uses. None was published yet, so a commit stands for each.
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rename, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'

const root = join(import.meta.dirname, '..', '..')
const cache = join(root, 'node_modules', '.cache', 'releases')
const execute = promisify(execFile)

export interface Release {
  readonly commit: string
  /** What it is for. */
  readonly about: string
}

/** Before the tables learned what runs wait for, and before there was a server. */
export const earlier: Release = { commit: 'ea9f648c2fe13bd6cae3b9f3ed53e6ae42f80204', about: 'six migrations' }
/** With the tables of today, and a server. */
export const recent: Release = { commit: '35d9ee4148adf465db4ee2b0406ee40598293eb7', about: 'a server' }

/** The folder of the package. It is built once for each clone. */
export async function unpacked({ commit }: Release): Promise<string> {
  const folder = join(cache, commit.slice(0, 12))
  if (existsSync(join(folder, 'dist'))) return folder
  await expectCommit(commit)
  await mkdir(cache, { recursive: true })
  // Node runs no TypeScript below node_modules.
  const [work, unpacking] = [await mkdtemp(join(tmpdir(), 'pawl-release-')), await mkdtemp(join(cache, 'new-'))]
  try {
    const source = join(work, 'source')
    await mkdir(source)
    await execute('sh', ['-c', `git archive ${commit} | tar -x -C "${source}"`], { cwd: root })
    await expectSamePackages(source, commit)
    await symlink(join(root, 'node_modules'), join(source, 'node_modules'))
    await execute(process.execPath, [join(source, 'scripts', 'build.ts')], { cwd: source })
    await packInto(unpacking, source)
    // Another process may have been faster.
    await rename(join(unpacking, 'package'), folder).catch((error: unknown) => {
      if (!existsSync(join(folder, 'dist'))) throw error
    })
    return folder
  } finally {
    for (const each of [work, unpacking]) await rm(each, { recursive: true, force: true })
  }
}

/** The package of this one, unpacked in a folder that the caller deletes. Needs a build. */
export async function current(): Promise<string> {
  if (!existsSync(join(root, 'dist'))) throw new Error('run npm run build first')
  await mkdir(cache, { recursive: true })
  const unpacking = await mkdtemp(join(cache, 'this-'))
  await packInto(unpacking, root)
  return join(unpacking, 'package')
}

async function packInto(folder: string, source: string): Promise<void> {
  const { stdout } = await execute('npm', ['pack', '--ignore-scripts', '--pack-destination', folder], { cwd: source })
  await execute('tar', ['-xzf', stdout.trim().split('\n').at(-1) ?? ''], { cwd: folder })
}

async function expectCommit(commit: string): Promise<void> {
  try {
    await execute('git', ['cat-file', '-e', `${commit}^{commit}`], { cwd: root })
  } catch (error) {
    const problem = `this folder has no commit ${commit}, which the test of upgrades builds an earlier release from`
    throw new Error(`${problem}. Test in a clone with its history: git fetch --unshallow`, { cause: error })
  }
}

/** What the package needs at run time is installed here in the same version. */
async function expectSamePackages(source: string, commit: string): Promise<void> {
  const versions = async (folder: string): Promise<Readonly<Record<string, string>>> => {
    const { dependencies } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as {
      readonly dependencies: Readonly<Record<string, string>>
    }
    return dependencies
  }
  const [theirs, ours] = await Promise.all([versions(source), versions(root)])
  const other = Object.entries(theirs).filter(([name, version]) => ours[name] !== version)
  if (other.length === 0) return
  const list = other.map(([name, version]) => `${name} ${version}`).join(', ')
  throw new Error(`commit ${commit} needs ${list}, which is not what this one has. Choose a later commit.`)
}

/** Flags of Node for a program of the tests that shall use this release instead of `src`. */
export function asRelease(folder: string | undefined): readonly string[] {
  if (folder === undefined) return []
  const hook = pathToFileURL(join(import.meta.dirname, 'as-release.ts'))
  hook.searchParams.set('folder', folder)
  return ['--import', hook.href]
}
