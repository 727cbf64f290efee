// @ts-check
// Calls of tools and their results on the page.
import { button, el, field } from '../dom.js'

/** @typedef {import('./tree.js').Call} Call */
/** @typedef {import('./tree.js').Result} Result */

/** The calls of an answer, which may still be written. */
export class CallList {
  /** @type {HTMLElement[]} */
  #shown = []

  constructor() {
    this.element = el('ul', { class: 'calls', 'aria-label': 'Calls' })
  }

  /** @param {Call[]} calls */
  set(calls) {
    calls.forEach((call, i) => {
      const text = this.#shown[i] ??= this.#add(call)
      text.textContent = laidOut(call.arguments)
    })
  }

  /** @param {Call} call */
  #add(call) {
    const text = el('pre', { class: 'call-arguments' })
    this.element.append(el('li', {}, el('p', { class: 'call-name' }, 'Calls ', el('code', { text: call.name })), text))
    return text
  }
}

/** Arguments with a line for each, once they are complete. @param {string} text */
function laidOut(text) {
  try {
    const args = JSON.parse(text)
    return Object.keys(args).length ? JSON.stringify(args, null, 2) : 'no arguments'
  } catch {
    return text
  }
}

/**
 * The results of a turn.
 * @param {Result[]} results
 */
export function resultList(results) {
  return el('ul', { class: 'calls', 'aria-label': 'Results' }, results.map((r) =>
    el('li', {}, el('p', { class: 'call-name' }, 'Result of ', el('code', { text: r.name })), el('pre', { class: 'call-arguments', text: r.text }))))
}

/**
 * A form for the results of calls, filled with those that there are.
 * @param {Call[]} calls
 * @param {Result[]} had
 * @param {(results: Result[]) => void} send
 * @param {() => void} [cancel]
 */
export function resultForm(calls, had, send, cancel) {
  const fields = calls.map((call) => el('textarea', { rows: '2', value: had.find((r) => r.id === call.id)?.text ?? '' }))
  return el('form', { class: 'edit results', 'aria-label': 'Results of the calls', on: { submit: (/** @type {Event} */ e) => {
    e.preventDefault()
    send(calls.map(({ id, name }, i) => ({ id, name, text: fields[i]?.value ?? '' })))
  } } },
  calls.map((call, i) => field(`Result of ${call.name}`, /** @type {HTMLElement} */ (fields[i]))),
  el('div', { class: 'row' }, el('button', { type: 'submit', class: 'primary', text: calls.length > 1 ? 'Send results' : 'Send result' }), cancel ? button('Cancel', cancel) : null))
}
