// @ts-check
// How a model sees texts: tokens, likelihoods, vectors, ranks, translations.
import { el, field } from '../dom.js'
import { modelPicker } from '../picker.js'
import { runner } from '../runner.js'
import { fixed } from '../scale.js'
import { legend, percent, shade, visible } from '../shade.js'
import { address } from '../state.js'
import { writes } from '../tasks.js'
import { classification } from './classification.js'
import { part } from './part.js'
import { likeness } from './likeness.js'
import { ranking } from './ranking.js'
import { translation } from './translation.js'

/** @typedef {import('../state.js').App} App */
/** @typedef {import('./part.js').Part} Part */

/**
 * @param {HTMLElement} root
 * @param {App} app
 * @returns {import('../state.js').Mounted}
 */
export function mount(root, app) {
  const columns = [[tokens(app), likeness(app), classification(app)], [score(app), ranking(app), translation(app)]], parts = columns.flat()
  root.append(
    el('h2', { text: 'Inspect' }),
    el('p', { class: 'lead', text: 'See a text as a model does: its tokens, how likely they are, which texts are similar, and which answer a query.' }),
    el('div', { class: 'inside-parts' }, columns.map((column) => el('div', { class: 'stack' }, column.map((p) => p.element)))))
  for (const part of parts) part.load().catch(() => {}) // the frame says that the server does not answer
  return {
    show() { // the address may name a part and a model: #inside/similarity/NAME
      const [id, model] = address()
      if (model) void parts.find((p) => p.id === id)?.use(model)
    },
    hide: () => { for (const part of parts) part.stop() },
  }
}

/** @param {App} app @returns {Part} */
function tokens(app) {
  const text = el('textarea', { id: 'tokens-text', rows: 3, value: 'The old lighthouse stood at the edge of the bay.\nÀ demain!' })
  const picker = modelPicker(app, { id: 'tokens-model', value: 'novels' })
  const run = runner(app, 'Show tokens', async (signal) => {
    const asked = { model: picker.value(), text: text.value }
    const said = await app.api.json('POST', '/tokenize', { model: asked.model, prompt: asked.text, tokens: true, token_ids: true }, { signal })
    /** @type {string[]} */
    const pieces = said.tokens
    /** @type {number[]} */
    const ids = said.token_ids
    const back = await app.api.json('POST', '/detokenize', { model: asked.model, token_ids: ids }, { signal, background: true })
    const characters = [...asked.text].length
    return [
      el('p', { class: 'sum', text: `${count(pieces.length, 'token')}, ${count(characters, 'character')}${pieces.length ? ` (${(characters / pieces.length).toFixed(1)} characters per token)` : ''}` }),
      el('ol', { class: 'pieces', 'aria-label': 'Tokens' }, pieces.map((piece, i) =>
        el('li', { class: 'piece' }, el('span', { class: 'mono', text: visible(piece) }), el('span', { class: 'id', text: ids[i] })))),
      readBack(asked.text, back.result),
    ]
  }, { id: 'tokens-go' })
  run.onEnter(text)
  return part({ id: 'tokens', title: 'Tokens', what: 'A tokenizer splits a text into pieces and gives each piece a number.', picker, run }, field('Text', text))
}

/**
 * Reports the differences after encoding and decoding.
 * @param {string} text
 * @param {string} back
 */
function readBack(text, back) {
  if (text.trim() === back.trim()) return el('p', { class: 'hint', text: 'The tokens decode to the same text.' })
  return el('div', { class: 'hint' }, el('p', { text: 'This tokenizer cannot represent the whole text. The tokens decode to:' }), el('pre', { class: 'mono', text: back }))
}

/** @param {App} app @returns {Part} */
function score(app) {
  const context = el('textarea', { id: 'score-context', rows: 2, value: 'The old lighthouse' })
  const continuation = el('textarea', { id: 'score-continuation', rows: 2, value: ' stood at the edge of the bay' })
  const picker = modelPicker(app, { id: 'score-model', value: 'novels', accept: writes })
  const run = runner(app, 'Score', async (signal) => {
    const [model, before, after] = [picker.value(), context.value, continuation.value]
    const [total, whole] = await Promise.all([
      app.api.json('POST', `/v1/engines/${encodeURIComponent(model)}/logprob`, { context: before, continuation: after }, { signal }),
      app.api.json('POST', '/v1/completions', { model, prompt: before + after, max_tokens: 0, echo: true, logprobs: 1 }, { signal }),
    ])
    return scored(total, whole.choices[0].logprobs)
  }, { id: 'score-go' })
  run.onEnter(context)
  run.onEnter(continuation)
  return part({ id: 'likelihood', title: 'Likelihood', what: 'How likely a continuation of a text is.', picker, run },
    el('div', { class: 'pair' }, field('Text', context), field('Continuation', continuation)))
}

/**
 * @param {{logprob: number, is_greedy: boolean, num_tokens: number}} total
 * @param {{tokens: string[], token_logprobs: (number | null)[]}} whole of text and continuation
 * @returns {Node[]}
 */
function scored(total, whole) {
  const from = Math.max(0, whole.tokens.length - total.num_tokens)
  const running = el('p', { class: 'scored', role: 'group', 'aria-label': 'The text, shaded' })
  whole.tokens.forEach((token, i) => {
    const span = el('span', { class: 'tok', text: token, title: i < from ? undefined : chance(whole.token_logprobs[i]) })
    if (i < from) span.classList.add('before')
    else shade(span, whole.token_logprobs[i])
    running.append(span)
  })
  const perToken = total.num_tokens ? Math.exp(-total.logprob / total.num_tokens) : 1
  const facts = [
    ['log-probability', fixed(total.logprob, 3)],
    ['probability', percent(total.logprob)],
    ['perplexity', perToken.toFixed(2)],
    ['most likely continuation', total.is_greedy ? 'yes' : 'no'],
  ]
  return [
    el('dl', { class: 'facts' }, facts.map(([name, value]) => el('div', {}, el('dt', { text: name }), el('dd', { text: value })))),
    running, legend(),
    el('div', { class: 'wide', tabindex: 0, role: 'group', 'aria-label': 'Each token' }, el('table', { class: 'data tokens' },
      el('thead', {}, el('tr', {}, ['Token', 'Log-probability', 'Probability'].map((name, i) => el('th', { scope: 'col', class: i ? 'num' : '', text: name })))),
      el('tbody', {}, whole.tokens.slice(from).map((token, i) => {
        const logprob = whole.token_logprobs[from + i]
        return el('tr', {}, el('th', { scope: 'row', class: 'mono', text: visible(token) }),
          el('td', { class: 'num', text: typeof logprob === 'number' ? fixed(logprob, 3) : '–' }), el('td', { class: 'num', text: chance(logprob) }))
      })))),
  ]
}

/** @param {number | null | undefined} logprob */
const chance = (logprob) => logprob === null || logprob === undefined ? 'first token' : percent(logprob)

/** @param {number} n @param {string} noun */
const count = (n, noun) => `${n} ${noun}${n === 1 ? '' : 's'}`
