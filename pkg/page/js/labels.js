// @ts-check
// Where points and their labels go in a drawing. Pure: the caller measures texts.

/** @typedef {import('./plane.js').Point} Point */
/** @typedef {{width: number, height: number}} Room */
/**
 * @typedef {object} Label
 * @property {string} text what is shown after the number; '': the number alone
 * @property {number} x left
 * @property {number} y top
 * @property {number} width
 * @property {boolean} far whether a line has to lead to its point
 */

export const high = 18 // pixels of a label
export const radius = 5 // pixels of a point
const gap = 8 // pixels from the middle of a point to its label
const apart = 2 // pixels between labels
const tries = 6 // orders of placing labels
const limits = [Infinity, 32, 24, 16, 10, 0] // characters of a label

/**
 * Points in pixels: with the same scale for both axes, in the middle, y upwards.
 * @param {Point[]} points @param {Room} room @param {number} pad pixels that stay free at the edges
 * @returns {Point[]}
 */
export function fit(points, { width, height }, pad) {
  const xs = points.map((p) => p.x), ys = points.map((p) => p.y)
  const [left, right, low, top] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)]
  const scale = Math.min((width - 2 * pad) / (right - left), (height - 2 * pad) / (top - low))
  const by = Number.isFinite(scale) && scale > 0 ? scale : 0 // points that coincide are in the middle
  return points.map(({ x, y }) => ({ x: width / 2 + by * (x - (left + right) / 2), y: height / 2 - by * (y - (low + top) / 2) }))
}

/**
 * A text of at most so many characters, cut between words where that keeps most of it.
 * @param {string} text @param {number} limit
 */
export function cut(text, limit) {
  const all = [...text]
  if (all.length <= limit) return text
  if (limit < 2) return ''
  const piece = all.slice(0, limit - 1).join('')
  const space = piece.lastIndexOf(' ')
  return `${(space > limit / 2 ? piece.slice(0, space) : piece).replace(/[\s,.;:]+$/, '')}…`
}

/**
 * Places a label at each point so that no label covers another or a point. Labels are cut where
 * there is no room, in the way that shows most of the texts; null: there is no place even for the number.
 * @param {Point[]} dots in pixels
 * @param {string[]} texts
 * @param {Room} room
 * @param {(text: string, i: number) => number} measure the width of the label of point i with a text
 * @returns {(Label|null)[]}
 */
export function place(dots, texts, room, measure) {
  /** @type {(Label|null)[]} */
  let best = []
  let most = -1
  for (const longest of limits) {
    let order = dots.map((_, i) => i)
    for (let again = 0; again < tries; again++) {
      const labels = attempt(dots, texts, room, measure, longest, order)
      const shown = labels.reduce((sum, label, i) => sum + worth(label, texts[i] ?? ''), 0)
      if (shown > most) [best, most] = [labels, shown]
      const bare = order.filter((i) => !labels[i]?.text)
      if (!bare.length) break
      order = [...bare, ...order.filter((i) => !bare.includes(i))] // these choose first next time
    }
  }
  return best
}

/**
 * A number alone is worth less than any text, and a whole text most.
 * @param {Label|null} label @param {string} text
 */
const worth = (label, text) => !label ? 0 : !label.text ? 0.25 : 1 + label.text.length / text.length

/**
 * Places labels one after the other.
 * @param {Point[]} dots @param {string[]} texts @param {Room} room @param {(text: string, i: number) => number} measure
 * @param {number} longest characters of a label
 * @param {number[]} order of the points
 */
function attempt(dots, texts, room, measure, longest, order) {
  /** @type {(Label|null)[]} */
  const labels = dots.map(() => null)
  const free = (/** @type {Label} */ l) => inside(l, room) && !labels.some((other) => other && meet(l, other)) && !dots.some((dot) => covers(l, dot))
  for (const i of order) {
    for (const limit of limits) {
      if (limit > longest || labels[i]) continue
      const text = cut(texts[i] ?? '', limit), width = measure(text, i), dot = dots[i]
      labels[i] = around(dot, text, width).find(free) ?? (text ? null : beyond(dot, width, room).find(free)) ?? null
    }
  }
  return labels
}

/**
 * The places next to a point, the best first.
 * @param {Point} dot @param {string} text @param {number} width
 * @returns {Label[]}
 */
function around({ x, y }, text, width) {
  const near = gap * Math.SQRT1_2
  return [
    [x + gap, y - high / 2], [x - gap - width, y - high / 2], [x - width / 2, y - gap - high], [x - width / 2, y + gap],
    [x - width / 4, y - gap - high], [x - width * 3 / 4, y - gap - high], [x - width / 4, y + gap], [x - width * 3 / 4, y + gap],
    [x + near, y - near - high], [x + near, y + near], [x - near - width, y - near - high], [x - near - width, y + near],
  ].map(([left, top]) => ({ text, x: left, y: top, width, far: false }))
}

/**
 * Places away from a point, the nearest first.
 * @param {Point} dot @param {number} width @param {Room} room
 * @returns {Label[]}
 */
function beyond({ x, y }, width, room) {
  const rings = Math.ceil(Math.hypot(room.width, room.height) / high)
  return Array.from({ length: 16 * rings }, (_, i) => {
    const angle = i % 16 * Math.PI / 8, far = high * (1.5 + Math.floor(i / 16))
    return { text: '', x: x + far * Math.cos(angle) - width / 2, y: y + far * Math.sin(angle) - high / 2, width, far: true }
  })
}

/** @param {Label} l @param {Room} room */
const inside = (l, room) => l.x >= 0 && l.y >= 0 && l.x + l.width <= room.width && l.y + high <= room.height

/** @param {Label} a @param {Label} b */
const meet = (a, b) => a.x < b.x + b.width + apart && b.x < a.x + a.width + apart && Math.abs(a.y - b.y) < high + apart

/** @param {Label} l @param {Point} dot */
const covers = (l, { x, y }) => Math.hypot(Math.max(l.x - x, 0, x - l.x - l.width), Math.max(l.y - y, 0, y - l.y - high)) < radius
