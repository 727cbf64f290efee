// @ts-check
// What the reference says before the operations: the address, keys, streams and errors.
import { el } from '../dom.js'
import { anchorOf } from './contents.js'
import { statuses } from './document.js'
import { method } from './operation.js'
import { panel } from './panel.js'
import { prose } from './prose.js'

/** @typedef {import('./operation.js').Page} Page */
/** @typedef {import('./document.js').Tag} Tag */

/** @param {string} id @param {string} title @param {import('../dom.js').Child[]} text @param {import('../dom.js').Child[]} [code] */
function part(id, title, text, code = []) {
  return el('section', { class: 'op', id },
    el('div', { class: 'op-text' }, el('h2', { text: title }), text), el('div', { class: 'op-code' }, code))
}

/** @param {Page} page */
export function intro(page) {
  const { ref } = page
  const base = page.base()
  return [
    el('section', { class: 'op', id: 'start' },
      el('div', { class: 'op-text' },
        el('h1', { text: `${ref.title} API` }),
        el('p', { class: 'lead' }, prose(ref.text, page.links)),
        el('p', { class: 'small muted' }, `${ref.operations.length} operations · document version ${ref.version} · licence ${ref.licence} · `, el('a', { href: 'openapi.json', text: 'OpenAPI document' }))),
      el('div', { class: 'op-code' }, panel('Base URL', base, 'text'))),
    part('authentication', 'Authentication', [
      el('p', { text: ref.open ? 'This server is open: no key is required, except to publish models.' : 'This server requires an API key. Public operations need none.' }),
      el('p', {}, 'Send the key in the header ', el('code', { text: 'Authorization' }), '. Each operation names the permission that the key’s role must have: ',
        el('code', { text: 'listing' }), ', ', el('code', { text: 'inference' }), ', ', el('code', { text: 'metrics' }), ' or ', el('code', { text: 'upload' }), '. The samples read the key from the environment variable ', el('code', { text: 'GLOSSA_API_KEY' }), '.'),
    ], [panel('With a key', `curl -s ${base}/v1/models \\\n  -H "Authorization: Bearer $GLOSSA_API_KEY"`, 'curl')]),
    part('streams', 'Streams', [
      el('p', {}, 'Operations with ', el('code', { text: 'stream' }), ' in their body send the answer in pieces while the model writes it. Each dialect keeps its own format: server-sent events, lines of JSON, or plain text.'),
      el('p', { text: 'An error after the first piece cannot change the status: it arrives as the last piece, in the dialect’s shape of errors. A client that stops reading stops the model.' }),
    ], [panel('Server-sent events', 'data: {"choices":[{"index":0,"delta":{"content":" stood"}}]}\n\ndata: {"choices":[{"index":0,"delta":{"content":" above"}}]}\n\ndata: [DONE]', 'stream')]),
    part('errors', 'Errors', [
      el('p', { text: 'An error has an HTTP status and a JSON body in the shape of its dialect, which names the parameter. Each operation lists its errors with examples.' }),
      el('div', { class: 'wide', tabindex: 0, role: 'region', 'aria-label': 'Statuses of errors' }, el('table', { class: 'data' },
        el('thead', {}, el('tr', {}, el('th', { scope: 'col', text: 'Status' }), el('th', { scope: 'col', text: 'Meaning' }))),
        el('tbody', {}, Object.entries(statuses).filter(([status]) => ref.operations.some((op) => op.errors.some((e) => e.status === status))).map(([status, [name, advice]]) =>
          el('tr', {}, el('th', { scope: 'row', class: 'nowrap' }, el('span', { class: 'status-code bad', text: status })), el('td', {}, el('strong', { text: name }), el('br'), advice)))))),
    ], sampleError(page)),
  ]
}

/** @param {Page} page */
function sampleError(page) {
  const error = page.ref.operations.flatMap((op) => op.errors).find((e) => e.status === '400')?.examples[0]
  return error ? [panel('400 Bad Request', JSON.stringify(error.value, null, 2), 'json')] : []
}

/** The head of a dialect: its operations. @param {Tag} tag @param {Page} page */
export function tagHead(tag, page) {
  const id = anchorOf(tag.name)
  return el('section', { class: 'op tag', id },
    el('div', { class: 'op-text' }, el('h2', { text: tag.name }), tag.text ? el('p', { class: 'lead' }, prose(tag.text, page.links)) : null),
    el('div', { class: 'op-code' }, el('div', { class: 'code index' }, el('div', { class: 'code-head' }, el('span', { class: 'code-title', text: 'Operations' })),
      el('ul', {}, tag.operations.map((op) => el('li', {}, el('a', { href: `#${op.id}` }, method(op), ' ', el('code', { text: op.path }))))))))
}

