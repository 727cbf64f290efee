// @ts-check
// Translates an intent to a request of each dialect, or explains why there is none. Pure.

/** @typedef {import('./requests.js').Call} Call */
/** @typedef {import('./requests.js').Intent} Intent */
/** @typedef {import('./requests.js').Settings} Settings */

/** A request and the settings that it cannot express, or why the dialect cannot express it; '': it has no requests of this kind.
 * @typedef {{call: Call, left: string[]} | {why: string}} Translation */

/**
 * A request in a dialect.
 * @typedef {object} Reading
 * @property {string} id of the dialect
 * @property {string} name
 * @property {Call|null} call null: there is no such request
 * @property {string[]|null} lacks settings that call omits; null: none
 * @property {string} why the dialect cannot express the request; '': it can, or has no requests of this kind
 */

import { base64 } from './files.js'
import { anthropicMessages, anthropicTools, ollamaMessages, responsesInput, responsesTools, system } from './messages.js'
import { SHARED } from './requests.js'

/**
 * The request in every dialect. That of the call is the call itself.
 * @param {Call} call @param {import('./requests.js').Reading} reading of the call @param {string} family of its model
 * @returns {Reading[]}
 */
export function readings(call, { intent, dialect, unread }, family) {
  return DIALECTS.map(({ id, name, say, images }) => {
    if (id === dialect) return { id, name, call, lacks: null, why: '' }
    const own = say(intent, family), said = !images && pictured(intent) && ('call' in own || own.why) ? { why: 'has no images' } : own
    if ('why' in said) return { id, name, call: null, lacks: null, why: said.why && `${name} ${said.why}.` }
    const lacks = [...said.left, ...unread]
    if (!lacks.length) return { id, name, call: said.call, lacks: null, why: '' }
    return { id, name, call: said.call, lacks, why: `${name} has no ${or.format(lacks)} for ${NOUNS[intent.kind]}.` }
  })
}

const or = new Intl.ListFormat('en', { type: 'disjunction' })

/** Requests of a kind. @type {Record<Intent['kind'], string>} */
export const NOUNS = {
  chat: 'chats', complete: 'completions', score: 'scores', tokens: 'tokens', embed: 'embeddings', rank: 'rankings', translate: 'translations', models: 'lists of models',
}

/** @type {{id: string, name: string, say: (intent: Intent, family: string) => Translation, images?: boolean}[]} images: its messages or prompts may have images */
export const DIALECTS = [
  { id: 'openai', name: 'OpenAI', say: openai, images: true },
  { id: 'responses', name: 'OpenAI Responses', say: responses, images: true },
  { id: 'anthropic', name: 'Anthropic', say: anthropic, images: true },
  { id: 'ollama', name: 'Ollama', say: ollama, images: true },
  { id: 'alpha', name: 'Alpha', say: alpha },
  { id: 'alephalpha', name: 'Aleph Alpha', say: alephalpha, images: true },
  { id: 'textsynth', name: 'TextSynth', say: textsynth },
  { id: 'lamini', name: 'Lamini', say: lamini },
  { id: 'invoke', name: 'API layer', say: invoke },
  { id: 'cohere', name: 'Cohere', say: (intent) => ranked('/v1/rerank', intent) },
]

/** @param {string} path @param {Record<string, any>} body @param {string[]} [left] @returns {Translation} */
const post = (path, body, left = []) => ({ call: { method: 'POST', path, body }, left })

/** @param {string} path @returns {Translation} */
const get = (path) => ({ call: { method: 'GET', path, body: null }, left: [] })

/** The name of a setting below, as clients know it.
 * @param {string} name */
const wellKnown = (name) => SHARED[name] ?? { maxTokens: 'max_tokens', stop: 'stop', logprobs: 'logprobs', schema: 'JSON Schema', stream: 'stream' }[name] ?? name

/**
 * Writes the settings that have an entry in keys, and lists the others.
 * @param {Settings} settings @param {Record<string, string | ((value: any) => object)>} keys
 */
function write(settings, keys) {
  /** @type {Record<string, any>} */
  const body = {}
  const left = []
  for (const [name, value] of Object.entries(settings)) {
    const key = keys[name]
    if (typeof key === 'function') Object.assign(body, key(value))
    else if (key) body[key] = value
    else left.push(wellKnown(name))
  }
  return { body, left }
}

