// @ts-check
// A chart of lines over steps. Dragging or the keyboard selects a part; charts with a common
// span show the same part.
import { clear, el, svg } from './dom.js'
import { figure, linear, logarithmic } from './scale.js'

/** @typedef {[number, number]} Point step and value */
/**
 * @typedef {object} Line
 * @property {string} name
 * @property {string} style classes: one or two (the model), fine or bold
 * @property {Point[]} points by step
 */

/** Which steps are shown; null: all. */
export class Span extends EventTarget {
  /** @type {Point|null} */
  range = null
  /** @type {Point} */
  all = [0, 1]
  /** The step under the pointer. @type {number|null} */
  cursor = null

  /** @returns {Point} */
  now() { return this.range ?? this.all }

  /** @param {Point|null} range */
  show(range) {
    if (range) {
      const [lo, hi] = this.all, least = Math.max((hi - lo) / 1000, 1e-9)
      const width = Math.min(Math.max(range[1] - range[0], least), hi - lo)
      const from = Math.min(Math.max(range[0], lo), hi - width)
      range = width >= hi - lo ? null : [from, from + width]
    }
    this.range = range
    this.dispatchEvent(new Event('change'))
  }

  /** @param {number|null} step */
  point(step) {
    this.cursor = step
    this.dispatchEvent(new Event('change'))
  }

  /** Zooms the window around the cursor. @param {number} factor */
  zoom(factor) {
    const [lo, hi] = this.now(), at = this.cursor ?? (lo + hi) / 2
    this.show([at - (at - lo) * factor, at + (hi - at) * factor])
  }

  /** @param {number} part of the window */
  pan(part) {
    const [lo, hi] = this.now(), by = (hi - lo) * part
    this.show([lo + by, hi + by])
  }
}

const left = 52, right = 20, top = 8, bottom = 26 // pixels around the lines
const clicks = 8 // pixels: a shorter drag is a click

export class Chart {
  /** @type {Line[]} */
  lines = []
  log = false
  width = 640
  x = linear(0, 1, left, this.width - right, 6)
  #due = 0
  /** The pixel where a drag began. @type {number|null} */
  #from = null

