// @ts-check
// The address of the API, its key, and the messages when it does not answer.
import { Problem } from './api.js'
import { button, clear, el, field } from './dom.js'

/** @typedef {import('./state.js').App} App */
/** @typedef {'asking'|'on'|'key'|'address'|'lost'} State */

/** @type {Record<State, string>} */
const names = { asking: 'Connecting', on: 'Connected', key: 'Key required', address: 'Address required', lost: 'No connection' }

export class Connection {
  #begun = false // the views have what they need, and keep what was written in them

  /**
   * @param {App} app
   * @param {() => void} begin remounts the views after a change of server or key
   */
  constructor(app, begin) {
    this.app = app
    this.begin = begin
    this.toggle = /** @type {HTMLButtonElement} */ (document.getElementById('connection'))
    this.panel = /** @type {HTMLElement} */ (document.getElementById('connection-panel'))
    this.notice = /** @type {HTMLElement} */ (document.getElementById('notice'))
    this.address = el('input', { id: 'api-address', type: 'url', placeholder: 'https://example.com/prod', autocomplete: 'off', spellcheck: 'false' })
    this.elsewhere = field('API address', this.address, 'The address that the deployment printed.')
    this.elsewhere.hidden = true // most pages are served with the API, and may only connect to it
    this.key = el('input', { id: 'api-key', type: 'password', autocomplete: 'off', spellcheck: 'false' })
    this.wrong = el('p', { class: 'bad', role: 'alert' })
    this.panel.append(this.#form())
    this.toggle.addEventListener('click', () => this.#open(this.panel.hidden === true, this.key))
    app.api.addEventListener('lost', () => this.#mark('lost'))
    app.api.addEventListener('reached', () => this.#reached())
    addEventListener('securitypolicyviolation', (e) => {
      if (e.effectiveDirective === 'connect-src') this.wrong.textContent = 'This page may only connect to its own server.'
    })
    addEventListener('offline', () => this.#say(new Problem('lost', 'This device is offline.')))
    addEventListener('online', () => void this.again())
    app.models().then(() => { this.#mark('on'); this.#begun = true }, (error) => this.#say(error))
  }

  #form() {
    const close = button('Close', () => { this.#open(false); this.toggle.focus() }, { kind: 'quiet' })
    return el('form', { on: { submit: (/** @type {Event} */ e) => { e.preventDefault(); this.#use() } } },
      this.elsewhere,
      field('API key', this.key, 'A key, or the token of a user. Kept in memory only, and gone when you close the tab.'),
      this.wrong, el('div', { class: 'row' }, el('button', { type: 'submit', class: 'primary', text: 'Connect' }), close))
  }

  /**
   * @param {boolean} on
   * @param {HTMLElement} [focus]
   */
  #open(on, focus) {
    this.panel.hidden = !on
    this.toggle.setAttribute('aria-expanded', String(on))
    if (on) focus?.focus()
  }

  /** @param {State} state */
  #mark(state) {
    this.toggle.dataset.state = state
    this.toggle.textContent = names[state]
  }

  #reached() {
    if (this.toggle.dataset.state !== 'lost') return
    this.#mark('on')
    clear(this.notice)
  }

  /** Requests the models again: the first data that the page needs. */
  async again() {
    this.#mark('asking')
    clear(this.notice)
    try {
      await this.app.models(true)
    } catch (error) {
      this.#say(/** @type {Problem} */ (error))
      return
    }
    this.#mark('on')
    this.#open(false)
    if (!this.#begun) this.begin()
    this.#begun = true
  }

  /** @param {Problem} error */
  #say(error) {
    /** @param {string} text @param {boolean} [retry] */
    const note = (text, retry) => clear(this.notice).append(el('div', { class: 'problem lost' }, el('p', { text }),
      retry ? button('Try again', () => void this.again(), { kind: 'quiet' }) : null))
    if (error.status === 401 || error.status === 403) {
      this.#mark('key')
      note(!this.app.api.key ? 'This server requires an API key.' : error.status === 401 ? 'The server does not accept this key.' : error.message)
      this.#open(true, this.key)
    } else if (error.status === 404) {
      this.#mark('address')
      note('This address serves the page but not the API. Enter the API address that the deployment printed.')
      this.elsewhere.hidden = false
      this.#open(true, this.address)
    } else {
      this.#mark('lost')
      note(`${error.message} Requests are not retried automatically.`, true)
    }
  }

  /** Takes what is in the form. */
  #use() {
    const base = this.address.value.trim(), url = base && URL.canParse(base) ? new URL(base) : null
    const good = !base || url !== null && /^https?:$/.test(url.protocol)
    this.wrong.textContent = good ? '' : 'An address starts with https:// and may end with a stage, such as https://example.com/prod.'
    if (!good) return
    this.app.api.base = url ? url.origin + url.pathname.replace(/\/*$/, '/') : ''
    this.app.api.key = this.key.value.trim()
    this.#begun = false
    void this.again()
  }
}
