export class SqliteStore {
  static async open(_url: string, _clock: unknown): Promise<never> {
    throw new Error('x')
  }
}
