// @ts-check
// One operation: its description, parameters, answers and errors, with samples beside them.
import { button, copyButton, el } from '../dom.js'
import { exampleText, groups, statuses } from './document.js'
import { lazily, list } from './members.js'
import { colour, panel, toggles } from './panel.js'
import { prose } from './prose.js'
import { languages } from './samples.js'
import { sentence } from './schema.js'

/** @typedef {import('./document.js').Operation} Operation */
/** @typedef {import('./document.js').Reference} Reference */
/** @typedef {import('./members.js').Context} Context */
/** @typedef {{ref: Reference, choice: import('./panel.js').Choice, base: () => string, attempt: (op: Operation, given: import('./document.js').Example|undefined, flows: boolean) => void} & Context} Page */

/** @param {Operation} op @param {Page} page */
export function section(op, page) {
  return el('section', { class: 'op', id: op.id },
    el('div', { class: 'op-text' }, head(op, page)),
    el('div', { class: 'op-code' }, samples(op, page)),
    el('div', { class: 'op-text' }, parameters(op, page), answers(op, page), errors(op)))
}

/** @param {Operation} op @param {Page} page */
function head(op, page) {
  return [
    el('h3', {}, op.summary, ' ', el('a', { class: 'anchor', href: `#${op.id}`, 'aria-label': `Link to: ${op.summary}`, text: '#' })),
    endpoint(op),
    el('p', { class: 'chips' },
      el('span', { class: 'chip', text: { none: 'public', optional: 'no key required', required: 'key required' }[op.key] }),
      op.key !== 'none' && op.permission ? el('span', { class: 'chip', text: `permission: ${op.permission}` }) : null,
      op.streams !== 'no' ? el('span', { class: 'chip', text: op.streams === 'asked' ? 'streams on request' : 'streams' }) : null),
    op.text ? el('p', {}, prose(op.text, page.links)) : null,
  ]
}

/** @param {Operation} op */
export function endpoint(op) {
  return el('p', { class: 'endpoint' }, method(op), ' ', el('code', {}, broken(op.path)))
}

/** A path that may break after its slashes. @param {string} path */
export const broken = (path) => path.split('/').flatMap((part, i) => i ? ['/', el('wbr'), part] : [part])

/** @param {Operation} op */
export const method = (op) => el('span', { class: 'method', dataset: { method: op.method }, text: op.method })

/** @param {Operation} op @param {Page} page */
function parameters(op, page) {
  const outside = groups(op).map((g) => [el('h4', { text: g.title }), list(g.members, page, op.id)])
  const bytes = op.media.filter((kind) => kind !== 'application/json')
  return [
    outside,
    op.forms.map((form, i) => {
      const required = form.members.filter((m) => m.required && !m.status), optional = form.members.filter((m) => !m.required && !m.status)
      const unsupported = form.members.filter((m) => m.status)
      return [
        el('h4', {}, 'Body', form.title ? ` for ${form.title}` : '', ' ', el('span', { class: 'kind', text: 'application/json' })),
        op.forms.length > 1 && i === 0 ? el('p', { class: 'muted', text: 'Requests take one of several forms. The server tells them apart by their keys.' }) : null,
        required.length || optional.length ? list([...required, ...optional], page, i ? `${op.id}.${i + 1}` : op.id) : null,
        unsupported.length ? lazily(`${unsupported.length} ${unsupported.length === 1 ? 'key' : 'keys'} that are ignored, or accepted only with their neutral value`,
          () => list(unsupported, page, i ? `${op.id}.${i + 1}` : op.id), { class: 'unsupported' }) : null,
      ]
    }),
    op.fields.length ? [
      el('h4', {}, 'Body ', el('span', { class: 'kind', text: 'multipart/form-data' })),
      el('ul', {}, op.fields.map((f) => el('li', {}, el('code', { text: f.name }), `: ${f.text}${f.value ? `; ${f.value}` : ''}`))),
    ] : null,
    bytes.map((kind) => [el('h4', {}, 'Body ', el('span', { class: 'kind', text: kind })), el('p', { text: 'The bytes of the file.' })]),
  ]
}

/** @param {Operation} op @param {Page} page */
function answers(op, page) {
  return [el('h4', { text: op.answers.length > 1 ? 'Answers' : 'Answer' }), op.answers.map((a) => el('div', { class: 'answer-of' },
    el('p', {}, el('span', { class: 'status-code good', text: a.status }), ' ', sentence(a.text)),
    a.media.map((m) => {
      const [members, kind] = [stream(page.schemas, m), el('span', { class: 'kind', text: m.kind })]
      if (!members.length) return el('p', {}, kind)
      const what = /stream|ndjson/.test(m.kind) ? 'Keys of the events' : 'Keys of the answer'
      return lazily([what, ' ', kind], () => members.map((f) => list(f.members, page)))
    }),
    lazily('Headers', () => list(a.headers, page)),
  ))]
}

/** The objects in an answer of a media type; in a stream, those of its events.
 * @param {import('./schema.js').Schemas} schemas @param {{kind: string, schema: any}} media */
function stream(schemas, { kind, schema }) {
  return schemas.forms(kind === 'text/event-stream' ? schema.properties?.data : schema)
}

