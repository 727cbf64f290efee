// @ts-check
// A turn on the page: its text, what can be done with it, and the figures of an answer.
import { button, clear, copyButton, el } from '../dom.js'
import { Markdown } from '../markdown/render.js'
import { figures } from '../meter.js'
import { Reading } from '../reading.js'
import { ending } from '../tokens.js'
import { CallList, resultForm, resultList } from './calls.js'
import { fit, sends } from './composer.js'
import { pictureList } from './pictures.js'
import { split } from './thinking.js'

/** @typedef {import('./tree.js').Turn} Turn */
/** @typedef {import('./run.js').Run} Run */
/** @typedef {import('./tree.js').Result} Result */

/**
 * @typedef {object} Hooks
 * @property {(turn: Turn, text: string) => void} edit sends another text in the turn's place
 * @property {(turn: Turn) => void} again asks for another answer
 * @property {(turn: Turn, by: number) => void} turnTo chooses the alternative so many places on
 * @property {(id: number) => void} code shows a request as code
 * @property {(id: number) => void} prompt shows the prompt that a request became
 * @property {(turn: Turn, results: Result[]) => void} reply sends the results of an answer's calls
 * @property {(turn: Turn, results: Result[]) => void} replyAgain sends other results in the place of a turn's
 * @property {(turn: Turn) => import('./tree.js').Call[]} calls that a turn of results answers
 * @property {(id: string) => string} see the data URL of an image, or ''
 */

/** @typedef {{formatted: boolean, shaded: boolean}} Look */

export class TurnView {
  #shownTokens = 0
  /** @type {Markdown|null} */
  #markdown = null
  /** @type {Reading|null} */
  #reading = null
  /** @type {HTMLElement|null} */
  editing = null

