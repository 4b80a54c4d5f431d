/** A mistake in a template, and where in its text it is, from 0. */
export class Mistake extends Error {
  readonly at: number

  constructor(at: number, message: string) {
    super(message)
    this.at = at
  }
}
