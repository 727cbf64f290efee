// @ts-check
// Lines in another language, by a model that translates.
import { el, field } from '../dom.js'
import { modelPicker } from '../picker.js'
import { Problem } from '../api.js'
import { runner } from '../runner.js'
import { linesOf, part } from './part.js'

/** @typedef {import('../state.js').App} App */

// Those of the starter first; a model that lacks one reports those that it has.
const LANGUAGES = ['en', 'fr', 'de', 'es', 'it', 'nl', 'pt', 'pl', 'sv', 'fi', 'tr', 'uk', 'ru', 'ar', 'hi', 'zh', 'ja', 'ko']
const names = new Intl.DisplayNames('en', { type: 'language' })

/** @param {string} code */
const language = (code) => names.of(code) ?? code

/** @param {App} app @returns {import('./part.js').Part} */
export function translation(app) {
  const text = el('textarea', { id: 'translate-text', rows: 3, value: 'The train is late.\nI would like a coffee, please.' })
  const options = (/** @type {string[]} */ codes) => codes.map((code) => el('option', { value: code, text: code === 'auto' ? 'Detect' : language(code) }))
  const source = el('select', { id: 'translate-source', value: 'auto' }, options(['auto', ...LANGUAGES]))
  const target = el('select', { id: 'translate-target', value: 'fr' }, options(LANGUAGES))
  const picker = modelPicker(app, { id: 'translate-model', value: 'phrases', accept: (m) => !m.run && !m.task })
  const run = runner(app, 'Translate', async (signal) => {
    const lines = linesOf(text)
    if (lines.length === 0) throw new Problem('broken', 'Enter a text to translate.')
    const answer = await app.api.json('POST', `/v1/engines/${encodeURIComponent(picker.value())}/translate`,
      { text: lines, source_lang: source.value, target_lang: target.value }, { signal })
    return [el('div', { class: 'wide', tabindex: 0, role: 'group', 'aria-label': 'Translations' }, el('table', { class: 'data' },
      el('thead', {}, el('tr', {}, ['Text', 'Detected', language(target.value)].map((name) => el('th', { scope: 'col', text: name })))),
      el('tbody', {}, answer.translations.map((/** @type {any} */ t, /** @type {number} */ i) => el('tr', {},
        el('td', { class: 'muted', text: lines[i] }), el('td', { class: 'muted', text: language(t.detected_source_lang) }), el('td', { lang: target.value, class: 'translated', text: t.text }))))))]
  }, { id: 'translate-go' })
  run.onEnter(text)
  return part({ id: 'translation', title: 'Translation', what: 'The starter model “phrases” translates everyday sentences between English and French.', picker, run },
    field('Text, one sentence per line', text), el('div', { class: 'pair' }, field('From', source), field('To', target)))
}
