// Reads YAML 1.2, core schema, as far as JSON can express it: no custom tags, merge keys or directives, one document.
// The library composes values by recursion, and a stack overflow inside it can end the process. Its parser does not
// recurse, so the parser is driven by hand and stopped before the nesting is too deep.

import {
  Composer,
  type CST,
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  Lexer,
  type ParsedNode,
  Parser,
} from 'yaml'
import { limits } from '../../core/base/limits.ts'
import { quote } from '../../core/base/visible.ts'
import type { Path, Problems } from './problems.ts'

/** `before` is put before the message if the text cannot be read. */
export function parseYaml(text: string, problems: Problems, before: string): unknown {
  const refuse: Refuse = (offset, why) => {
    const { line, column } = positionIn(text, offset)
    problems.add([], 'SYNTAX', `${before}line ${line}, column ${column}: ${why}`)
    return problems.refuse()
  }
  refuseSigns(text, problems)
  const document = compose(tokensOf(text, problems, refuse), text.length)
  const first = document.errors[0] ?? document.warnings[0]
  if (first !== undefined) return refuse(first.pos[0], first.message)
  return new ValueReader(problems).value(document.contents, [])
}

const NEWLINE = 10
const SIGNS: ReadonlySet<number> = new Set(Buffer.from('{}[],'))

// Counting takes milliseconds; parsing a document of punctuation would block for seconds.
function refuseSigns(text: string, problems: Problems): void {
  let lines = 0
  let signs = 0
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (unit === NEWLINE) lines++
    else if (SIGNS.has(unit)) signs++
  }
  const { graphLinesMax, graphSignsMax } = limits
  const tooMany = lines > graphLinesMax ? `${graphLinesMax} lines` : `${graphSignsMax} brackets, braces and commas`
  if (lines <= graphLinesMax && signs <= graphSignsMax) return
  problems.add([], 'LIMIT', `the document has more than ${tooMany}: split it into several graphs`)
  problems.refuse()
}

type Refuse = (offset: number, why: string) => never

function tokensOf(text: string, problems: Problems, refuse: Refuse): CST.Token[] {
  const parser = new Parser()
  const tokens: CST.Token[] = []
  let documents = 0
  const take = (token: CST.Token): void => {
    if (token.type === 'error') refuse(token.offset, token.message)
    if (token.type === 'directive') refuse(token.offset, 'YAML directives are not supported: remove it')
    if (token.type === 'document' && ++documents > 1) {
      refuse(token.offset, 'a second document begins here: submit each graph separately')
    }
    tokens.push(token)
  }
  let lexemes = 0
  for (const lexeme of new Lexer().lex(text)) {
    for (const token of parser.next(lexeme)) take(token)
    const isDeep = parser.stack.length > stackMax
    if (!isDeep && ++lexemes <= limits.graphTokensMax) continue
    const depth = `is nested more than ${limits.graphDepthMax} levels deep`
    const why = isDeep ? depth : `has more than ${limits.graphTokensMax} tokens`
    problems.add([], 'LIMIT', `the document ${why}: split it into several graphs`)
    problems.refuse()
  }
  for (const token of parser.end()) take(token)
  return tokens
}

/** The document and a scalar in it also take places on the parser's stack. */
const stackMax = limits.graphDepthMax + 3

const options = {
  version: '1.2',
  schema: 'core',
  merge: false,
  customTags: null,
  resolveKnownTags: false,
  stringKeys: true,
  // The library's check is quadratic; duplicate keys are found below with a map.
  uniqueKeys: false,
  prettyErrors: false,
  logLevel: 'silent',
} as const

function compose(tokens: readonly CST.Token[], length: number): Document.Parsed {
  // A text can contain a million errors, and each of them would capture a stack.
  const traces = Error.stackTraceLimit
  Error.stackTraceLimit = 0
  try {
    const [document] = new Composer(options).compose(tokens, true, length)
    return document as Document.Parsed
  } finally {
    Error.stackTraceLimit = traces
  }
}

/** Converts YAML nodes to values. Aliases share the value of their anchor; the caller copies within its limits. */
class ValueReader {
  readonly #problems: Problems
  readonly #anchors = new Map<string, { readonly value: unknown } | 'open'>()
  #aliases = 0

  constructor(problems: Problems) {
    this.#problems = problems
  }

  value(node: ParsedNode | null, path: Path): unknown {
    if (node === null) return null
    if (isAlias(node)) return this.#named(node.source, path)
    const { anchor } = node
    if (anchor !== undefined) this.#anchors.set(anchor, 'open')
    const value = this.#made(node, path)
    if (anchor !== undefined) this.#anchors.set(anchor, { value })
    return value
  }

  #made(node: ParsedNode, path: Path): unknown {
    if (isScalar(node)) return node.value
    if (isSeq(node)) return node.items.map((item, index) => this.value(item, [...path, index]))
    if (!isMap(node)) return null
    const record = new Map<string, unknown>()
    for (const { key, value } of node.items) {
      const name = isScalar(key) ? String(key.value) : ''
      const place = [...path, name]
      if (record.has(name)) this.#repeated(name, place)
      record.set(name, this.value(value, place))
    }
    return Object.fromEntries(record)
  }

  #repeated(name: string, path: Path): void {
    const message = `the field ${quote(name)} appears twice: remove one of them`
    this.#problems.add(path, 'SYNTAX', message)
  }

  #named(anchor: string, path: Path): unknown {
    if (++this.#aliases > limits.graphAliasesMax) {
      const message = `the document has more than ${limits.graphAliasesMax} references to anchors: write the values out`
      this.#problems.add(path, 'LIMIT', message)
      this.#problems.refuse()
    }
    const known = this.#anchors.get(anchor)
    if (known !== undefined && known !== 'open') return known.value
    const why = known ? 'is part of its own anchor' : 'has no anchor before it'
    this.#problems.add(path, 'SYNTAX', `*${anchor.slice(0, 60)} ${why}`)
    return null
  }
}

/** The line and the column of an offset, both from 1. */
export function positionIn(text: string, offset: number): { line: number; column: number } {
  let line = 1
  let start = 0
  for (let at = text.indexOf('\n'); at !== -1 && at < offset; at = text.indexOf('\n', at + 1)) {
    line++
    start = at + 1
  }
  return { line, column: offset - start + 1 }
}
