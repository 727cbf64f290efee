// @ts-check
// Texts with the scores of a classifier's labels.
import { bar, el, field } from '../dom.js'
import { statements } from '../examples.js'
import { modelPicker } from '../picker.js'
import { Problem } from '../api.js'
import { runner } from '../runner.js'
import { fixed } from '../scale.js'
import { classifies } from '../tasks.js'
import { linesOf, part } from './part.js'

/** @typedef {import('../state.js').App} App */
/** @typedef {{label: string, score: number}} Scored */

const MOST = 5 // labels of a text that are shown at once

/** Hidden where no model classifies. @param {App} app @returns {import('./part.js').Part} */
export function classification(app) {
  const text = el('textarea', { id: 'classification-texts', rows: 3, value: statements.join('\n') })
  const picker = modelPicker(app, { id: 'classification-model', alone: true, accept: classifies, onchange: () => { made.element.hidden = !picker.model() } })
  const run = runner(app, 'Classify', async (signal) => {
    const [model, list] = [picker.model(), linesOf(text)]
    if (!list.length) throw new Problem('broken', 'Enter at least one text.')
    const answer = await app.api.json('POST', '/classify', { model: picker.value(), input: list }, { signal })
    return classified(list, answer.data.map((/** @type {{probs: number[]}} */ { probs }) => sorted(probs, model?.labels ?? [])))
  }, { id: 'classification-go' })
  run.onEnter(text)
  const made = part({ id: 'classification', title: 'Classification', what: 'Scores the labels of a classifier for each text.', picker, run },
    field('Texts, one per line', text))
  made.element.hidden = true
  return made
}

/**
 * The labels of a text, the likeliest first.
 * @param {number[]} scores @param {string[]} labels
 * @returns {Scored[]}
 */
const sorted = (scores, labels) => scores.map((score, i) => ({ score, label: labels[i] ?? String(i) })).sort((a, b) => b.score - a.score)

/**
 * @param {string[]} texts
 * @param {Scored[][]} answers of each text
 * @returns {Node[]}
 */
function classified(texts, answers) {
  const scores = answers.flat().map((s) => s.score)
  const low = Math.min(0, ...scores), high = Math.max(1, ...scores) // values of a regression are wider than 0 to 1
  return [
    el('ol', { class: 'classified' }, texts.map((text, i) => {
      const list = answers[i] ?? [], more = list.slice(MOST)
      return el('li', { class: 'stack' }, el('p', { class: 'said', text }), table(list.slice(0, MOST), low, high),
        more.length ? el('details', {}, el('summary', { class: 'muted small', text: `${more.length} more ${more.length === 1 ? 'label' : 'labels'}` }), table(more, low, high)) : null)
    })),
    el('p', { class: 'hint', text: `${answers.every(shares) ? 'The scores of a text add up to 1: one label applies.' : 'Each label has a score of its own.'} Bars range from ${round(low)} to ${round(high)}.` }),
  ]
}

/** Whether the labels of a text share its probability. @param {Scored[]} list */
const shares = (list) => list.length > 1 && Math.abs(list.reduce((sum, s) => sum + s.score, 0) - 1) < 1e-3

/** @param {Scored[]} list @param {number} low @param {number} high */
function table(list, low, high) {
  return el('table', { class: 'data labels', 'aria-label': 'Scores of the labels' },
    el('tbody', {}, list.map(({ label, score }) => el('tr', {},
      el('th', { scope: 'row', text: label }), el('td', {}, bar((score - low) / (high - low))), el('td', { class: 'num', text: fixed(score, 3) })))))
}

/** @param {number} x */
const round = (x) => fixed(x, Number.isInteger(x) ? 0 : 2)
