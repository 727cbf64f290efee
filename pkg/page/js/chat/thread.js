// @ts-check
// The turns of a conversation. It follows an answer to its end unless the reader scrolled
// away from it.
import { button, clear, el } from '../dom.js'
import { legend } from '../shade.js'
import { alternatives, branch } from './tree.js'
import { TurnView } from './turn.js'

/** @typedef {import('./tree.js').Conversation} Conversation */
/** @typedef {import('./tree.js').Turn} Turn */
/** @typedef {import('./turn.js').Look} Look */

const near = 48 // pixels from the end that count as its end

export class Thread {
  /** The turns that are shown. @type {{key: string, view: TurnView}[]} */
  #shown = []
  #following = true
  #painting = 0
  #conversation = ''

  /**
   * @param {import('./session.js').Session} session
   * @param {import('./turn.js').Hooks} hooks
   * @param {import('../alternatives.js').Alternatives} list
   */
  constructor(session, hooks, list) {
    this.session = session
    this.hooks = hooks
    this.list = list
    this.turns = el('ol', { class: 'thread-turns' })
    this.place = el('div', { class: 'thread-empty' })
    this.legend = el('div', { class: 'row thread-legend', hidden: true }, legend())
    this.scroller = el('div', { class: 'thread', tabindex: 0, role: 'region', 'aria-label': 'Conversation', on: { scroll: () => this.#scrolled() } }, this.legend, this.place, this.turns)
    this.down = button('↓ Latest', () => { this.follow(); this.scroller.focus() }, { id: 'chat-latest' })
    this.down.hidden = true
    this.said = el('p', { class: 'sr', role: 'status', 'aria-live': 'polite' })
    this.element = el('div', { class: 'thread-frame' }, this.scroller, this.down, this.said)
  }

  /**
   * Shows a conversation; turns that did not change keep their elements.
   * @param {Conversation} c
   * @param {Look} look
   * @param {() => HTMLElement} empty what an empty conversation shows
   */
  draw(c, look, empty) {
    const turns = branch(c)
    if (c.id !== this.#conversation) {
      this.#following = true
      this.said.textContent = ''
    }
    this.#conversation = c.id
    turns.forEach((turn, i) => {
      const all = alternatives(c, turn), run = this.session.runs.get(turn.id) ?? null, place = { at: all.indexOf(turn), of: all.length }
      const key = JSON.stringify([turn.id, place, look, run !== null, i === turns.length - 1, turn.role === 'user' || !run || run.done && [turn.text.length, turn.fault]])
      const was = this.#shown[i]
      if (was?.key === key && was.view.turn === turn) return
      const view = new TurnView(turn, place, run, look, this.hooks, this.list)
      if (i === turns.length - 1 && turn.calls?.length && (!run || run.done) && turn.fault === undefined) view.ask()
      if (was) was.view.element.replaceWith(view.element)
      else this.turns.append(view.element)
      this.#shown[i] = { key, view }
    })
    for (const { view } of this.#shown.splice(turns.length)) view.element.remove()
    this.place.hidden = turns.length > 0
    this.legend.hidden = !look.shaded || turns.length === 0
    clear(this.place).append(turns.length ? '' : empty())
    this.toEnd()
  }

  /** Shows what has come of an answer, once a frame. @param {Conversation} c @param {Turn} turn */
  progress(c, turn) {
    if (c.id !== this.#conversation || this.#painting) return
    this.#painting = requestAnimationFrame(() => {
      this.#painting = 0
      this.#shown.find(({ view }) => view.turn === turn)?.view.update()
      this.toEnd()
    })
  }

  /** Tells listeners that an answer ended. @param {Conversation} c @param {Turn} turn */
  ended(c, turn) {
    if (c.id !== this.#conversation) return
    const view = this.#shown.find((s) => s.view.turn === turn)?.view
    if (view && turn.fault === undefined) this.said.textContent = `Answer complete: ${view.line()}`
  }

  /** Goes to the end and stays there. */
  follow() {
    this.#following = true
    this.toEnd()
  }

  /** Goes to the end if the reader is there. */
  toEnd() {
    if (this.#following) this.scroller.scrollTop = this.scroller.scrollHeight
    this.#offer()
  }

  #scrolled() {
    const { scrollTop, scrollHeight, clientHeight } = this.scroller
    this.#following = scrollHeight - scrollTop - clientHeight < near
    this.list.hide()
    this.#offer()
  }

  #offer() {
    this.down.hidden = this.#following
  }
}
