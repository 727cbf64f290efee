// @ts-check
// A small chart of the last minutes: a line or two, as wide as its place. The table of the view
// has the values; here the pointer reads them.
import { clear, svg } from './dom.js'

/** @typedef {import('./activity.js').Series} Series */

const wide = 100, high = 40 // units of the drawing, which stretches

export class Spark {
  /** @type {Series[]} */
  #lines = []

  /** @param {{label: string, styles: string[], point: (index: number|null) => void}} options label names the chart until it has values; point is called with the interval under the pointer */
  constructor({ label, styles, point }) {
    this.styles = styles
    this.element = svg('svg', { class: 'spark', role: 'img', 'aria-label': label, viewBox: `0 0 ${wide} ${high}`, preserveAspectRatio: 'none', on: {
      pointermove: (/** @type {PointerEvent} */ e) => point(this.#index(e)), pointerdown: (/** @type {PointerEvent} */ e) => point(this.#index(e)),
      pointerleave: () => point(null),
    } })
    this.marker = svg('line', { class: 'cursor', y1: 0, y2: high, 'vector-effect': 'non-scaling-stroke' })
  }

  /**
   * @param {Series[]} lines of the same length
   * @param {number} room intervals of the whole width; fewer are at its end
   * @param {string} label what the chart shows, in words
   */
  set(lines, room, label) {
    this.#lines = lines
    this.room = Math.max(room, 2)
    this.element.setAttribute('aria-label', label)
    const max = Math.max(...lines.flat().map((v) => v ?? 0), 0) || 1
    const y = (/** @type {number} */ v) => high - 1 - v / max * (high - 3)
    clear(this.element).append(
      svg('line', { class: 'rule', x1: 0, x2: wide, y1: high - 0.5, y2: high - 0.5, 'vector-effect': 'non-scaling-stroke' }),
      ...lines.flatMap((values, i) => {
        const parts = runs(values)
        const d = (/** @type {[number, number][]} */ run) => run.map(([at, v], j) => `${j ? 'L' : 'M'}${this.#x(at).toFixed(2)} ${y(v).toFixed(2)}`).join('')
        const area = i ? [] : parts.map((run) => svg('path', { class: `area ${this.styles[i]}`,
          d: `${d(run)}L${this.#x(run.at(-1)?.[0] ?? 0).toFixed(2)} ${high}L${this.#x(run[0]?.[0] ?? 0).toFixed(2)} ${high}Z` }))
        return [...area, svg('path', { class: `line ${this.styles[i]}`, d: parts.map((run) => run.length > 1 ? d(run) : dot(run, d)).join(''), 'vector-effect': 'non-scaling-stroke' })]
      }), this.marker)
    this.mark(null)
  }

  /** Marks an interval. @param {number|null} index */
  mark(index) {
    this.marker.classList.toggle('on', index !== null)
    if (index === null) return
    for (const name of ['x1', 'x2']) this.marker.setAttribute(name, String(this.#x(index)))
  }

  /** @param {number} index */
  #x(index) {
    const room = this.room ?? 2, missing = room - (this.#lines[0]?.length ?? 0)
    return (index + missing) / (room - 1) * wide
  }

  /** @param {PointerEvent} event @returns {number|null} */
  #index(event) {
    const box = this.element.getBoundingClientRect(), n = this.#lines[0]?.length ?? 0, room = this.room ?? 2
    const index = Math.round((event.clientX - box.left) / (box.width || 1) * (room - 1)) - (room - n)
    return index >= 0 && index < n ? index : null
  }
}

/**
 * The parts of a line without gaps, as indices and values.
 * @param {Series} values
 */
function runs(values) {
  /** @type {[number, number][][]} */
  const out = []
  values.forEach((v, i) => {
    if (v === null) return
    if (i === 0 || values[i - 1] === null || !out.length) out.push([])
    out.at(-1)?.push([i, v])
  })
  return out
}

/** A value alone is a short stroke. @param {[number, number][]} run @param {(run: [number, number][]) => string} d */
const dot = (run, d) => `${d(run)}h0.01`
