// @ts-check
// The requests of the page as programs, in each dialect that can express them.
import { button, clear, copyButton, el, field, newId } from '../dom.js'
import { NOUNS, readings } from '../dialects.js'
import { starts } from '../examples.js'
import { filed, fileNames } from '../files.js'
import { highlight } from '../highlight.js'
import { goCode, javascriptCode, pythonCode } from '../languages.js'
import { read } from '../requests.js'
import { anthropicNode, anthropicPython, ollamaNode, ollamaPython } from '../sdks.js'
import { keep, settings, textOf } from '../settings.js'
import { coherePython, curl, KEY, openaiNode, openaiPython } from '../snippets.js'

/** @typedef {import('../state.js').App} App */
/** @typedef {import('../requests.js').Call} Call */
/** @typedef {import('../dialects.js').Reading} Reading */
/** @typedef {{value: string, name: string, call: Call}} Choice */

/**
 * The languages: the program of a request, and how it is run.
 * @type {Record<string, {code: (call: Call, base: string, keyed: boolean) => string, run: string}>}
 */
const LANGUAGES = {
  curl: { code: curl, run: '' },
  Python: { code: pythonCode, run: 'python3 program.py' },
  JavaScript: { code: javascriptCode, run: 'node program.mjs' },
  Go: { code: goCode, run: 'go run program.go' },
}

/**
 * The SDKs that stand in for a language's own library, by dialect.
 * @type {Record<string, Record<string, {code: (call: Call, base: string) => string|null, run: string}>>}
 */
const SDKS = {
  openai: sdk('openai', openaiPython, 'openai', openaiNode),
  responses: sdk('openai', openaiPython, 'openai', openaiNode),
  anthropic: sdk('anthropic', anthropicPython, '@anthropic-ai/sdk', anthropicNode),
  ollama: sdk('ollama', ollamaPython, 'ollama', ollamaNode),
  cohere: { Python: { code: coherePython, run: 'pip install cohere, then python3 program.py' } },
}

/** @typedef {(call: Call, base: string) => string|null} Program */

/** @param {string} pip @param {Program} python @param {string} npm @param {Program} node */
function sdk(pip, python, npm, node) {
  return {
    Python: { code: python, run: `pip install ${pip}, then python3 program.py` },
    JavaScript: { code: node, run: `npm install ${npm}, then node program.mjs` },
  }
}

const part = 'code' // of the settings

/**
 * @param {HTMLElement} root
 * @param {App} app
 * @returns {import('../state.js').Mounted}
 */
export function mount(root, app) {
  const view = new Code(app)
  root.append(...view.elements)
  return { show: () => view.show(), hide: () => { view.shown = false } }
}

class Code {
  shown = false
  /** @type {Choice[]} */
  choices = []
  /** The dialect on show. */
  dialect = ''
  /** Dialects that lack something, and are shown without it. @type {Set<string>} */
  partly = new Set()

