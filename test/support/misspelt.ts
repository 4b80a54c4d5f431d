/** Returns misspellings of a name: a letter left out, doubled, or swapped with the next, and another case. */
export function misspelt(name: string): string[] {
  const middle = Math.floor(name.length / 2)
  const [before, after] = [name.slice(0, middle), name.slice(middle)]
  const swapped = `${before.slice(0, -1)}${after[0]}${before.at(-1)}${after.slice(1)}`
  return [before + after.slice(1), before + name[middle] + after, swapped, name.toUpperCase()]
}
