// @ts-check
// Lists of parameters and of the members of answers. Objects inside them open on demand.
import { el } from '../dom.js'
import { prose } from './prose.js'

/** @typedef {import('./schema.js').Member} Member */
/** @typedef {import('./schema.js').Schemas} Schemas */
/** @typedef {import('./prose.js').Links} Links */

/** @typedef {{schemas: Schemas, links: Links}} Context */

/**
 * @param {Member[]} members @param {Context} context
 * @param {string} [anchor] before the names in links to them
 * @returns {HTMLElement}
 */
export function list(members, context, anchor) {
  return el('ul', { class: 'members' }, members.map((m) => item(m, context, anchor && `${anchor}.${m.name}`)))
}

/** @param {Member} m @param {Context} context @param {string} [anchor] @returns {HTMLElement} */
function item(m, context, anchor) {
  const name = el('code', { class: 'name', text: m.name })
  return el('li', { class: 'member', id: anchor },
    el('p', { class: 'member-head' },
      anchor ? el('a', { class: 'self', href: `#${anchor}`, tabindex: -1 }, name) : name, ' ',
      el('span', { class: 'type', text: m.type }), ' ',
      m.required ? el('span', { class: 'required', text: 'required' }) : null,
      m.status ? el('span', { class: 'chip', text: m.status }) : null),
    m.text ? el('p', { class: 'member-text' }, prose(m.text, context.links)) : null,
    facts(m, context), inside(m, context, anchor))
}

/** @param {Member} m @param {Context} context */
function facts(m, context) {
  const values = m.values.filter((v) => v !== '""')
  const rows = [
    m.fallback && ['Default', /^["[{\-\d]|^(true|false|null)$/.test(m.fallback) ? el('code', { text: m.fallback }) : prose(m.fallback, context.links)],
    m.limits.length && ['Limits', m.limits.join('; ')],
    values.length && !m.status && [values.length > 1 ? 'One of' : 'Always', values.map((v, i) => [i ? ' ' : '', el('code', { text: v })])],
    m.remote && ['Remote models', m.remote],
  ].filter(Boolean)
  return rows.length ? el('dl', { class: 'facts' }, rows.map((row) => {
    const [label, value] = /** @type {[string, any]} */ (row)
    return el('div', {}, el('dt', { text: label }), el('dd', {}, value))
  })) : null
}

/** @param {Member} m @param {Context} context @param {string} [anchor] @returns {HTMLElement|null} */
function inside(m, context, anchor) {
  if (m.status === 'not supported') return null
  const forms = context.schemas.forms(m.schema)
  const count = forms.reduce((n, f) => n + f.members.length, 0)
  if (!count) return null
  const below = forms.length === 1 ? anchor : undefined // keys of several forms may have the same name
  return lazily(`${count === 1 ? 'One key' : `${count} keys`} of ${m.name}`, () => forms.map((f) => list(f.members, context, below)))
}

/**
 * A disclosure whose content is made when it opens.
 * @param {import('../dom.js').Child} title @param {() => import('../dom.js').Child} make
 * @param {{id?: string, class?: string}} [props]
 */
export function lazily(title, make, props = {}) {
  const node = el('details', { ...props, on: { toggle: () => fill() } }, el('summary', {}, title))
  let made = false
  const fill = () => {
    if (made || !node.open) return
    made = true
    node.append(el('div', { class: 'inside' }, make()))
  }
  return node
}

/** Opens a disclosure, with its content at once. @param {HTMLDetailsElement} details */
export function disclose(details) {
  details.open = true
  details.dispatchEvent(new Event('toggle'))
}
