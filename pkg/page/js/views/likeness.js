// @ts-check
// Lines as vectors: their similarity for a model, as an accessible heat map.
import { el, field } from '../dom.js'
import { modelPicker } from '../picker.js'
import { Problem } from '../api.js'
import { runner } from '../runner.js'
import { extremes, similarities } from '../vectors.js'
import { part } from './part.js'

/** @typedef {import('../state.js').App} App */

const MOST = 16 // lines that a map has room for

const LINES = [
  'The old lighthouse stood over the bay.', 'A lighthouse kept watch over the sea.', 'The baker sold warm bread.',
  'The train is late.', 'The train is on time.',
]

/** @param {App} app @returns {import('./part.js').Part} */
export function likeness(app) {
  const text = el('textarea', { id: 'likeness-lines', rows: 5, value: LINES.join('\n') })
  const picker = modelPicker(app, { id: 'likeness-model', value: 'novels' })
  const run = runner(app, 'Compare', async (signal) => {
    const lines = text.value.split('\n').map((line) => line.trim()).filter(Boolean)
    if (lines.length < 2) throw new Problem('broken', 'Enter at least two lines.')
    if (lines.length > MOST) throw new Problem('broken', `Enter at most ${MOST} lines: there are ${lines.length}.`)
    const { data } = await app.api.json('POST', '/v1/embeddings', { model: picker.value(), input: lines }, { signal })
    return map(lines, similarities(data.map((/** @type {any} */ d) => d.embedding)), data[0].embedding.length)
  }, { id: 'likeness-go' })
  run.onEnter(text)
  return {
    element: part('Similarity', 'Compares lines by their embeddings. A cosine of 1 means the same direction.', field('Lines', text), picker, run),
    load: picker.load, stop: run.stop,
  }
}

/**
 * @param {string[]} lines
 * @param {number[][]} matrix cosines
 * @param {number} dimensions
 * @returns {Node[]}
 */
function map(lines, matrix, dimensions) {
  const ends = extremes(matrix)
  if (!ends) return []
  const low = ends.least.value
  const shadeOf = (/** @type {number} */ value) => String(Math.round(9 * Math.min(1, Math.max(0, (value - low) / (1 - low || 1)))))
  const line = (/** @type {number} */ i) => `${i + 1} “${lines[i]}”`
  return [
    el('p', { class: 'sum', text: `Most similar: ${line(ends.most.pair[0])} and ${line(ends.most.pair[1])}, ${ends.most.value.toFixed(2)}. ` +
      (lines.length > 2 ? `Least similar: ${line(ends.least.pair[0])} and ${line(ends.least.pair[1])}, ${low.toFixed(2)}.` : '') }),
    el('div', { class: 'wide', tabindex: 0, role: 'group', 'aria-label': 'Heat map' }, el('table', { class: 'heat' },
      el('caption', { class: 'sr', text: 'Cosine similarity of each pair of lines' }),
      el('thead', {}, el('tr', {}, el('td', {}), lines.map((_, i) => el('th', { scope: 'col', text: i + 1, title: lines[i] })))),
      el('tbody', {}, matrix.map((row, i) => el('tr', {},
        el('th', { scope: 'row', title: lines[i] }, el('span', { class: 'nr', text: i + 1 }), el('span', { class: 'line', text: lines[i] })),
        row.map((value) => el('td', { dataset: { heat: shadeOf(value) }, text: value.toFixed(2) }))))))),
    el('p', { class: 'hint', text: `Embeddings have ${dimensions} dimensions. Shades range from ${low.toFixed(2)} to 1.` }),
  ]
}
