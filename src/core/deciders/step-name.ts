// The key of a step as people read it.
import { unescapeKey } from '../kernel/key.ts'
import { parseNodeKey } from './graph/node-key.ts'

/** 'charge' of 'activity:charge#1', 'charge #2' of its second call, 'undo charge' of 'shield#1/undo:charge#1'. */
export function stepName(key: string): string {
  const node = parseNodeKey(key)
  if (node?.kind === 'undo') return `undo ${node.name}`
  const places = key.split('/')
  const last = places.pop() ?? key
  // A saga or shield around a step does not help to tell which step it is.
  const around = places.filter((place) => !/^(saga|shield)#\d+$/.test(place))
  return [...around, lastName(last)].join('/')
}

function lastName(part: string): string {
  const [, name, occurrence = '1', index] = /^\w+:(.+)#(\d+)(?:\[(\d+)\])?$/.exec(part) ?? []
  const plain = unescapeKey(name ?? part.replace(/^\[(.*)\]$/, '$1'))
  const item = index === undefined ? '' : ` [${index}]`
  return occurrence === '1' ? `${plain}${item}` : `${plain} #${occurrence}${item}`
}
