// @ts-check
// Which models can chat. Pure.
import { writes } from '../tasks.js'

/** @typedef {import('../state.js').Model} Model */

/** Whether a model was trained on conversations, as far as the server says. @param {Model} m */
export const chats = (m) => writes(m) && !m.run

/** Whether a model is the starter that was trained to call functions, and for little else. @param {Model} m */
export const calls = (m) => m.name === 'tools' && m.family === 'local' && chats(m)

/**
 * Whether Chat offers a model. Base models are offered only where no model chats.
 * @param {Model} m
 * @param {Model[]} all
 */
export const offered = (m, all) => chats(m) || writes(m) && !all.some(chats)

/** Tokens of a base model's answer unless the user sets a limit: it seldom ends by itself. */
export const baseTokens = 64

/**
 * A sentence about the base models of a server; '' if it has none.
 * @param {Model[]} all
 * @param {Model|null} model the chosen one
 */
export function note(all, model) {
  const base = all.filter((m) => writes(m) && !chats(m)).map((m) => m.name)
  if (model && base.includes(model.name)) {
    return `${model.name} is a base model: it continues your text instead of answering it, and stops after ${baseTokens} tokens unless Max tokens is set.`
  }
  if (!base.length) return ''
  return base.length === 1 ? `${base[0]} is a base model: it continues texts and is offered in Write.`
    : `${names(base)} are base models: they continue texts and are offered in Write.`
}

/**
 * A sentence about the images of a conversation; '' if it has none.
 * @param {Model|null} model the chosen one
 * @param {{all: number, kept: number}} images all of the conversation, and those that are not gone
 */
export function sight(model, { all, kept }) {
  if (!all || !model) return ''
  if (!model.images) return `${model.name} reads text only and does not see the images of this conversation.`
  return kept < all ? 'Images sent before the page was reloaded are gone: the model does not see them.' : 'Images are kept until the page is reloaded, and in exported JSON.'
}

/** @param {string[]} list */
function names(list) {
  const shown = list.slice(0, 3)
  const rest = list.length - shown.length
  if (rest) return `${shown.join(', ')} and ${rest} more`
  return `${shown.slice(0, -1).join(', ')} and ${shown.at(-1)}`
}
