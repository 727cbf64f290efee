// @ts-check
// The field for the next message. Enter sends it; Shift and Enter begin a new line.
import { button, el } from '../dom.js'

export class Composer {
  /**
   * @param {{send: (text: string) => boolean, stop: () => void}} hooks send: whether the message was taken
   */
  constructor(hooks) {
    this.hooks = hooks
    this.busy = false
    this.text = el('textarea', { id: 'chat-text', rows: '1', 'aria-label': 'Message', placeholder: 'Write a message', enterkeyhint: 'send', 'aria-describedby': 'chat-keys', on: {
      input: () => this.#adapt(), keydown: (/** @type {KeyboardEvent} */ e) => this.#key(e),
    } })
    this.send = el('button', { type: 'submit', class: 'primary', id: 'chat-send', text: 'Send' })
    this.stop = button('Stop', () => { hooks.stop(); this.text.focus() }, { id: 'chat-stop', title: 'Esc' })
    this.keys = el('p', { class: 'hint keys', id: 'chat-keys', text: 'Enter sends, Shift+Enter begins a new line, Esc stops' })
    this.element = el('form', { class: 'composer', 'aria-label': 'New message', on: { submit: (/** @type {Event} */ e) => { e.preventDefault(); this.#send() } } },
      el('div', { class: 'composer-box' }, this.text, this.send, this.stop), this.keys)
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
    this.send.setAttribute('aria-disabled', String(!this.text.value.trim()))
    fit(this.text)
  }

  #send() {
    const text = this.text.value
    if (!this.busy && text.trim() && this.hooks.send(text)) this.fill('')
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
