// The web UI: the files that the build made, from the same origin as the API. They hold no data and need no token.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { HttpAnswer, HttpRequest } from './http.ts'
import { API } from './router.ts'

/** Where the build puts the files: beside this code if it was built, else in the clone. */
const places = ['../ui/', '../../dist/ui/'].map((path) => fileURLToPath(new URL(path, import.meta.url)))

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/** Only files of this origin run or style a page. It sends nothing elsewhere, and no other page can frame it. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ')

/** The names of hashed files change with what is in them, so a browser may keep them for good. */
const FOR_GOOD = 'public, max-age=31536000, immutable'

const missing = `The web UI is not here: this copy of pawl was built without it. In a clone, run: npm run build
The API answers below ${API}.
`

export class WebUi {
  #files: ReadonlyMap<string, string> | undefined

  /** The answer to a browser that asks for a page or one of its files; undefined if the request is something else. */
  answer(request: HttpRequest): HttpAnswer | undefined {
    const { method, target } = request
    if (method !== 'GET' && method !== 'HEAD') return undefined
    const [path = '/'] = target.split(/[?#]/, 1)
    this.#files ??= filesIn(places.find((place) => existsSync(join(place, 'index.html'))))
    const file = this.#files.get(path)
    if (file !== undefined && path !== '/index.html') return fileAnswer(path, file)
    // Programs do not ask for HTML, so they get the errors of the API.
    if (path.startsWith(API) || !(request.header('accept') ?? '').includes('text/html')) return undefined
    const page = this.#files.get('/index.html')
    if (page !== undefined) return { ...fileAnswer('/index.html', page), status: 200 }
    return { status: 404, headers: { 'content-type': 'text/plain; charset=utf-8' }, body: missing }
  }
}

function fileAnswer(path: string, body: string): HttpAnswer {
  const headers = {
    'content-type': types[extname(path)] ?? 'application/octet-stream',
    'content-security-policy': policy,
    'cache-control': path.startsWith('/assets/') ? FOR_GOOD : 'no-cache',
  }
  return { status: 200, headers, body }
}

/** The files by their paths. There are few, so they are kept, and no path of a request reaches the disk. */
function filesIn(folder: string | undefined): ReadonlyMap<string, string> {
  if (folder === undefined) return new Map()
  const names = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((each) => each.isFile())
  return new Map(
    names.map(({ parentPath, name }) => {
      const path = join(parentPath, name)
      return [`/${path.slice(folder.length).replaceAll('\\', '/')}`, readFileSync(path, 'utf8')] as const
    }),
  )
}
