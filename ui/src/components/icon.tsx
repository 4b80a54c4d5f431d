import type { ReactNode } from 'react'

/** A symbol of the sprite in index.html. */
export function Icon({ name, small = false }: { readonly name: string; readonly small?: boolean }): ReactNode {
  return (
    <svg className={small ? 'i s' : 'i'} aria-hidden="true">
      <use href={`#${name}`} />
    </svg>
  )
}
