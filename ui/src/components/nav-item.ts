/** A page that the navigation leads to. */
export interface NavItem {
  readonly path: string
  readonly label: string
  /** A symbol of the sprite. */
  readonly icon: string
  /** The key after `g`. */
  readonly key: string
}
