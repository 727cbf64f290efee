// @ts-check
// A map of labelled points. Pointer, touch and arrow keys choose a point, which shows its text
// and a line to the point that is most similar.
import { clear, el, svg } from './dom.js'
import { fit, high, place, radius } from './labels.js'
import { fixed } from './scale.js'

/** @typedef {import('./plane.js').Point} Point */
/** @typedef {{text: string, point: Point, near: number, value: number}} Mark near: the index of the most similar one, value: how similar it is */

const pad = 28 // pixels around the points
const invitation = 'Tap or point at a number, or move with Tab and the arrow keys.'

export class Scatter {
  #width = 0
  #on = -1 // the chosen point
  #stop = 0 // the point that Tab reaches
  /** @type {Point[]} */
  #dots = []

  /** @param {Mark[]} marks @param {string} label of the map */
  constructor(marks, label) {
    this.marks = marks
    this.link = svg('line', { class: 'link' })
    this.drawing = svg('svg', { class: 'scatter', role: 'group', 'aria-label': `${label}. The arrow keys move from line to line.`, on: {
      keydown: (/** @type {KeyboardEvent} */ e) => this.#key(e),
      pointerleave: () => this.#choose(this.#focused()), focusout: () => this.#choose(-1),
    } })
    this.points = marks.map((mark, i) => this.#point(mark, i))
    this.reading = el('p', { class: 'hint map-reading', 'aria-hidden': 'true', text: invitation }) // each point's name says it
    this.element = el('div', {}, this.drawing, this.reading)
    new ResizeObserver((entries) => this.#resize(Math.floor(entries[0]?.contentRect.width ?? 0))).observe(this.element)
  }

  /** @param {Mark} mark @param {number} i */
  #point({ text, near, value }, i) {
    return svg('g', { class: 'point', role: 'img', 'aria-label': `${i + 1}: ${text} Most similar: ${near + 1}, ${fixed(value, 2)}.`, tabindex: i ? -1 : 0, on: {
      pointerenter: () => this.#choose(i), focus: () => this.#choose(i), click: () => this.points[i]?.focus(),
    } })
  }

  #focused() {
    return this.points.findIndex((point) => point === document.activeElement)
  }

  /** @param {number} width */
  #resize(width) {
    if (width <= 0 || width === this.#width) return
    this.#width = width
    this.#draw(width)
  }

  /** @param {number} width */
  #draw(width) {
    const { drawing, marks } = this, height = Math.round(Math.min(Math.max(width * 0.62, 260), 420))
    for (const [name, v] of Object.entries({ viewBox: `0 0 ${width} ${height}`, width, height })) drawing.setAttribute(name, String(v))
    clear(drawing).append(svg('rect', { class: 'ground', width, height, rx: 6 }), this.link, ...this.points)
    const dots = this.#dots = fit(marks.map((m) => m.point), { width, height }, pad)
    const labels = place(dots, marks.map((m) => m.text), { width, height }, ruler(drawing))
    this.points.forEach((node, i) => {
      const dot = dots[i], label = labels[i]
      if (!dot) return
      clear(node).append(svg('circle', { class: 'target', cx: dot.x, cy: dot.y, r: 14 }))
      if (label?.far) node.append(svg('line', { class: 'leader', x1: dot.x, y1: dot.y, x2: label.x + label.width / 2, y2: label.y + high / 2 }))
      if (label) {
        node.append(svg('rect', { class: label.far ? 'target plate' : 'target', x: label.x, y: label.y, width: label.width, height: high, rx: 3 }),
          svg('text', { x: label.x, y: label.y + 13 }, svg('tspan', { class: 'nr' }, String(i + 1)), label.text && ` ${label.text}`))
      }
      node.append(svg('circle', { class: 'spot', cx: dot.x, cy: dot.y, r: radius }))
    })
    this.#choose(this.#on)
  }

  /** @param {number} i -1: none */
  #choose(i) {
    this.#on = i
    const mark = this.marks[i], from = this.#dots[i], to = mark && this.#dots[mark.near]
    this.points.forEach((point, k) => {
      point.classList.toggle('on', k === i)
      point.classList.toggle('near', k === mark?.near)
    })
    this.link.classList.toggle('on', Boolean(mark))
    if (from && to) for (const [name, v] of Object.entries({ x1: from.x, y1: from.y, x2: to.x, y2: to.y })) this.link.setAttribute(name, String(v))
    this.reading.replaceChildren(...mark ? [el('span', {}, el('b', { text: i + 1 }), ` ${mark.text}`),
      el('span', {}, `Most similar, ${fixed(mark.value, 2)}: `, el('b', { text: mark.near + 1 }), ` ${this.marks[mark.near]?.text}`)] : [invitation])
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const last = this.points.length - 1, at = this.#focused()
    /** @type {Record<string, number>} */
    const to = { ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: last }
    const next = to[event.key]
    if (next === undefined) return
    event.preventDefault()
    this.points[this.#stop]?.setAttribute('tabindex', '-1')
    this.#stop = Math.min(Math.max(next, 0), last)
    this.points[this.#stop]?.setAttribute('tabindex', '0')
    this.points[this.#stop]?.focus()
  }
}

/**
 * Measures labels in the font of a drawing that is on the page.
 * @param {SVGElement} drawing
 * @returns {(text: string, i: number) => number}
 */
function ruler(drawing) {
  const context = document.createElement('canvas').getContext('2d')
  const { fontSize, fontFamily } = getComputedStyle(drawing)
  /** @param {string} text @param {string} weight */
  const width = (text, weight) => {
    if (!context) return text.length * 8
    context.font = `${weight} ${fontSize} ${fontFamily}`
    return context.measureText(text).width
  }
  return (text, i) => Math.ceil(width(String(i + 1), '700') + (text ? width(` ${text}`, '400') : 0)) + 2
}
