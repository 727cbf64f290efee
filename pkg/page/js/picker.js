// @ts-check
// The choice of a model.
import { el, field } from './dom.js'
import { keep } from './settings.js'

/** @typedef {import('./state.js').App} App */
/** @typedef {import('./state.js').Model} Model */

/**
 * @param {App} app
 * @param {{label?: string, id?: string, accept?: (m: Model) => boolean, value?: string, prefer?: (m: Model) => boolean, onchange?: (name: string) => void, alone?: boolean}} [options]
 *   value: chosen if it is offered; prefer: chosen first otherwise; alone: other views do not follow the choice
 */
export function modelPicker(app, options = {}) {
  const select = el('select', { id: options.id, on: { change: () => { if (!options.alone) share(app, select.value); options.onchange?.(select.value) } } })
  const element = field(options.label ?? 'Model', select)
  element.classList.add('picker')
  let first = options.value
  /** @param {Model[]} models */
  const fill = (models) => {
    const had = select.value || first || app.state.model
    const list = models.filter(options.accept ?? (() => true))
    select.replaceChildren(...list.map((m) => el('option', { value: m.name, text: m.name })))
    const preferred = options.prefer && list.find(options.prefer)
    if (list.some((m) => m.name === had)) select.value = had
    else if (preferred) select.value = preferred.name
    if (!list.length) select.append(el('option', { value: '', text: 'no suitable model' }))
  }
  return {
    element,
    /** Shows the models of the server. */
    async load() {
      fill(await app.models())
      options.onchange?.(select.value)
    },
    value: () => select.value,
    model: () => app.state.models.find((m) => m.name === select.value) ?? null,
    /** Chooses a model as soon as it is offered. @param {string} name */
    want(name) {
      first = name
      select.value = ''
      return this.load()
    },
    /** @param {string} name */
    set(name) {
      select.value = name
      options.onchange?.(name)
    },
  }
}

/**
 * Makes a model the choice of all views, also after a reload.
 * @param {App} app
 * @param {string} model
 */
function share(app, model) {
  app.state.model = model
  keep('page', { model })
}