/** @param {...string} names of settings with the same key in all dialects */
const some = (...names) => Object.fromEntries(names.map((name) => [name, SHARED[name]]))

/**
 * The text of an intent for a dialect without chats: a completion, or a single user message.
 * @param {Intent} intent @returns {{prompts: string[], settings: Settings} | null}
 */
function plain(intent) {
  if (intent.kind === 'complete') return intent
  if (intent.kind !== 'chat' || intent.messages.length !== 1) return null
  return { prompts: [intent.messages[0].content], settings: intent.settings }
}

/** Whether a chat has images. @param {Intent} intent */
const pictured = (intent) => intent.kind === 'chat' && intent.messages.some(({ content }) => Array.isArray(content) && content.some((p) => p?.type === 'image_url'))

const noChat = { why: 'has no chats, only single texts' }
const oneText = { why: 'completes one text at a time' }
/** The dialect has no requests of this kind. @type {Translation} */
const none = { why: '' }

/** @param {string[]} texts a single one is not a list @returns {string | string[]} */
const one = (texts) => texts.length === 1 ? texts[0] : texts

/** @param {string} path @param {Intent} intent @returns {Translation} */
function ranked(path, intent) {
  if (intent.kind !== 'rank') return none
  const { model, query, documents, top } = intent
  return post(path, { model, query, documents, ...(top !== undefined && { top_n: top }) })
}

/** @param {Intent} intent @returns {Translation} */
function openai(intent) {
  const sampling = { ...some('temperature', 'topP', 'seed', 'n', 'presence', 'frequency'), maxTokens: 'max_tokens', stop: 'stop', stream: 'stream' }
  switch (intent.kind) {
    case 'models': return get('/v1/models')
    case 'embed': return post('/v1/embeddings', { model: intent.model, input: intent.texts })
    case 'score':
      return post('/v1/completions', { model: intent.model, prompt: intent.context + intent.continuation, max_tokens: 0, echo: true, logprobs: 1 })
    case 'complete': {
      const chat = talk(intent)
      if (chat) return openai(chat)
      const { body, left } = write(intent.settings, { ...sampling, logprobs: 'logprobs' })
      return post('/v1/completions', { model: intent.model, prompt: one(intent.prompts), ...body }, left)
    }
    case 'chat': {
      const { body, left } = write(intent.settings, { ...sampling,
        logprobs: (top) => ({ logprobs: true, ...(top > 0 && { top_logprobs: top }) }),
        schema: (schema) => ({ response_format: { type: 'json_schema', json_schema: { name: 'answer', schema } } }), tools: 'tools' })
      return post('/v1/chat/completions', { model: intent.model, messages: intent.messages, ...body }, left)
    }
    default: return none
  }
}

/**
 * A chat, or a text with a schema as one; null for other requests.
 * @param {Intent} intent @returns {(Intent & {kind: 'chat'}) | null}
 */
function talk(intent) {
  if (intent.kind === 'chat') return intent
  if (intent.kind !== 'complete' || !intent.settings.schema || intent.prompts.length !== 1) return null
  return { kind: 'chat', model: intent.model, messages: [{ role: 'user', content: intent.prompts[0] }], settings: intent.settings }
}

const onlyChats = { why: 'has no completions, only chats' }

/** @param {Intent} intent @returns {Translation} */
function responses(intent) {
  const chat = talk(intent)
  if (!chat) return intent.kind === 'complete' ? onlyChats : none
  const instructions = system(chat.messages)
  const { body, left } = write(chat.settings, { ...some('temperature', 'topP'), maxTokens: 'max_output_tokens', stream: 'stream',
    logprobs: (top) => ({ include: ['message.output_text.logprobs'], ...(top > 0 && { top_logprobs: top }) }),
    schema: (schema) => ({ text: { format: { type: 'json_schema', name: 'answer', schema } } }), tools: (tools) => ({ tools: responsesTools(tools) }) })
  return post('/v1/responses', { model: chat.model, ...(instructions && { instructions }), input: responsesInput(chat.messages), ...body }, left)
}

const anthropicHeaders = { 'anthropic-version': '2023-06-01' }
const anthropicTokens = 1024 // of an answer unless the user sets a limit: max_tokens is required

