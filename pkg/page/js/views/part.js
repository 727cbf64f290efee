// @ts-check
// The frame of a part of Look inside: a title, controls, an answer.
import { el } from '../dom.js'

/** @typedef {{element: HTMLElement, load: () => Promise<void>, stop: () => void}} Part */

/**
 * @param {string} title
 * @param {string} what the part shows
 * @param {...any} controls and last the choice of a model and the runner
 */
export function part(title, what, ...controls) {
  const run = controls.pop()
  const picker = controls.pop()
  const heading = el('h3', { text: title })
  heading.id = `inside-${title.toLowerCase()}`
  return el('section', { class: 'panel stack', 'aria-labelledby': heading.id },
    el('div', {}, heading, el('p', { class: 'muted small', text: what })),
    ...controls, el('div', { class: 'row end' }, picker.element, run.row), run.out)
}
