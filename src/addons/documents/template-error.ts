/** An error in a template, with its offset in the text. */
export class TemplateError extends Error {
  readonly at: number

  constructor(at: number, message: string) {
    super(message)
    this.at = at
  }
}
