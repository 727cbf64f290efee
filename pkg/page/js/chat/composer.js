// @ts-check
// The field for the next message and its images. Enter sends it; Shift and Enter begin a new line.
import { button, el } from '../dom.js'
import { Attachments } from './attachments.js'

/** @typedef {import('./images.js').Picture} Picture */

export class Composer {
  /**
   * @param {{send: (text: string, images: Picture[]) => boolean, stop: () => void, images: () => number}} hooks send: whether the message was taken;
   *   images: those that the conversation has
   */
  constructor(hooks) {
    this.hooks = hooks
    this.busy = false
    this.text = el('textarea', { id: 'chat-text', rows: '1', 'aria-label': 'Message', placeholder: 'Write a message', enterkeyhint: 'send', 'aria-describedby': 'chat-keys', on: {
      input: () => this.#adapt(), keydown: (/** @type {KeyboardEvent} */ e) => this.#key(e),
    } })
    this.send = el('button', { type: 'submit', class: 'primary', id: 'chat-send', text: 'Send' })
    this.stop = button('Stop', () => { hooks.stop(); this.text.focus() }, { id: 'chat-stop', title: 'Esc' })
    this.attached = new Attachments({ had: hooks.images, changed: () => this.#adapt(), done: () => this.focus() })
    this.attached.pasteIn(this.text)
    this.keys = el('p', { class: 'hint keys', id: 'chat-keys', text: 'Enter sends, Shift+Enter begins a new line, Esc stops' })
    this.element = el('form', { class: 'composer', 'aria-label': 'New message', on: { submit: (/** @type {Event} */ e) => { e.preventDefault(); this.#send() } } },
      this.attached.element, el('div', { class: 'composer-box' }, this.attached.add, this.text, this.send, this.stop), this.keys)
    this.set(false)
  }

  /** @param {boolean} busy an answer is being written */
  set(busy) {
    this.busy = busy
    const focused = [this.send, this.stop].some((b) => b === document.activeElement)
    this.send.hidden = busy
    this.stop.hidden = !busy
    if (focused) this.text.focus()
    this.#adapt()
  }

  /** @param {string} text */
  fill(text) {
    this.text.value = text
    this.#adapt()
  }

  focus() {
    this.text.focus()
  }

  #adapt() {
    this.send.setAttribute('aria-disabled', String(!this.#complete()))
    fit(this.text)
  }

  /** Whether there is a message to send. */
  #complete() {
    return !this.attached.reading && (this.text.value.trim() !== '' || this.attached.list.length > 0)
  }

  #send() {
    if (this.busy || !this.#complete() || !this.hooks.send(this.text.value, this.attached.list)) return
    this.attached.clear()
    this.fill('')
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (!sends(event)) return
    event.preventDefault()
    this.#send()
  }
}

/**
 * Whether a key press sends a message: Enter, unless it ends a word of an input method.
 * @param {KeyboardEvent} event
 */
export function sends(event) {
  return event.key === 'Enter' && !event.shiftKey && !event.altKey && !event.isComposing && event.keyCode !== 229
}

/** Makes a field as high as its text; its style bounds it. @param {HTMLTextAreaElement} field */
export function fit(field) {
  field.style.height = 'auto'
  if (field.scrollHeight) field.style.height = `${field.scrollHeight + field.offsetHeight - field.clientHeight}px`
}
