// @ts-check
// The address of the API and its key, and what to do if the document does not come.
import { button, clear, el, field } from '../dom.js'

/** @typedef {import('../api.js').Api} Api */

export class Server {
  /**
   * @param {Api} api
   * @param {() => Promise<void>} load shows the document of the server
   */
  constructor(api, load) {
    this.api = api
    this.load = load
    this.toggle = /** @type {HTMLButtonElement} */ (document.getElementById('connection'))
    this.panel = /** @type {HTMLElement} */ (document.getElementById('connection-panel'))
    this.address = el('input', { id: 'api-address', type: 'url', placeholder: api.url(''), autocomplete: 'off', spellcheck: 'false' })
    this.key = el('input', { id: 'api-key', type: 'password', autocomplete: 'off', spellcheck: 'false' })
    this.wrong = el('p', { class: 'bad', role: 'alert' })
    this.panel.append(el('form', { on: { submit: (/** @type {Event} */ e) => { e.preventDefault(); void this.#use() } } },
      field('API address', this.address, 'Empty: where this page comes from.'),
      field('API key', this.key, 'Kept in this tab’s memory alone: never stored, gone when the tab is closed.'), this.wrong,
      el('div', { class: 'row' }, el('button', { type: 'submit', class: 'primary', text: 'Use' }), button('Close', () => { this.open(false); this.toggle.focus() }, { kind: 'quiet' }))))
    this.toggle.addEventListener('click', () => this.open(this.panel.hidden === true))
    addEventListener('securitypolicyviolation', (e) => {
      if (e.effectiveDirective === 'connect-src') this.wrong.textContent = 'This page may send requests only to the server that it comes from.'
    })
  }

  /** @param {boolean} on */
  open(on) {
    this.panel.hidden = !on
    this.toggle.setAttribute('aria-expanded', String(on))
    if (!on) return
    this.key.value = this.api.key
    this.key.focus()
  }

  async #use() {
    const given = this.address.value.trim(), url = given && URL.canParse(given) ? new URL(given) : null
    const good = !given || url !== null && /^https?:$/.test(url.protocol)
    this.wrong.textContent = good ? '' : 'An address begins with https:// and may end with a stage, as in https://example.com/prod.'
    if (!good) return
    const base = url ? url.origin + url.pathname.replace(/\/*$/, '/') : ''
    const moved = base !== this.api.base
    this.api.base = base
    this.api.key = this.key.value.trim()
    this.toggle.dataset.state = this.api.key ? 'on' : ''
    this.open(false)
    this.toggle.focus()
    if (moved) await this.load()
  }
}

/** @param {HTMLElement} main @param {unknown} error @param {() => void} again */
export function failed(main, error, again) {
  clear(main).append(el('h1', { text: 'API reference' }), el('div', { class: 'problem', role: 'alert' },
    el('p', { text: `The OpenAPI document cannot be read. ${error instanceof Error ? error.message : error}` }), button('Try again', again, { kind: 'quiet' })))
}
