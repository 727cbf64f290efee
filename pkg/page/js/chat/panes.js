// @ts-check
// Panes beside the conversation. In a wide window each is open until it is closed, which
// survives a reload; in a narrow one a pane covers the conversation.
import { button } from '../dom.js'
import { keep, settings } from '../settings.js'

/** @typedef {{label: string, name: string, pane: HTMLElement}} Pane */

const part = 'panes'

export class Panes {
  #wide = matchMedia('(min-width: 62rem)')

  /**
   * @param {HTMLElement} around gets the class covered while a pane covers the conversation
   * @param {Pane[]} panes
   */
  constructor(around, panes) {
    this.around = around
    this.panes = panes.map(({ label, name, pane }) => {
      const toggle = button(label, () => this.#toggle(name), { kind: 'quiet', id: `${pane.id}-toggle` })
      toggle.setAttribute('aria-controls', pane.id)
      return { name, pane, toggle }
    })
    this.#wide.addEventListener('change', () => this.reset())
    this.reset()
  }

  get wide() {
    return this.#wide.matches
  }

  /** Shows what was left open; in a narrow window the conversation. */
  reset() {
    const kept = settings(part)
    for (const { name } of this.panes) this.#set(name, this.wide && kept[name] !== false)
  }

  /** Shows the conversation. */
  uncover() {
    if (!this.wide) this.reset()
  }

  /** @param {string} name */
  #toggle(name) {
    const on = this.panes.find((p) => p.name === name)?.pane.hidden === true
    this.uncover()
    this.#set(name, on)
    if (this.wide) keep(part, { [name]: on })
  }

  /** @param {string} name @param {boolean} on */
  #set(name, on) {
    for (const p of this.panes.filter((q) => q.name === name)) {
      p.pane.hidden = !on
      p.toggle.setAttribute('aria-expanded', String(on))
    }
    this.around.classList.toggle('covered', !this.wide && this.panes.some((p) => !p.pane.hidden))
  }
}
