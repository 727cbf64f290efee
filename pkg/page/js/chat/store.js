// @ts-check
// The conversations in the browser's storage, one entry each, so that two tabs do not
// overwrite each other's. Where storage is off or full, they last as long as the page.
import { pack, parsed, unpack } from './format.js'

/** @typedef {import('./tree.js').Conversation} Conversation */
/** @typedef {Pick<Storage, 'length'|'key'|'getItem'|'setItem'|'removeItem'>} Shelf */

const prefix = 'glossa-chat-'
const maxConversations = 200
const maxChars = 4 << 20 // of all conversations; browsers allow about 5 million

export class Store {
  /** By id. @type {Map<string, Conversation>} */
  #all = new Map()
  /** The stored size by id. @type {Map<string, number>} */
  #sizes = new Map()
  /** What the user should know about storage; '' if all is well. */
  warning = ''

  /** @param {Shelf|null} shelf null: storage is off */
  constructor(shelf) {
    this.shelf = shelf
    if (!shelf) this.warning = 'This browser stores nothing for this page: conversations end with the tab.'
    this.reload()
  }

  /** Reads what is stored. Entries that are not conversations are left alone. */
  reload() {
    /** @type {string[]} */
    const keys = []
    try {
      for (let i = 0; i < (this.shelf?.length ?? 0); i++) keys.push(this.shelf?.key(i) ?? '')
      for (const key of keys.filter((k) => k.startsWith(prefix))) this.refresh(key)
    } catch {
      this.#off()
    }
  }

  /**
   * Reads an entry again after another tab changed it. Returns whether it is a conversation's.
   * @param {string} key
   */
  refresh(key) {
    if (!key.startsWith(prefix)) return false
    const id = key.slice(prefix.length)
    const text = this.shelf?.getItem(key) ?? null
    const c = text === null ? null : unpack(parsed(text))
    if (c && c.id === id) {
      this.#all.set(id, c)
      this.#sizes.set(id, text?.length ?? 0)
    } else if (text === null) {
      this.#all.delete(id)
      this.#sizes.delete(id)
    }
    return true
  }

  /** All conversations, the latest first. */
  list() {
    return [...this.#all.values()].sort((a, b) => b.updated - a.updated)
  }

  /** @param {string} id */
  get(id) {
    return this.#all.get(id) ?? null
  }

  /**
   * Stores a conversation; the oldest others make room for it.
   * @param {Conversation} c
   */
  save(c) {
    this.#all.set(c.id, c)
    if (!this.shelf) return
    const text = pack(c)
    this.#sizes.set(c.id, text.length)
    while (this.#all.size > maxConversations || this.#total() > maxChars) if (!this.#evict(c.id)) break
    for (;;) {
      try {
        this.shelf.setItem(prefix + c.id, text)
        return
      } catch (error) {
        if (/** @type {any} */ (error)?.name !== 'QuotaExceededError') return this.#off()
        if (!this.#evict(c.id)) {
          this.warning = 'This conversation is too large to be stored: it ends with the tab. Export it to keep it.'
          return
        }
      }
    }
  }

  /** @param {string} id */
  remove(id) {
    this.#all.delete(id)
    this.#sizes.delete(id)
    try {
      this.shelf?.removeItem(prefix + id)
    } catch {
      this.#off()
    }
  }

  #total() {
    return [...this.#sizes.values()].reduce((sum, n) => sum + n, 0)
  }

  /** Removes the oldest conversation except one. @param {string} id */
  #evict(id) {
    const oldest = this.list().filter((c) => c.id !== id && this.#sizes.has(c.id)).at(-1)
    if (!oldest) return false
    this.remove(oldest.id)
    this.warning = 'The storage for this page is full: the oldest conversations were deleted.'
    return true
  }

  #off() {
    this.shelf = null
    this.warning = 'This browser stores nothing for this page: conversations end with the tab.'
  }
}

/** The browser's storage; null if it is off. */
export function browserStorage() {
  try {
    const { localStorage } = globalThis
    localStorage.getItem(prefix)
    return localStorage
  } catch {
    return null
  }
}
