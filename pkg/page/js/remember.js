// @ts-check
// Keeps the controls of a form over a reload. Each control has its name in data-param.
import { keep, settings } from './settings.js'

/** @typedef {HTMLInputElement|HTMLTextAreaElement} Control */

/** @param {HTMLElement} form @returns {Control[]} */
const controls = (form) => [...form.querySelectorAll('[data-param]')].filter((c) => c instanceof HTMLInputElement || c instanceof HTMLTextAreaElement)

/**
 * Stores the controls of a form whenever one of them changes.
 * @param {HTMLElement} form
 * @param {string} part of the settings
 */
export function remember(form, part) {
  const store = () => keep(part, { params: Object.fromEntries(controls(form).map((c) => [c.dataset.param, c.value])) })
  for (const event of ['input', 'click']) form.addEventListener(event, () => queueMicrotask(store)) // buttons set values on a click
}

/**
 * Fills a form with what was stored, or else with first values.
 * @param {HTMLElement} form
 * @param {string} part of the settings
 * @param {Record<string, string>} [first]
 */
export function recall(form, part, first = {}) {
  const { params } = settings(part)
  for (const control of controls(form)) {
    const name = control.dataset.param ?? ''
    const kept = params && Object.hasOwn(params, name) ? params[name] : first[name]
    if (typeof kept !== 'string') continue
    control.value = kept
    control.dispatchEvent(new Event('input')) // it does not bubble: nothing is stored
  }
}
