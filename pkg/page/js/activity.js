// @ts-check
// The server's own measurements, from GET /activity, as figures and lines. Pure.
import { figure } from './scale.js'

/**
 * @typedef {object} Interval
 * @property {number} at seconds since 1970
 * @property {number} requests
 * @property {number} errors
 * @property {number} input_tokens
 * @property {number} output_tokens
 * @property {number} running
 * @property {number} waiting
 * @property {number} [first_token_ms]
 * @property {number} [first_token_p95_ms]
 */

/**
 * @typedef {object} Held a model in memory
 * @property {string} name
 * @property {number} bytes
 * @property {number} in_use
 * @property {{bytes: number, hits: number, misses: number}} [experts] of a model whose experts stay in its file
 */

/**
 * @typedef {object} Activity the answer
 * @property {number} since
 * @property {number} now
 * @property {number} interval_seconds
 * @property {{running: number, waiting: number, workers: number}} generations
 * @property {{bytes: number, limit?: number, models: Held[]}} memory
 * @property {{code: string, count: number}[]} errors
 * @property {Interval[]} intervals
 */

/** @typedef {(number|null)[]} Series null: not measured */

const recent = 3 // intervals of the figures

/**
 * What happened a second, in the latest intervals and the one that goes on.
 * @param {Activity} a @param {'requests'|'input_tokens'|'output_tokens'} key
 */
export function rate(a, key) {
  const last = a.intervals.slice(-recent), first = last[0]
  if (!first) return 0
  return last.reduce((sum, i) => sum + i[key], 0) / Math.max(a.now - Math.max(first.at, a.since), 1)
}

/** The whole intervals: the one that goes on would look like a fall. @param {Activity} a */
export const whole = (a) => a.intervals.filter((i) => i.at + a.interval_seconds <= a.now)

/**
 * The lines of each chart.
 * @param {Activity} a
 * @returns {Record<'requests'|'output'|'input'|'running'|'waiting'|'median'|'slow'|'errors', Series>}
 */
export function series(a) {
  const list = whole(a), each = (/** @type {(i: Interval) => number|undefined} */ f) => list.map((i) => f(i) ?? null)
  const second = a.interval_seconds
  return {
    requests: each((i) => i.requests / second), output: each((i) => i.output_tokens / second), input: each((i) => i.input_tokens / second),
    running: each((i) => i.running), waiting: each((i) => i.waiting), median: each((i) => i.first_token_ms), slow: each((i) => i.first_token_p95_ms),
    errors: each((i) => i.errors),
  }
}

/** The latest measured value. @param {Series} values */
export const latest = (values) => values.findLast((v) => v !== null) ?? null

/** @param {number} v a rate or a number, with two or three digits */
export function brief(v) {
  if (v >= 100) return figure(Math.round(v))
  return String(Number(v.toFixed(v >= 10 ? 1 : 2)))
}

/** @param {number|null} ms */
export function duration(ms) {
  if (ms === null) return '–'
  return ms >= 1000 ? `${brief(ms / 1000)} s` : `${brief(ms)} ms`
}

/** @param {number} n bytes */
export function size(n) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB']
  const at = Math.min(Math.floor(Math.log2(Math.max(n, 1)) / 10), units.length - 1)
  return `${brief(n / 2 ** (10 * at))} ${units[at]}`
}

/** @param {number} seconds since 1970 */
export const clock = (seconds) => new Date(seconds * 1000).toLocaleTimeString('en-GB')

/**
 * A length of time in words: 5 minutes.
 * @param {number} seconds
 */
export function span(seconds) {
  const [n, unit] = seconds < 90 ? [Math.round(seconds), 'second'] : [Math.round(seconds / 60), 'minute']
  return `${n} ${unit}${n === 1 ? '' : 's'}`
}

/** What the weights of a model take, and how often its experts were there. @param {Held} m */
export function weights({ bytes, experts }) {
  const chosen = experts ? experts.hits + experts.misses : 0
  return experts && chosen ? `${size(bytes)}, ${brief(100 * experts.hits / chosen)} % of chosen experts found` : size(bytes)
}
