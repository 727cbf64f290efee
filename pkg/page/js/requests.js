// @ts-check
// Parses the requests that the page sends to intents that are independent of the dialect.
// Pure: it knows the paths and keys of the protocols, but not the page and its forms.

/**
 * A request as sent. The path may have a query. headers: those that only this dialect has.
 * @typedef {{method: string, path: string, body: Record<string, any> | null, headers?: Record<string, string>}} Call
 */

/**
 * The parameters of a generation by canonical name, without its text. Absent ones have the
 * dialect's default.
 * @typedef {{
 *   maxTokens?: number, temperature?: number, topK?: number, topP?: number, typicalP?: number,
 *   seed?: number, stop?: string[], n?: number, presence?: number, frequency?: number,
 *   repetition?: number, logprobs?: number, schema?: object, tools?: any[], stream?: boolean,
 * }} Settings
 */

/**
 * @typedef {{kind: 'chat', model: string, messages: {role: string, content: any}[], settings: Settings}
 *   | {kind: 'complete', model: string, prompts: string[], settings: Settings}
 *   | {kind: 'score', model: string, context: string, continuation: string}
 *   | {kind: 'tokens', model: string, text: string}
 *   | {kind: 'embed', model: string, texts: string[]}
 *   | {kind: 'rank', model: string, query: string, documents: string[], top?: number}
 *   | {kind: 'translate', model: string, texts: string[], source: string, target: string}
 *   | {kind: 'models'}
 * } Intent
 */

/** @typedef {{intent: Intent, dialect: string, unread: string[]}} Reading */

/** Settings that have the same key in every dialect with them. */
const SAME = /** @type {const} */ ([
  ['temperature', 'temperature'], ['topK', 'top_k'], ['topP', 'top_p'], ['typicalP', 'typical_p'], ['seed', 'seed'],
  ['n', 'n'], ['presence', 'presence_penalty'], ['frequency', 'frequency_penalty'], ['repetition', 'repetition_penalty'],
])

/** The canonical names of settings with the key that all dialects use. */
export const SHARED = Object.fromEntries(SAME)

/** Removes keys from a body as they are read. The remaining keys are unknown. */
class Body {
  /** @param {Record<string, any>} members */
  constructor(members) {
    this.left = new Map(Object.entries(members).filter(([, value]) => value !== null && value !== undefined))
  }

  /** @param {string} key @returns {any} */
  take(key) {
    const value = this.left.get(key)
    this.left.delete(key)
    return value
  }

  /** @returns {Settings} */
  settings() {
    /** @type {Record<string, any>} */
    const settings = {}
    for (const [name, key] of SAME) if (this.left.has(key)) settings[name] = this.take(key)
    for (const key of ['max_tokens', 'max_completion_tokens', 'max_new_tokens']) if (this.left.has(key)) settings.maxTokens = this.take(key)
    if (this.left.has('stop')) settings.stop = [this.take('stop')].flat()
    if (this.take('stream')) settings.stream = true
    this.take('stream_options')
    return settings
  }
}

/**
 * Converts the types of Lamini's output_type to JSON Schema.
 * @param {Record<string, any>} types
 */
export function schemaOf(types) {
  /** @type {Record<string, object>} */
  const names = { str: { type: 'string' }, int: { type: 'integer' }, float: { type: 'number' }, bool: { type: 'boolean' } }
  const properties = Object.fromEntries(Object.entries(types).map(([key, type]) =>
    [key, Array.isArray(type) ? { enum: type } : names[type] ?? { type }]))
  return { type: 'object', properties, required: Object.keys(types), additionalProperties: false }
}

/** Keywords of JSON Schema whose values are lists. */
const LISTS = ['type', 'enum', 'anyOf', 'oneOf', 'allOf', 'required', 'prefixItems', 'examples']

/**
 * Whether form is an output_type: all its members are names of types or lists of values.
 * @param {any} form
 */
export function isOutputType(form) {
  if (form === null || typeof form !== 'object' || Array.isArray(form)) return false
  const members = Object.entries(form)
  return members.length > 0 && members.every(([, type]) => Array.isArray(type) || ['str', 'int', 'float', 'bool'].includes(type)) &&
    !members.every(([key, type]) => Array.isArray(type) && LISTS.includes(key))
}

