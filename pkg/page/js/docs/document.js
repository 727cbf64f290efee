// @ts-check
// An OpenAPI document as the reference shows it: tags, operations, examples and errors, and
// the search in them. Pure.
import { Schemas } from './schema.js'

/** @typedef {import('./schema.js').Member} Member */
/** @typedef {import('./schema.js').Schema} Schema */

/** @typedef {{title: string, members: Member[]}} Group */
/** @typedef {{title: string, members: Member[], schema: Schema}} BodyForm */
/** @typedef {{code: string, value: any}} Example */
/** @typedef {{status: string, text: string, headers: Member[], media: {kind: string, schema: Schema}[]}} Answer */
/** @typedef {{status: string, text: string, headers: Member[], examples: Example[]}} Failure */

/** A field of a form: a file, or a text with its first value. @typedef {{name: string, file: boolean, value: string, text: string}} Field */

/**
 * @typedef {object} Operation
 * @property {string} id
 * @property {string} method in capitals
 * @property {string} path with {parameters}
 * @property {string} summary
 * @property {string} text
 * @property {string[]} tags
 * @property {string} permission
 * @property {'none'|'optional'|'required'} key
 * @property {(Member & {in: string, example: any})[]} parameters outside the body
 * @property {BodyForm[]} forms of a JSON body
 * @property {string[]} media of the body, without that of fields
 * @property {Field[]} fields of a body that is multipart/form-data
 * @property {Example[]} examples of a JSON body
 * @property {Answer[]} answers
 * @property {Failure[]} errors
 * @property {'no'|'asked'|'always'} streams whether answers are streams: if the body asks for it
 */

/** @typedef {{name: string, text: string, operations: Operation[]}} Tag */

/**
 * @typedef {object} Reference
 * @property {string} title
 * @property {string} version
 * @property {string} text
 * @property {string} licence
 * @property {boolean} open no key is needed but for uploads
 * @property {Tag[]} tags
 * @property {Operation[]} operations each once, in the order of the tags
 * @property {Schemas} schemas
 */

const methods = ['get', 'post', 'put', 'patch', 'delete']

/** The statuses of errors, with advice.
 * @type {Record<string, [name: string, advice: string]>} */
export const statuses = {
  400: ['Bad Request', 'A parameter is unknown, missing or out of bounds. The message names it. Change the request.'],
  401: ['Unauthorized', 'The key is missing or wrong.'],
  403: ['Forbidden', 'The key’s role does not have the operation’s permission, or the request comes from another web page’s origin.'],
  404: ['Not Found', 'The model or the path does not exist. List the models to see their names.'],
  409: ['Conflict', 'Another request changes the same thing.'],
  413: ['Content Too Large', 'The body exceeds the limit that the message names.'],
  422: ['Unprocessable Content', 'A parameter is unknown, missing or out of bounds. The message names it. Change the request.'],
  429: ['Too Many Requests', 'Too many requests wait, or the key has used up its budget. Retry after the seconds in Retry-After.'],
  500: ['Internal Server Error', 'The server failed. Its log has the request under its X-Request-Id.'],
  502: ['Bad Gateway', 'The provider of the model failed. Retry later.'],
  503: ['Service Unavailable', 'The server or its table of models is not ready. Retry after the seconds in Retry-After.'],
  504: ['Gateway Timeout', 'The answer took too long. Ask for fewer tokens, or stream.'],
  507: ['Insufficient Storage', 'The disk of the server is full.'],
}

/** @param {any} document @returns {Reference} */
export function reference(document) {
  const schemas = new Schemas(document)
  /** @type {Operation[]} */
  const all = []
  for (const [path, item] of Object.entries(document.paths ?? {})) {
    for (const method of methods) if (item[method]) all.push(operation(schemas, document, method, path, item[method]))
  }
  const named = (document.tags ?? []).map((/** @type {any} */ t) => t.name)
  for (const op of all) for (const tag of op.tags) if (!named.includes(tag)) named.push(tag)
  /** @type {Tag[]} */
  const tags = named.map((/** @type {string} */ name) => ({
    name, text: (document.tags ?? []).find((/** @type {any} */ t) => t.name === name)?.description ?? '',
    operations: all.filter((op) => op.tags.includes(name)).sort(order),
  }))
  return {
    title: document.info?.title ?? '', version: document.info?.version ?? '', text: document.info?.description ?? '', licence: document.info?.license?.name ?? '',
    open: keyOf(document.security) !== 'required', tags, schemas,
    operations: [...new Set(tags.flatMap((t) => t.operations))],
  }
}

