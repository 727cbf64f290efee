// @ts-check
// Documents in the order of their relevance for a query.
import { documents, queries } from '../examples.js'
import { bar, button, el, field } from '../dom.js'
import { modelPicker } from '../picker.js'
import { Problem } from '../api.js'
import { runner } from '../runner.js'
import { fixed } from '../scale.js'
import { embeds, ranks } from '../tasks.js'
import { linesOf, part } from './part.js'

/** @typedef {import('../state.js').App} App */
/** @typedef {{index: number, relevance_score: number}} Result */

/** @param {App} app @returns {import('./part.js').Part} */
export function ranking(app) {
  const query = el('input', { id: 'ranking-query', type: 'text', value: queries[0] })
  const text = el('textarea', { id: 'ranking-documents', rows: 6, value: documents.join('\n') })
  const top = el('input', { id: 'ranking-top', type: 'number', min: '1', inputmode: 'numeric', placeholder: 'all' })
  const note = el('p', { class: 'hint', id: 'ranking-note' })
  const picker = modelPicker(app, { id: 'ranking-model', alone: true, accept: ranks, prefer: (m) => m.task === 'rerank', onchange: () => {
    const model = picker.model()
    note.hidden = Boolean(model && !embeds(model))
    note.textContent = model ? `${model.name} is an embedder: a score is the cosine of the vectors of the query and a document.`
      : 'This server has no model that ranks documents. Add a reranker or an embedder.'
  } })
  const run = runner(app, 'Rank', async (signal) => {
    const [model, list, n] = [picker.value(), linesOf(text), Number(top.value)]
    if (!model) throw new Problem('broken', 'This server has no model that ranks documents.')
    if (!query.value.trim()) throw new Problem('broken', 'Enter a query.')
    if (!list.length) throw new Problem('broken', 'Enter at least one document.')
    if (top.validity.badInput || top.value && !(Number.isInteger(n) && n > 0)) throw new Problem('broken', 'Results must be a positive integer, or empty for all.')
    const answer = await app.api.json('POST', '/v1/rerank', { model, query: query.value, documents: list, ...(n && { top_n: n }) }, { signal })
    return ranked(list, answer.results, answer.meta?.warnings ?? [])
  }, { id: 'ranking-go' })
  for (const control of [query, text, top]) run.onEnter(control)
  query.addEventListener('keydown', (event) => { if (event.key === 'Enter' && !event.isComposing && !event.ctrlKey && !event.metaKey) void run.go() })
  const tries = el('div', { class: 'row tries' }, 'Try', queries.map((one) => button(one, () => { query.value = one; void run.go() }, { kind: 'quiet' })))
  return part({ id: 'ranking', title: 'Ranking', what: 'Orders documents by their relevance for a query.', picker, run },
    el('div', { class: 'query' }, field('Query', query), field('Results', top)), tries, field('Documents, one per line', text), note)
}

/**
 * @param {string[]} documents
 * @param {Result[]} results the most relevant first
 * @param {string[]} warnings
 * @returns {Node[]}
 */
function ranked(documents, results, warnings) {
  const scores = results.map((r) => r.relevance_score)
  const low = Math.min(0, ...scores), high = Math.max(1, ...scores) // logits are wider than 0 to 1
  const left = documents.length - results.length
  return [
    el('div', { class: 'wide', tabindex: 0, role: 'group', 'aria-label': 'Ranked documents' }, el('table', { class: 'data ranked' },
      el('thead', {}, el('tr', {}, ['Rank', 'Document', 'Score'].map((name) => el('th', { scope: 'col', class: name === 'Score' ? 'num' : undefined, text: name })))),
      el('tbody', {}, results.map(({ index, relevance_score: score }, i) => el('tr', {},
        el('td', { class: 'rank', text: i + 1 }),
        el('th', { scope: 'row' }, el('span', { class: 'chip', title: `Line ${index + 1}` }, el('span', { class: 'sr', text: 'line ' }), index + 1), ` ${documents[index]}`,
          bar((score - low) / (high - low))),
        el('td', { class: 'num', text: fixed(score, 3) })))))),
    el('p', { class: 'hint', text: `Bars range from ${round(low)} to ${round(high)}. The number before a document is its line.${left > 0 ? ` ${left} of ${documents.length} documents are left out.` : ''}` }),
    ...warnings.map((warning) => el('p', { class: 'hint warned', text: `Warning: ${warning}.` })),
  ]
}

/** @param {number} x */
const round = (x) => fixed(x, Number.isInteger(x) ? 0 : 2)
