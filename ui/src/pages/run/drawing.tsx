// Draws boxes and arrows from the top to the bottom: places them, and lets the reader scroll, enlarge and walk along the
// arrows with the keys. What is in a box is the caller's.
import { Graph, layout } from '@dagrejs/dagre'
import { type KeyboardEvent, type ReactNode, useEffect, useMemo, useRef, useState } from 'react'
import { Icon } from '../../components/icon.tsx'
import { visible } from '../../data/format.ts'
import { runText } from '../../texts/run.ts'

export interface Box {
  readonly id: string
  readonly width: number
  readonly height: number
  readonly content: ReactNode
  readonly className: string
}

export interface Arrow {
  readonly from: string
  readonly to: string
  /** Lines of text beside it. */
  readonly label?: string
  readonly className: string
}

interface DrawingProps {
  readonly label: string
  readonly boxes: readonly Box[]
  readonly arrows: readonly Arrow[]
}

interface Point {
  readonly x: number
  readonly y: number
}

interface Placed {
  readonly width: number
  readonly height: number
  readonly boxes: ReadonlyMap<string, Point>
  readonly arrows: readonly {
    readonly points: readonly Point[]
    readonly label: Point | undefined
    readonly isLoop?: true
  }[]
}

const MARGIN = 24
const LABEL = { width: 6.5, height: 16 } as const
/** How far an arrow from a box to itself goes out. */
const LOOP = 30
const ZOOM_MIN = 0.4
const ZOOM_MAX = 1.6

type Size = Pick<Box, 'id' | 'width' | 'height'>
type Line = Pick<Arrow, 'from' | 'to'> & { readonly label?: string | undefined }

/** What the places follow from. */
interface Shape {
  readonly boxes: readonly Size[]
  readonly arrows: readonly Line[]
}

function place({ boxes, arrows }: Shape): Placed {
  const graph = new Graph({ multigraph: true })
  graph.setGraph({ rankdir: 'TB', nodesep: 28, ranksep: 34, edgesep: 16, marginx: MARGIN, marginy: MARGIN })
  graph.setDefaultEdgeLabel(() => ({}))
  const loops = new Map(arrows.flatMap((arrow) => (arrow.from === arrow.to ? [[arrow.from, sizeOf(arrow)]] : [])))
  for (const { id, width, height } of boxes) {
    const loop = loops.get(id)
    const beside = loop ? 2 * (LOOP + loop.width) : 0
    graph.setNode(id, { width: width + beside, height: Math.max(height, loop?.height ?? 0) })
  }
  for (const [index, arrow] of arrows.entries()) {
    const { from, to, label = '' } = arrow
    if (from !== to) graph.setEdge(from, to, label === '' ? {} : { ...sizeOf(arrow), labelpos: 'c' }, String(index))
  }
  layout(graph)
  const { width = 0, height = 0 } = graph.graph()
  return {
    width: width + MARGIN,
    height: height + MARGIN,
    boxes: new Map(boxes.map((box) => [box.id, topLeft({ ...graph.node(box.id), ...sizesOf(box) })])),
    arrows: arrows.map(({ from, to, label }, index) => {
      if (from === to) return loopOf(graph.node(from), boxes.find(({ id }) => id === from)?.width ?? 0)
      const { points = [], x, y } = graph.edge(from, to, String(index)) ?? {}
      return { points, label: label === undefined || x === undefined || y === undefined ? undefined : { x, y } }
    }),
  }
}

function sizeOf({ label = '' }: Line): { readonly width: number; readonly height: number } {
  const lines = label.split('\n')
  return {
    width: Math.max(...lines.map(({ length }) => length)) * LABEL.width + 8,
    height: lines.length * LABEL.height,
  }
}

function sizesOf({ width, height }: Size): { readonly width: number; readonly height: number } {
  return { width, height }
}

/** From the right side of a box back to it. */
function loopOf({ x = 0, y = 0 }: Partial<Point>, width: number): Placed['arrows'][number] {
  const right = x + width / 2
  const points = [
    { x: right, y: y - 9 },
    { x: right + LOOP, y: y - 12 },
    { x: right + LOOP, y: y + 12 },
    { x: right, y: y + 9 },
  ]
  return { points, label: { x: right + LOOP + 4, y }, isLoop: true }
}

function topLeft({ x = 0, y = 0, width = 0, height = 0 }: Partial<Point & { width: number; height: number }>): Point {
  return { x: x - width / 2, y: y - height / 2 }
}

/** A curve through the points. */
function pathOf(points: readonly Point[]): string {
  const [first, ...rest] = points
  if (!first) return ''
  const parts = [`M${first.x},${first.y}`]
  for (const [index, point] of rest.entries()) {
    const next = rest[index + 1]
    if (!next) parts.push(`L${point.x},${point.y}`)
    else parts.push(`Q${point.x},${point.y} ${(point.x + next.x) / 2},${(point.y + next.y) / 2}`)
  }
  return parts.join(' ')
}

