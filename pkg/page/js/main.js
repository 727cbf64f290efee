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
import * as server from './views/server.js'
import * as code from './views/code.js'

/** @typedef {import('./state.js').App} App */
/** @typedef {import('./state.js').Mounted} Mounted */
/** @typedef {{id: string, title: string, mount: (root: HTMLElement, app: App) => Mounted|void, needs?: string}} View needs: a path that not every server has */

/** @type {View[]} */
const views = [
  { id: 'write', title: 'Write', mount: write.mount },
  { id: 'chat', title: 'Chat', mount: chat.mount },
  { id: 'structure', title: 'Structure', mount: structure.mount },
  { id: 'inside', title: 'Inspect', mount: inside.mount },
  { id: 'models', title: 'Models', mount: models.mount },
  { id: 'server', title: 'Server', mount: server.mount, needs: '/activity' },
  { id: 'code', title: 'Code', mount: code.mount },
]

const api = new Api()
/** @type {Promise<import('./state.js').Model[]>|null} */
let asked = null
/** @type {Promise<any>|null} */
let described = null

/** @type {App} */
const app = {
  api, state: newState(), images: new Map(),
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
  go(view) {
    if (location.hash === `#${view}`) show()
    else location.hash = view
  },
  code(id) {
    app.state.codeOf = id ?? null
    app.go('code')
  },
}

/** @type {Map<string, {root: HTMLElement, tab: HTMLElement, mounted: Mounted|null}>} */
const parts = new Map()
let current = ''
/** The views that the server has. */
const offered = () => views.filter((v) => !parts.get(v.id)?.tab.matches('[hidden], .unsure'))

/** Shows the view that the address names. */
function show() {
  const id = location.hash.slice(1).split('/')[0] ?? ''
  if (!current && parts.get(id)?.tab.matches('.unsure')) return // no other view comes before it
  const there = offered()
  const view = there.find((v) => v.id === id) ?? there.find((v) => v.id === (current || settings('page').view)) ?? there[0]
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
  const there = offered(), at = there.findIndex((v) => v.id === current)
  /** @type {Record<string, number>} */
  const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: there.length - 1 }
  const next = to[event.key]
  if (next === undefined) return
  event.preventDefault()
  const view = there[(next + there.length) % there.length]
  if (!view) return
  location.hash = view.id
  parts.get(view.id)?.tab.focus()
}

function frame() {
  const main = /** @type {HTMLElement} */ (document.getElementById('main'))
  const list = /** @type {HTMLElement} */ (document.querySelector('.tabs'))
  list.addEventListener('keydown', keys)
  for (const view of views) {
    const tab = el('a', { id: `tab-${view.id}`, class: view.needs ? 'tab unsure' : 'tab', role: 'tab', href: `#${view.id}`, 'aria-controls': `view-${view.id}`, 'aria-selected': 'false', tabindex: -1, text: view.title })
    const root = el('section', { id: `view-${view.id}`, class: `view ${view.id}`, role: 'tabpanel', 'aria-labelledby': tab.id, hidden: true })
    list.append(tab)
    main.append(root)
    parts.set(view.id, { root, tab, mounted: null })
  }
}

/** Shows the views and the version that the server's description names. */
async function describe() {
  /** @type {any} */
  const paths = (await app.models().then(() => app.openapi()).catch(() => null))?.paths ?? {}
  const foreign = api.base !== '' && new URL(api.base).origin !== location.origin // measurements never cross origins
  for (const { id, needs } of views) {
    const part = parts.get(id)
    if (!part || !needs) continue
    part.tab.hidden = foreign || !(needs in paths)
    part.tab.classList.remove('unsure')
  }
  const wanted = location.hash.slice(1).split('/')[0]
  if (wanted && wanted !== current) show()
  const build = '/api/version' in paths ? await api.json('GET', '/api/version', undefined, { background: true }).catch(() => null) : null
  const version = document.getElementById('version')
  if (version) version.textContent = typeof build?.version === 'string' ? `glossa ${build.version}` : ''
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
  void describe()
}

theme(/** @type {HTMLButtonElement} */ (document.getElementById('theme')))
frame()
new Connection(app, begin)
addEventListener('hashchange', show)
show()
void describe()
