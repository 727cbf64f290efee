// @ts-check
// Shades tokens by their probability: from none for a likely token to the deepest for an
// unlikely one.
import { el } from './dom.js'

/** The least probability of each shade. */
const steps = [0.9, 0.5, 0.2, 0.05, 0.01, 0]

/** @param {number} logprob natural */
export function level(logprob) {
  const p = Math.exp(logprob)
  const at = steps.findIndex((s) => p >= s)
  return at < 0 ? steps.length - 1 : at
}

/**
 * @param {HTMLElement} span of the class tok
 * @param {number|null|undefined} logprob null: unknown, no shade
 */
export function shade(span, logprob) {
  if (logprob === null || logprob === undefined) delete span.dataset.p
  else span.dataset.p = String(level(logprob))
}

/** @param {number} logprob */
export function percent(logprob) {
  const p = Math.exp(logprob) * 100
  if (p >= 99.95) return '100 %'
  if (p >= 9.95) return p.toFixed(0) + ' %'
  if (p >= 0.1) return p.toFixed(1) + ' %'
  return p < 0.001 ? '< 0.001 %' : p.toPrecision(1) + ' %'
}

/** The legend of the shades. */
export function legend() {
  const names = ['90 %', '50 %', '20 %', '5 %', '1 %', 'less']
  return el('div', { class: 'legend', role: 'img', 'aria-label': 'Darker shades mark less likely tokens, from none at 90 percent and more to the darkest below 1 percent.' },
    el('span', { class: 'legend-name', text: 'likely' }),
    names.map((name, i) => el('span', { class: 'tok', dataset: { p: String(i) }, title: name, text: name })),
    el('span', { class: 'legend-name', text: 'surprising' }))
}

/**
 * A token with visible blanks: for lists, not for running text.
 * @param {string} token
 */
export function visible(token) {
  return token === '' ? '∅' : token.replaceAll('\n', '⏎').replaceAll('\t', '⇥').replaceAll(' ', '␣')
}
