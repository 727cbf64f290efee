// @ts-check
// The list of conversations: open, name, search, delete, export and import them.
import { button, clear, el } from '../dom.js'
import { contains, title } from './tree.js'

/** @typedef {import('./tree.js').Conversation} Conversation */

/**
 * @typedef {object} Hooks
 * @property {() => void} fresh begins a conversation
 * @property {(id: string) => void} open
 * @property {(c: Conversation, title: string) => void} rename
 * @property {(c: Conversation) => void} remove
 * @property {() => void} removeAll
 * @property {() => void} undo brings the last removed ones back
 * @property {() => void} exportAll
 * @property {(file: File) => void} load
 */

const maxTitle = 200 // characters

export class List {
  /** @type {Conversation[]} */
  #all = []
  #current = ''

  /** @param {Hooks} hooks */
  constructor(hooks) {
    this.hooks = hooks
    this.search = el('input', { type: 'search', id: 'chat-search', 'aria-label': 'Search conversations', placeholder: 'Search', on: { input: () => this.#fill() } })
    this.items = el('ul', { class: 'conversations' })
    this.none = el('p', { class: 'hint' })
    this.said = el('div', { class: 'list-said', role: 'status', 'aria-live': 'polite' })
    this.file = el('input', { type: 'file', id: 'chat-file', accept: 'application/json,.json', hidden: true, 'aria-label': 'File with conversations', on: { change: () => this.#load() } })
    this.exporting = button('Export all', hooks.exportAll, { kind: 'quiet' })
    this.deleting = button('Delete all', () => this.sure.showModal(), { kind: 'quiet' })
    this.sure = this.#dialog()
    this.element = el('nav', { class: 'chat-list', id: 'chat-list', 'aria-label': 'Conversations' },
      button('New chat', hooks.fresh, { id: 'chat-new' }), this.search, this.items, this.none, this.said,
      el('div', { class: 'row list-foot' }, button('Import', () => this.file.click(), { kind: 'quiet' }), this.exporting, this.deleting, this.file),
      el('p', { class: 'hint', text: 'Kept in this browser only.' }), this.sure)
  }

  /**
   * @param {Conversation[]} all
   * @param {string} current
   */
  draw(all, current) {
    this.#all = all
    this.#current = current
    this.exporting.hidden = this.deleting.hidden = all.length === 0
    this.search.hidden = all.length < 2
    if (this.search.hidden) this.search.value = ''
    if (!this.items.querySelector('input')) this.#fill() // a name is being written
  }

  /**
   * @param {string} text
   * @param {boolean} [undo] whether it can be taken back
   */
  say(text, undo = false) {
    clear(this.said).append(text, undo ? button('Undo', () => { this.say(''); this.hooks.undo() }, { kind: 'quiet' }) : '')
  }

  #fill() {
    const wanted = this.search.value, shown = wanted.trim() ? this.#all.filter((c) => contains(c, wanted)) : this.#all
    const focused = /** @type {HTMLElement|null} */ (document.activeElement)?.dataset.open
    clear(this.items).append(...shown.map((c) => this.#item(c)))
    if (focused) /** @type {HTMLElement|null} */ (this.items.querySelector(`[data-open="${CSS.escape(focused)}"]`))?.focus()
    this.none.textContent = shown.length ? '' : this.#all.length ? 'No conversation contains this.' : 'No conversations yet.'
    this.none.hidden = shown.length > 0
  }

  /** @param {Conversation} c */
  #item(c) {
    const name = title(c)
    const open = button(name, () => this.hooks.open(c.id), { title: name })
    open.dataset.open = c.id
    if (c.id === this.#current) open.setAttribute('aria-current', 'true')
    /** @param {string} sign @param {string} label @param {() => void} act */
    const tool = (sign, label, act) => {
      const node = button(sign, act, { kind: 'quiet', title: label })
      node.setAttribute('aria-label', `${label} “${name}”`)
      return node
    }
    const row = el('li', { class: c.id === this.#current ? 'current' : undefined }, open, tool('✎', 'Rename', () => this.#rename(c, row)), tool('✕', 'Delete', () => this.hooks.remove(c)))
    return row
  }

  /** @param {Conversation} c @param {HTMLElement} row */
  #rename(c, row) {
    let over = false
    /** @param {boolean} keep */
    const end = (keep) => {
      if (over) return
      over = true
      const name = input.value.trim()
      input.remove()
      if (keep) this.hooks.rename(c, name)
      this.#fill()
      ;/** @type {HTMLElement|null} */ (this.items.querySelector(`[data-open="${CSS.escape(c.id)}"]`))?.focus()
    }
    const input = el('input', { 'aria-label': 'Name of the conversation', maxlength: maxTitle, value: title(c), on: {
      blur: () => end(true),
      keydown: (/** @type {KeyboardEvent} */ e) => {
        if (e.key === 'Escape') e.stopPropagation()
        if (e.key === 'Escape' || e.key === 'Enter' && !e.isComposing) end(e.key === 'Enter')
      },
    } })
    row.replaceChildren(input)
    input.select()
    input.focus()
  }

  #load() {
    const [file] = this.file.files ?? []
    this.file.value = ''
    if (file) this.hooks.load(file)
  }

  #dialog() {
    const id = 'chat-sure'
    const sure = el('dialog', { 'aria-labelledby': id },
      el('p', { id, text: 'Delete all conversations in this browser?' }),
      el('div', { class: 'row' }, button('Delete all', () => { sure.close(); this.hooks.removeAll() }, { kind: 'primary' }), button('Cancel', () => sure.close())))
    return sure
  }
}
