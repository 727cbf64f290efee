// @ts-check
// The reference of the API, made from the server's own OpenAPI document.
import { Api } from '../api.js'
import { clear, el } from '../dom.js'
import { theme } from '../theme.js'
import { Attempt } from './attempt.js'
import { Contents } from './contents.js'
import { reference } from './document.js'
import { intro, tagHead } from './intro.js'
import { disclose } from './members.js'
import { section } from './operation.js'
import { Choice } from './panel.js'
import { Server, failed } from './server.js'

const api = new Api()
const choice = new Choice()
const main = /** @type {HTMLElement} */ (document.getElementById('main'))
const nav = /** @type {HTMLElement} */ (document.getElementById('contents'))
const menu = /** @type {HTMLButtonElement} */ (document.getElementById('menu'))
const contents = new Contents(nav)

async function load() {
  let document_
  try {
    document_ = await api.json('GET', '/openapi.json', undefined, { background: true })
  } catch (error) {
    failed(main, error, () => void load())
    return
  }
  const ref = reference(document_)
  const links = new Map(ref.operations.map((op) => [op.path, op.id]))
  document.querySelector('dialog')?.remove()
  const attempt = new Attempt(api, ref)
  /** @type {import('./operation.js').Page} */
  const page = { ref, choice, links, schemas: ref.schemas, base: () => api.url('').replace(/\/$/, ''), attempt: (op, example, flows) => attempt.open(op, example, flows) }
  const shown = new Set()
  clear(main).append(...intro(page), ...ref.tags.flatMap((tag) => [
    tagHead(tag, page),
    ...tag.operations.filter((op) => !shown.has(op) && shown.add(op)).map((op) => section(op, page)),
  ]), el('footer', { class: 'foot' }, el('a', { href: './', text: 'Playground' }), ' · ', el('a', { href: 'openapi.json', text: 'OpenAPI document' })))
  contents.show(ref)
  watch()
  reveal()
}

/** Shows what the address names. */
function reveal() {
  const id = decodeURIComponent(location.hash.slice(1))
  const parts = id.split('.')
  for (let n = 1; n < parts.length && !document.getElementById(id); n++) { // what holds it is made when it opens
    const holder = document.getElementById(parts.slice(0, n).join('.'))
    holder?.querySelectorAll(n === 1 ? 'details.unsupported' : ':scope > details').forEach((d) => disclose(/** @type {HTMLDetailsElement} */ (d)))
  }
  const target = id ? document.getElementById(id) : null
  if (!target || target === main || !main.contains(target)) return
  for (let d = target.closest('details'); d; d = d.parentElement?.closest('details') ?? null) disclose(d)
  showMenu(false)
  target.scrollIntoView({ behavior: 'instant', block: 'start' })
  target.classList.remove('found-here')
  if (id.includes('.')) requestAnimationFrame(() => target.classList.add('found-here'))
  const spot = target.querySelector('h1, h2, h3') ?? target
  if (spot instanceof HTMLElement) {
    spot.tabIndex = -1
    spot.focus({ preventScroll: true })
  }
  const section_ = target.closest('.op')
  if (section_) at(section_)
}

/** @param {Element} section_ */
function at(section_) {
  const title = section_.querySelector('h1, h2, h3')?.firstChild?.textContent?.trim() ?? ''
  document.title = section_.id === 'start' ? 'API reference · glossa' : `${title} · API reference · glossa`
  contents.mark(section_.id)
}

/** @type {IntersectionObserver|null} */
let watcher = null

/** Follows the reader: the section at the top is marked in the contents. */
function watch() {
  watcher?.disconnect()
  watcher = new IntersectionObserver((entries) => {
    const entered = entries.filter((e) => e.isIntersecting).at(-1)
    if (entered) at(entered.target)
  }, { rootMargin: '-20% 0px -75% 0px' })
  for (const s of main.querySelectorAll('.op')) watcher.observe(s)
}

/** @param {boolean} on */
function showMenu(on) {
  document.body.classList.toggle('menu-open', on)
  menu.setAttribute('aria-expanded', String(on))
}

menu.addEventListener('click', () => {
  const on = menu.getAttribute('aria-expanded') !== 'true'
  showMenu(on)
  if (on) contents.input.focus()
})
nav.addEventListener('wanted', () => showMenu(true))
nav.addEventListener('click', (e) => { // the same address again
  const a = /** @type {HTMLElement} */ (e.target).closest('a')
  if (a && a.hash === location.hash) reveal()
})
nav.addEventListener('keydown', (e) => {
  if (e.key !== 'Escape' || menu.getAttribute('aria-expanded') !== 'true') return
  showMenu(false)
  menu.focus()
})
theme(/** @type {HTMLButtonElement} */ (document.getElementById('theme')))
new Server(api, load)
addEventListener('hashchange', reveal)
void load()

