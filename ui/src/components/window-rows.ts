// Windowing of long lists with rows of one height: only what is in sight is rendered.
import { type RefObject, useEffect, useState } from 'react'

export interface Window {
  readonly first: number
  /** One after the last. */
  readonly end: number
}

const AHEAD = 12

/** The rows of a scrolling element that are in sight, and some around them. The element may be shown later. */
export function useWindow(
  box: RefObject<HTMLElement | null>,
  rows: number,
  rowPx: number,
  isShown: boolean = rows > 0,
): Window {
  const [shown, setShown] = useState<Window>({ first: 0, end: 60 })
  useEffect(() => {
    const element = box.current
    if (!element || !isShown) return
    const measure = (): void => {
      const first = Math.max(0, Math.floor(element.scrollTop / rowPx) - AHEAD)
      const end = Math.ceil((element.scrollTop + element.clientHeight) / rowPx) + AHEAD
      setShown((before) => (before.first === first && before.end === end ? before : { first, end }))
    }
    measure()
    element.addEventListener('scroll', measure, { passive: true })
    const observer = new ResizeObserver(measure)
    observer.observe(element)
    return () => {
      element.removeEventListener('scroll', measure)
      observer.disconnect()
    }
  }, [box, rowPx, isShown])
  return { first: Math.min(shown.first, Math.max(0, rows - 1)), end: Math.min(shown.end, rows) }
}

const narrow = '(max-width: 719px)'

/** True on a phone. */
export function useNarrow(): boolean {
  const [isNarrow, setNarrow] = useState(() => matchMedia(narrow).matches)
  useEffect(() => {
    const query = matchMedia(narrow)
    const change = (): void => setNarrow(query.matches)
    query.addEventListener('change', change)
    return () => query.removeEventListener('change', change)
  }, [])
  return isNarrow
}
