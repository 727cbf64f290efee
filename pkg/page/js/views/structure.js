// @ts-check
// A form, a text, and the typed answer that has the form.
import { copyButton, el, field } from '../dom.js'
import { modelPicker } from '../picker.js'
import { Problem } from '../api.js'
import { runner } from '../runner.js'
import { writes } from '../tasks.js'
import { jsonFault, typed } from '../typed.js'
import { isOutputType, schemaOf } from '../requests.js'
import { examples } from '../examples.js'
import { pretty } from '../snippets.js'
import { helped } from '../tip.js'

/** @typedef {import('../state.js').App} App */
/** @typedef {import('../typed.js').Shown} Shown */
/** @typedef {import('../examples.js').Form} Form */

/** @typedef {{value: any, schema: any, guarantee: string, finish: string, tokens: number}} Answer */

const PROMISES = /** @type {Record<string, [string, string]>} */ ({
  enforced: ['Enforced', 'Constrained during generation: tokens that break the schema cannot be chosen.'],
  validated: ['Validated', 'This model cannot be constrained token by token. It was given the schema, and its answer was checked.'],
  '': ['Not guaranteed', 'This model has no constrained decoding: the answer may not match the schema.'],
})

/**
 * @param {HTMLElement} root
 * @param {App} app
 * @returns {import('../state.js').Mounted}
 */
export function mount(root, app) {
  const form = el('textarea', { class: 'mono', rows: 11, spellcheck: 'false', id: 'structure-form' })
  const prompt = el('textarea', { rows: 5, id: 'structure-prompt' })
  const limit = el('input', { type: 'number', min: '1', inputmode: 'numeric', placeholder: 'auto' })
  const picker = modelPicker(app, { id: 'structure-model', value: 'forms', accept: writes, onchange: () => { limit.max = String(picker.model()?.context || '') } })
  const kinds = kindChoice()
  const start = el('select', { id: 'structure-example', on: { change: () => use(Number(start.value)) } },
    examples.map((example, i) => el('option', { value: String(i), text: example.name })))

  /** @param {number} i */
  const use = (i) => {
    const example = examples[i]
    if (!example) return
    form.value = pretty(example.form)
    prompt.value = example.prompt
    limit.value = example.limit ? String(example.limit) : ''
    kinds.set(example.kind)
  }
  const run = runner(app, 'Generate', async (signal) => {
    const text = form.value
    const fault = jsonFault(text)
    if (fault) throw new Problem('broken', `The schema is not valid JSON: ${fault}.`)
    const ask = kinds.value() === 'schema' ? bySchema : byTypes
    return show(await ask(app, { model: picker.value(), form: JSON.parse(text), prompt: prompt.value, limit: Number(limit.value) || 0 }, signal))
  }, { id: 'structure-go' })
  form.addEventListener('input', () => { // what is pasted says itself which kind it is
    if (!jsonFault(form.value)) kinds.set(isOutputType(JSON.parse(form.value)) ? 'types' : 'schema')
  })
  run.onEnter(form)
  run.onEnter(prompt)
  run.out.append(el('p', { class: 'muted', text: 'The answer appears here, with its types and as JSON.' }))
  use(0)
  root.append(
    el('h2', { text: 'Structure' }),
    el('p', { class: 'lead', text: 'Describe the answer with a JSON Schema or Lamini’s output_type. The model fills it in from a text.' }),
    el('div', { class: 'sides' },
      el('div', { class: 'panel stack' },
        field('Example', start),
        el('div', { class: 'row end' }, kinds.element),
        field('Schema', form),
        field('Text', prompt, 'The starter model “forms” expects a blank line before the text.'),
        el('div', { class: 'pair' }, picker.element, helped('Max tokens', limit, 'The maximum number of tokens to generate. If it is empty, the answer ends when the schema is complete or the model’s context is full.').element),
        run.row),
      el('section', { class: 'panel stack result', 'aria-label': 'Answer' }, run.out)))
  picker.load().catch(() => {}) // the frame says that the server does not answer
  return { hide: run.stop }
}

/** The choice between the two kinds of form. */
function kindChoice() {
  const inputs = [['schema', 'JSON Schema'], ['types', 'output_type']].map(([value, label]) =>
    ({ label, input: el('input', { type: 'radio', name: 'form-kind', value, checked: value === 'schema' }) }))
  return {
    element: el('fieldset', { class: 'segments' }, el('legend', { class: 'sr', text: 'Kind of schema' }),
      inputs.map(({ label, input }) => el('label', {}, input, label))),
    value: () => inputs.find(({ input }) => input.checked)?.input.value ?? 'schema',
    /** @param {string} kind */
    set(kind) {
      for (const { input } of inputs) input.checked = input.value === kind
    },
  }
}

