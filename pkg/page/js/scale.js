// @ts-check
// Scales and ticks of charts.

/**
 * @typedef {object} Scale from values to pixels
 * @property {(v: number) => number} at
 * @property {(px: number) => number} of the other way
 * @property {number[]} ticks
 */

/**
 * @param {number} lo
 * @param {number} hi
 * @param {number} from pixel of lo
 * @param {number} to pixel of hi
 * @param {number} n ticks, about
 * @returns {Scale}
 */
export function linear(lo, hi, from, to, n) {
  const span = hi - lo || 1
  return {
    at: (v) => from + (v - lo) / span * (to - from),
    of: (px) => lo + (px - from) / (to - from) * span,
    ticks: ticks(lo, hi, n),
  }
}

/** The same for logarithms of values, which are above 0. @type {typeof linear} */
export function logarithmic(lo, hi, from, to, n) {
  const s = linear(Math.log10(lo), Math.log10(hi), from, to, n)
  const marks = [1, 2, 5].flatMap((m) => Array.from({ length: 20 }, (_, i) => m * 10 ** (i - 10)))
  const inside = marks.filter((v) => v >= lo && v <= hi).sort((a, b) => a - b)
  return { at: (v) => s.at(Math.log10(v)), of: (px) => 10 ** s.of(px), ticks: inside.length > 1 ? inside : ticks(lo, hi, n) }
}

/**
 * Round numbers between two: steps of 1, 2 or 5 times a power of ten.
 * @param {number} lo
 * @param {number} hi
 * @param {number} n
 */
export function ticks(lo, hi, n) {
  const rough = (hi - lo) / Math.max(n, 1)
  if (!(rough > 0)) return [lo]
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = power * ([1, 2, 5, 10].find((m) => m * power >= rough) ?? 10)
  const first = Math.ceil(lo / step - 1e-9)
  return Array.from({ length: Math.floor(hi / step + 1e-9) - first + 1 }, (_, i) => Number(((first + i) * step).toPrecision(12)))
}

/** @param {number} v */
export function figure(v) {
  const a = Math.abs(v)
  if (v === 0) return '0'
  if (a < 1e-4) return v.toExponential(1).replace('e-', 'e−')
  return a >= 1000 ? v.toLocaleString('en', { maximumFractionDigits: 0 }) : String(Number(v.toPrecision(4)))
}

/**
 * A number with so many digits after the point, and a minus as wide as a digit. Zero has no sign.
 * @param {number} v @param {number} digits
 */
export const fixed = (v, digits) => v.toFixed(digits).replace(/^-(?=[0.]*$)/, '').replace('-', '−')
