// A client of server-sent events, as small as a test needs: it can stop reading, and keeps what it got.
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'

export interface SentEvent {
  readonly event: string
  readonly id: string | undefined
  readonly data: unknown
}

export interface Connect {
  /** The id of the last event that the client has. */
  readonly after?: string | undefined
  readonly token?: string
  /** Hears every event. Without it, events are kept. */
  readonly onEvent?: (event: SentEvent) => void
  /** Reads nothing until `response.resume()`. */
  readonly paused?: boolean
}

/** One connection. */
export class EventStream {
  readonly status: number
  readonly events: SentEvent[] = []
  comments = 0
  retry = 0
  /** Resolves when the connection is closed, by whomever: true if the answer was complete. */
  readonly ended: Promise<boolean>
  readonly response: IncomingMessage
  #text = ''
  #changed = Promise.withResolvers<void>()

  constructor(response: IncomingMessage, { onEvent, paused = false }: Connect) {
    this.response = response
    this.status = response.statusCode ?? 0
    response.setEncoding('utf8')
    response.on('data', (chunk: string) => {
      const parts = `${this.#text}${chunk}`.split('\n\n')
      this.#text = parts.pop() ?? ''
      for (const part of parts) this.#take(part, onEvent)
      this.#tell()
    })
    if (paused) response.pause()
    this.ended = new Promise((resolve) => {
      response.once('close', () => {
        resolve(response.complete)
        this.#tell()
      })
    })
    response.once('error', () => {})
  }

  static async connect(url: string, options: Connect = {}): Promise<EventStream> {
    const { after, token } = options
    const headers = {
      accept: 'text/event-stream',
      ...(after !== undefined && { 'last-event-id': after }),
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    }
    const request = get(url, { headers, agent: false })
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    // The server may be killed while it answers.
    request.on('error', () => {})
    return new EventStream(response, options)
  }

  get isClosed(): boolean {
    return this.response.destroyed || this.response.complete
  }

  named(event: string): SentEvent[] {
    return this.events.filter((each) => each.event === event)
  }

  /** Resolves when the events so far are good. Throws if the connection ends before. */
  async until(good: (events: readonly SentEvent[]) => boolean): Promise<void> {
    while (!good(this.events)) {
      if (this.isClosed) throw new Error(`the stream ended after ${this.events.length} events`)
      await this.#changed.promise
    }
  }

  close(): void {
    this.response.destroy()
  }

  #tell(): void {
    this.#changed.resolve()
    this.#changed = Promise.withResolvers()
  }

  #take(part: string, onEvent: Connect['onEvent']): void {
    const fields = new Map<string, string>()
    for (const line of part.split('\n')) {
      const at = line.indexOf(':')
      fields.set(line.slice(0, at), line.slice(at + 1).trim())
    }
    if (fields.has('')) this.comments++
    if (fields.has('retry')) this.retry = Number(fields.get('retry'))
    const event = fields.get('event')
    if (event === undefined) return
    const sent = { event, id: fields.get('id'), data: JSON.parse(fields.get('data') ?? 'null') as unknown }
    if (onEvent) onEvent(sent)
    else this.events.push(sent)
  }
}

/** Everything that a stream sends until it ends by itself. */
export async function allOf(url: string, options: Connect = {}): Promise<EventStream> {
  const stream = await EventStream.connect(url, options)
  await stream.ended
  return stream
}
