// @ts-check
// One answer in progress: its text token by token, its figures, and its error.
import { button, clear, copyButton, el, problem } from './dom.js'
import { Meter } from './meter.js'
import { Reading } from './reading.js'
import { ending, step } from './tokens.js'

/** @typedef {import('./state.js').App} App */
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

export class Answer {
  /** @type {Job|null} */
  #job = null
  /** @type {AbortController|null} */
  #control = null
  #sent = 0 // id of the request

  /**
   * @param {App} app
   * @param {Alternatives} list
   */
  constructor(app, list) {
    this.app = app
    this.title = el('h3')
    this.figures = el('p', { class: 'figures' })
    this.said = el('span', { class: 'sr', role: 'status', 'aria-live': 'polite' })
    this.reading = new Reading(list, () => {
      const { branch, before } = this.#job ?? { branch: null, before: '' }
      return branch && !this.#control ? (text) => branch(before + text) : null
    })
    this.wrong = el('div')
    this.foot = el('div', { class: 'row answer-foot' })
    this.element = el('article', { class: 'answer', 'aria-busy': 'false' },
      el('header', {}, this.title, this.figures), this.reading.element, this.wrong, this.foot, this.said, this.reading.spelled)
  }

  /** The generated text. */
  text() {
    return this.reading.text()
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
      end = stopped ? 'stopped' : 'failed'
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
        this.reading.add(token)
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
    this.title.textContent = job.body.model
    this.element.setAttribute('aria-label', `Answer of ${job.body.model}`)
    this.element.setAttribute('aria-busy', 'true')
    this.reading.element.classList.toggle('mono', job.mono)
    this.reading.begin(job.before)
    for (const node of [this.wrong, this.foot]) clear(node)
    this.figures.textContent = 'waiting…'
    this.said.textContent = ''
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
    if (branch && this.text()) this.foot.append(button('Continue', () => branch(job.before + this.text()), { kind: 'quiet', title: 'Continues from the end of this text' }))
  }
}
