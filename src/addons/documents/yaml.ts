// YAML 1.2, core schema, as far as it says what JSON says: no tags of one's own, no merge keys, no directives, one document.
// The library composes by recursion, and a stack that overflows inside it can end the process; so its parser, which does
// not recurse, is driven by hand and stopped before anything is too deep.
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
import { positionIn } from './position.ts'
import type { Path, Problems } from './problems.ts'

/** `before` begins the message if the text cannot be read. */
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
  return new Reading(problems).value(document.contents, [])
}

const NEWLINE = 10
const SIGNS: ReadonlySet<number> = new Set(Buffer.from('{}[],'))

// Counting costs a few milliseconds; finding out by parsing that there is nothing in it would block for seconds.
function refuseSigns(text: string, problems: Problems): void {
  let lines = 0
  let signs = 0
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (unit === NEWLINE) lines++
    else if (SIGNS.has(unit)) signs++
  }
  const { graphLinesMax, graphSignsMax } = limits
  const tooMany =
    lines > graphLinesMax
      ? `${graphLinesMax} lines`
      : `${graphSignsMax} brackets, braces and commas`
  if (lines <= graphLinesMax && signs <= graphSignsMax) return
  problems.add([], 'LIMIT', `it has more than ${tooMany}: split it into several graphs`)
  problems.refuse()
}

type Refuse = (offset: number, why: string) => never

function tokensOf(text: string, problems: Problems, refuse: Refuse): CST.Token[] {
  const parser = new Parser()
  const tokens: CST.Token[] = []
  let documents = 0
  const take = (token: CST.Token): void => {
    if (token.type === 'error') refuse(token.offset, token.message)
    if (token.type === 'directive') refuse(token.offset, 'directives are not taken: leave it out')
    if (token.type === 'document' && ++documents > 1) {
      refuse(token.offset, 'a second document begins here: put each graph into a text of its own')
    }
    tokens.push(token)
  }
  let lexemes = 0
  for (const lexeme of new Lexer().lex(text)) {
    for (const token of parser.next(lexeme)) take(token)
    const isDeep = parser.stack.length > stackMax
    if (!isDeep && ++lexemes <= limits.graphTokensMax) continue
    const depth = `nested more than ${limits.graphDepthMax} levels deep`
    const why = isDeep ? depth : `made of more than ${limits.graphTokensMax} words and signs`
    problems.add([], 'LIMIT', `it is ${why}`)
    problems.refuse()
  }
  for (const token of parser.end()) take(token)
  return tokens
}

/** What is not a collection takes places on the parser's stack, too: the document, and a scalar in it. */
const stackMax = limits.graphDepthMax + 3

const options = {
  version: '1.2',
  schema: 'core',
  merge: false,
  customTags: null,
  resolveKnownTags: false,
  stringKeys: true,
  // It compares each key with every other; it is done below, by a set.
  uniqueKeys: false,
  prettyErrors: false,
  logLevel: 'silent',
} as const

function compose(tokens: readonly CST.Token[], length: number): Document.Parsed {
  // A text can hold a million mistakes, and each would be an error with a stack.
  const traces = Error.stackTraceLimit
  Error.stackTraceLimit = 0
  try {
    const [document] = new Composer(options).compose(tokens, true, length)
    return document as Document.Parsed
  } finally {
    Error.stackTraceLimit = traces
  }
}

/** From nodes to values. What an anchor names is shared, and copied only by who knows how much may be copied. */
class Reading {
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
    const message = `the field ${quote(name)} is there twice: leave one of them out`
    this.#problems.add(path, 'SYNTAX', message)
  }

  #named(anchor: string, path: Path): unknown {
    if (++this.#aliases > limits.graphAliasesMax) {
      const message = `more than ${limits.graphAliasesMax} references to anchors`
      this.#problems.add(path, 'LIMIT', message)
      this.#problems.refuse()
    }
    const known = this.#anchors.get(anchor)
    if (known !== undefined && known !== 'open') return known.value
    const why = known ? 'refers back to what it is a part of' : 'names no anchor before it'
    this.#problems.add(path, 'SYNTAX', `*${anchor.slice(0, 60)} ${why}`)
    return null
  }
}
