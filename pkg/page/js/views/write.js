// @ts-check
// Write: a prompt or a chat, by one model or by two side by side.
import { Alternatives } from '../alternatives.js'
import { beginnings } from '../beginnings.js'
import { Column, writes } from '../column.js'
import { button, clear, el, newId } from '../dom.js'
import { drawer } from '../drawer.js'
import { sampling } from '../sampling.js'
import { legend } from '../shade.js'
import { helped } from '../tip.js'

/** @typedef {import('../state.js').App} App */
/** @typedef {import('../state.js').Model} Model */

const alternativesShown = 5
const wordsShown = 6 // of a beginning

/**
 * @param {HTMLElement} root
 * @param {App} app
 * @returns {import('../state.js').Mounted}
 */
export function mount(root, app) {
  const list = new Alternatives()
  const view = new Writing(app, list)
  root.append(view.element, list.box)
  void view.load()
  return { show: () => view.shown(), hide: () => list.hide() }
}

class Writing {
  running = 0 // answers that are being written
  touched = false // the prompt is the reader's own
  /** The paths of the OpenAPI document, once it was read. @type {any} */
  described = null

  /**
   * @param {App} app
   * @param {Alternatives} list
   */
  constructor(app, list) {
    const adapt = () => this.adapt()
    this.app = app
    this.controls = sampling()
    this.first = new Column(app, list, { label: 'Model', id: 'write-model', onchange: adapt })
    this.second = new Column(app, list, { label: 'Beside it', id: 'write-model-2', onchange: adapt, alone: true })
    this.chat = el('input', { type: 'radio', value: 'chat', on: { change: adapt } })
    this.both = el('input', { type: 'checkbox', id: 'write-compare', on: { change: adapt } })
    this.shades = el('input', { type: 'checkbox', id: 'write-logprobs', checked: true })
    this.prompt = el('textarea', { id: 'write-prompt', rows: '4', spellcheck: 'false', on: { input: () => { this.touched = true }, keydown: (/** @type {KeyboardEvent} */ e) => this.key(e) } })
    this.promptLabel = el('label', { for: 'write-prompt' })
    this.tries = el('div', { class: 'row tries' })
    this.go = button('Write', () => this.start(), { kind: 'primary', id: 'write-go', title: 'Ctrl+Enter' })
    this.stop = button('Stop', () => this.halt(), { id: 'write-stop' })
    this.fresh = button('New chat', () => this.forget(), { kind: 'quiet', id: 'write-new' })
    this.legend = el('div', { class: 'row', hidden: true }, legend(), el('span', { class: 'hint', text: 'Point at a token, or go through the text with the arrow keys.' }))
    this.columns = el('div', { class: 'columns' }, this.first.element, this.second.element)
    this.system = el('textarea', { rows: '2' })
    this.asked = el('div', { class: 'field' }, this.promptLabel, this.prompt)
    this.buttons = el('div', { class: 'row' }, this.go, this.stop, this.fresh, el('span', { class: 'hint keys', text: 'Ctrl+Enter writes, Esc stops' }))
    this.systemField = helped('System message', this.system, 'Instructions for the whole chat. Models without a chat format read them as the beginning of the text.').element
    this.settings = this.drawer()
    this.element = el('div', { class: 'writing', on: { keydown: (/** @type {KeyboardEvent} */ e) => { if (e.key === 'Escape') this.halt() } } }, this.desk(), this.settings.aside, this.settings.sheet)
    this.count(0)
    this.adapt()
  }

  /** The input, and the answers. */
  desk() {
    const name = newId('mode'), prompt = el('input', { type: 'radio', value: 'prompt', name, checked: true, on: { change: () => this.adapt() } })
    this.chat.name = name
    const modes = el('fieldset', {}, el('legend', { class: 'sr', text: 'Way of asking' }),
      el('div', { class: 'segments' }, el('label', {}, prompt, 'Prompt'), el('label', {}, this.chat, 'Chat')))
    return el('div', { class: 'stack' },
      el('h2', { class: 'sr', text: 'Write' }),
      el('div', { class: 'row end choices' }, modes, this.settings.opener, this.first.picker.element, this.second.picker.element,
        el('label', { class: 'check push', for: this.both.id }, this.both, 'Two models')),
      this.asked, this.tries, this.buttons, this.legend, this.columns)
  }

  drawer() {
    return drawer('Settings', this.controls.element, this.systemField,
      el('label', { class: 'check', for: this.shades.id }, this.shades, 'Token probabilities'))
  }

  /** Reads the lists of the server. */
  async load() {
    try {
      await this.first.picker.load()
      await this.second.picker.load()
    } catch {
      return // the frame says so, and mounts this anew when there is a list
    }
    const other = this.app.state.models.find((m) => writes(m) && m.name !== this.first.picker.value())
    if (other) this.second.picker.set(other.name)
    this.described = (await this.app.openapi().catch(() => null))?.paths // else the server says what is out of range
    this.adapt()
  }

