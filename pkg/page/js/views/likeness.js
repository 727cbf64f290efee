// @ts-check
// Lines as vectors: their similarity for a model, as a map of points and as a heat map.
import { texts } from '../examples.js'
import { el, field } from '../dom.js'
import { modelPicker } from '../picker.js'
import { plane } from '../plane.js'
import { Problem } from '../api.js'
import { runner } from '../runner.js'
import { fixed } from '../scale.js'
import { Scatter } from '../scatter.js'
import { compared, embeds } from '../tasks.js'
import { extremes, nearest, similarities } from '../vectors.js'
import { linesOf, part } from './part.js'

/** @typedef {import('../state.js').App} App */

const MOST = 16 // lines that a map has room for

/** @param {App} app @returns {import('./part.js').Part} */
export function likeness(app) {
  const text = el('textarea', { id: 'likeness-lines', rows: 10, value: texts.join('\n') })
  const note = el('p', { class: 'hint', id: 'likeness-note', hidden: true })
  const picker = modelPicker(app, { id: 'likeness-model', value: 'sentences', alone: true, accept: (m) => compared(m, app.state.models), onchange: () => {
    const model = picker.model()
    note.hidden = !model || embeds(model)
    note.textContent = `This server has no embedder. The vectors of ${model?.name} are averages over its tokens: they compare words and style more than meaning.`
  } })
  const run = runner(app, 'Compare', async (signal) => {
    const lines = linesOf(text)
    if (lines.length < 2) throw new Problem('broken', 'Enter at least two lines.')
    if (lines.length > MOST) throw new Problem('broken', `Enter at most ${MOST} lines: there are ${lines.length}.`)
    const { data } = await app.api.json('POST', '/v1/embeddings', { model: picker.value(), input: lines }, { signal })
    return shown(lines, data.map((/** @type {any} */ d) => d.embedding))
  }, { id: 'likeness-go' })
  run.onEnter(text)
  return part({ id: 'similarity', title: 'Similarity', what: 'Compares lines by their embeddings. A cosine of 1 means the same direction.', picker, run },
    field('Lines', text), note)
}

/**
 * @param {string[]} lines
 * @param {number[][]} vectors
 * @returns {Node[]}
 */
function shown(lines, vectors) {
  const matrix = similarities(vectors), ends = extremes(matrix), { points, share } = plane(vectors)
  if (!ends) return []
  const low = ends.least.value
  const line = (/** @type {number} */ i) => `${i + 1} “${lines[i]}”`
  const marks = lines.map((text, i) => {
    const near = nearest(matrix, i)
    return { text, point: points[i] ?? { x: 0, y: 0 }, near, value: matrix[i]?.[near] ?? 0 }
  })
  return [
    el('p', { class: 'sum', text: `Most similar: ${line(ends.most.pair[0])} and ${line(ends.most.pair[1])}, ${fixed(ends.most.value, 2)}. ` +
      (lines.length > 2 ? `Least similar: ${line(ends.least.pair[0])} and ${line(ends.least.pair[1])}, ${fixed(low, 2)}.` : '') }),
    new Scatter(marks, 'Map of the lines').element,
    heat(lines, matrix, low),
    el('p', { class: 'hint', text: `Embeddings have ${vectors[0]?.length} dimensions. The map shows the two principal components, which keep ${percent(share)} of the variance. Shades range from ${fixed(low, 2)} to 1.` }),
  ]
}

/** @param {number} share */
const percent = (share) => `${Math.round(100 * share)}%`

/**
 * @param {string[]} lines
 * @param {number[][]} matrix cosines
 * @param {number} low the lowest of them
 */
function heat(lines, matrix, low) {
  const shadeOf = (/** @type {number} */ value) => String(Math.round(9 * Math.min(1, Math.max(0, (value - low) / (1 - low || 1)))))
  return el('div', { class: 'wide', tabindex: 0, role: 'group', 'aria-label': 'Heat map' }, el('table', { class: 'heat' },
    el('caption', { class: 'sr', text: 'Cosine similarity of each pair of lines' }),
    el('thead', {}, el('tr', {}, el('td', {}), lines.map((_, i) => el('th', { scope: 'col', text: i + 1, title: lines[i] })))),
    el('tbody', {}, matrix.map((row, i) => el('tr', {},
      el('th', { scope: 'row', title: lines[i] }, el('span', { class: 'nr', text: i + 1 }), el('span', { class: 'line', text: lines[i] })),
      row.map((value) => el('td', { dataset: { heat: shadeOf(value) }, text: fixed(value, 2) })))))))
}
