// @ts-check
// The dialog that sends a request to this server and shows the answer as it comes.
import { hashed } from '../api.js'
import { button, clear, copyButton, el, field } from '../dom.js'
import { pretty } from '../snippets.js'
import { endpoint, given } from './operation.js'
import { colour } from './panel.js'
import { languages } from './samples.js'

/** @typedef {import('../api.js').Api} Api */
/** @typedef {import('./document.js').Operation} Operation */
/** @typedef {import('./document.js').Reference} Reference */
/** @typedef {import('./document.js').Example} Example */

const longest = 200_000 // characters of an answer that are shown

export class Attempt {
  /** @type {Operation|null} */
  #op = null
  /** @type {AbortController|null} */
  #sending = null
  /** What the reader wrote, by operation. @type {Map<string, string>} */
  #written = new Map()
  /** @type {Promise<string[]>|null} */
  #models = null
  /** @type {{name: string, in: string, input: HTMLInputElement|HTMLSelectElement}[]} */
  #inputs = []

  /** @param {Api} api @param {Reference} ref */
  constructor(api, ref) {
    this.api = api
    this.ref = ref
    this.title = el('h2', { id: 'try-title' })
    this.key = el('input', { id: 'try-key', type: 'password', autocomplete: 'off', spellcheck: 'false', on: { input: () => { api.key = this.key.value.trim() } } })
    this.keyField = field('API key', this.key, 'Kept in this tab’s memory alone: never stored, gone when the tab is closed.')
    this.inputs = el('div', { class: 'stack' })
    this.body = el('textarea', { id: 'try-body', class: 'mono', spellcheck: 'false', rows: 12, on: { input: () => this.#check() } })
    this.wrong = el('p', { class: 'bad', id: 'try-wrong', role: 'alert' })
    this.flow = el('input', { id: 'try-stream', type: 'checkbox', on: { change: () => this.#stream() } })
    this.flowField = el('label', { class: 'check' }, this.flow, 'Stream the answer')
    this.bodyField = el('div', { class: 'stack' }, field('Body', this.body), this.wrong, this.flowField)
    this.body.setAttribute('aria-describedby', 'try-wrong')
    this.file = el('input', { id: 'try-file', type: 'file' })
    this.fileField = field('File', this.file)
    this.go = el('button', { type: 'submit', class: 'primary', id: 'try-send', text: 'Send' })
    this.stop = button('Stop', () => this.#sending?.abort(), { id: 'try-stop' })
    this.said = el('p', { class: 'try-status', role: 'status', 'aria-live': 'polite' })
    this.hint = el('p', { class: 'try-hint' })
    this.code = el('code')
    this.out = el('pre', { tabindex: 0, role: 'region', 'aria-label': 'Answer' }, this.code)
    this.headers = el('pre', { class: 'small' })
    this.more = el('details', { hidden: true }, el('summary', { text: 'Headers' }), this.headers)
    this.place = el('div', { class: 'try-place' })
    this.dialog = this.#dialog()
    document.body.append(this.dialog)
  }

  #dialog() {
    const close = button('Close', () => this.dialog.close(), { kind: 'quiet', id: 'try-close' })
    const dialog = el('dialog', { class: 'try', 'aria-labelledby': 'try-title', on: { close: () => this.#sending?.abort() } },
      el('div', { class: 'try-head' }, el('div', {}, this.title, this.place), close),
      el('div', { class: 'try-parts' },
        el('form', { class: 'stack', on: { submit: (/** @type {Event} */ e) => { e.preventDefault(); void this.#send() } } },
          this.keyField, this.inputs, this.bodyField, this.fileField,
          el('div', { class: 'row' }, this.go, this.stop, copyButton(() => languages[0]?.of(this.#request(), this.#base(), this.api.key !== '') ?? '', 'Copy as curl'))),
        el('div', { class: 'try-answer stack' }, this.said, this.hint, el('div', { class: 'code' }, this.out), this.more)))
    dialog.addEventListener('keydown', (e) => {
      if (e.key === 'Enter' && (e.ctrlKey || e.metaKey)) { e.preventDefault(); void this.#send() }
    })
    return dialog
  }

  #base() { return this.api.url('').replace(/\/$/, '') }

  /** @param {Operation} op @param {Example|undefined} example @param {boolean} flows */
  open(op, example, flows) {
    this.#op = op
    this.title.textContent = op.summary
    clear(this.place).append(endpoint(op))
    this.key.value = this.api.key
    this.keyField.hidden = op.key !== 'required' && !(op.key === 'optional' && this.api.key)
    this.#inputs = op.parameters.filter((p) => p.status !== 'not supported').map((p) => this.#input(p))
    clear(this.inputs).append(...this.#inputs.map(({ name, input }) => {
      const p = op.parameters.find((q) => q.name === name)
      return field(name + (p?.required ? '' : ' (optional)'), input, [p?.text, p?.fallback && `Default: ${p.fallback}.`, p?.limits.length ? `Limits: ${p.limits.join('; ')}.` : ''].filter(Boolean).join(' '))
    }))
    this.inputs.hidden = !this.#inputs.length
    const bytes = op.media.some((kind) => kind !== 'application/json') || op.fields.length > 0
    this.bodyField.hidden = !op.forms.length
    this.fileField.hidden = !bytes
    this.file.value = ''
    this.body.value = this.#written.get(this.#name(example)) ?? (example ? pretty(example.value) : '')
    this.body.dataset.example = this.#name(example)
    this.flowField.hidden = op.streams !== 'asked'
    this.flow.checked = flows
    if (op.streams === 'asked') this.#stream()
    this.#check()
    this.#say('', '')
    this.hint.textContent = bytes && op.forms.length ? 'A file is sent instead of the JSON body.' : ''
    clear(this.code)
    this.more.hidden = true
    this.stop.hidden = true
    this.dialog.showModal()
    const first = this.#inputs[0]?.input ?? (op.forms.length ? this.body : this.go)
    first.focus()
    if (example || op.parameters.some((p) => p.example)) void this.#useModels(op)
  }

  /** @param {Example|undefined} example */
  #name(example) { return `${this.#op?.id} ${example?.code ?? ''}` }

  /** @param {Operation['parameters'][number]} p */
  #input(p) {
    const value = given(p) ?? ''
    const input = p.values.length > 1
      ? el('select', { value: String(value) }, p.required ? null : el('option', { value: '', text: '' }), p.values.map((v) => el('option', { text: JSON.parse(v) })))
      : el('input', { type: /integer|number/.test(p.type) ? 'number' : 'text', step: p.type === 'integer' ? 1 : 'any', value: String(value), autocomplete: 'off', spellcheck: 'false' })
    if (p.required) input.required = true
    input.id = `try-${p.in}-${p.name}`
    return { name: p.name, in: p.in, input }
  }

  /** Takes a model that this server has, if it lacks that of the example. @param {Operation} op */
  async #useModels(op) {
    if (!this.ref.operations.some((o) => o.method === 'GET' && o.path === '/v1/models') || !this.ref.open && !this.api.key) return
    this.#models ??= this.api.json('GET', '/v1/models', undefined, { background: true }).then((list) => list.data.map((/** @type {any} */ m) => m.id))
    const names = await this.#models.catch(() => { this.#models = null; return /** @type {string[]} */ ([]) })
    const [first] = names
    if (!first || names.includes('novels') || this.#op !== op) return
    for (const { input } of this.#inputs) if (input.value === 'novels') input.value = first
    this.body.value = this.body.value.replace(/("model(?:_name)?": )"novels"/, `$1${JSON.stringify(first)}`)
  }

  /** The JSON of the body; undefined if it is none. */
  #json() {
    try {
      return JSON.parse(this.body.value)
    } catch {
      return undefined
    }
  }

  #check() {
    let fault = ''
    if (!this.bodyField.hidden && !this.file.files?.length) {
      try {
        const body = JSON.parse(this.body.value)
        this.flow.checked = body?.stream === true
      } catch (error) {
        fault = `The body is not JSON: ${error instanceof Error ? error.message : error}`
      }
    }
    this.wrong.textContent = fault
    this.body.setAttribute('aria-invalid', String(fault !== ''))
    if (this.#op && this.body.dataset.example) this.#written.set(this.body.dataset.example, this.body.value)
    return !fault
  }

  #stream() {
    const body = this.#json()
    if (body === undefined || body === null || typeof body !== 'object' || (body.stream === true) === this.flow.checked) return
    const { stream, ...rest } = body
    this.body.value = pretty(this.flow.checked ? { ...rest, stream: true } : rest)
    this.#check()
  }

  /** @returns {import('./samples.js').Request} */
  #request() {
    const op = /** @type {Operation} */ (this.#op)
    let path = op.path
    const query = new URLSearchParams()
    /** @type {Record<string, string>} */
    const headers = {}
    for (const { name, in: place, input } of this.#inputs) {
      if (place === 'path') path = path.replace(`{${name}}`, encodeURIComponent(input.value))
      else if (input.value !== '' && place === 'query') query.set(name, input.value)
      else if (input.value !== '') headers[name] = input.value
    }
    const bytes = op.media.find((kind) => kind !== 'application/json') ?? ''
    const file = bytes && (this.file.files?.length || !op.forms.length) ? bytes : ''
    const body = op.forms.length && !file ? this.#json() ?? null : null
    return { method: op.method, path: path + (query.size ? `?${query}` : ''), headers, body, file, fields: op.fields, flows: op.streams === 'always' || body?.stream === true }
  }

  /** @param {string} text @param {string} kind */
  #say(text, kind) {
    this.said.textContent = text
    this.said.dataset.kind = kind
  }

  async #send() {
    if (this.#sending || !this.#op || !this.#check()) return
    const request = this.#request()
    const sending = this.#sending = new AbortController()
    /** @type {Record<string, string>} */
    const headers = { ...request.headers }
    const fields = request.fields.length ? new FormData() : null // the browser writes its type
    for (const f of request.fields) fields?.append(f.name, f.file ? this.file.files?.[0] ?? new Blob() : f.value)
    if (request.file || request.body !== null) headers['Content-Type'] = request.file || 'application/json'
    if (this.api.key && this.#op.key !== 'none') headers['Authorization'] = `Bearer ${this.api.key}`
    this.go.disabled = true
    this.stop.hidden = false
    this.hint.textContent = ''
    this.more.hidden = true
    clear(this.code)
    this.#say('Sending', 'wait')
    const begun = performance.now()
    const text = request.body === null ? undefined : JSON.stringify(request.body)
    try {
      Object.assign(headers, await hashed(this.api.url(request.path), text))
      const response = await fetch(this.api.url(request.path), {
        method: request.method, headers, body: fields ? fields : request.file ? this.file.files?.[0] ?? new Blob() : text,
        signal: sending.signal, cache: 'no-store', credentials: 'omit', referrerPolicy: 'no-referrer',
      })
      await this.#show(response, begun)
    } catch (error) {
      if (sending.signal.aborted) this.#say('Stopped', 'bad')
      else this.#say(`No answer: the connection to ${new URL(this.#base()).host} was lost or refused.`, 'bad')
    }
    this.#sending = null
    this.go.disabled = false
    this.stop.hidden = true
  }

  /** @param {Response} response @param {number} begun */
  async #show(response, begun) {
    const kind = response.headers.get('Content-Type') ?? ''
    this.headers.textContent = [...response.headers].map(([name, value]) => `${name}: ${value}`).join('\n')
    this.more.hidden = false
    const line = (/** @type {string} */ more) => `${response.status} ${response.statusText}`.trim() + ` · ${Math.round(performance.now() - begun)} ms${more}`
    this.#say(line(''), response.ok ? 'good' : 'bad')
    if (response.status === 401) this.#askKey()
    if (response.status === 429) this.hint.textContent = `Try again in ${response.headers.get('Retry-After') ?? 'some'} s.`
    let text = '', whole = ''
    const decoder = new TextDecoder()
    for (const reader = response.body?.getReader(); reader;) {
      const { done, value } = await reader.read()
      const piece = done ? decoder.decode() : decoder.decode(value, { stream: true })
      whole += piece
      if (text.length < longest) this.code.append(piece.slice(0, longest - text.length))
      text = whole.slice(0, longest)
      if (done) break
      this.out.scrollTop = this.out.scrollHeight
    }
    const events = /event-stream/.test(kind) ? whole.split(/\n\n/).filter((e) => e.trim()).length : 0
    this.#say(line(events ? ` · ${events} ${events === 1 ? 'event' : 'events'}` : ` · ${whole.length} ${whole.length === 1 ? 'character' : 'characters'}`), response.ok ? 'good' : 'bad')
    this.#format(whole)
  }

  /** @param {string} text */
  #format(text) {
    let shown = text, language = 'stream'
    try {
      shown = pretty(JSON.parse(text))
      language = 'json'
    } catch {
      // a stream or a plain text
    }
    const cut = shown.length > longest ? `${shown.slice(0, longest)}\n… ${shown.length - longest} more characters` : shown
    colour(this.code, cut, /** @type {any} */ (language))
    if (language === 'json') this.out.scrollTop = 0
  }

  #askKey() {
    this.hint.textContent = this.api.key ? 'The server does not know this key. Enter another one and send again.' : 'This operation needs an API key. Enter it and send again.'
    this.keyField.hidden = false
    this.key.focus()
  }
}
