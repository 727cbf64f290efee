// @ts-check
// Builders of elements. Text is set as text: nothing here reads HTML.

/** @typedef {Node|string|number|null|undefined|false|Child[]} Child */
/** @typedef {Record<string, any>} Props class, text, on: {event: listener}, dataset, and attributes; value and the like are properties */

const properties = new Set(['value', 'checked', 'disabled', 'hidden', 'selected', 'open', 'readOnly', 'indeterminate', 'textContent'])

/**
 * @param {Element} node
 * @param {Props} props
 */
function apply(node, props) {
  for (const [name, v] of Object.entries(props)) {
    if (v === undefined || v === null) continue
    if (name === 'on') {
      for (const [event, listener] of Object.entries(v)) node.addEventListener(event, /** @type {EventListener} */ (listener))
    } else if (name === 'class') node.setAttribute('class', v)
    else if (name === 'text') node.textContent = v
    else if (name === 'dataset') Object.assign(/** @type {HTMLElement} */ (node).dataset, v)
    else if (properties.has(name)) /** @type {any} */ (node)[name] = v
    else if (v === true) node.setAttribute(name, '')
    else if (v !== false || name.startsWith('aria-')) node.setAttribute(name, String(v))
  }
}

/**
 * @param {Element} node
 * @param {Child[]} children
 */
function fill(node, children) {
  for (const child of children) {
    if (Array.isArray(child)) fill(node, child)
    else if (child !== null && child !== undefined && child !== false) node.append(child instanceof Node ? child : String(child))
  }
}

/**
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Props} [props]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function el(tag, props = {}, ...children) {
  const node = document.createElement(tag)
  const { value, ...rest } = props
  apply(node, rest)
  fill(node, children)
  if (value !== undefined) /** @type {any} */ (node).value = value // after the options of a select
  return node
}

/**
 * @template {keyof SVGElementTagNameMap} K
 * @param {K} tag
 * @param {Props} [props]
 * @param {...Child} children
 * @returns {SVGElementTagNameMap[K]}
 */
export function svg(tag, props = {}, ...children) {
  const node = document.createElementNS('http://www.w3.org/2000/svg', tag)
  apply(node, props)
  fill(node, children)
  return node
}

/** A bar that shows a share of a whole. @param {number} share 0 to 1 */
export function bar(share) {
  return svg('svg', { class: 'bar', viewBox: '0 0 100 6', preserveAspectRatio: 'none', 'aria-hidden': 'true' },
    svg('rect', { class: 'bar-all', width: 100, height: 6 }), svg('rect', { class: 'bar-part', width: Math.max(share * 100, 0.5), height: 6 }))
}

/** @param {Element} node */
export function clear(node) {
  node.replaceChildren()
  return node
}

let ids = 0

/** @param {string} prefix */
export function newId(prefix) {
  return `${prefix}-${++ids}`
}

/**
 * A control with its label, and a hint under it.
 * @param {string} label
 * @param {HTMLElement} control
 * @param {string} [hint]
 */
export function field(label, control, hint) {
  control.id ||= newId('field')
  const note = hint ? el('p', { class: 'hint', id: control.id + '-hint', text: hint }) : null
  if (note) control.setAttribute('aria-describedby', note.id)
  return el('div', { class: 'field' }, el('label', { for: control.id, text: label }), control, note)
}

/**
 * @param {string} label
 * @param {(event: Event) => void} onclick
 * @param {{kind?: 'primary'|'quiet', id?: string, title?: string}} [options]
 */
export function button(label, onclick, options = {}) {
  return el('button', { type: 'button', class: options.kind, id: options.id, title: options.title, text: label, on: { click: onclick } })
}

/**
 * An error message, with a button to retry if possible.
 * @param {unknown} error
 * @param {() => void} [retry]
 */
export function problem(error, retry) {
  const message = error instanceof Error ? error.message : String(error)
  const kind = /** @type {any} */ (error)?.kind === 'lost' ? 'lost' : 'refused'
  return el('div', { class: `problem ${kind}`, role: 'alert' },
    el('p', { text: message }), retry ? button('Try again', retry, { kind: 'quiet' }) : null)
}

/**
 * A line that is read out when it changes.
 * @param {string} [text]
 */
export function status(text = '') {
  return el('p', { class: 'status', role: 'status', 'aria-live': 'polite', text })
}

/**
 * A button that copies a text, and says so.
 * @param {() => string} text
 * @param {string} [label]
 */
export function copyButton(text, label = 'Copy') {
  const said = el('span', { class: 'sr', 'aria-live': 'polite' })
  const node = button(label, async () => {
    let done = 'Copied'
    try {
      await navigator.clipboard.writeText(text())
    } catch {
      done = 'Copying is blocked: select the text instead'
    }
    face.textContent = done === 'Copied' ? done : label
    said.textContent = done
    setTimeout(() => { face.textContent = label; said.textContent = '' }, 2000)
  }, { kind: 'quiet' })
  const face = el('span', { text: label })
  node.replaceChildren(face, said)
  return node
}
