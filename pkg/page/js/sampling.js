// @ts-check
// The controls of sampling. Their ranges, defaults and help come from the server's own
// description of the request. Values that are not set are not sent.
import { button, el } from './dom.js'
import { described, range, slider } from './slider.js'
import { helped } from './tip.js'

/** The sliders by parameter: the label, and what the description of the API leaves out. */
const sliders = /** @type {const} */ ({
  max_tokens: ['Max tokens', ''],
  temperature: ['Temperature', 'Higher is more varied, lower more predictable.'],
  top_p: ['Top P', 'Lower keeps to likely tokens.'],
  presence_penalty: ['Presence penalty', 'Higher discourages tokens that the text already has.'],
  frequency_penalty: ['Frequency penalty', 'Higher discourages frequent tokens.'],
})
const usual = 120 // tokens that the page asks for until the user changes it
const perLine = 'Write one per line, and \\n for a line break.'

/** Parses stop sequences: one a line, a line break in one as \n. @param {string} text */
export function stops(text) {
  const list = text.split('\n').filter((s) => s !== '').map((s) => s.replace(/\\(n|t|\\)/g, (_, c) => ({ n: '\n', t: '\t', '\\': '\\' })[/** @type {'n'|'t'|'\\'} */ (c)]))
  return list.length ? list : undefined
}

/** The controls, and their parameters in a request. */
export function sampling() {
  const all = Object.entries(sliders).map(([name, [label, help]]) => slider({ name, label, help, first: name === 'max_tokens' ? usual : null }))
  const seed = el('input', { type: 'number', step: '1', placeholder: 'random', dataset: { param: 'seed' } })
  const draw = button('Random', () => { seed.value = String(crypto.getRandomValues(new Uint32Array(1))[0]) }, { kind: 'quiet' })
  draw.setAttribute('aria-label', 'Seed: draw a random one')
  const stop = el('textarea', { rows: '2', class: 'mono', spellcheck: 'false', dataset: { param: 'stop' } })
  const seeds = helped('Seed', seed, 'The same seed gives the same text.'), ends = helped('Stop sequences', stop, perLine)
  seeds.element.classList.add('seed')
  seed.after(draw)
  return {
    element: el('div', { class: 'stack' }, all.map((s) => s.element), seeds.element, ends.element),
    /**
     * Takes ranges, defaults and help from the schema of a request.
     * @param {any} schema
     * @param {number} context
     */
    limit(schema, context) {
      const of = schema?.properties
      for (const s of all) s.limit(range(of?.[s.name], context))
      if (of?.seed) seeds.help.set(described(of.seed.description).text)
      if (of?.stop) ends.help.set(`${described(of.stop.description).text} ${perLine}`)
    },
    /** @returns {Record<string, any>} */
    values() {
      /** @type {Record<string, any>} */
      const out = {}
      for (const s of all) out[s.name] = s.value()
      if (seed.value !== '') out.seed = Number(seed.value)
      out.stop = stops(stop.value)
      return Object.fromEntries(Object.entries(out).filter(([, v]) => v !== undefined))
    },
  }
}
