// `graph` as users meet it: defined in code, or parsed from a document.
import type { Json } from '../../core/base/value.ts'
import { type DefineGraph, defineGraph, graphOfDocument, type Workflow } from '../../core/index.ts'
import { parseGraph } from './parse.ts'

/** Defines a graph: `graph<Input>('order').step('reserve', …).step('ship', { after: ['reserve'] }, …)`. */
export const graph: DefineGraph & {
  /** Checks a graph document, JSON or YAML, and reports every problem at once. */
  parse(document: string | Json): Workflow<Json, Json>
} = Object.assign(((name: string, options?: object) => defineGraph(name, options as never)) as DefineGraph, {
  parse: (document: string | Json) => graphOfDocument(parseGraph(document)),
})
