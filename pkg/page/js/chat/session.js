// @ts-check
// The conversations of this visit: which one is open, what is being answered, and what is
// stored. It does not know elements.
import { read } from './format.js'
import { baseTokens } from './models.js'
import { Run } from './run.js'
import { browserStorage, Store } from './store.js'
import { known, run as compute } from './tools.js'
import { add, alternatives, branch, choose, imageIds, messages, newConversation, newId } from './tree.js'

/** @typedef {import('./tree.js').Conversation} Conversation */
/** @typedef {import('./tree.js').Turn} Turn */

/**
 * @typedef {object} Hooks
 * @property {() => {model: string, params: Record<string, any>, shaded: boolean, base: boolean, images: boolean}} body a request without its messages; images: whether they may have images
 * @property {() => void} changed something else is to be shown
 * @property {(c: Conversation, turn: Turn) => void} progress an answer grew
 * @property {(c: Conversation, turn: Turn) => void} ended an answer ended
 */

const often = 2000 // milliseconds between saves of an answer that is being written
const topTokens = 5

const maxRounds = 8 // of calls that the page answers itself, after one message

/** The number of turns with results since the last message. @param {Conversation} c @param {Turn} turn */
function rounds(c, turn) {
  const turns = branch(c), at = turns.indexOf(turn)
  return turns.slice(turns.findLastIndex((t, i) => i < at && t.role === 'user') + 1, at).filter((t) => t.role === 'tool').length
}

export class Session {
  /** The answers of this visit by turn: their tokens are not stored. @type {Map<string, Run>} */
  runs = new Map()
  /** The answers in progress by conversation. @type {Map<string, Run>} */
  #busy = new Map()
  /** @type {Conversation[]} */
  #removed = []
  #left = new AbortController()