  /**
   * @param {Span} span
   * @param {{label: string, height: number}} options
   */
  constructor(span, options) {
    this.span = span
    this.height = options.height
    this.drawing = svg('svg', {
      class: 'chart', role: 'application', tabindex: 0,
      'aria-label': `${options.label} by step. Left and right read the values, plus and minus zoom, shift with left and right moves, 0 shows all.`,
      on: {
        pointerdown: (/** @type {PointerEvent} */ e) => this.#down(e), pointermove: (/** @type {PointerEvent} */ e) => this.#move(e),
        pointerup: (/** @type {PointerEvent} */ e) => this.#up(e), pointercancel: () => { this.#from = null; this.#redraw() },
        pointerleave: () => { if (this.#from === null) span.point(null) },
        dblclick: () => span.show(null), blur: () => span.point(null), keydown: (/** @type {KeyboardEvent} */ e) => this.#key(e),
      },
    })
    this.said = el('p', { class: 'sr', 'aria-live': 'polite' })
    this.element = el('div', { class: 'chart-box' }, this.drawing, this.said)
    span.addEventListener('change', () => this.#redraw())
    new ResizeObserver((entries) => this.#resize(Math.floor(entries[0]?.contentRect.width ?? 0))).observe(this.element)
  }

  /**
   * @param {Line[]} lines
   * @param {boolean} [log] whether the axis is logarithmic
   */
  set(lines, log = false) {
    this.lines = lines
    this.log = log
    this.#redraw()
  }

  #redraw() {
    this.#due ||= requestAnimationFrame(() => this.#draw())
  }

  /** @param {number} width */
  #resize(width) {
    if (width <= 0 || width === this.width) return
    this.width = width
    this.#redraw()
  }

  #draw() {
    cancelAnimationFrame(this.#due)
    this.#due = 0
    const { width, height, drawing } = this, [lo, hi] = this.span.now()
    const x = this.x = linear(lo, hi, left, width - right, width / 75)
    const shown = this.lines.map((l) => ({ ...l, points: thin(within(l.points, lo, hi), x.at) }))
    const y = this.#vertical(shown.flatMap((l) => l.points.map((p) => p[1])))
    for (const [name, v] of Object.entries({ viewBox: `0 0 ${width} ${height}`, width, height })) drawing.setAttribute(name, String(v))
    clear(drawing).append(
      ...y.ticks.map((v) => svg('line', { class: 'rule', x1: left, x2: width - right, y1: y.at(v), y2: y.at(v) })),
      ...y.ticks.map((v) => svg('text', { class: 'tick', x: left - 8, y: y.at(v) + 4, 'text-anchor': 'end' }, figure(v))),
      ...x.ticks.map((v) => svg('text', { class: 'tick', x: x.at(v), y: height - 8, 'text-anchor': 'middle' }, figure(v))),
      ...shown.map((l) => svg('path', { class: `line ${l.style}`, d: path(l.points, x.at, y.at, this.log) })))
    if (this.span.cursor !== null) this.#mark(this.span.cursor, y)
  }

  /**
   * The scale of values, with some room around them.
   * @param {number[]} values
   */
  #vertical(values) {
    const { log } = this, seen = log ? values.filter((v) => v > 0) : values
    let min = Math.min(...seen), max = Math.max(...seen)
    if (!seen.length) [min, max] = log ? [0.1, 1] : [0, 1]
    if (min === max) [min, max] = log ? [min / 2, max * 2] : [min - 1, max + 1]
    const pad = log ? 0 : (max - min) * 0.05
    return (log ? logarithmic : linear)(min >= 0 ? Math.max(min - pad, 0) : min - pad, max + pad, this.height - bottom, top, this.height / 55)
  }

  /**
   * Marks a step and the values there.
   * @param {number} step
   * @param {import('./scale.js').Scale} y
   */
  #mark(step, y) {
    const { x, drawing } = this, at = x.at(step)
    if (at < left - 1 || at > this.width - right + 1) return
    drawing.append(svg('line', { class: 'cursor', x1: at, x2: at, y1: top, y2: this.height - bottom }))
    for (const l of this.lines) {
      const v = value(l.points, step)
      if (v !== null && (!this.log || v > 0)) drawing.append(svg('circle', { class: `dot ${l.style}`, cx: at, cy: y.at(v), r: 3.5 }))
    }
  }

  /** @param {PointerEvent} event */
  #px(event) {
    return Math.min(Math.max(event.clientX - this.drawing.getBoundingClientRect().left, left), this.width - right)
  }

  /** @param {PointerEvent} event */
  #down(event) {
    this.#from = this.#px(event)
    if (event.pointerType === 'mouse') this.drawing.setPointerCapture(event.pointerId)
  }

  /** @param {PointerEvent} event */
  #move(event) {
    const at = this.#px(event), from = this.#from
    this.span.point(snap(this.lines, this.x.of(at)))
    if (from === null) return
    this.#draw()
    this.drawing.append(svg('rect', { class: 'selection', x: Math.min(from, at), y: top, width: Math.abs(at - from), height: this.height - bottom - top }))
  }

  /** @param {PointerEvent} event */
  #up(event) {
    const from = this.#from, at = this.#px(event)
    this.#from = null
    if (from !== null && Math.abs(at - from) > clicks) this.span.show([this.x.of(Math.min(from, at)), this.x.of(Math.max(from, at))])
    else this.#redraw()
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const { span } = this, [lo, hi] = span.now(), sign = event.key === 'ArrowRight' ? 1 : -1
    switch (event.key) {
      case '+': case '=': span.zoom(0.5); break
      case '-': span.zoom(2); break
      case '0': case 'Escape': span.show(null); break
      case 'Home': this.#read(lo); break
      case 'End': this.#read(hi); break
      case 'ArrowLeft': case 'ArrowRight':
        if (event.shiftKey) span.pan(sign / 4)
        else this.#read((span.cursor ?? (lo + hi) / 2) + sign * (hi - lo) / 50)
        break
      default: return
    }
    event.preventDefault()
  }

  /** Moves to a step and announces its values. @param {number} step */
  #read(step) {
    const [lo, hi] = this.span.now()
    this.span.point(snap(this.lines, Math.min(Math.max(step, lo), hi)))
    this.said.textContent = values(this.lines, this.span.cursor)
  }
}

