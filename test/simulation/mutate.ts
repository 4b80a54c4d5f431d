// Loaded before a simulation: plants one bug of `mutants.ts` into the source as it is read. The code under test has
// no switches for it; a mutant whose text is not found exactly once is itself an error.
import { registerHooks } from 'node:module'
import { mutants } from './mutants.ts'

const name = process.env['PAWL_MUTANT']
const mutant = mutants.find((each) => each.name === name)
if (!mutant) throw new Error(`there is no mutant '${name}'`)

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context)
    const patches = mutant.patches.filter(({ file }) => url.endsWith(`/src/${file}`))
    if (patches.length === 0) return loaded
    let source = Buffer.from(loaded.source as Uint8Array).toString()
    for (const { find, replace } of patches) {
      if (source.split(find).length !== 2) {
        console.error(`mutant '${name}' does not fit its file any more: ${find}`)
        process.exit(3)
      }
      source = source.replace(find, () => replace)
    }
    return { ...loaded, source }
  },
})
