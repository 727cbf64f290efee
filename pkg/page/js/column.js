// @ts-check
// A column of Write: a model and its answer.
import { Answer } from './answer.js'
import { el } from './dom.js'
import { modelPicker } from './picker.js'
import { writes } from './tasks.js'

export class Column {
  /**
   * @param {import('./state.js').App} app
   * @param {import('./alternatives.js').Alternatives} list
   * @param {{label: string, id: string, onchange: () => void, alone?: boolean}} options
   */
  constructor(app, list, options) {
    this.picker = modelPicker(app, { ...options, accept: writes })
    this.answer = new Answer(app, list)
    this.element = el('div', { class: 'column' }, this.answer.element)
    this.answer.element.hidden = true
  }
}