  /** Takes the model that another view chose. */
  shown() {
    const name = this.app.state.model, { picker } = this.first
    if (name && name !== picker.value() && this.app.state.models.some((m) => m.name === name && writes(m))) picker.set(name)
  }

  active() {
    return this.both.checked ? [this.first, this.second] : [this.first]
  }

  /** Adapts everything to the mode and the models. */
  adapt() {
    const chat = this.chat.checked, two = this.both.checked
    this.second.picker.element.hidden = this.second.element.hidden = !two
    this.columns.classList.toggle('two', two)
    if (chat) this.asked.before(this.legend, this.columns) // the next message goes below what was said
    else this.buttons.after(this.legend, this.columns)
    this.fresh.hidden = this.systemField.hidden = !chat
    this.promptLabel.textContent = chat ? 'Message' : 'Prompt'
    this.prompt.placeholder = chat ? 'What you say' : 'The beginning of a text'
    this.go.textContent = chat ? 'Send' : 'Write'
    const contexts = this.active().flatMap((c) => c.picker.model()?.context || [])
    this.controls.limit(bodyOf(this.described?.[chat ? '/v1/chat/completions' : '/v1/completions']), contexts.length ? Math.min(...contexts) : 0)
    const model = this.first.picker.model(), list = model ? beginnings(model, chat) : []
    if (!this.touched) this.prompt.value = list[0] ?? ''
    clear(this.tries).append(list.length ? 'Try' : '', ...list.map((text) => button(cut(text), () => this.use(text), { kind: 'quiet' })))
  }

  /** @param {string} text */
  use(text) {
    this.prompt.value = text
    this.touched = false
    this.prompt.focus()
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return
    event.preventDefault()
    this.start()
  }

  forget() {
    this.halt()
    for (const c of this.active()) c.forget()
    this.prompt.focus()
  }

  halt() {
    for (const c of [this.first, this.second]) c.answer.stop()
  }

  start() {
    if (this.running) return
    const text = this.prompt.value, chat = this.chat.checked
    for (const c of this.active()) {
      if (chat) c.say(text)
      void this.write(c, chat ? null : text)
    }
    if (!chat) return
    this.prompt.value = ''
    this.touched = true
  }

  /**
   * @param {Column} c
   * @param {string|null} prompt null: the conversation
   */
  async write(c, prompt) {
    const model = c.picker.model(), chat = prompt === null
    const body = { model: c.picker.value(), ...chat ? this.conversation(c) : { prompt }, ...this.controls.values(), stream: true, ...this.probabilities(chat, model) }
    if (!chat) c.forget()
    await this.run(c, {
      path: chat ? '/v1/chat/completions' : '/v1/completions', body, before: prompt ?? '', mono: model?.tokenizer === 'char',
      branch: chat ? null : (prefix) => { if (!this.running) void this.write(c, prefix) },
    })
  }

  /**
   * @param {Column} c
   * @param {import('../answer.js').Job} job
   */
  async run(c, job) {
    c.answer.element.hidden = false
    this.count(1)
    const seen = job.branch ? c.answer.element : this.buttons
    seen.scrollIntoView({ block: 'nearest' })
    await c.answer.write(job, () => { if (!this.running) void this.run(c, job) })
    this.count(-1)
    if (seen === this.buttons) seen.scrollIntoView({ block: 'nearest' })
  }

  /** @param {Column} c */
  conversation(c) {
    const system = this.system.value
    return { messages: [...system ? [{ role: 'system', content: system }] : [], ...c.messages] }
  }

  /**
   * @param {boolean} chat
   * @param {Model|null} model
   */
  probabilities(chat, model) {
    if (!this.shades.checked || model?.family && model.family !== 'local') return {} // remote models tell none
    return chat ? { logprobs: true, top_logprobs: alternativesShown } : { logprobs: alternativesShown }
  }

  /** @param {number} more answers that are being written */
  count(more) {
    this.running += more
    const on = this.running > 0
    this.go.setAttribute('aria-disabled', String(on)) // and not disabled, which would lose the focus
    this.stop.setAttribute('aria-disabled', String(!on))
    if (on) this.legend.hidden = !this.shades.checked
  }
}

/**
 * The schema of a path's body: of several dialects that share the path, OpenAI's.
 * @param {any} path
 */
function bodyOf(path) {
  const schema = path?.post?.requestBody?.content?.['application/json']?.schema
  return (schema?.anyOf ?? [schema]).find((/** @type {any} */ one) => one?.properties?.temperature)
}

/** The first words of a text. @param {string} text */
function cut(text) {
  const words = text.trim().split(/\s+/)
  return words.slice(0, wordsShown).join(' ') + (words.length > wordsShown ? '…' : '')
}