/** @typedef {{model: string, form: any, prompt: string, limit: number}} Asked */

/**
 * OpenAI's way: a chat with a response_format.
 * @param {App} app @param {Asked} asked @param {AbortSignal} signal
 * @returns {Promise<Answer>}
 */
async function bySchema(app, asked, signal) {
  const answer = await app.api.json('POST', '/v1/chat/completions', {
    model: asked.model, messages: [{ role: 'user', content: asked.prompt }], temperature: 0,
    ...(asked.limit && { max_tokens: asked.limit }),
    response_format: { type: 'json_schema', json_schema: { name: 'answer', schema: asked.form } },
  }, { signal })
  const choice = answer.choices[0]
  return {
    value: parsed(choice.message.content), schema: asked.form, guarantee: choice.guarantee ?? '',
    finish: choice.finish_reason, tokens: answer.usage?.completion_tokens ?? 0,
  }
}

/**
 * Lamini's way: an output_type.
 * @param {App} app @param {Asked} asked @param {AbortSignal} signal
 * @returns {Promise<Answer>}
 */
async function byTypes(app, asked, signal) {
  const response = await app.api.send('POST', '/v2/completions', {
    model_name: asked.model, prompt: asked.prompt, output_type: asked.form, ...(asked.limit && { max_new_tokens: asked.limit }),
  }, { signal })
  const { outputs, finish_reason: finish } = await response.json()
    .catch(() => { throw new Problem('lost', 'The answer was cut off.') })
  const isForm = asked.form !== null && typeof asked.form === 'object' && !Array.isArray(asked.form)
  return { value: outputs, schema: isForm ? schemaOf(asked.form) : {}, guarantee: response.headers.get('X-Glossa-Guarantee') ?? '', finish, tokens: 0 }
}

/** @param {string} text */
function parsed(text) {
  try {
    return JSON.parse(text)
  } catch {
    throw new Problem('broken', `The answer is not JSON: “${text}”`)
  }
}

/** @param {Answer} answer @returns {Node[]} */
function show({ value, schema, guarantee, finish, tokens }) {
  const [name, meaning] = PROMISES[guarantee] ?? [guarantee, '']
  const raw = JSON.stringify(value, null, 2)
  return [
    el('div', { class: 'promise', dataset: { guarantee } }, el('strong', { text: name }), el('span', { text: meaning })),
    finish === 'length' && el('p', { class: 'hint', text: 'The token limit shortened the answer. It still matches the schema.' }),
    el('div', { class: 'typed' }, drawn(typed(value, schema))),
    el('details', { open: true, class: 'raw' },
      el('summary', { text: tokens ? `JSON, ${tokens} tokens` : 'JSON' }),
      el('div', { class: 'copied' }, el('pre', { class: 'mono', text: raw }), copyButton(() => raw))),
  ].filter((node) => node !== false)
}

/** @param {Shown | null} shown @returns {Node} */
function drawn(shown) {
  if (!shown) return el('span', { class: 'muted', text: '–', title: 'missing' })
  switch (shown.kind) {
    case 'value': return el('span', { class: 'value' }, el('span', { class: 'said', text: shown.text === '' ? '“”' : shown.text }), el('span', { class: 'type', text: shown.type }))
    case 'list':
      if (shown.items.length === 0) return el('span', { class: 'muted', text: 'empty list' })
      return el('ol', { class: 'items' }, shown.items.map((item) => el('li', {}, drawn(item))))
    case 'table':
      return el('div', { class: 'wide', tabindex: 0, role: 'group', 'aria-label': 'Table' }, el('table', { class: 'data' },
        el('thead', {}, el('tr', {}, shown.keys.map((key) => el('th', { scope: 'col', text: key })))),
        el('tbody', {}, shown.rows.map((row) => el('tr', {}, row.map((cell) => el('td', {}, drawn(cell))))))))
    case 'object':
      if (shown.members.length === 0) return el('span', { class: 'muted', text: 'empty object' })
      return el('dl', { class: 'members' }, shown.members.map(({ key, value }) =>
        el('div', {}, el('dt', { text: key }), el('dd', {}, drawn(value)))))
  }
}