export function Drawing({ label, boxes, arrows }: DrawingProps): ReactNode {
  const frame = useRef<HTMLDivElement>(null)
  const [zoom, setZoom] = useState(1)
  // Only what changes the layout is laid out again: colours change with every event.
  const shape = JSON.stringify({
    boxes: boxes.map(({ id, width, height }) => ({ id, width, height })),
    arrows: arrows.map(({ from, to, label: name }) => ({ from, to, label: name })),
  } satisfies Shape)
  const placed = useMemo(() => place(JSON.parse(shape) as Shape), [shape])
  const fit = (): void => {
    const { clientWidth = 0, clientHeight = 0 } = frame.current ?? {}
    const most = Math.min(clientWidth / placed.width, clientHeight / placed.height, 1)
    setZoom(Math.max(ZOOM_MIN, most))
  }
  useEffect(() => {
    const { clientWidth = placed.width } = frame.current ?? {}
    setZoom(Math.max(0.6, Math.min(1, clientWidth / placed.width)))
  }, [placed.width])
  const walk = (event: KeyboardEvent<HTMLDivElement>): void => walkAlong(event, { boxes, arrows, placed })
  return (
    <div className="drawing">
      <div className="canvas" ref={frame} role="group" aria-label={label} onKeyDown={walk} tabIndex={-1}>
        <div className="sheet" style={{ width: placed.width * zoom, height: placed.height * zoom }}>
          <div className="zoomed" style={{ transform: `scale(${zoom})`, width: placed.width, height: placed.height }}>
            <Arrows arrows={arrows} placed={placed} />
            {boxes.map(({ id, width, height, content, className }) => {
              const { x, y } = placed.boxes.get(id) ?? { x: 0, y: 0 }
              return (
                <div key={id} className={`box ${className}`} data-box={id} style={{ left: x, top: y, width, height }}>
                  {content}
                </div>
              )
            })}
          </div>
        </div>
      </div>
      <Zoom zoom={zoom} onZoom={setZoom} onFit={fit} />
    </div>
  )
}

function Arrows({ arrows, placed }: { readonly arrows: readonly Arrow[]; readonly placed: Placed }): ReactNode {
  return (
    <svg width={placed.width} height={placed.height} aria-hidden="true">
      <defs>
        <marker
          id="tip"
          viewBox="0 0 8 8"
          refX="7"
          refY="4"
          markerWidth="8"
          markerHeight="8"
          orient="auto-start-reverse"
        >
          <path d="M0,0.5 L7.5,4 L0,7.5 z" fill="context-stroke" />
        </marker>
      </defs>
      {arrows.map(({ className, label }, index) => {
        const { points, label: at, isLoop = false } = placed.arrows[index] ?? { points: [], label: undefined }
        const lines = (label ?? '').split('\n')
        return (
          <g key={index} className={`arrow ${className}`}>
            <path d={pathOf(points)} markerEnd="url(#tip)" />
            {at &&
              lines.map((line, number) => (
                <text
                  key={line}
                  x={at.x}
                  y={at.y + 4 + (number - (lines.length - 1) / 2) * LABEL.height}
                  textAnchor={isLoop ? 'start' : 'middle'}
                >
                  {visible(line)}
                </text>
              ))}
          </g>
        )
      })}
    </svg>
  )
}

interface ZoomProps {
  readonly zoom: number
  readonly onZoom: (zoom: number) => void
  readonly onFit: () => void
}

function Zoom({ zoom, onZoom, onFit }: ZoomProps): ReactNode {
  const by = (factor: number): void => onZoom(Math.min(ZOOM_MAX, Math.max(ZOOM_MIN, zoom * factor)))
  const button = (label: string, icon: string, act: () => void): ReactNode => (
    <button type="button" className="btn icon" aria-label={label} title={label} onClick={act}>
      <Icon name={icon} small />
    </button>
  )
  return (
    <div className="zoom">
      {button(runText.graph.farther, 'minus', () => by(0.8))}
      {button(runText.graph.closer, 'plus', () => by(1.25))}
      {button(runText.graph.fit, 'fit', onFit)}
    </div>
  )
}

interface Known extends Pick<DrawingProps, 'boxes' | 'arrows'> {
  readonly placed: Placed
}

/** Down and up follow the arrows; left and right go to the boxes beside. */
function walkAlong(event: KeyboardEvent<HTMLDivElement>, { boxes, arrows, placed }: Known): void {
  const here = (event.target as HTMLElement).closest<HTMLElement>('[data-box]')?.dataset['box']
  if (here === undefined) return
  const at = placed.boxes.get(here)
  const next = ((): string | undefined => {
    if (event.key === 'ArrowDown') return arrows.find(({ from, to }) => from === here && to !== here)?.to
    if (event.key === 'ArrowUp') return arrows.find(({ to, from }) => to === here && from !== here)?.from
    const side = event.key === 'ArrowLeft' ? -1 : event.key === 'ArrowRight' ? 1 : 0
    if (side === 0 || !at) return undefined
    const beside = boxes.flatMap(({ id }) => {
      const place = placed.boxes.get(id)
      const isBeside = place && Math.abs(place.y - at.y) < 30 && (place.x - at.x) * side > 0
      return isBeside ? [{ id, far: Math.abs(place.x - at.x) }] : []
    })
    return beside.toSorted((one, other) => one.far - other.far)[0]?.id
  })()
  if (next === undefined) return
  event.preventDefault()
  event.stopPropagation()
  const box = [...event.currentTarget.querySelectorAll<HTMLElement>('[data-box]')].find(
    (each) => each.dataset['box'] === next,
  )
  box?.querySelector<HTMLElement>('button')?.focus()
}
