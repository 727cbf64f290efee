// @ts-check
// Write: continues a text, by one model or by two side by side.
import { Alternatives } from '../alternatives.js'
import { beginnings } from '../beginnings.js'
import { Column } from '../column.js'
import { bodyOf } from '../described.js'
import { button, clear, el } from '../dom.js'
import { drawer } from '../drawer.js'
import { recall, remember } from '../remember.js'
import { sampling } from '../sampling.js'
import { keep, settings } from '../settings.js'
import { legend } from '../shade.js'
import { writes } from '../tasks.js'

/** @typedef {import('../state.js').App} App */
/** @typedef {import('../state.js').Model} Model */

const part = 'write' // of the settings
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
    recall(this.controls.element, part)
    remember(this.controls.element, part)
    this.first = new Column(app, list, { label: 'Model', id: 'write-model', onchange: adapt })
    this.second = new Column(app, list, { label: 'Second model', id: 'write-model-2', onchange: adapt, alone: true })
    this.both = el('input', { type: 'checkbox', id: 'write-compare', on: { change: adapt } })
    this.shades = el('input', { type: 'checkbox', id: 'write-logprobs', checked: settings(part).shaded !== false, on: { change: () => keep(part, { shaded: this.shades.checked }) } })
    this.prompt = el('textarea', { id: 'write-prompt', rows: '4', placeholder: 'The beginning of a text', spellcheck: 'false', on: { input: () => { this.touched = true }, keydown: (/** @type {KeyboardEvent} */ e) => this.key(e) } })
    this.tries = el('div', { class: 'row tries' })
    this.go = button('Write', () => this.start(), { kind: 'primary', id: 'write-go', title: 'Ctrl+Enter' })
    this.stop = button('Stop', () => this.halt(), { id: 'write-stop' })
    this.legend = el('div', { class: 'row', hidden: true }, legend(), el('span', { class: 'hint', text: 'Hover over a token, or use the arrow keys.' }))
    this.columns = el('div', { class: 'columns' }, this.first.element, this.second.element)
    this.asked = el('div', { class: 'field' }, el('label', { for: 'write-prompt', text: 'Prompt' }), this.prompt)
    this.buttons = el('div', { class: 'row' }, this.go, this.stop, el('span', { class: 'hint keys', text: 'Ctrl+Enter writes, Esc stops' }))
    this.settings = this.drawer()
    this.element = el('div', { class: 'writing', on: { keydown: (/** @type {KeyboardEvent} */ e) => { if (e.key === 'Escape') this.halt() } } }, this.desk(), this.settings.aside, this.settings.sheet)
    this.count(0)
    this.adapt()
  }

  /** The input, and the answers. */
  desk() {
    return el('div', { class: 'stack' },
      el('h2', { class: 'sr', text: 'Write' }),
      el('div', { class: 'row end choices' }, this.settings.opener, this.first.picker.element, this.second.picker.element,
        el('label', { class: 'check push', for: this.both.id }, this.both, 'Compare two models')),
      this.asked, this.tries, this.buttons, this.legend, this.columns)
  }

  drawer() {
    return drawer('Settings', this.controls.element,
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

  /** Adapts everything to the models. */
  adapt() {
    const two = this.both.checked
    this.second.picker.element.hidden = this.second.element.hidden = !two
    this.columns.classList.toggle('two', two)
    const contexts = this.active().flatMap((c) => c.picker.model()?.context || [])
    this.controls.limit(bodyOf(this.described?.['/v1/completions']), contexts.length ? Math.min(...contexts) : 0)
    const model = this.first.picker.model(), list = model ? beginnings(model) : []
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

  halt() {
    for (const c of [this.first, this.second]) c.answer.stop()
  }

  start() {
    if (this.running) return
    for (const c of this.active()) void this.write(c, this.prompt.value)
  }

  /**
   * @param {Column} c
   * @param {string} prompt
   */
  async write(c, prompt) {
    const model = c.picker.model()
    const body = { model: c.picker.value(), prompt, ...this.controls.values(), stream: true, ...this.probabilities(model) }
    await this.run(c, {
      path: '/v1/completions', body, before: prompt, mono: model?.tokenizer === 'char', branch: (prefix) => { if (!this.running) void this.write(c, prefix) },
    })
  }

  /**
   * @param {Column} c
   * @param {import('../answer.js').Job} job
   */
  async run(c, job) {
    c.answer.element.hidden = false
    this.count(1)
    c.answer.element.scrollIntoView({ block: 'nearest' })
    await c.answer.write(job, () => { if (!this.running) void this.run(c, job) })
    this.count(-1)
  }

  /** @param {Model|null} model */
  probabilities(model) {
    return !this.shades.checked || model?.family && model.family !== 'local' ? {} : { logprobs: alternativesShown } // remote models tell none
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

/** The first words of a text. @param {string} text */
function cut(text) {
  const words = text.trim().split(/\s+/)
  return words.slice(0, wordsShown).join(' ') + (words.length > wordsShown ? '…' : '')
}
