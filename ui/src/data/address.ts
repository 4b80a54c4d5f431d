// What a page shows is in its address.
import { useLocation, useSearchParams } from 'wouter'

export { runPath, runsPath } from './pages.ts'

/** A field of the query of the address. An empty one is left out. */
export function useField(name: string): readonly [string, (value: string, options?: { push?: boolean }) => void] {
  const [fields, setFields] = useSearchParams()
  const set = (value: string, { push = false }: { push?: boolean } = {}): void =>
    setFields(
      (before) => {
        const next = new URLSearchParams(before)
        if (value === '') next.delete(name)
        else next.set(name, value)
        return next
      },
      { replace: !push },
    )
  return [fields.get(name) ?? '', set]
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