/** @param {Operation} op */
function errors(op) {
  if (!op.errors.length) return null
  return [el('h4', { text: 'Errors' }), el('div', { class: 'errors' }, op.errors.map((e) => {
    const [, advice] = statuses[e.status] ?? ['', '']
    const codes = e.examples.map((x) => x.code)
    return lazily([el('span', { class: 'status-code bad', text: e.status }), ' ', e.text, ' ', el('span', { class: 'muted small', text: codes.join(', ') })],
      () => [advice ? el('p', { text: advice }) : null, e.examples.map((x) => panel(x.code, JSON.stringify(x.value, null, 2), 'json', `Error ${e.status} ${x.code}`))], { id: `${op.id}.${e.status}` })
  }))]
}

/**
 * The request of an example.
 * @param {Operation} op @param {any} body @param {boolean} flows
 * @returns {import('./samples.js').Request}
 */
function request(op, body, flows) {
  let path = op.path
  const query = new URLSearchParams()
  /** @type {Record<string, string>} */
  const headers = {}
  for (const p of op.parameters) {
    const value = given(p)
    if (p.in === 'path') path = path.replace(`{${p.name}}`, encodeURIComponent(String(value)))
    else if (value !== undefined && p.in === 'query') query.set(p.name, String(value))
    else if (value !== undefined) headers[p.name] = String(value)
  }
  const json = body !== undefined && op.streams === 'asked' && flows ? { ...body, stream: true } : body
  const file = json === undefined ? op.media[0] ?? '' : ''
  if (query.size) path += `?${query}`
  return { method: op.method, path, headers, body: json ?? null, file, fields: op.fields, flows: op.streams === 'always' || flows }
}

/**
 * The value of a parameter in examples; undefined: it is not sent. A prompt and a model are
 * always given: some operations require them in the query string or the body.
 * @param {Operation['parameters'][number]} p
 */
export function given(p) {
  if (p.example !== undefined || !p.required && !(p.in === 'query' && /^(model|prompt)$/.test(p.name))) return p.example
  if (/integer|number/.test(p.type)) return /total/i.test(p.name) ? 1 : 0
  return /prompt|query/.test(p.name) ? 'The old lighthouse' : /model/.test(p.name) ? 'novels' : 'example'
}

/** The request and its answer. @param {Operation} op @param {Page} page */
function samples(op, page) {
  const code = el('code')
  const answer = el('div', { class: 'shape' })
  let flows = false, chosen = 0, text = ''
  const show = () => {
    const language = languages.find((l) => l.id === page.choice.value) ?? languages[0]
    if (!language) return
    text = language.of(request(op, op.examples[chosen]?.value, flows), page.base(), op.key === 'required')
    colour(code, text, /** @type {any} */ (language.id))
    for (const t of [tongue, flow, form]) t.show()
  }
  const choose = () => {
    show()
    const made = success(op, page, flows, chosen)
    answer.replaceChildren(...made ? [made] : [])
  }
  const tongue = toggles('Language', languages, () => page.choice.value, (id) => page.choice.choose(id))
  const flow = toggles('Answer', [{ id: '', title: 'Whole' }, { id: 'stream', title: 'Stream' }], () => flows ? 'stream' : '', (id) => { flows = id !== ''; choose() })
  const form = toggles('Form', op.examples.map((_, i) => ({ id: String(i), title: op.forms[i]?.title || `Form ${i + 1}` })), () => String(chosen), (id) => { chosen = Number(id); choose() })
  page.choice.addEventListener('change', show)
  choose()
  const options = [op.examples.length > 1 ? form.node : null, op.streams === 'asked' ? flow.node : null].filter(Boolean)
  return [el('div', { class: 'code' },
    el('div', { class: 'code-head' }, tongue.node, copyButton(() => text)),
    options.length ? el('div', { class: 'code-head more' }, options) : null,
    el('pre', { tabindex: 0, role: 'region', 'aria-label': `Request: ${op.method} ${op.path}` }, code),
    el('div', { class: 'code-foot' }, method(op), el('code', { class: 'code-path', text: op.path }),
      button('Try it', () => page.attempt(op, op.examples[chosen], flows), { kind: 'primary' }))), answer]
}

/**
 * An example of the answer that succeeds, in the media type of the request.
 * @param {Operation} op @param {Page} page @param {boolean} flows @param {number} chosen
 */
function success(op, page, flows, chosen) {
  const [first] = op.answers
  if (!first) return null
  const streamed = first.media.find((m) => /event-stream|ndjson/.test(m.kind))
  const media = (flows || op.streams === 'always') && streamed || first.media.find((m) => m !== streamed) || streamed
  if (!media) return null
  const ways = page.schemas.ways(media.schema)
  const schema = ways.length === op.examples.length && ways.length > 1 ? ways[chosen] ?? {} : media.schema
  const text = exampleText(page.schemas, { kind: media.kind, schema }, op.examples[chosen]?.value?.model ?? 'novels')
  if (!text || text === '{}' || text === 'null') return null
  return panel(`${first.status} · ${media.kind}`, text, media.kind === 'application/json' ? 'json' : 'stream', `Example of the answer to ${op.method} ${op.path}`)
}
