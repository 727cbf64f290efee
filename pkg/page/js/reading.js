// @ts-check
// A text token by token, each shaded by its probability, with its alternatives for the
// pointer and the keyboard.
import { spoken } from './alternatives.js'
import { clear, el } from './dom.js'
import { shade } from './shade.js'

/** @typedef {import('./tokens.js').Token} Token */
/** @typedef {import('./alternatives.js').Alternatives} Alternatives */

const named = 'Answer. Left and right arrow keys move between tokens, Enter opens the alternatives.'

export class Reading {
  /** @type {Token[]} */
  #tokens = []
  #at = -1 // the token that the keyboard is on

  /**
   * @param {Alternatives} list
   * @param {() => ((text: string) => void)|null} choice what a choice does with the text up to it; null: nothing can be chosen
   */
  constructor(list, choice) {
    this.list = list
    this.choice = choice
    this.spelled = el('span', { class: 'sr', 'aria-live': 'polite' })
    this.before = el('span', { class: 'before' })
    this.body = el('span', { class: 'written', on: {
      pointerover: (/** @type {PointerEvent} */ e) => this.#point([...this.body.children].indexOf(/** @type {Element} */ (e.target))),
      pointerleave: (/** @type {PointerEvent} */ e) => { if (e.pointerType === 'mouse') list.later() },
    } })
    this.element = el('div', { class: 'answer-text', role: 'group', tabindex: 0, 'aria-label': named, on: {
      focus: () => { if (this.element.matches(':focus-visible')) this.#move(Math.max(this.#at, 0)) },
      blur: () => { this.#mark(false); list.later() },
      keydown: (/** @type {KeyboardEvent} */ e) => this.#key(e),
    } }, this.before, this.body)
  }

  /** The tokens' text. */
  text() {
    return this.#tokens.map((t) => t.text).join('')
  }

  /** Begins a text. @param {string} before what it continues */
  begin(before) {
    this.#tokens = []
    this.#at = -1
    this.before.textContent = before
    clear(this.body)
  }

  /** @param {Token} token */
  add(token) {
    const span = el('span', { class: 'tok', text: token.text })
    shade(span, token.logprob)
    this.#tokens.push(token)
    this.body.append(span)
  }

  /** Shows the alternatives to a token. @param {number} i */
  #point(i) {
    const span = this.body.children[i], token = this.#tokens[i]
    if (!(span instanceof HTMLElement) || !token) return
    const choose = this.choice()
    this.list.show(span, token, choose && ((_, alternative) => {
      this.list.hide()
      choose(this.#tokens.slice(0, i).map((t) => t.text).join('') + alternative)
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
    else if (event.key === 'Enter') this.list.enter(() => this.element.focus())
    else {
      if (event.key === 'Escape') this.list.hide()
      return
    }
    event.preventDefault()
  }
}
