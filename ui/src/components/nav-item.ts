/** A page that the navigation leads to. */
export interface NavItem {
  readonly path: string
  readonly label: string
  /** A symbol of the sprite. */
  readonly icon: string
  /** The key after `g`. */
  readonly key: string
  /** The heading above it, if it is the first of a group. */
  readonly group?: string
  /** It is in the bar of a phone; the others are behind `More`. */
  readonly isMain?: true
  /** Its label there, if another fits better. */
  readonly short?: string
}
