// @ts-check
// The list next to a token: its probability and its alternatives.
import { bar, clear, el } from './dom.js'
import { percent, visible } from './shade.js'

/** @typedef {import('./tokens.js').Token} Token */
/** @typedef {(token: Token, alternative: string) => void} Choose */

const patience = 200 // ms that the pointer may take from a token to the list

export class Alternatives {
  /** @type {number|undefined} */
  #closing
  /** Where the focus goes from the list. @type {() => void} */
  #back = () => {}

  constructor() {
    const later = () => this.later()
    this.box = el('div', { id: 'alternatives', class: 'alternatives', role: 'group', 'aria-label': 'Alternatives', hidden: true, on: {
      pointerenter: () => clearTimeout(this.#closing), focusout: later, keydown: (/** @type {KeyboardEvent} */ e) => this.#key(e),
      pointerleave: (/** @type {PointerEvent} */ e) => { if (e.pointerType === 'mouse') later() },
    } })
    addEventListener('scroll', () => this.hide(), { passive: true })
    addEventListener('pointerdown', ({ target }) => { // a touch beside it
      if (!this.box.hidden && target instanceof Element && !this.box.contains(target) && !target.classList.contains('tok')) this.hide()
    })
  }

  /**
   * @param {HTMLElement} at the token's element
   * @param {Token} token
   * @param {Choose|null} choose what a choice does; null: nothing can be chosen
   */
  show(at, token, choose) {
    clearTimeout(this.#closing)
    const hint = !token.top.length ? 'The server returned no alternatives.' : choose ? 'Choose one to continue from there.' : ''
    clear(this.box).append(
      el('p', { class: 'alternatives-head' }, el('strong', { class: 'mono', text: visible(token.text) }), el('span', { text: token.logprob === null ? '' : percent(token.logprob) })),
      el('ol', {}, token.top.map((a) => el('li', { class: a.text === token.text ? 'chosen' : undefined }, row(a, token, choose)))),
      el('p', { class: 'hint', text: hint, hidden: !hint }))
    this.box.hidden = false
    place(this.box, at)
  }

  hide() {
    clearTimeout(this.#closing)
    this.box.hidden = true
  }

  /** Hides the list, unless it gets the focus meanwhile. */
  later() {
    clearTimeout(this.#closing)
    this.#closing = setTimeout(() => { if (!this.box.contains(document.activeElement)) this.hide() }, patience)
  }

  /** Moves the focus into the list. @param {() => void} back */
  enter(back) {
    this.#back = back
    this.box.querySelector('button')?.focus()
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.key === 'Escape') {
      event.stopPropagation()
      this.hide()
      this.#back()
    }
    const by = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
    if (!by) return
    event.preventDefault()
    const all = [...this.box.querySelectorAll('button')], at = all.findIndex((b) => b === document.activeElement)
    all[(at + by + all.length) % all.length]?.focus()
  }
}

/**
 * @param {import('./tokens.js').Alternative} a
 * @param {Token} token
 * @param {Choose|null} choose
 */
function row(a, token, choose) {
  const p = Math.exp(a.logprob)
  const inside = [
    el('span', { class: 'mono alt-piece', text: visible(a.text) }),
    bar(p),
    el('span', { class: 'share', text: percent(a.logprob) }),
  ]
  if (!choose) return el('span', { class: 'alternative' }, inside)
  return el('button', { type: 'button', class: 'alternative', on: { click: () => choose(token, a.text) } }, inside)
}

/**
 * Puts the box under the first line of a token, or over it where there is no room.
 * @param {HTMLElement} box
 * @param {HTMLElement} at
 */
function place(box, at) {
  const rect = at.getClientRects()[0] ?? at.getBoundingClientRect()
  const { width, height } = box.getBoundingClientRect()
  const room = document.documentElement.clientWidth
  const below = rect.bottom + 6
  const top = below + height > innerHeight && rect.top - 6 - height > 0 ? rect.top - 6 - height : below
  box.style.left = `${Math.max(8, Math.min(rect.left - 8, room - width - 8))}px`
  box.style.top = `${top}px`
}

/**
 * The accessible description of a token.
 * @param {Token} token
 */
export function spoken(token) {
  const others = token.top.filter((a) => a.text !== token.text).map((a) => `${visible(a.text)} ${percent(a.logprob)}`)
  return `${visible(token.text)}${token.logprob === null ? '' : ' ' + percent(token.logprob)}${others.length ? '; else ' + others.join(', ') : ''}`
}
