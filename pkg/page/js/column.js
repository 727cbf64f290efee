// @ts-check
// A column of Write: a model, its conversation, and its newest answer.
import { Answer } from './answer.js'
import { clear, el } from './dom.js'
import { modelPicker } from './picker.js'

/** @typedef {{role: string, content: string}} Message */

/** Models in the process that do not stream translate. @param {import('./state.js').Model} m */
export const writes = (m) => m.streaming || m.family !== 'local'

export class Column {
  /** The conversation without the newest answer. @type {Message[]} */
  messages = []

  /**
   * @param {import('./state.js').App} app
   * @param {import('./alternatives.js').Alternatives} list
   * @param {{label: string, id: string, onchange: () => void, alone?: boolean}} options
   */
  constructor(app, list, options) {
    this.picker = modelPicker(app, { ...options, accept: writes })
    this.answer = new Answer(app, list)
    this.turns = el('ol', { class: 'turns', 'aria-label': 'Conversation' })
    this.element = el('div', { class: 'column' }, this.turns, this.answer.element)
    this.answer.element.hidden = true
  }

  /** Makes the newest answer a turn, and adds a message after it. @param {string} text */
  say(text) {
    const before = this.answer.text()
    if (this.messages.at(-1)?.role === 'user' && before) this.#turn('assistant', before)
    this.#turn('user', text)
  }

  /** Begins a new conversation. */
  forget() {
    this.messages = []
    clear(this.turns)
    this.answer.element.hidden = true
  }

  /**
   * @param {string} role
   * @param {string} content
   */
  #turn(role, content) {
    this.messages.push({ role, content })
    this.turns.append(el('li', { class: role },
      el('span', { class: 'who', text: role === 'user' ? 'You' : this.picker.value() }), el('span', { class: 'turn', text: content.trim() })))
  }
}