/** Inference first, then lists; old names and helpers of one path stay together.
 * @param {Operation} a @param {Operation} b */
function order(a, b) {
  const rank = (/** @type {Operation} */ op) => ['inference', 'listing', 'upload', 'metrics', 'public'].indexOf(op.permission)
  const versioned = (/** @type {Operation} */ op) => /^\/(v\d|api)\//.test(op.path) ? 0 : 1
  return rank(a) - rank(b) || versioned(a) - versioned(b) || usual(a) - usual(b) || a.path.localeCompare(b.path) || methods.indexOf(a.method.toLowerCase()) - methods.indexOf(b.method.toLowerCase())
}

/** Chats and completions come before their helpers. @param {Operation} op */
function usual(op) {
  const at = [/chat\/completions$/, /completions?$/, /complete$/, /chat$/, /generate$/, /inference$/, /invoke/, /embed/].findIndex((p) => p.test(op.path))
  return at < 0 ? 99 : at
}

/** @param {any[]|undefined} security @returns {Operation['key']} */
function keyOf(security) {
  if (!security?.length) return 'none'
  return security.some((way) => !Object.keys(way).length) ? 'optional' : 'required'
}

/** @param {Schemas} schemas @param {any} document @param {string} method @param {string} path @param {any} raw @returns {Operation} */
function operation(schemas, document, method, path, raw) {
  const content = raw.requestBody?.content ?? {}
  const json = content['application/json']
  const answers = [], errors = []
  for (const [status, given] of Object.entries(raw.responses ?? {})) {
    const response = /** @type {any} */ (given)
    const headers = Object.entries(response.headers ?? {}).map(([name, h]) => schemas.member(name, h.schema, false, h.description))
    const media = Object.entries(response.content ?? {}).map(([kind, m]) => ({ kind, schema: schemas.resolve(m.schema) }))
    if (status < '400') answers.push({ status, text: response.description ?? '', headers, media })
    else errors.push({ status, text: response.description ?? '', headers, examples: examplesOf(response.content?.['application/json']) })
  }
  const forms = json ? schemas.ways(json.schema).map((schema) => ({ title: '', schema, members: schemas.forms(schema)[0]?.members ?? [] })) : []
  const tags = raw.tags?.length ? raw.tags : ['Other']
  if (forms.length > 1) forms.forEach((form, i) => { form.title = forms.length === tags.length ? tags[i] : `Form ${i + 1}` })
  const flows = answers.some((a) => a.media.some((m) => /event-stream|ndjson/.test(m.kind)))
  const asked = forms.some((f) => f.members.some((m) => m.name === 'stream' && m.type === 'boolean' && !m.status))
  return {
    id: raw.operationId ?? `${method}-${path}`, method: method.toUpperCase(), path, summary: raw.summary ?? path, text: raw.description ?? '', tags,
    permission: raw['x-permission'] ?? '', key: keyOf(raw.security ?? document.security),
    parameters: (raw.parameters ?? []).map((/** @type {any} */ p) => ({ ...schemas.member(p.name, p.schema, p.required ?? false, p.description), in: p.in, example: p.example })),
    forms, media: Object.keys(content).filter((kind) => kind !== FORM), fields: fieldsOf(content[FORM]), examples: examplesOf(json), answers, errors,
    streams: asked ? 'asked' : flows ? 'always' : 'no',
  }
}

const FORM = 'multipart/form-data'

/** @param {any} media @returns {Field[]} */
function fieldsOf(media) {
  return Object.entries(media?.schema.properties ?? {}).map(([name, given]) => {
    const field = /** @type {any} */ (given)
    return { name, file: field.contentMediaType !== undefined, value: field.enum?.[0] ?? '', text: field.description ?? '' }
  })
}

/** @param {any} media @returns {Example[]} */
function examplesOf(media) {
  return Object.entries(media?.examples ?? {}).map(([code, example]) => ({ code, value: /** @type {any} */ (example).value }))
}