/** @param {Body} body @returns {Intent} */
function chat(body) {
  const model = body.take('model') ?? ''
  const messages = body.take('messages') ?? []
  const settings = body.settings()
  const format = body.take('response_format')
  if (format?.type === 'json_schema') settings.schema = format.json_schema.schema
  const [top, tools] = [body.take('top_logprobs'), body.take('tools')]
  if (tools) settings.tools = tools
  if (body.take('logprobs')) settings.logprobs = top ?? 0
  return { kind: 'chat', model, messages, settings }
}

/** @param {Body} body @returns {Intent} */
function complete(body) {
  const model = body.take('model') ?? ''
  const prompts = [body.take('prompt') ?? ''].flat()
  const logprobs = body.take('logprobs')
  const settings = { ...body.settings(), ...(logprobs !== undefined && { logprobs }) }
  // A completion of zero tokens that echoes the prompt with log-probabilities is a score.
  if (settings.maxTokens === 0 && body.take('echo')) return { kind: 'score', model, context: '', continuation: prompts[0] }
  return { kind: 'complete', model, prompts, settings }
}

/** The models of a server decode Lamini's requests greedily. @param {Body} body @returns {Intent} */
function lamini(body) {
  const [model, prompts, types] = [body.take('model_name'), [body.take('prompt') ?? ''].flat(), body.take('output_type')]
  return { kind: 'complete', model, prompts, settings: { ...body.settings(), temperature: 0, ...(types && { schema: schemaOf(types) }) } }
}

/** @param {Body} body @returns {Intent} */
function tokens(body) {
  body.take('tokens')
  body.take('token_ids')
  return { kind: 'tokens', model: body.take('model'), text: body.take('prompt') ?? '' }
}

/** @param {Body} body @returns {Intent} */
function rank(body) {
  const [model, query, documents, top] = [body.take('model'), body.take('query') ?? '', body.take('documents') ?? [], body.take('top_n')]
  return { kind: 'rank', model, query, documents, ...(top !== undefined && { top }) }
}

/**
 * The requests that the page sends, by path; the first capture is the engine of TextSynth's.
 * @type {[RegExp, string, (body: Body, engine: string) => Intent][]}
 */
const READERS = [
  [/^\/v1\/models$/, 'openai', () => ({ kind: 'models' })],
  [/^\/api\/models$/, 'alpha', () => ({ kind: 'models' })],
  [/^\/models_available$/, 'alephalpha', () => ({ kind: 'models' })],
  [/^\/list_models$/, 'invoke', () => ({ kind: 'models' })],
  [/^\/v1\/chat\/completions$/, 'openai', chat],
  [/^\/v1\/completions$/, 'openai', complete],
  [/^\/v1\/embeddings$/, 'openai', (b) => ({ kind: 'embed', model: b.take('model'), texts: [b.take('input') ?? []].flat() })],
  [/^\/v1\/rerank$/, 'cohere', rank],
  [/^\/v1\/engines\/([^/]+)\/logprob$/, 'textsynth', (b, model) =>
    ({ kind: 'score', model, context: b.take('context') ?? '', continuation: b.take('continuation') ?? '' })],
  [/^\/v1\/engines\/([^/]+)\/translate$/, 'textsynth', (b, model) => ({
    kind: 'translate', model, texts: b.take('text') ?? [], source: b.take('source_lang'), target: b.take('target_lang') })],
  [/^\/tokenize$/, 'alephalpha', tokens],
  [/^\/v2\/completions$/, 'lamini', lamini],
]

/**
 * The intent of a request; null if no other dialect has an equivalent. unread lists the
 * keys of its body without a counterpart.
 * @param {Call} call @returns {Reading | null}
 */
export function read(call) {
  if (call.method !== (call.body ? 'POST' : 'GET')) return null
  const body = new Body(call.body ?? {})
  for (const [pattern, dialect, reader] of READERS) {
    const match = pattern.exec(call.path)
    if (match) return { intent: reader(body, decodeURIComponent(match[1] ?? '')), dialect, unread: [...body.left.keys()] }
  }
  return null
}
