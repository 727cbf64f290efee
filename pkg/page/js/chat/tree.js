// @ts-check
// A conversation as a tree: an edited message and a regenerated answer are alternatives to
// the turns that they replace. Pure; it does not know the page or storage.
import { split } from './thinking.js'

/** @typedef {{id: string, name: string, arguments: string}} Call a call of a tool, with JSON arguments */
/** @typedef {{id: string, name: string, text: string}} Result what a call gave */

/** @typedef {{id: string, name: string}} Image an image of a message; its data is elsewhere */

/**
 * @typedef {object} Turn
 * @property {string} id
 * @property {string} parent id of the turn before; '' for a first turn
 * @property {'user'|'assistant'|'tool'} role tool: the results of the calls of the turn before
 * @property {string} text
 * @property {Image[]} [images]
 * @property {string} [thought] reasoning before the answer
 * @property {Call[]} [calls]
 * @property {Result[]} [results]
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
 * @property {string} tools the functions that the model may call: a JSON list as the API takes it, or ''
 * @property {Turn[]} turns parents before their children
 * @property {Record<string, string>} picked the chosen child of a turn, where it is not the last
 */

/** @typedef {{role: string, content: string|object[]|null, tool_calls?: object[], tool_call_id?: string}} Message */

const titleWords = 8

/** A random id. */
export function newId() {
  return Array.from(crypto.getRandomValues(new Uint8Array(12)), (b) => b.toString(16).padStart(2, '0')).join('')
}

/**
 * @param {string} system
 * @param {string} tools
 * @returns {Conversation}
 */
export function newConversation(system, tools = '') {
  const now = Date.now()
  return { id: newId(), title: '', created: now, updated: now, system, tools, turns: [], picked: {} }
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
 * @param {Turn['role']} role
 * @param {string} text
 * @returns {Turn}
 */
export function add(c, parent, role, text) {
  /** @type {Turn} */
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
 * @param {(id: string) => string} [see] the data URL of an image; '' leaves it out
 * @returns {Message[]}
 */
export function messages(c, last, see = () => '') {
  const byId = new Map(c.turns.map((t) => [t.id, t]))
  /** @type {Message[]} */
  const list = []
  for (let turn = byId.get(last); turn; turn = byId.get(turn.parent)) {
    list.push(...said(turn, see).reverse())
  }
  if (c.system.trim()) list.push({ role: 'system', content: c.system })
  return list.reverse()
}

/**
 * The messages of a turn, in their order.
 * @param {Turn} turn
 * @param {(id: string) => string} see
 * @returns {Message[]}
 */
function said(turn, see) {
  if (turn.role === 'tool') return (turn.results ?? []).map(({ id, text }) => ({ role: 'tool', tool_call_id: id, content: text }))
  if (turn.role === 'user') {
    const images = (turn.images ?? []).map(({ id }) => see(id)).filter(Boolean).map((url) => ({ type: 'image_url', image_url: { url } }))
    return [{ role: 'user', content: images.length ? [...images, ...turn.text.trim() ? [{ type: 'text', text: turn.text }] : []] : turn.text }]
  }
  const content = split(turn.text).answer
  if (!turn.calls?.length) return content ? [{ role: 'assistant', content }] : []
  return [{ role: 'assistant', content: content || null, tool_calls: turn.calls.map(({ id, name, arguments: text }) => ({ id, type: 'function', function: { name, arguments: text } })) }]
}

/** The ids of the images of conversations. @param {Conversation[]} list */
export const imageIds = (list) => list.flatMap((c) => c.turns).flatMap((t) => t.images ?? []).map(({ id }) => id)

/**
 * The title for lists: the user's, or else the first words.
 * @param {Conversation} c
 */
export function title(c) {
  if (c.title) return c.title
  const first = c.turns.find((t) => t.role === 'user')
  const words = (first?.text.trim() || first?.images?.[0]?.name || '').slice(0, 200).split(/\s+/)
  return words[0] ? words.slice(0, titleWords).join(' ') + (words.length > titleWords ? '…' : '') : 'New chat'
}

/**
 * Whether a conversation contains a text, in its title, a turn or the name of an image.
 * @param {Conversation} c
 * @param {string} text
 */
export function contains(c, text) {
  const wanted = text.trim().toLowerCase()
  return [title(c), ...c.turns.flatMap((t) => [t.text, ...(t.images ?? []).map((i) => i.name)])].some((t) => t.toLowerCase().includes(wanted))
}