/** @param {Intent} intent @returns {Translation} */
function anthropic(intent) {
  if (intent.kind === 'models') return { call: { method: 'GET', path: '/v1/models', body: null, headers: anthropicHeaders }, left: [] }
  const chat = talk(intent)
  if (!chat) return intent.kind === 'complete' ? onlyChats : none
  const { maxTokens, temperature, ...settings } = chat.settings, hot = temperature !== undefined && temperature > 1, before = system(chat.messages)
  const { body, left } = write({ ...settings, ...(!hot && temperature !== undefined && { temperature }) }, { ...some('temperature', 'topP', 'topK'), stop: 'stop_sequences', stream: 'stream',
    schema: (schema) => ({ output_config: { format: { type: 'json_schema', schema } } }), tools: (tools) => ({ tools: anthropicTools(tools) }) })
  return { left: hot ? ['temperature above 1', ...left] : left, call: { method: 'POST', path: '/v1/messages', headers: anthropicHeaders,
    body: { model: chat.model, max_tokens: maxTokens ?? anthropicTokens, ...(before && { system: before }), messages: anthropicMessages(chat.messages), ...body } } }
}

/** @param {Intent} intent @returns {Translation} */
function ollama(intent) {
  if (intent.kind === 'models') return get('/api/tags')
  if (intent.kind === 'embed') return post('/api/embed', { model: intent.model, input: one(intent.texts) })
  if (intent.kind !== 'chat' && intent.kind !== 'complete') return none
  if (intent.kind === 'complete' && intent.prompts.length !== 1) return oneText
  const { stream = false, schema, tools, logprobs, ...settings } = intent.settings
  const { body: options, left } = write(settings, { ...some('temperature', 'topK', 'topP', 'typicalP', 'seed', 'presence', 'frequency'),
    repetition: 'repeat_penalty', maxTokens: 'num_predict', stop: 'stop' })
  const body = { stream, ...(schema && { format: schema }), ...(tools && { tools }), ...(Object.keys(options).length && { options }),
    ...(logprobs !== undefined && { logprobs: true, ...(logprobs > 0 && { top_logprobs: logprobs }) }) }
  if (intent.kind === 'chat') return post('/api/chat', { model: intent.model, messages: ollamaMessages(intent.messages), ...body }, left)
  return post('/api/generate', { model: intent.model, prompt: intent.prompts[0], raw: true, ...body }, left)
}

/** @param {Intent} intent @returns {Translation} */
function textsynth(intent) {
  if (intent.kind === 'models' || intent.kind === 'embed' || intent.kind === 'rank') return none
  const engine = `/v1/engines/${encodeURIComponent(intent.model)}`
  switch (intent.kind) {
    case 'score': return post(`${engine}/logprob`, { context: intent.context, continuation: intent.continuation })
    case 'tokens': return post(`${engine}/tokenize`, { text: intent.text })
    case 'translate':
      return post(`${engine}/translate`, { text: intent.texts, source_lang: intent.source, target_lang: intent.target })
  }
  const text = plain(intent)
  if (!text) return noChat
  const { body, left } = write(text.settings, { ...SHARED, maxTokens: 'max_tokens', stop: 'stop', stream: 'stream', schema: 'schema' })
  return post(`${engine}/completions`, { prompt: one(text.prompts), ...body }, left)
}

/** @param {Intent} intent @returns {Translation} */
function alephalpha(intent) {
  switch (intent.kind) {
    case 'models': return get('/models_available')
    case 'tokens': return post('/tokenize', { model: intent.model, prompt: intent.text, tokens: true, token_ids: true })
    case 'score': return post('/evaluate', { model: intent.model, prompt: intent.context, completion_expected: intent.continuation })
    case 'translate': // it detects the language of the text
      if (intent.texts.length !== 1) return { why: 'translates one text at a time' }
      return post('/translate', { model: intent.model, source: intent.texts[0], target_language: intent.target }, intent.source === 'auto' ? [] : ['source_lang'])
    case 'rank': return ranked('/rerank', intent)
    case 'embed':
      if (intent.texts.length !== 1) return { why: 'embeds one text at a time' }
      return post('/embed', { model: intent.model, prompt: intent.texts[0], layers: [-1], pooling: ['mean'] })
  }
  const text = plain(intent)
  if (!text) return noChat
  if (text.prompts.length !== 1) return oneText
  const { body, left } = write(text.settings, { ...some('temperature', 'topK', 'topP', 'n', 'presence', 'frequency'),
    maxTokens: 'maximum_tokens', stop: 'stop_sequences', logprobs: 'log_probs', stream: 'stream' })
  return post('/complete', { model: intent.model, prompt: items(text.prompts[0]), ...body }, left)
}

