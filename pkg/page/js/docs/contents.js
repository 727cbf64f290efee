// @ts-check
// The list of operations, and the search in them.
import { clear, el } from '../dom.js'
import { entries, search } from './document.js'
import { broken, method } from './operation.js'

/** @typedef {import('./document.js').Reference} Reference */

const most = 60 // hits that are listed

export class Contents {
  /** @param {HTMLElement} nav */
  constructor(nav) {
    this.nav = nav
    this.input = el('input', { id: 'search', type: 'search', placeholder: 'Search', autocomplete: 'off', spellcheck: 'false', 'aria-label': 'Search operations and parameters', 'aria-keyshortcuts': '/' })
    this.said = el('p', { class: 'found', role: 'status', 'aria-live': 'polite' })
    this.results = el('div', { class: 'results', hidden: true })
    this.tree = el('div', { class: 'tree' })
    /** What can be found, made with the first search. @type {() => import('./document.js').Entry[]} */
    this.entries = () => []
    nav.append(el('div', { class: 'searching' }, this.input, el('kbd', { 'aria-hidden': 'true', text: '/' })), this.said, this.results, this.tree)
    this.input.addEventListener('input', () => this.#find())
    nav.addEventListener('keydown', (e) => this.#keys(e))
    addEventListener('keydown', (e) => {
      const at = /** @type {HTMLElement} */ (e.target)
      if (e.key !== '/' || e.ctrlKey || e.metaKey || e.altKey || at.closest('input, textarea, select, dialog')) return
      e.preventDefault()
      this.nav.dispatchEvent(new Event('wanted'))
      this.input.focus()
    })
  }

  /** @param {Reference} ref */
  show(ref) {
    /** @type {import('./document.js').Entry[]|undefined} */
    let all
    this.entries = () => all ??= entries(ref)
    clear(this.tree).append(
      group('Start', 'start', [['start', 'Introduction'], ['authentication', 'Authentication'], ['streams', 'Streams'], ['errors', 'Errors']].map(([id, title]) => link(String(id), String(title))).concat(el('a', { class: 'to-page', href: './', text: 'Playground' }))),
      ...ref.tags.map((tag) => group(tag.name, anchorOf(tag.name), tag.operations.map((op) => link(op.id, method(op), el('span', { class: 'to' }, broken(op.path)))))))
    this.#find()
  }

  /** Marks where the reader is. @param {string} id */
  mark(id) {
    for (const a of this.tree.querySelectorAll('a')) {
      if (a.hash === `#${id}`) a.setAttribute('aria-current', 'true')
      else a.removeAttribute('aria-current')
    }
    const at = this.tree.querySelector('[aria-current]')
    if (!(at instanceof HTMLElement) || this.nav.contains(document.activeElement)) return
    const [box, frame] = [at.getBoundingClientRect(), this.nav.getBoundingClientRect()]
    if (box.top < frame.top + 80 || box.bottom > frame.bottom - 40) this.nav.scrollTop += box.top - frame.top - frame.height / 3
  }

  #find() {
    const query = this.input.value.trim()
    this.tree.hidden = query !== ''
    this.results.hidden = query === ''
    this.said.textContent = ''
    clear(this.results)
    if (!query) return
    const hits = search(this.entries(), query)
    this.said.textContent = hits.length === 0 ? `Nothing contains “${query}”.` : hits.length === 1 ? '1 result' : `${hits.length} results`
    this.results.append(el('ul', {}, hits.slice(0, most).map((h) => el('li', {}, el('a', { href: `#${h.anchor}` },
      h.kind === 'operation' ? [method(h.op), el('span', { class: 'to' }, broken(h.op.path)), el('span', { class: 'of', text: h.op.summary })]
        : [el('span', { class: 'to name', text: h.label }), el('span', { class: 'of', text: `${h.kind} of ${h.op.method} ${h.op.path}` })])))))
  }

  /** @param {KeyboardEvent} e */
  #keys(e) {
    if (e.key === 'Escape' && this.input.value) {
      this.input.value = ''
      this.#find()
      this.input.focus()
      e.stopPropagation()
      return
    }
    const step = { ArrowDown: 1, ArrowUp: -1 }[e.key]
    if (!step) {
      if (e.key === 'Enter' && e.target === this.input) this.results.querySelector('a')?.click()
      return
    }
    const stops = /** @type {HTMLElement[]} */ ([this.input, ...this.nav.querySelectorAll(this.results.hidden ? '.tree a' : '.results a')])
    e.preventDefault()
    stops[stops.indexOf(/** @type {HTMLElement} */ (document.activeElement)) + step]?.focus()
  }
}

/** @param {string} name @param {string} anchor @param {Node[]} items */
function group(name, anchor, items) {
  const id = `contents-${anchor}`
  return el('div', { class: 'group' }, el('h2', { id }, el('a', { href: `#${anchor}`, text: name })), el('ul', { 'aria-labelledby': id }, items.map((i) => el('li', {}, i))))
}

/** @param {string} id @param {...import('../dom.js').Child} children */
const link = (id, ...children) => el('a', { href: `#${id}` }, ...children)

/** The anchor of a tag. @param {string} name */
export const anchorOf = (name) => `tag-${name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}`
