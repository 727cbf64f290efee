// @ts-check
// The frame of a part of Inspect: a title, controls, an answer.
import { el } from '../dom.js'

/** @typedef {{id: string, element: HTMLElement, load: () => Promise<void>, stop: () => void, use: (model: string) => Promise<void>}} Part use goes to the part, with a model */

/**
 * @param {{id: string, title: string, what: string, picker: ReturnType<typeof import('../picker.js').modelPicker>, run: ReturnType<typeof import('../runner.js').runner>}} frame what: the part shows
 * @param {...Node} controls
 * @returns {Part}
 */
export function part({ id, title, what, picker, run }, ...controls) {
  const heading = el('h3', { text: title, id: `inside-${id}` })
  const element = el('section', { class: 'panel stack', 'aria-labelledby': heading.id },
    el('div', {}, heading, el('p', { class: 'muted small', text: what })),
    ...controls, el('div', { class: 'row end' }, picker.element, run.row), run.out)
  return {
    id, element, load: picker.load, stop: run.stop,
    async use(model) {
      await picker.want(model).catch(() => {}) // the frame says that the server does not answer
      element.scrollIntoView({ block: 'start' })
      element.querySelector('button')?.focus({ preventScroll: true })
    },
  }
}

/** The lines of a text that are not blank. @param {HTMLTextAreaElement} text */
export const linesOf = (text) => text.value.split('\n').map((line) => line.trim()).filter(Boolean)