/**
 * The value of a line at a step; null before its beginning and after its end.
 * @param {Point[]} points
 * @param {number} step
 */
export function value(points, step) {
  const p = nearest(points, step), first = points[0], last = points.at(-1)
  if (!p || !first || !last) return null
  const gap = (last[0] - first[0]) / Math.max(points.length - 1, 1)
  return Math.abs(p[0] - step) <= gap * 1.5 ? p[1] : null
}

/**
 * The values at a step, in words.
 * @param {Line[]} lines
 * @param {number|null} step
 */
function values(lines, step) {
  if (step === null) return ''
  const parts = lines.flatMap((l) => {
    const v = value(l.points, step)
    return v === null ? [] : [`${l.name} ${figure(v)}`]
  })
  return `step ${figure(step)}: ${parts.join(', ')}`
}

/**
 * The points of a range and one on each side, so that lines reach the edges.
 * @param {Point[]} points
 * @param {number} lo
 * @param {number} hi
 */
function within(points, lo, hi) {
  const from = points.findIndex((p) => p[0] >= lo), to = points.findLastIndex((p) => p[0] <= hi)
  return from < 0 || to < 0 ? [] : points.slice(from, to + 1)
}

/**
 * The lowest and the highest of the points that share a pixel.
 * @param {Point[]} points
 * @param {(v: number) => number} at
 */
function thin(points, at) {
  if (points.length < 2000) return points
  /** @type {Map<number, [Point, Point]>} */
  const columns = new Map()
  for (const p of points) {
    const column = Math.floor(at(p[0])), had = columns.get(column)
    columns.set(column, had ? [p[1] < had[0][1] ? p : had[0], p[1] > had[1][1] ? p : had[1]] : [p, p])
  }
  return [...columns.values()].flatMap(([a, b]) => a === b ? [a] : a[0] < b[0] ? [a, b] : [b, a])
}

/**
 * @param {Point[]} points
 * @param {(v: number) => number} x
 * @param {(v: number) => number} y
 * @param {boolean} log
 */
function path(points, x, y, log) {
  return points.filter((p) => !log || p[1] > 0).map((p, i) => `${i ? 'L' : 'M'}${x(p[0]).toFixed(1)} ${y(p[1]).toFixed(1)}`).join('')
}

/**
 * The point nearest to a step.
 * @param {Point[]} points
 * @param {number} step
 * @returns {Point|undefined}
 */
function nearest(points, step) {
  let lo = 0, hi = points.length - 1
  while (hi - lo > 1) {
    const mid = (lo + hi) >> 1
    if ((points[mid]?.[0] ?? 0) <= step) lo = mid
    else hi = mid
  }
  const a = points[lo], b = points[hi]
  return a && b && Math.abs(b[0] - step) < Math.abs(a[0] - step) ? b : a
}

/**
 * The step of a line nearest to a step.
 * @param {Line[]} lines
 * @param {number} step
 */
function snap(lines, step) {
  const steps = lines.flatMap((l) => nearest(l.points, step)?.[0] ?? [])
  return steps.sort((a, b) => Math.abs(a - step) - Math.abs(b - step))[0] ?? null
}
