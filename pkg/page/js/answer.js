// @ts-check
// One answer in progress: its text token by token, its figures, and its error.
import { spoken } from './alternatives.js'
import { button, clear, copyButton, el, problem } from './dom.js'
import { Meter } from './meter.js'
import { shade } from './shade.js'
import { ending, step } from './tokens.js'

/** @typedef {import('./state.js').App} App */
/** @typedef {import('./tokens.js').Token} Token */
/** @typedef {import('./alternatives.js').Alternatives} Alternatives */

/**
 * @typedef {object} Job a text to generate
 * @property {string} path
 * @property {any} body
 * @property {string} before the prompt that the text continues, shown before it
 * @property {boolean} mono
 * @property {((prefix: string) => void)|null} branch continues a text that the user changed
 */

const often = 100 // ms between figures while the text comes
const named = 'The answer. Left and right go from token to token, Enter to the alternatives.'

export class Answer {
  /** @type {Token[]} */
  #tokens = []
  /** @type {Job|null} */
  #job = null
  /** @type {AbortController|null} */
  #control = null
  #sent = 0 // id of the request
  #at = -1 // the token that the keyboard is on

  /**
   * @param {App} app
   * @param {Alternatives} list
   */
  constructor(app, list) {
    this.app = app
    this.list = list
    this.title = el('h3')
    this.figures = el('p', { class: 'figures' })
    this.said = el('span', { class: 'sr', role: 'status', 'aria-live': 'polite' })
    this.spelled = el('span', { class: 'sr', 'aria-live': 'polite' })
    this.before = el('span', { class: 'before' })
    this.body = el('span', { class: 'written', on: {
      pointerover: (/** @type {PointerEvent} */ e) => this.#point([...this.body.children].indexOf(/** @type {Element} */ (e.target))),
      pointerleave: (/** @type {PointerEvent} */ e) => { if (e.pointerType === 'mouse') list.later() },
    } })
    this.reading = el('div', { class: 'answer-text', role: 'group', tabindex: 0, 'aria-label': named, on: {
      focus: () => { if (this.reading.matches(':focus-visible')) this.#move(Math.max(this.#at, 0)) },
      blur: () => { this.#mark(false); list.later() },
      keydown: (/** @type {KeyboardEvent} */ e) => this.#key(e),
    } }, this.before, this.body)
    this.wrong = el('div')
    this.foot = el('div', { class: 'row answer-foot' })
    this.element = el('article', { class: 'answer', 'aria-busy': 'false' },
      el('header', {}, this.title, this.figures), this.reading, this.wrong, this.foot, this.said, this.spelled)
  }

  /** The generated text. */
  text() {
    return this.#tokens.map((t) => t.text).join('')
  }

  stop() {
    this.#control?.abort()
  }

  /**
   * Sends the request and shows its answer as it comes. Only the user
   * sends it again.
   * @param {Job} job
   * @param {() => void} again sends it once more, where it failed
   */
  async write(job, again) {
    this.#start(job)
    const meter = new Meter()
    this.#control = new AbortController()
    let end = ''
    try {
      end = ending(await this.#receive(job, meter, this.#control.signal))
    } catch (error) {
      const stopped = /** @type {any} */ (error)?.kind === 'stopped'
      end = stopped ? 'stopped' : 'broke off'
      if (!stopped) this.wrong.append(problem(error, again))
    }
    this.#control = null
    this.#finish(job, meter.line(end))
  }

  /**
   * @param {Job} job
   * @param {Meter} meter
   * @param {AbortSignal} signal
   * @returns {Promise<string>} why the text ended
   */
  async #receive(job, meter, signal) {
    let end = '', due = 0
    const sent = (/** @type {import('./api.js').Sent} */ s) => { this.#sent = s.id }
    for await (const event of this.app.api.events('POST', job.path, job.body, { signal, sent })) {
      const s = step(event)
      for (const token of s.tokens) {
        meter.count(token.count)
        this.#add(token)
      }
      if (s.used !== null) meter.tokens = s.used
      end = s.finish ?? end
      if (s.tokens.length && meter.last > due) {
        this.figures.textContent = meter.line('')
        due = meter.last + often
      }
    }
    return end
  }

  /** @param {Job} job */
  #start(job) {
    this.#job = job
    this.#tokens = []
    this.#at = -1
    this.title.textContent = job.body.model
    this.element.setAttribute('aria-label', `Answer of ${job.body.model}`)
    this.element.setAttribute('aria-busy', 'true')
    this.reading.classList.toggle('mono', job.mono)
    this.before.textContent = job.before
    for (const node of [this.body, this.wrong, this.foot]) clear(node)
    this.figures.textContent = 'waiting…'
    this.said.textContent = ''
  }

  /** @param {Token} token */
  #add(token) {
    const span = el('span', { class: 'tok', text: token.text })
    shade(span, token.logprob)
    this.#tokens.push(token)
    this.body.append(span)
  }

  /**
   * @param {Job} job
   * @param {string} line its figures
   */
  #finish(job, line) {
    this.figures.textContent = line
    this.said.textContent = `${job.body.model}: ${line}`
    this.element.setAttribute('aria-busy', 'false')
    const code = button('Show as code', () => this.app.code(this.#sent), { kind: 'quiet' })
    code.classList.add('to-code')
    this.foot.append(copyButton(() => job.before + this.text()), code)
    const { branch } = job
    if (branch && this.#tokens.length) this.foot.append(button('Write on', () => branch(job.before + this.text()), { kind: 'quiet', title: 'Goes on from the end of this text' }))
  }

  /** Shows the alternatives to a token. @param {number} i */
  #point(i) {
    const span = this.body.children[i], token = this.#tokens[i], job = this.#job
    if (!(span instanceof HTMLElement) || !token || !job) return
    const branch = this.#control ? null : job.branch
    this.list.show(span, token, branch && ((_, alternative) => {
      this.list.hide()
      branch(job.before + this.#tokens.slice(0, i).map((t) => t.text).join('') + alternative)
    }))
  }

  /** @param {boolean} on */
  #mark(on) {
    this.body.children[this.#at]?.classList.toggle('on', on)
  }

  /** Goes to a token by the keyboard. @param {number} i */
  #move(i) {
    const token = this.#tokens[i]
    if (!token) return
    this.#mark(false)
    this.#at = i
    this.#mark(true)
    this.body.children[i]?.scrollIntoView({ block: 'nearest' })
    this.spelled.textContent = spoken(token)
    this.#point(i)
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const last = this.#tokens.length - 1
    /** @type {Record<string, number>} */
    const to = { ArrowRight: this.#at + 1, ArrowLeft: this.#at - 1, Home: 0, End: last }
    const next = to[event.key]
    if (next !== undefined) this.#move(Math.min(Math.max(next, 0), last))
    else if (event.key === 'Enter') this.list.enter(() => this.reading.focus())
    else {
      if (event.key === 'Escape') this.list.hide()
      return
    }
    event.preventDefault()
  }
}
