// @ts-check
// A button that sends a request, and the place for its answer or its error. It refuses to
// know the request.
import { button, el, problem, status } from './dom.js'
import { Problem } from './api.js'

/** @typedef {import('./state.js').App} App */

/**
 * @param {App} app
 * @param {string} label of the button
 * @param {(signal: AbortSignal) => Promise<Node[]>} work sends its first request before it first waits
 * @param {{id?: string}} [options]
 */
export function runner(app, label, work, options = {}) {
  const out = el('div', { class: 'stack answer-place' })
  const said = status()
  /** @type {AbortController | null} */
  let running = null
  const stop = button('Stop', () => running?.abort())
  stop.hidden = true

  const go = async () => {
    running?.abort()
    const mine = running = new AbortController()
    const began = performance.now()
    said.textContent = 'Waiting…'
    stop.hidden = false
    out.setAttribute('aria-busy', 'true')
    /** @type {Node[]} */
    let nodes
    let ended = ''
    try {
      const working = work(mine.signal)
      const id = app.api.last?.id
      nodes = [...await working, asCode(app, id)]
      ended = `Answered in ${Math.round(performance.now() - began)} ms`
    } catch (error) {
      if (!(error instanceof Problem)) console.error(error)
      nodes = error instanceof Problem && error.kind === 'stopped' ? [] : [problem(error, go)]
      if (nodes.length === 0) ended = 'Stopped.'
    }
    if (running !== mine) return
    running = null
    stop.hidden = true
    out.removeAttribute('aria-busy')
    said.textContent = ended
    out.replaceChildren(...nodes)
  }
  const start = button(label, go, { kind: 'primary', id: options.id })
  return {
    go, out,
    row: el('div', { class: 'row' }, start, stop, said),
    stop: () => running?.abort(),
    /** Lets Ctrl and Enter do the same in a text. @param {HTMLElement} control */
    onEnter(control) {
      control.addEventListener('keydown', (event) => {
        if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return
        event.preventDefault()
        void go()
      })
    },
  }
}

/**
 * @param {App} app
 * @param {number | undefined} id of the request
 */
function asCode(app, id) {
  const node = button('Show as code', () => app.code(id), { kind: 'quiet' })
  node.classList.add('to-code')
  return el('div', { class: 'row' }, node)
}
