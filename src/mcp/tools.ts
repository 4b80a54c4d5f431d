// Tools for language models, from the table of operations: what each is called, takes and may do.
import { type JsonSchema, schemaOf } from '../core/base/described.ts'
import { inputs } from '../operations/inputs.ts'
import { type CallName, type OperationName, type Route, routes } from '../operations/routes.ts'

export interface Tool {
  readonly operation: CallName
  readonly name: string
  readonly description: string
  readonly inputSchema: JsonSchema & { readonly type: 'object' }
  readonly annotations: {
    readonly readOnlyHint: boolean
    readonly destructiveHint: boolean
    readonly idempotentHint: boolean
    readonly openWorldHint: false
  }
}

/** What tools may do: only read, or also act with the scope operate. */
export type Allowed = 'read' | 'operate'

/** The field of every tool that acts, for the audit trail. */
export const REASON = 'reason'
const reason = { type: 'string', minLength: 1, description: 'Why you do this: the audit trail shows it to people.' }

export function toolsFor(allowed: Allowed): readonly Tool[] {
  const all = Object.entries(routes) as readonly (readonly [OperationName, Route])[]
  return all.flatMap(([name, route]) => {
    const isOffered = route.tool === 'read' || (route.tool === 'act' && allowed === 'operate')
    return isOffered ? [toolOf(name as CallName, route)] : []
  })
}

function toolOf(operation: CallName, { about, tool, dangerous, scope }: Route): Tool {
  const isRead = tool === 'read'
  return {
    operation,
    name: operation.replace('.', '_'),
    description: isRead ? about : `${about} Needs the scope '${scope}', and a reason.`,
    inputSchema: isRead ? objectSchema(operation) : withReason(objectSchema(operation)),
    annotations: {
      readOnlyHint: isRead,
      destructiveHint: dangerous ?? false,
      // A key is optional, and a client that relies on this would start a run twice.
      idempotentHint: isRead,
      openWorldHint: false,
    },
  }
}

function objectSchema(operation: OperationName): Tool['inputSchema'] {
  return schemaOf(inputs[operation]) as Tool['inputSchema']
}

function withReason(schema: Tool['inputSchema']): Tool['inputSchema'] {
  const { properties, required = [] } = schema as JsonSchema & { readonly required?: readonly string[] }
  return {
    ...schema,
    properties: { ...(properties as JsonSchema), [REASON]: reason },
    required: [...new Set([...required, REASON])],
  }
}