/** The groups of parameters, in the order of a request. @param {Operation} op @returns {Group[]} */
export function groups(op) {
  const titles = /** @type {[string, string][]} */ ([['path', 'Path parameters'], ['query', 'Query parameters'], ['header', 'Headers']])
  return titles.map(([kind, title]) => ({ title, members: op.parameters.filter((p) => p.in === kind) })).filter((g) => g.members.length)
}

/**
 * The text of an answer's example.
 * @param {Schemas} schemas @param {{kind: string, schema: Schema}} media @param {string} model
 */
export function exampleText(schemas, { kind, schema }, model) {
  if (kind === 'application/json') return JSON.stringify(schemas.example(schema, '', model), null, 2)
  const data = kind === 'text/event-stream' ? schemas.resolve(schema).properties?.data : schema
  const ways = schemas.ways(data)
  const value = ways.find((w) => w.contentSchema)
  if (!value) return ''
  const line = JSON.stringify(schemas.example(value.contentSchema, '', model))
  const end = ways.find((w) => w.const !== undefined)?.const
  return kind === 'text/event-stream' ? `data: ${line}\n${end === undefined ? '' : `\ndata: ${end}\n`}` : `${line}\n`
}

/** @typedef {{op: Operation, kind: 'operation'|'parameter'|'error', label: string, anchor: string, name: string, text: string}} Entry */

/**
 * What can be found: operations, parameters with the keys inside them, and errors.
 * @param {Reference} ref @returns {Entry[]}
 */
export function entries(ref) {
  /** @type {Map<string, Entry>} by anchor */
  const all = new Map()
  /** @param {Entry} e */
  const add = (e) => { if (!all.has(e.anchor)) all.set(e.anchor, { ...e, name: e.name.toLowerCase(), text: e.text.toLowerCase() }) }
  /** @param {Operation} op @param {Member[]} members @param {string} before @param {number} depth */
  const parameters = (op, members, before, depth) => {
    for (const m of members) {
      const label = before + m.name
      add({ op, kind: 'parameter', label, anchor: `${op.id}.${label}`, name: label, text: `${m.text} ${op.path}` })
      const forms = m.status === 'not supported' || depth > 3 ? [] : ref.schemas.forms(m.schema)
      if (forms.length === 1 && forms[0]) parameters(op, forms[0].members, `${label}.`, depth + 1)
    }
  }
  for (const op of ref.operations) {
    const line = `${op.method} ${op.path}`
    add({ op, kind: 'operation', label: line, anchor: op.id, name: `${line} ${op.id}`, text: `${op.summary} ${op.text} ${op.tags.join(' ')}` })
    parameters(op, [...op.parameters, ...op.forms.flatMap((f) => f.members)], '', 0)
    for (const e of op.errors) {
      add({ op, kind: 'error', label: `${e.status} ${e.text}`, anchor: `${op.id}.${e.status}`, name: `${e.status} ${e.text} ${e.examples.map((x) => x.code).join(' ')}`, text: op.path })
    }
  }
  return [...all.values()]
}

/**
 * The entries with all words of a query, the best first.
 * @param {Entry[]} all @param {string} query @returns {Entry[]}
 */
export function search(all, query) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean)
  if (!words.length) return []
  const whole = words.join(' ')
  const rank = (/** @type {Entry} */ e) => {
    if (!words.every((w) => e.name.includes(w) || e.text.includes(w)) || !words.some((w) => e.kind === 'operation' || e.name.includes(w) || !e.op.path.includes(w))) return -1
    const named = words.every((w) => e.name.includes(w))
    if (e.kind === 'operation') return e.op.path === whole || e.name.endsWith(` ${whole}`) ? 0 : named ? 1 : e.op.summary.toLowerCase().includes(whole) ? 3 : 6
    if (e.kind === 'parameter') return e.name === whole ? 2 : e.name.endsWith(`.${whole}`) ? 4 : named ? 5 : 7
    return 8
  }
  return all.map((e) => ({ e, r: rank(e) })).filter((x) => x.r >= 0).sort((a, b) => a.r - b.r).map((x) => x.e)
}
