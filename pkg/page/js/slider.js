// @ts-check
// A number with a slider. Its range and default come from the server's description of a request
// and from the model; an empty number is the default, which is not sent.
import { button, el, newId } from './dom.js'
import { helped } from './tip.js'

/**
 * @typedef {object} Range
 * @property {number} min
 * @property {number} max
 * @property {number} step
 * @property {number|null} initial the default, within the range; null: not a number
 * @property {string} fallback the default in words; ''
 * @property {string} text what the parameter does
 */

const usualMost = 2048 // tokens, of models with an unknown context

/**
 * The range in the description of a number, if there is one. A whole number without a maximum
 * counts tokens, which the model's context limits.
 * @param {any} schema of the property
 * @param {number} context of the model, tokens; 0: unknown
 * @returns {Range|null}
 */
export function range(schema, context) {
  if (!schema) return null
  const whole = [schema.type].flat().includes('integer')
  const step = whole ? 1 : 0.01
  const { fallback, text } = described(schema.description)
  const initial = schema.default ?? null
  const min = schema.minimum ?? (schema.exclusiveMinimum ?? 0) + step
  const most = whole ? context || Math.max(usualMost, initial ?? 0) : 1
  const max = Math.max(min, Math.min(schema.maximum ?? most, whole ? most : Infinity))
  return { min, max, step, initial: initial === null ? null : Math.min(Math.max(initial, min), max), fallback, text }
}

/**
 * Splits a description such as "Default: to the end of the context; the most tokens to generate;
 * more" into the default and the first of the other clauses.
 * @param {string} [description]
 */
export function described(description = '') {
  const parts = description.split(';').map((part) => part.trim().replace(/\.$/, ''))
  const fallback = /^Default: (.*)$/.exec(parts[0] ?? '')?.[1] ?? ''
  const clause = parts[fallback ? 1 : 0] ?? ''
  return { fallback, text: clause && `${clause.charAt(0).toUpperCase()}${clause.slice(1)}.` }
}

/**
 * The range in words.
 * @param {Range} r
 */
export function bounds({ min, max, initial, fallback }) {
  const by = fallback || (initial === null ? '' : signed(initial))
  return `From ${signed(min)} to ${signed(max)}` + (by && `; default: ${by}`) + '.'
}

/** @param {number} n with a minus as long as a digit */
const signed = (n) => String(n).replace('-', '−')

/**
 * @param {{name: string, label: string, help?: string, first?: number|null}} options first: the value that the page asks for until the user or a stored value changes it
 */
export function slider({ name, label, help = '', first = null }) {
  const number = el('input', { type: 'number', inputmode: 'decimal', class: 'number', dataset: { param: name } })
  const bar = el('input', { type: 'range', 'aria-hidden': 'true', tabindex: -1, hidden: true })
  const fault = el('p', { class: 'fault', id: newId('fault'), role: 'status' })
  number.setAttribute('aria-describedby', fault.id)
  const { element, help: hint } = helped(label, number, help)
  const reset = button('↺', () => { first = null; set(null); number.focus() }, { kind: 'quiet', title: 'Use the default' })
  reset.setAttribute('aria-label', `${label}: use the default`)
  element.classList.add('slider')
  element.firstElementChild?.append(reset)
  element.append(bar, fault)
  /** @type {Range|null} */
  let r = null

  const changed = () => {
    bar.value = number.value || String(r?.initial ?? r?.max)
    reset.hidden = number.value === ''
    const wrong = r !== null && number.value !== '' && (Number(number.value) < r.min || Number(number.value) > r.max)
    number.setAttribute('aria-invalid', String(wrong))
    fault.textContent = wrong && r ? `Must be from ${signed(r.min)} to ${signed(r.max)}.` : ''
  }
  /** @param {number|null} v */
  const set = (v) => {
    number.value = v === null ? '' : String(v)
    changed()
  }
  number.addEventListener('input', () => {
    first = null
    changed()
  })
  bar.addEventListener('input', () => set(Number(bar.value)))
  return {
    name, element,
    /** Takes a range. A value beyond it becomes the nearest one within. @param {Range|null} next */
    limit(next) {
      if (!next) {
        if (number.value === '') set(first)
        return
      }
      r = next
      bar.hidden = false
      for (const input of [number, bar]) Object.assign(input, { min: String(r.min), max: String(r.max), step: String(r.step) })
      number.placeholder = r.initial === null ? 'auto' : String(r.initial)
      hint.set([help, r.text, bounds(r)].filter(Boolean).join(' '))
      const value = number.value === '' ? first : Number(number.value)
      set(value === null ? null : Math.min(Math.max(value, r.min), r.max))
      first = null
    },
    /** The value to send; the server rejects a number out of range, in its own words. */
    value: () => number.value === '' || Number.isNaN(Number(number.value)) ? undefined : Number(number.value),
  }
}
