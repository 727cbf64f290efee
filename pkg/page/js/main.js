// @ts-check
// The frame of the page: tabs, connection and theme.
import { Api } from './api.js'
import { Connection } from './connection.js'
import { el } from './dom.js'
import { loadModels, newState } from './state.js'
import { theme } from './theme.js'
import { keep, settings } from './settings.js'
import * as chat from './views/chat.js'
import * as write from './views/write.js'
import * as models from './views/models.js'
import * as structure from './views/structure.js'
import * as inside from './views/inside.js'
import * as code from './views/code.js'

/** @typedef {import('./state.js').App} App */
/** @typedef {import('./state.js').Mounted} Mounted */
/** @typedef {{id: string, title: string, mount: (root: HTMLElement, app: App) => Mounted|void}} View */

/** @type {View[]} */
const views = [
  { id: 'write', title: 'Write', mount: write.mount },
  { id: 'chat', title: 'Chat', mount: chat.mount },
  { id: 'structure', title: 'Structure', mount: structure.mount },
  { id: 'inside', title: 'Look inside', mount: inside.mount },
  { id: 'models', title: 'Models', mount: models.mount },
  { id: 'code', title: 'Code', mount: code.mount },
]

const api = new Api()
/** @type {Promise<import('./state.js').Model[]>|null} */
let asked = null
/** @type {Promise<any>|null} */
let described = null

/** @type {App} */
const app = {
  api, state: newState(),
  models(again = false) {
    if (!asked || again) {
      const mine = asked = loadModels(api).then((list) => { app.state.models = list; return list })
      mine.catch(() => { if (asked === mine) asked = null }) // retried next time
    }
    return asked
  },
  openapi() {
    if (!described) {
      const mine = described = api.json('GET', '/openapi.json', undefined, { background: true })
      mine.catch(() => { if (described === mine) described = null })
    }
    return described
  },
  go(view) { location.hash = view },
  code(id) {
    app.state.codeOf = id ?? null
    if (location.hash === '#code') show()
    else location.hash = 'code'
  },
}

/** @type {Map<string, {root: HTMLElement, tab: HTMLElement, mounted: Mounted|null}>} */
const parts = new Map()
let current = ''

/** Shows the view that the address names. */
function show() {
  const id = location.hash.slice(1).split('/')[0] ?? ''
  const view = views.find((v) => v.id === id) ?? views.find((v) => v.id === (current || settings('page').view)) ?? views[0]
  if (!view) return
  const before = parts.get(current)
  if (view.id !== current) before?.mounted?.hide?.()
  current = api.view = view.id
  for (const [name, part] of parts) {
    const on = name === current
    part.root.hidden = !on
    part.tab.setAttribute('aria-selected', String(on))
    part.tab.tabIndex = on ? 0 : -1
  }
  document.title = `${view.title} · glossa`
  const part = parts.get(current)
  if (!part) return
  part.tab.scrollIntoView({ block: 'nearest', inline: 'center' })
  part.mounted ??= view.mount(part.root, app) ?? {}
  part.mounted.show?.()
  if (view.id === 'write' || view.id === 'chat') keep('page', { view: view.id }) // where the next visit begins
}

/** @param {KeyboardEvent} event */
function keys(event) {
  const at = views.findIndex((v) => v.id === current)
  /** @type {Record<string, number>} */
  const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: views.length - 1 }
  const next = to[event.key]
  if (next === undefined) return
  event.preventDefault()
  const view = views[(next + views.length) % views.length]
  if (!view) return
  location.hash = view.id
  parts.get(view.id)?.tab.focus()
}

function frame() {
  const main = /** @type {HTMLElement} */ (document.getElementById('main'))
  const list = /** @type {HTMLElement} */ (document.querySelector('.tabs'))
  list.addEventListener('keydown', keys)
  for (const view of views) {
    const tab = el('a', { id: `tab-${view.id}`, class: 'tab', role: 'tab', href: `#${view.id}`, 'aria-controls': `view-${view.id}`, 'aria-selected': 'false', tabindex: -1, text: view.title })
    const root = el('section', { id: `view-${view.id}`, class: `view ${view.id}`, role: 'tabpanel', 'aria-labelledby': tab.id, hidden: true })
    list.append(tab)
    main.append(root)
    parts.set(view.id, { root, tab, mounted: null })
  }
}

/** Restarts the page after a change of server or key. */
function begin() {
  asked = described = null
  for (const part of parts.values()) {
    part.mounted?.hide?.()
    part.mounted?.close?.()
    part.mounted = null
    part.root.replaceChildren()
  }
  app.state = newState()
  show()
}

theme(/** @type {HTMLButtonElement} */ (document.getElementById('theme')))
frame()
new Connection(app, begin)
addEventListener('hashchange', show)
show()
