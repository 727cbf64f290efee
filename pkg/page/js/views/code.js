// @ts-check
// The requests of the page as programs, also in other dialects.
import { clear, copyButton, el, field } from '../dom.js'
import { DIALECTS } from '../dialects.js'
import { read } from '../requests.js'
import { curl, KEY, openaiNode, openaiPython } from '../snippets.js'
import { starts } from '../examples.js'

/** @typedef {import('../state.js').App} App */
/** @typedef {import('../requests.js').Call} Call */
/** @typedef {{value: string, name: string, call: Call}} Choice */
/** @typedef {{title: string, note: string, code: string}} Snippet */

/**
 * @param {HTMLElement} root
 * @param {App} app
 * @returns {import('../state.js').Mounted}
 */
export function mount(root, app) {
  const select = el('select', { id: 'code-request', on: { change: () => { app.state.codeOf = null; draw() } } })
  const key = el('p', { class: 'hint' })
  const place = el('div', { class: 'snippets' })
  let shown = false
  /** @type {Choice[]} */
  let choices = []

  const draw = () => {
    const choice = choices.find((c) => c.value === select.value)
    if (!choice) return
    key.hidden = app.api.key === ''
    key.textContent = app.api.key ? `The key is read from the environment: export ${KEY}=… before you run these.` : ''
    clear(place).append(...snippets(choice, app).map(card))
  }
  const fill = () => {
    const was = select.value
    const sent = sentChoices(app)
    choices = [...sent, ...starts.map(({ name, call }, i) => ({ value: `start-${i}`, name, call }))]
    const group = (/** @type {string} */ label, /** @type {Choice[]} */ list) =>
      list.length ? [el('optgroup', { label }, list.map((c) => el('option', { value: c.value, text: c.name })))] : []
    clear(select).append(...group('Sent by this page', sent), ...group('To begin with', choices.slice(sent.length)))
    const wanted = app.state.codeOf === null ? was || `sent-${app.api.last?.id}` : `sent-${app.state.codeOf}`
    select.value = choices.some((c) => c.value === wanted) ? wanted : choices[0]?.value ?? ''
    draw()
  }
  app.api.addEventListener('sent', () => { if (shown && root.isConnected) fill() })
  root.append(
    el('h2', { text: 'Code' }),
    el('p', { class: 'lead', text: 'Every request of this page as a program to copy: as it was sent, by OpenAI’s SDKs, and in the other dialects of this server. What a program does not say has its dialect’s own default.' }),
    el('div', { class: 'panel stack' }, field('Request', select), key), place)
  return {
    show() { shown = true; fill() },
    hide() { shown = false },
  }
}

/**
 * The newest request of each kind and model.
 * @param {App} app @returns {Choice[]}
 */
function sentChoices(app) {
  const seen = new Set()
  /** @type {Choice[]} */
  const choices = []
  for (const { id, method, path, body, at, background } of app.api.sent) {
    const same = JSON.stringify([method, path.split('?')[0], body?.model ?? body?.model_name])
    if (seen.has(same) && id !== app.state.codeOf) continue
    seen.add(same)
    const model = body?.model ?? body?.model_name
    const name = `${method} ${path}${model ? ` · ${model}` : ''} · ${background ? 'by itself' : at.toLocaleTimeString('en-GB')}`
    choices.push({ value: `sent-${id}`, name, call: { method, path, body } })
  }
  return choices
}

/**
 * @param {Choice} choice
 * @param {App} app
 * @returns {Snippet[]}
 */
function snippets({ call, value }, app) {
  const base = app.api.url('').replace(/\/$/, '')
  const keyed = app.api.key !== ''
  const reading = read(call)
  const mine = DIALECTS.find((d) => d.id === reading?.dialect)
  /** @type {Snippet[]} */
  const list = [{ title: 'curl', note: value.startsWith('sent') ? `As it was sent${mine ? `, in ${mine.name}’s dialect` : ''}.` : `In ${mine?.name}’s dialect.`, code: curl(call, base, keyed) }]
  if (!reading) return list
  const { intent, unread } = reading
  const family = 'model' in intent ? app.state.models.find((m) => m.name === intent.model)?.family || 'local' : ''
  /** @param {string[]} left */
  const without = (left) => left.length ? `Without ${left.join(', ')}.` : ''
  for (const { id, name, say } of DIALECTS) {
    const saying = id === reading.dialect ? { call, left: [] } : say(intent, family)
    const note = 'why' in saying ? `${name} ${saying.why}.` : without([...saying.left, ...(id === reading.dialect ? [] : unread)])
    const its = 'why' in saying ? null : saying.call
    if (id === 'openai') {
      list.push({ title: 'OpenAI for Python', note, code: its ? openaiPython(its, base) ?? '' : '' })
      list.push({ title: 'OpenAI for Node', note, code: its ? openaiNode(its, base) ?? '' : '' })
    }
    if (id !== reading.dialect) list.push({ title: name, note, code: its ? curl(its, base, keyed) : '' })
  }
  return list
}

/** @param {Snippet} snippet */
function card({ title, note, code }) {
  return el('section', { class: code ? 'snippet' : 'snippet none', 'aria-label': title },
    el('div', { class: 'row' }, el('h3', { text: title }), code && el('span', { class: 'push' }, copyButton(() => code))),
    note && el('p', { class: 'hint', text: note }),
    code && el('pre', { class: 'mono', tabindex: 0, role: 'group', 'aria-label': `Program: ${title}`, text: code }))
}
