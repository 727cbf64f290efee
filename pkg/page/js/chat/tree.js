// @ts-check
// A conversation as a tree: an edited message and a regenerated answer are alternatives to
// the turns that they replace. Pure; it does not know the page or storage.
import { split } from './thinking.js'

/**
 * @typedef {object} Turn
 * @property {string} id
 * @property {string} parent id of the turn before; '' for a first turn
 * @property {'user'|'assistant'} role
 * @property {string} text
 * @property {number} at milliseconds since 1970
 * @property {string} [model] that answered
 * @property {string} [end] why the answer ended: the API's finish_reason, or stopped
 * @property {string} [fault] the error that ended the answer
 * @property {number} [tokens]
 * @property {number} [rate] tokens per second
 * @property {number} [first] milliseconds to the first token
 */

/**
 * @typedef {object} Conversation
 * @property {string} id
 * @property {string} title '' until the user names it
 * @property {number} created milliseconds since 1970
 * @property {number} updated milliseconds since 1970
 * @property {string} system the system prompt
 * @property {Turn[]} turns parents before their children
 * @property {Record<string, string>} picked the chosen child of a turn, where it is not the last
 */

/** @typedef {{role: string, content: string}} Message */

const titleWords = 8

/** A random id. */
export function newId() {
  return Array.from(crypto.getRandomValues(new Uint8Array(12)), (b) => b.toString(16).padStart(2, '0')).join('')
}

/**
 * @param {string} system
 * @returns {Conversation}
 */
export function newConversation(system) {
  const now = Date.now()
  return { id: newId(), title: '', created: now, updated: now, system, turns: [], picked: {} }
}

/**
 * The turns on the chosen branch, first to last.
 * @param {Conversation} c
 * @returns {Turn[]}
 */
export function branch(c) {
  /** @type {Map<string, Turn[]>} */
  const children = new Map()
  for (const turn of c.turns) {
    const list = children.get(turn.parent)
    if (list) list.push(turn)
    else children.set(turn.parent, [turn])
  }
  /** @type {Turn[]} */
  const turns = []
  for (let at = '', next; (next = children.get(at)); at = turns.at(-1)?.id ?? '') {
    const turn = next.find((t) => t.id === c.picked[at]) ?? next.at(-1)
    if (turn) turns.push(turn)
  }
  return turns
}

/**
 * The alternatives at a turn's place, itself included, oldest first.
 * @param {Conversation} c
 * @param {Turn} turn
 */
export function alternatives(c, turn) {
  return c.turns.filter((t) => t.parent === turn.parent)
}

/**
 * Adds a turn after parent and chooses it.
 * @param {Conversation} c
 * @param {string} parent '' for a first turn
 * @param {'user'|'assistant'} role
 * @param {string} text
 * @returns {Turn}
 */
export function add(c, parent, role, text) {
  const turn = { id: newId(), parent, role, text, at: Date.now() }
  c.turns.push(turn)
  choose(c, turn)
  c.updated = turn.at
  return turn
}

/**
 * Makes a turn the chosen one of its alternatives.
 * @param {Conversation} c
 * @param {Turn} turn
 */
export function choose(c, turn) {
  if (alternatives(c, turn).at(-1) === turn) delete c.picked[turn.parent]
  else c.picked[turn.parent] = turn.id
}

/**
 * The messages of a request that asks for the turn after the one with the id last. Models do not
 * see the reasoning of their earlier answers.
 * @param {Conversation} c
 * @param {string} last
 * @returns {Message[]}
 */
export function messages(c, last) {
  const byId = new Map(c.turns.map((t) => [t.id, t]))
  /** @type {Message[]} */
  const list = []
  for (let turn = byId.get(last); turn; turn = byId.get(turn.parent)) {
    const content = turn.role === 'user' ? turn.text : split(turn.text).answer
    if (content || turn.role === 'user') list.push({ role: turn.role, content })
  }
  if (c.system.trim()) list.push({ role: 'system', content: c.system })
  return list.reverse()
}

/**
 * The title for lists: the user's, or else the first words.
 * @param {Conversation} c
 */
export function title(c) {
  if (c.title) return c.title
  const words = (c.turns.find((t) => t.role === 'user')?.text ?? '').trim().slice(0, 200).split(/\s+/)
  return words[0] ? words.slice(0, titleWords).join(' ') + (words.length > titleWords ? '…' : '') : 'New chat'
}

/**
 * Whether a conversation contains a text, in its title or a turn.
 * @param {Conversation} c
 * @param {string} text
 */
export function contains(c, text) {
  const wanted = text.trim().toLowerCase()
  return [title(c), ...c.turns.map((t) => t.text)].some((t) => t.toLowerCase().includes(wanted))
}
