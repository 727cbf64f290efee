// @ts-check
// The controls of sampling. Their ranges, defaults and hints are those of the server's own
// description of the request, so there is one list of them. Values that are not set are not sent.
import { button, el, field } from './dom.js'

/** @typedef {{min: number, max: number, step: number, initial: number|null, hint: string}} Range */

const labels = /** @type {Record<string, string>} */ ({
  max_tokens: 'Max tokens', temperature: 'Temperature', top_p: 'Top p', presence_penalty: 'Presence penalty', frequency_penalty: 'Frequency penalty',
})
const usual = 120 // tokens that the page asks for until somebody says otherwise

/**
 * The range in the description of a number, if there is one.
 * @param {any} schema of the property
 * @param {number} context of the model, tokens; 0: unknown
 * @returns {Range|null}
 */
export function range(schema, context) {
  if (!schema) return null
  const whole = [schema.type].flat().includes('integer')
  const step = whole ? 1 : 0.01
  return {
    min: schema.minimum ?? (schema.exclusiveMinimum ?? 0) + step,
    max: schema.maximum ?? (whole ? context || 2048 : 1), step,
    initial: schema.default ?? null, hint: (schema.description ?? '').split(';')[0],
  }
}

/**
 * A slider with a number field; empty means the default.
 * @param {string} name
 * @param {number|null} first
 */
function slider(name, first) {
  const number = el('input', { type: 'number', inputmode: 'decimal', class: 'number', dataset: { param: name } })
  const bar = el('input', { type: 'range', 'aria-hidden': 'true', tabindex: -1 })
  const reset = button('↺', () => set(null), { kind: 'quiet', title: 'Use the default' })
  reset.setAttribute('aria-label', `${labels[name]}: use the default`)
  const element = field(labels[name] ?? name, number)
  const hint = el('p', { class: 'hint', id: number.id + '-hint' })
  number.setAttribute('aria-describedby', hint.id)
  element.classList.add('slider')
  element.append(bar, reset, hint)
  /** @type {Range|null} */
  let r = null
  bar.hidden = true

  /** @param {number|null} v */
  const set = (v) => {
    number.value = v === null ? '' : String(v)
    bar.value = String(v ?? r?.initial ?? r?.min)
    reset.hidden = v === null
  }
  number.addEventListener('input', () => {
    bar.value = number.value || String(r?.initial ?? r?.min)
    reset.hidden = number.value === ''
  })
  bar.addEventListener('input', () => set(Number(bar.value)))
  return {
    element,
    /** @param {Range|null} next */
    limit(next) {
      if (number.value === '') set(first)
      if (!next) return
      r = next
      bar.hidden = false
      for (const input of [number, bar]) Object.assign(input, { min: String(r.min), max: String(r.max), step: String(r.step) })
      number.placeholder = r.initial === null ? '' : String(r.initial)
      hint.textContent = `${r.min} to ${r.max}` + (r.initial === null ? '' : `, default ${r.initial}`) + (r.hint ? `: ${r.hint}` : '')
      set(number.value === '' ? null : Number(number.value))
      first = null
    },
    /** The value to send; the server rejects a number out of range, in its own words. */
    value: () => number.value === '' || Number.isNaN(Number(number.value)) ? undefined : Number(number.value),
  }
}

/** Stop texts are written one a line, a line feed in one as \n. @param {string} text */
export function stops(text) {
  const list = text.split('\n').filter((s) => s !== '').map((s) => s.replace(/\\(n|t|\\)/g, (_, c) => ({ n: '\n', t: '\t', '\\': '\\' })[/** @type {'n'|'t'|'\\'} */ (c)]))
  return list.length ? list : undefined
}

/** The controls, and their parameters in a request. */
export function sampling() {
  const sliders = Object.keys(labels).map((name) => ({ name, ...slider(name, name === 'max_tokens' ? usual : null) }))
  const seed = el('input', { type: 'number', step: '1', placeholder: 'random', dataset: { param: 'seed' } })
  const draw = button('Draw one', () => { seed.value = String(crypto.getRandomValues(new Uint32Array(1))[0]) }, { kind: 'quiet' })
  const stop = el('textarea', { rows: '2', class: 'mono', spellcheck: 'false', dataset: { param: 'stop' } })
  const seeds = field('Seed', seed, 'The same seed gives the same text.')
  seeds.classList.add('seed')
  seed.after(draw)
  const element = el('div', { class: 'stack' },
    sliders.map((s) => s.element), seeds, field('Stop texts', stop, 'One a line; \\n is a line feed.'))
  return {
    element,
    /**
     * Takes ranges and defaults from the schema of a request.
     * @param {any} schema
     * @param {number} context
     */
    limit(schema, context) {
      for (const s of sliders) s.limit(range(schema?.properties?.[s.name], context))
    },
    /** @returns {Record<string, any>} */
    values() {
      /** @type {Record<string, any>} */
      const out = {}
      for (const s of sliders) out[s.name] = s.value()
      if (seed.value !== '') out.seed = Number(seed.value)
      out.stop = stops(stop.value)
      return Object.fromEntries(Object.entries(out).filter(([, v]) => v !== undefined))
    },
  }
}
