// What a page shows is in its address.
import { useLocation, useSearch } from 'wouter'

export { runPath, runsPath } from './pages.ts'

/** A field of the query of the address. An empty one is left out. */
export function useField(name: string): readonly [string, (value: string, options?: { push?: boolean }) => void] {
  // The router says when it changes; but it decodes it, so that a value with an escape would be decoded twice.
  useSearch()
  const [, go] = useLocation()
  const set = (value: string, { push = false }: { push?: boolean } = {}): void => {
    const fields = new URLSearchParams(location.search)
    if (value === '') fields.delete(name)
    else fields.set(name, value)
    go(`${location.pathname}${fields.size > 0 ? `?${fields}` : ''}`, { replace: !push })
  }
  return [new URLSearchParams(location.search).get(name) ?? '', set]
}

/** A segment of the path, whatever characters it holds: the router decodes only some of them. */
export function useSegment(place: number): string {
  useLocation()
  const segment = location.pathname.split('/')[place + 1] ?? ''
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}
