// @ts-check
// Reads the tokens in a stream of completions, for both of OpenAI's routes.

/** @typedef {{text: string, logprob: number}} Alternative */
/**
 * @typedef {object} Token a piece of the text, most often one token
 * @property {string} text
 * @property {number|null} logprob natural; null: unknown
 * @property {Alternative[]} top the most likely ones at its position, best first
 * @property {number} count tokens
 */

/** @typedef {{index: number, id?: string, name?: string, arguments?: string}} CallPiece a piece of a call of a tool */

/**
 * @typedef {object} Step the additions of an event
 * @property {Token[]} tokens
 * @property {string} thought reasoning before the answer
 * @property {CallPiece[]} calls
 * @property {string|null} finish
 * @property {number|null} used tokens of the whole answer, once the server counted
 */

/**
 * @param {any} event
 * @returns {Step}
 */
export function step(event) {
  const choice = event?.choices?.[0]
  const text = choice?.delta?.content ?? choice?.text ?? ''
  return {
    tokens: pieces(text, choice?.logprobs?.content ? chat(choice.logprobs.content) : plain(choice?.logprobs)),
    thought: choice?.delta?.reasoning_content ?? '',
    calls: (choice?.delta?.tool_calls ?? []).map((/** @type {any} */ c, /** @type {number} */ i) => ({ index: c.index ?? i, id: c.id, name: c.function?.name, arguments: c.function?.arguments })),
    finish: choice?.finish_reason ?? null, used: event?.usage?.completion_tokens ?? null,
  }
}

/**
 * @param {any[]} list logprobs of /v1/chat/completions
 * @returns {Token[]}
 */
function chat(list) {
  return list.map((t) => ({ text: t.token, logprob: t.logprob, count: 1, top: (t.top_logprobs ?? []).map((/** @type {any} */ a) => ({ text: a.token, logprob: a.logprob })) }))
}

/**
 * @param {any} l logprobs of /v1/completions
 * @returns {Token[]}
 */
function plain(l) {
  /** @type {string[]} */
  const tokens = l?.tokens ?? []
  return tokens.map((text, i) => ({ text, logprob: l.token_logprobs?.[i] ?? null, count: 1, top: alternatives(l.top_logprobs?.[i]) }))
}

/**
 * @param {Record<string, number>|null|undefined} top
 * @returns {Alternative[]}
 */
function alternatives(top) {
  return Object.entries(top ?? {}).map(([text, logprob]) => ({ text, logprob })).sort((a, b) => b.logprob - a.logprob)
}

/**
 * Fits tokens to the text of their event. Tokens that are parts of characters are joined to one
 * piece, because only together do they have a text.
 * @param {string} text
 * @param {Token[]} tokens
 * @returns {Token[]}
 */
function pieces(text, tokens) {
  if (!tokens.length) return text ? [{ text, logprob: null, top: [], count: 1 }] : []
  if (tokens.map((t) => t.text).join('') === text) return tokens
  const logprob = tokens.reduce((sum, t) => sum + (t.logprob ?? 0), 0)
  return [{ text, logprob, top: tokens.length === 1 ? tokens[0]?.top ?? [] : [], count: tokens.length }]
}

/** @param {string|null} finish */
export function ending(finish) {
  switch (finish) {
    case 'stop': return 'finished'
    case 'length': return 'token limit reached'
    case 'content_filter': return 'stopped by a content filter'
    case 'tool_calls': return 'called a tool'
  }
  return finish ?? ''
}
