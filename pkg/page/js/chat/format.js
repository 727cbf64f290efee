// @ts-check
// The stored and exported forms of conversations. What is read may be damaged, foreign or
// hostile: unpack accepts only what it knows. Pure.
import { limits } from './images.js'
import { branch, newId, title } from './tree.js'

/** @typedef {import('./tree.js').Conversation} Conversation */
/** @typedef {import('./tree.js').Turn} Turn */

const version = 1
const kind = 'glossa-conversations'
const maxTurns = 2000
const maxText = 1 << 20 // characters of a turn
const maxTitle = 200 // characters
const maxCalls = 128 // of a turn
const idPattern = /^[\w-]{1,64}$/
const imagePattern = /^data:image\/(?:png|jpeg);base64,[A-Za-z0-9+/]+={0,2}$/
const maxURL = 4 * limits.bytes / 3 + 100 // characters of an image

/**
 * @param {Conversation} c
 * @returns {string}
 */
export function pack(c) {
  return JSON.stringify({ v: version, ...c })
}

/**
 * A conversation from a parsed value; null if it is not one. Turns without a parent before
 * them are dropped.
 * @param {any} value
 * @returns {Conversation|null}
 */
export function unpack(value) {
  if (value?.v !== version || !identifies(value.id) || !Array.isArray(value.turns)) return null
  const known = new Set([''])
  /** @type {Turn[]} */
  const turns = []
  for (const entry of value.turns.slice(0, maxTurns)) {
    const turn = readTurn(entry)
    if (!turn || known.has(turn.id) || !known.has(turn.parent)) continue
    known.add(turn.id)
    turns.push(turn)
  }
  /** @type {Record<string, string>} */
  const picked = {}
  for (const turn of turns) {
    const chosen = Object.hasOwn(value.picked ?? {}, turn.parent) ? value.picked[turn.parent] : null
    if (chosen === turn.id) picked[turn.parent] = turn.id
  }
  return {
    id: value.id, title: string(value.title, maxTitle), created: time(value.created), updated: time(value.updated),
    system: string(value.system, maxText), tools: string(value.tools, maxText), turns, picked,
  }
}

/**
 * @param {any} v
 * @returns {Turn|null}
 */
function readTurn(v) {
  if (!identifies(v?.id) || (v.parent !== '' && !identifies(v.parent))) return null
  if (!['user', 'assistant', 'tool'].includes(v.role) || typeof v.text !== 'string') return null
  /** @type {Turn} */
  const turn = { id: v.id, parent: v.parent, role: v.role, text: v.text.slice(0, maxText), at: time(v.at) }
  for (const key of /** @type {const} */ (['model', 'end', 'fault'])) if (typeof v[key] === 'string') turn[key] = v[key].slice(0, 1000)
  if (typeof v.thought === 'string') turn.thought = v.thought.slice(0, maxText)
  if (v.role === 'user' && Array.isArray(v.images)) turn.images = v.images.slice(0, limits.images).filter(isImage).map((/** @type {any} */ i) => ({ id: i.id, name: string(i.name, maxTitle) }))
  if (v.role === 'assistant' && Array.isArray(v.calls)) turn.calls = entries(v.calls, 'arguments')
  if (v.role === 'tool') turn.results = entries(Array.isArray(v.results) ? v.results : [], 'text')
  for (const key of /** @type {const} */ (['tokens', 'rate', 'first'])) if (Number.isFinite(v[key])) turn[key] = v[key]
  return turn
}

/**
 * The calls or results of a turn.
 * @template {'arguments'|'text'} K
 * @param {any[]} list
 * @param {K} key of the text of an entry
 * @returns {({id: string, name: string} & Record<K, string>)[]}
 */
function entries(list, key) {
  return /** @type {any} */ (list.slice(0, maxCalls).filter((e) => typeof e?.id === 'string' && typeof e.name === 'string' && typeof e[key] === 'string')
    .map((e) => ({ id: e.id.slice(0, maxTitle), name: e.name.slice(0, maxTitle), [key]: e[key].slice(0, maxText) })))
}

// The name of a member of every object is not an id.
/** @param {any} v */
const identifies = (v) => typeof v === 'string' && idPattern.test(v) && v !== '__proto__'

/** @param {any} v */
const isImage = (v) => identifies(v?.id)

/** @param {any} v @param {number} max */
const string = (v, max) => typeof v === 'string' ? v.slice(0, max) : ''

/** @param {any} v */
const time = (v) => Number.isFinite(v) && v > 0 && v < 8.64e15 ? v : 0

/**
 * @param {string} text
 * @returns {any} null if it is not JSON
 */
export function parsed(text) {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/**
 * A file with conversations and their images, as read takes it.
 * @param {Conversation[]} list
 * @param {(id: string) => string} see the data URL of an image, or ''
 */
export function write(list, see) {
  const full = (/** @type {Turn} */ t) => t.images ? { ...t, images: t.images.map((i) => ({ ...i, url: see(i.id) || undefined })) } : t
  return JSON.stringify({ kind, v: version, conversations: list.map((c) => ({ v: version, ...c, turns: c.turns.map(full) })) }, null, 2) + '\n'
}

/**
 * The data URLs of the images in the conversations of a file, by id.
 * @param {any[]} list
 * @returns {Map<string, string>}
 */
function carried(list) {
  const images = list.flatMap((c) => c?.turns).flatMap((t) => t?.images)
  return new Map(images.filter((i) => isImage(i) && string(i.url, maxURL) === i.url && imagePattern.test(i.url)).map((i) => [i.id, i.url]))
}

/**
 * The conversations of an exported file, with new ids where the ids are taken. Throws a
 * sentence for users.
 * @param {string} text
 * @param {(id: string) => boolean} taken
 * @returns {{conversations: Conversation[], skipped: number, images: Map<string, string>}}
 */
export function read(text, taken) {
  const file = parsed(text)
  if (file?.kind !== kind || !Array.isArray(file.conversations)) throw new Error('This file holds no conversations exported from this page.')
  if (file.v !== version) throw new Error('This file comes from a newer version of this page.')
  const list = file.conversations.map(unpack)
  /** @type {Conversation[]} */
  const conversations = list.filter((/** @type {any} */ c) => c !== null)
  const seen = new Set()
  for (const c of conversations) {
    if (taken(c.id) || seen.has(c.id)) c.id = newId()
    seen.add(c.id)
  }
  return { conversations, skipped: list.length - conversations.length, images: carried(file.conversations) }
}

/**
 * The chosen branch as Markdown.
 * @param {Conversation} c
 */
export function markdown(c) {
  const parts = [`# ${title(c)}`]
  if (c.system.trim()) parts.push('## System', c.system.trim())
  for (const turn of branch(c)) parts.push(`## ${turn.role === 'user' ? 'You' : turn.role === 'tool' ? 'Results' : turn.model ?? 'Answer'}`, ...written(turn))
  return parts.join('\n\n') + '\n'
}

/** @param {Turn} turn */
function written(turn) {
  return [...(turn.images ?? []).map((i) => `Image: ${i.name}`), turn.text.trim(), ...(turn.calls ?? []).map((c) => `Calls \`${c.name}\` with \`${c.arguments}\``), ...(turn.results ?? []).map((r) => `\`${r.name}\`: ${r.text}`)].filter(Boolean)
}

/**
 * A name for a file, of letters, digits and hyphens.
 * @param {string} text
 */
export function fileName(text) {
  return text.normalize('NFKD').toLowerCase().replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, '').slice(0, 60) || 'chat'
}