  /** @param {App} app */
  constructor(app) {
    this.app = app
    const { dialect, language } = settings(part)
    this.chosen = { dialect: textOf(dialect), language: Object.hasOwn(LANGUAGES, language) ? textOf(language) : 'curl' }
    this.select = el('select', { id: 'code-request', on: { change: () => { app.state.codeOf = null; this.#pick() } } })
    this.key = el('p', { class: 'note' })
    this.tabs = el('div', { class: 'dialects', role: 'tablist', 'aria-label': 'Dialects', on: { keydown: (/** @type {KeyboardEvent} */ e) => this.#keys(e) } })
    this.note = el('p', { class: 'note' })
    this.pre = el('pre', { class: 'mono', tabindex: 0, role: 'group' })
    this.panel = el('div', { id: 'code-panel', role: 'tabpanel', class: 'program' },
      el('div', { class: 'row' }, this.#languages(), this.note, copyButton(() => this.pre.textContent ?? '')), this.pre)
    this.lacking = el('section', { 'aria-label': 'Other dialects' })
    this.elements = [
      el('h2', { text: 'Code' }),
      el('p', { class: 'lead', text: 'Every request of this page as a program to copy, in each dialect that can express it.' }),
      el('div', { class: 'panel stack' }, field('Request', this.select), this.key),
      el('div', { class: 'program' }, this.tabs, this.panel, this.lacking),
    ]
    app.api.addEventListener('sent', () => { if (this.shown && this.select.isConnected) this.#fill() })
  }

  show() {
    this.shown = true
    this.#fill()
  }

  /** The choice of a language. */
  #languages() {
    const name = newId('language')
    return el('fieldset', {}, el('legend', { class: 'sr', text: 'Language' }), el('div', { class: 'segments' },
      Object.keys(LANGUAGES).map((value) => el('label', {},
        el('input', { type: 'radio', name, value, checked: value === this.chosen.language, on: { change: () => this.#choose({ language: value }) } }), value))))
  }

  /** Lists the requests, and keeps the one on show. */
  #fill() {
    const was = this.select.value
    const sent = sentChoices(this.app)
    this.choices = [...sent, ...starts.map(({ name, call }, i) => ({ value: `start-${i}`, name, call }))]
    const group = (/** @type {string} */ label, /** @type {Choice[]} */ list) =>
      list.length ? [el('optgroup', { label }, list.map((c) => el('option', { value: c.value, text: c.name })))] : []
    clear(this.select).append(...group('Sent by this page', sent), ...group('Examples', this.choices.slice(sent.length)))
    const { codeOf } = this.app.state
    const wanted = codeOf === null ? was || `sent-${this.app.api.last?.id}` : `sent-${codeOf}`
    this.select.value = this.choices.some((c) => c.value === wanted) ? wanted : 'start-0'
    if (this.select.value === was) this.#draw()
    else this.#pick()
  }

  /** Shows another request. */
  #pick() {
    this.partly.clear()
    this.dialect = this.chosen.dialect
    this.#draw()
  }

  /** Remembers a choice of the user. @param {{dialect?: string, language?: string}} choice */
  #choose(choice) {
    Object.assign(this.chosen, choice)
    this.dialect = choice.dialect ?? this.dialect
    keep(part, choice)
    this.#draw()
  }

  #draw() {
    const choice = this.choices.find((c) => c.value === this.select.value)
    if (!choice) return
    const { app } = this, keyed = app.api.key !== ''
    this.key.hidden = !keyed
    this.key.textContent = keyed ? `The key is read from the environment: export ${KEY}=… before you run a program.` : ''
    const reading = read(choice.call)
    const family = reading && 'model' in reading.intent ? app.state.models.find((m) => m.name === /** @type {any} */ (reading.intent).model)?.family || 'local' : ''
    const all = reading ? readings(choice.call, reading, family) : []
    const able = all.filter((r) => r.call && (!r.lacks || this.partly.has(r.id)))
    const on = able.find((r) => r.id === this.dialect) ?? able.find((r) => r.id === reading?.dialect) ?? able[0]
    this.dialect = on?.id ?? ''
    this.#tabs(able)
    this.#program(on?.call ?? choice.call, on)
    this.#others(all.filter((r) => !able.includes(r)), reading ? NOUNS[reading.intent.kind] : '')
  }

  /** @param {Reading[]} able */
  #tabs(able) {
    const focused = this.tabs.contains(document.activeElement)
    this.tabs.hidden = !able.length
    clear(this.tabs).append(...able.map(({ id, name }) => {
      const selected = id === this.dialect
      return el('button', { type: 'button', id: `code-tab-${id}`, role: 'tab', 'aria-selected': String(selected), 'aria-controls': 'code-panel', tabindex: selected ? 0 : -1,
        text: name, on: { click: () => { this.#choose({ dialect: id }); this.#tab()?.focus() } } })
    }))
    const tab = this.#tab()
    if (tab) this.panel.setAttribute('aria-labelledby', tab.id)
    else this.panel.setAttribute('aria-label', 'Program')
    if (focused) tab?.focus()
    const beyond = tab && tab.getBoundingClientRect().right - this.tabs.getBoundingClientRect().right
    if (beyond && beyond > 0) this.tabs.scrollLeft += Math.ceil(beyond) // the tab of an earlier visit, in a narrow window
  }

  /** @returns {HTMLElement|null} the selected tab */
  #tab() {
    return this.tabs.querySelector('[aria-selected="true"]')
  }

  /**
   * @param {Call} call
   * @param {Reading} [of]
   */
  #program(call, of) {
    const { app, chosen: { language } } = this
    const base = app.api.url('').replace(/\/$/, '')
    const plain = LANGUAGES[language]
    const own = SDKS[of?.id ?? '']?.[language]
    const program = own?.code(call, base)
    const run = program ? own?.run : plain?.run
    this.note.className = of?.lacks ? 'note lacks' : 'note'
    const files = fileNames(call.body)
    this.note.textContent = [files.length ? `The program reads ${and(files)} from the current folder.` : '', of?.lacks ? `Without ${and(of.lacks)}.` : run ? `Run it: ${run}` : ''].join(' ').trim()
    clear(this.pre).append(...highlight(program ?? plain?.code(call, base, app.api.key !== '') ?? '', language))
    this.pre.setAttribute('aria-label', `Program: ${of?.name ?? 'this request'}, ${language}`)
  }

  /** Lists the dialects that cannot express the request, with the reasons. @param {Reading[]} all @param {string} noun of requests of its kind */
  #others(all, noun) {
    const list = all.filter((r) => r.why), without = all.filter((r) => !r.why).map((r) => r.name)
    clear(this.lacking).append(...all.length ? [el('ul', { class: 'lacking' }, list.map(({ id, name, why, lacks }) => el('li', { dataset: { dialect: id } },
      el('span', { text: why }), lacks && button('Show without', () => {
        this.partly.add(id)
        this.dialect = id
        this.#draw()
        this.#tab()?.focus()
      }, { kind: 'quiet', title: `Show ${name} without ${and(lacks)}` }))), without.length > 0 && el('li', {}, el('span', { text: `${and(without)} ${without.length === 1 ? 'has' : 'have'} no ${noun}.` })))] : [])
  }

  /** @param {KeyboardEvent} event */
  #keys(event) {
    const all = [...this.tabs.querySelectorAll('button')], at = all.findIndex((b) => b === document.activeElement)
    /** @type {Record<string, number>} */
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: all.length - 1 }
    const next = to[event.key]
    if (next === undefined) return
    event.preventDefault()
    all[(next + all.length) % all.length]?.click()
  }
}

/** @param {string[]} list */
const and = (list) => new Intl.ListFormat('en', { type: 'conjunction' }).format(list)

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
    const name = `${method} ${path}${model ? ` · ${model}` : ''} · ${background ? 'automatic' : at.toLocaleTimeString('en-GB')}`
    choices.push({ value: `sent-${id}`, name, call: filed({ method, path, body }) })
  }
  return choices
}