  /**
   * @param {Turn} turn
   * @param {{at: number, of: number}} place among the alternatives
   * @param {Run|null} run of this visit to the page
   * @param {Look} look
   * @param {Hooks} hooks
   * @param {import('../alternatives.js').Alternatives} list
   */
  constructor(turn, place, run, look, hooks, list) {
    this.turn = turn
    this.place = place
    this.run = run
    this.hooks = hooks
    const name = turn.role === 'user' ? 'You' : turn.role === 'tool' ? 'Results' : turn.model ?? 'Answer'
    this.body = el('div', { class: 'said' })
    this.thought = el('div', { class: 'plain' })
    this.thinking = el('details', { class: 'thinking' }, el('summary', { text: 'Reasoning' }), this.thought)
    this.calls = new CallList()
    this.wrong = el('div')
    this.foot = el('div', { class: 'turn-foot' })
    this.figures = el('p', { class: 'figures' })
    this.article = el('article', { class: 'turn', 'aria-label': turn.role === 'user' ? 'Your message' : turn.role === 'tool' ? 'Results of the calls' : `Answer of ${name}` },
      el('h3', { class: turn.role === 'assistant' ? 'who' : 'sr', text: name }), this.body, this.wrong, this.foot)
    this.element = el('li', { class: turn.role }, this.article)
    if (turn.role === 'tool') this.body.replaceChildren(resultList(turn.results ?? []))
    const shaded = look.shaded && run !== null && (!run.done || run.tokens.some((t) => t.logprob !== null))
    if (shaded) {
      this.#reading = new Reading(list, () => null)
      this.body.append(this.#reading.element, this.#reading.spelled)
    } else if (turn.role === 'assistant' && look.formatted) {
      this.#markdown = new Markdown()
      this.body.append(this.#markdown.element)
    } else if (turn.role !== 'tool') {
      this.text = el('div', { class: 'plain' })
      this.body.append(...this.#images(), this.text)
    }
    this.update()
    if (!run || run.done) this.finish()
  }

  /** Shows what has come. */
  update() {
    const { turn, run } = this
    const busy = run !== null && !run.done
    this.article.setAttribute('aria-busy', String(busy))
    if (this.#reading) for (; this.#shownTokens < (run?.tokens.length ?? 0); this.#shownTokens++) this.#reading.add(/** @type {any} */ (run?.tokens[this.#shownTokens]))
    else if (this.#markdown) this.#markdown.set(split(turn.text).answer)
    else if (this.text) this.text.textContent = turn.role === 'user' ? turn.text : turn.text.trim()
    this.#think()
    if (turn.calls?.length) {
      this.calls.set(turn.calls)
      if (!this.calls.element.isConnected) this.body.append(this.calls.element)
    }
    this.body.classList.toggle('waiting', busy && !turn.text && !turn.thought && !turn.calls)
    if (busy) this.figures.textContent = turn.tokens ? figures(turn.tokens, turn.rate ?? 0, turn.first ?? 0, '') : 'waiting…'
    if (busy && !this.figures.isConnected) this.foot.append(this.figures)
  }

  /** The images of the message. */
  #images() {
    return this.turn.images ? [pictureList(this.turn.images, this.hooks.see)] : []
  }

  /** Shows the reasoning, folded. */
  #think() {
    const thought = this.turn.thought ?? (this.#markdown ? split(this.turn.text).thought : '')
    if (thought && !this.thinking.isConnected) this.body.prepend(this.thinking)
    this.thought.textContent = thought.trim()
  }

  /** Adds what can be done with the finished turn. */
  finish() {
    const { turn, hooks, run } = this
    const failed = turn.fault !== undefined
    clear(this.foot).append(...this.#pages())
    if (turn.text) this.foot.append(copyButton(() => turn.text))
    if (turn.role !== 'assistant') {
      this.editing = button('Edit', () => turn.role === 'user' ? this.#edit() : this.#editResults(), { kind: 'quiet' })
      this.foot.append(this.editing)
      return
    }
    if (turn.text || !failed) this.foot.append(button('Regenerate', () => hooks.again(turn), { kind: 'quiet' }))
    if (run?.sent) this.foot.append(button('Show as code', () => hooks.code(run.sent), { kind: 'quiet' }), button('Show prompt', () => hooks.prompt(run.sent), { kind: 'quiet' }))
    this.figures.textContent = this.line()
    if (turn.text || !failed) this.foot.append(this.figures)
    clear(this.wrong)
    if (failed) {
      this.wrong.append(el('div', { class: 'problem refused', role: run ? 'alert' : undefined },
        el('p', { text: turn.fault }), button('Try again', () => hooks.again(turn), { kind: 'quiet' })))
    }
  }

  /** The figures of an answer in words. */
  line() {
    const { turn } = this
    const end = turn.fault !== undefined ? 'failed' : turn.end === undefined ? 'interrupted' : ending(turn.end)
    return turn.tokens ? figures(turn.tokens, turn.rate ?? 0, turn.first ?? 0, end) : end
  }

  /** The way to the alternatives. */
  #pages() {
    const { turn, place: { at, of }, hooks } = this
    if (of < 2) return []
    /** @param {string} sign @param {string} label @param {number} by */
    const step = (sign, label, by) => {
      const node = button(sign, () => hooks.turnTo(turn, by), { kind: 'quiet', title: label })
      node.setAttribute('aria-label', label)
      node.setAttribute('aria-disabled', String(at + by < 0 || at + by >= of))
      return node
    }
    return [el('span', { class: 'pages', role: 'group', 'aria-label': 'Alternatives' },
      step('‹', 'Previous alternative', -1), el('span', { text: `${at + 1}/${of}` }), step('›', 'Next alternative', 1))]
  }

  /** Asks for the results of the calls of the finished answer. */
  ask() {
    const { turn, hooks } = this
    this.foot.before(resultForm(turn.calls ?? [], [], (results) => hooks.reply(turn, results)))
  }

  #editResults() {
    const { turn, hooks } = this
    const close = () => {
      form.replaceWith(this.body)
      this.article.append(this.foot)
      this.editing?.focus()
    }
    const form = resultForm(hooks.calls(turn), turn.results ?? [], (results) => hooks.replyAgain(turn, results), close)
    this.foot.remove()
    this.body.replaceWith(form)
    form.querySelector('textarea')?.focus()
  }

  #edit() {
    const { turn, hooks } = this
    const text = el('textarea', { 'aria-label': 'Edit your message', rows: '1', value: turn.text })
    const close = () => {
      form.replaceWith(this.body)
      this.article.append(this.foot)
      this.editing?.focus()
    }
    const send = () => { if (text.value.trim() || turn.images) hooks.edit(turn, text.value) }
    const form = el('form', { class: 'edit', on: {
      submit: (/** @type {Event} */ e) => { e.preventDefault(); send() },
      keydown: (/** @type {KeyboardEvent} */ e) => {
        if (e.key === 'Escape') {
          e.stopPropagation()
          close()
        } else if (e.target === text && sends(e)) {
          e.preventDefault()
          send()
        }
      },
    } }, ...this.#images(), text, el('div', { class: 'row' }, el('button', { type: 'submit', class: 'primary', text: 'Send' }), button('Cancel', close)),
    el('p', { class: 'hint', text: 'The message as it was and its answers are kept as another branch.' }))
    text.addEventListener('input', () => fit(text))
    this.foot.remove()
    this.body.replaceWith(form)
    fit(text)
    text.focus()
  }
}