  /**
   * @param {import('../api.js').Api} api
   * @param {Map<string, string>} images data URLs by id
   * @param {Hooks} hooks
   * @param {string} system the prompt of new conversations
   * @param {string} tools those of new conversations
   */
  constructor(api, images, hooks, system, tools) {
    this.api = api
    this.images = images
    this.hooks = hooks
    this.system = system
    this.tools = tools
    this.store = new Store(browserStorage())
    this.current = this.store.list()[0] ?? newConversation(system, tools)
    const { signal } = this.#left
    addEventListener('storage', (e) => this.#elsewhere(e), { signal })
    addEventListener('pagehide', () => this.#saveAll(), { signal })
  }

  /** Ends all answers; the session is not used any more. */
  close() {
    for (const run of this.#busy.values()) run.stop()
    this.#saveAll()
    this.#left.abort()
  }

  list() {
    return this.store.list()
  }

  /** The answer in progress of the open conversation. */
  get running() {
    return this.#busy.get(this.current.id) ?? null
  }

  fresh() {
    if (this.current.turns.length) this.current = newConversation(this.system, this.tools)
    this.hooks.changed()
  }

  /** @param {string} id */
  open(id) {
    this.current = this.store.get(id) ?? this.current
    this.hooks.changed()
  }

  /** The model of the last answer. */
  lastModel() {
    return branch(this.current).findLast((t) => t.model)?.model ?? ''
  }

  /** @param {string} text */
  setSystem(text) {
    this.system = this.current.system = text
    if (this.current.turns.length) this.store.save(this.current)
  }

  /** @param {string} text */
  setTools(text) {
    this.tools = this.current.tools = text
    if (this.current.turns.length) this.store.save(this.current)
    this.hooks.changed()
  }

  /** Gives tools to the open conversation alone. @param {string} text */
  declare(text) {
    this.current.tools = text
  }

  /** @param {Conversation} c @param {string} name */
  rename(c, name) {
    c.title = name
    this.store.save(c)
    this.hooks.changed()
  }

  /** @param {Conversation[]} list */
  remove(list) {
    this.#removed = list
    for (const c of list) {
      this.#busy.get(c.id)?.stop()
      this.store.remove(c.id)
    }
    if (list.includes(this.current)) this.current = newConversation(this.system, this.tools)
    this.#forget()
    this.hooks.changed()
  }

  /** Forgets the images of no conversation. */
  #forget() {
    const used = new Set(imageIds([...this.list(), ...this.#removed]))
    for (const id of this.images.keys()) if (!used.has(id)) this.images.delete(id)
  }

  /** Brings back what was removed last. */
  undo() {
    for (const c of this.#removed) this.store.save(c)
    const [first] = this.#removed
    if (first && !this.current.turns.length) this.current = first
    this.#removed = []
    this.hooks.changed()
  }

  /** Adds the conversations of a file. @param {string} text */
  import(text) {
    const { conversations, skipped, images } = read(text, (id) => this.store.get(id) !== null)
    for (const [id, url] of images) if (!this.images.has(id)) this.images.set(id, url)
    for (const c of conversations) this.store.save(c)
    if (conversations[0] && !this.current.turns.length) this.current = conversations[0]
    this.hooks.changed()
    return { added: conversations.length, skipped }
  }

  stop() {
    this.running?.stop()
  }

  /** The data URL of an image; '' if it is gone. @param {string} id */
  see = (id) => this.images.get(id) ?? ''

  /** The images of the open conversation: all, and those that are not gone. */
  pictures() {
    const ids = branch(this.current).flatMap((t) => t.images ?? []).map((image) => image.id)
    return { all: ids.length, kept: ids.filter((id) => this.see(id)).length }
  }

  /** @param {string} text @param {import('./images.js').Picture[]} pictures */
  send(text, pictures) {
    if (this.running) return
    const question = add(this.current, branch(this.current).at(-1)?.id ?? '', 'user', text)
    if (pictures.length) question.images = pictures.map(({ name, url }) => this.#keep(name, url))
    void this.#answer(this.current, question.id)
  }

  /** @param {string} name @param {string} url @returns {import('./tree.js').Image} */
  #keep(name, url) {
    const id = newId()
    this.images.set(id, url)
    return { id, name }
  }

  /** Sends another text in the place of a message's, with its images. @param {Turn} turn @param {string} text */
  edit(turn, text) {
    if (this.running) return
    const question = add(this.current, turn.parent, 'user', text)
    if (turn.images) question.images = turn.images
    void this.#answer(this.current, question.id)
  }

  /** Sends the results of the calls of an answer. @param {Turn} turn @param {import('./tree.js').Result[]} results */
  reply(turn, results) {
    if (!this.running) this.#reply(this.current, turn.id, results)
  }

  /** Sends other results in the place of a turn of results. @param {Turn} turn @param {import('./tree.js').Result[]} results */
  replyAgain(turn, results) {
    if (!this.running) this.#reply(this.current, turn.parent, results)
  }

  /** @param {Conversation} c @param {string} parent @param {import('./tree.js').Result[]} results */
  #reply(c, parent, results) {
    const turn = add(c, parent, 'tool', '')
    turn.results = results
    void this.#answer(c, turn.id)
  }

  /** Asks for another answer. One that failed before its first token is replaced. @param {Turn} turn */
  again(turn) {
    if (this.running) return
    const c = this.current
    if (!turn.text && turn.fault !== undefined) c.turns = c.turns.filter((t) => t !== turn)
    void this.#answer(c, turn.parent)
  }

  /** @param {Turn} turn @param {number} by */
  turnTo(turn, by) {
    const all = alternatives(this.current, turn), next = all[all.indexOf(turn) + by]
    if (!next || this.running) return
    choose(this.current, next)
    this.store.save(this.current)
    this.hooks.changed()
  }

  /** @param {Conversation} c @param {string} parent */
  async #answer(c, parent) {
    const { model, params, shaded, base, images } = this.hooks.body()
    const asked = messages(c, parent, images ? this.see : undefined), declared = known(c.tools), tools = declared.length ? { tools: declared } : {}
    const turn = add(c, parent, 'assistant', '')
    turn.model = model
    const run = new Run(this.api, turn)
    this.runs.set(turn.id, run)
    this.#busy.set(c.id, run)
    this.store.save(c)
    this.hooks.changed()
    let saved = performance.now()
    await run.write({
      model, messages: asked, ...tools, ...(base && { max_tokens: baseTokens }), ...params, stream: true, ...(shaded && { logprobs: true, top_logprobs: topTokens }),
    }, () => {
      this.hooks.progress(c, turn)
      if (performance.now() < saved + often) return
      this.#save(c)
      saved = performance.now()
    })
    this.#busy.delete(c.id)
    c.updated = Date.now()
    this.#save(c)
    this.hooks.changed()
    this.hooks.ended(c, turn)
    const results = turn.fault === undefined && turn.end === 'tool_calls' && rounds(c, turn) < maxRounds ? compute(turn.calls ?? [], c.tools) : null
    if (results && this.store.get(c.id) === c && !this.#busy.has(c.id)) this.#reply(c, turn.id, results)
  }

  /** Saves a conversation, unless it was removed. @param {Conversation} c */
  #save(c) {
    if (this.store.get(c.id) === c) this.store.save(c)
  }

  #saveAll() {
    for (const id of this.#busy.keys()) {
      const c = this.store.get(id)
      if (c) this.store.save(c)
    }
  }

  /** Takes a change of another tab. @param {StorageEvent} event */
  #elsewhere(event) {
    if (event.key === null) this.store.reload()
    else if (this.#busy.size || !this.store.refresh(event.key)) return
    const now = this.store.get(this.current.id)
    if (now) this.current = now
    this.hooks.changed()
  }
}