/**
 * The parts of a message as items of a prompt, whose images are base64 alone.
 * @param {any} content
 */
const items = (content) => !Array.isArray(content) ? content : content.map((p) => p.type === 'text' ? { type: 'text', data: p.text }
  : { type: 'image', data: base64(p.image_url.url) })

/**
 * Converts a schema to an output_type; null if no output_type is equivalent.
 * @param {any} schema
 */
export function outputType(schema) {
  if (schema?.type !== 'object' || !schema.properties) return null
  /** @type {Record<string, string>} */
  const names = { string: 'str', integer: 'int', number: 'float', boolean: 'bool' }
  const entries = Object.entries(schema.properties).map(([key, member]) => {
    const known = new Set(Array.isArray(member.enum) ? ['type', 'enum', 'title', 'description'] : ['type', 'title', 'description'])
    if (Object.keys(member).some((keyword) => !known.has(keyword))) return [key, null]
    return [key, member.enum ?? names[member.type]]
  })
  const required = new Set(schema.required ?? [])
  if (entries.some(([key, type]) => !type || !required.has(key))) return null
  return Object.fromEntries(entries)
}

/** The models of a server decode Lamini's requests greedily. @param {Intent} intent @returns {Translation} */
function lamini(intent) {
  if (intent.kind === 'embed') return post('/v1/embedding', { model_name: intent.model, prompt: one(intent.texts) })
  const text = plain(intent)
  if (!text || !('model' in intent)) return intent.kind === 'chat' ? noChat : none
  const types = outputType(text.settings.schema)
  if (text.settings.schema && !types) return { why: 'has only the types str, int, float, bool and lists of values' }
  const { temperature, ...others } = text.settings
  const { body, left } = write(temperature === 0 ? others : text.settings, { maxTokens: 'max_new_tokens', schema: () => ({ output_type: types }) })
  return post('/v2/completions', { model_name: intent.model, prompt: one(text.prompts), ...body }, left)
}

/** @param {Intent} intent @returns {Translation} */
function alpha(intent) {
  if (intent.kind === 'models') return get('/api/models')
  if (intent.kind === 'chat') {
    const { body, left } = write(intent.settings, { maxTokens: 'maxTokens', temperature: 'temperature', topK: 'topk', stream: () => ({}) })
    return post('/api/chat', { model: intent.model, messages: intent.messages, ...body }, left)
  }
  if (intent.kind !== 'complete') return none
  if (intent.prompts.length !== 1) return oneText
  if (intent.settings.stream) {
    const { body, left } = write(intent.settings, { maxTokens: 'steps', temperature: 'temp', topK: 'topk', stream: () => ({}) })
    return { ...get(`/api/inference?${new URLSearchParams({ query: intent.prompts[0], model: intent.model, ...strings(body) })}`), left }
  }
  const { body, left } = write(intent.settings, { maxTokens: 'max_tokens', temperature: 'temperature' })
  return post('/api/generate', { model: intent.model, prompt: intent.prompts[0], ...body }, left)
}

/** @param {Record<string, any>} values */
const strings = (values) => Object.fromEntries(Object.entries(values).map(([key, value]) => [key, String(value)]))

/** @param {Intent} intent @param {string} family of the model @returns {Translation} */
function invoke(intent, family) {
  if (intent.kind === 'models') return get('/list_models')
  if (intent.kind !== 'chat' && intent.kind !== 'complete') return none
  if (intent.kind === 'complete' && intent.prompts.length !== 1) return oneText
  const { n, ...alike } = SHARED // best_of has a different meaning
  const { body, left } = write(intent.settings, { ...alike, maxTokens: 'max_new_tokens', stop: 'stop', logprobs: 'logprobs', schema: 'schema', stream: () => ({}) })
  const text = intent.kind === 'chat' ? { messages: intent.messages } : { prompt: intent.prompts[0] }
  return post(intent.settings.stream ? '/invoke_stream' : '/invoke', { model_family: family, model_name: intent.model, body: { ...text, ...body } }, left)
}
