// @ts-check
// The settings of Chat: system prompt, sampling, and how answers look.
import { el } from '../dom.js'
import { recall, remember } from '../remember.js'
import { sampling } from '../sampling.js'
import { keep, settings, textOf } from '../settings.js'
import { helped } from '../tip.js'

const part = 'chat'

export class Options {
  #settled = false // the controls hold what was stored, in the ranges of the server

  /** @param {{system: (text: string) => void, look: () => void}} hooks */
  constructor(hooks) {
    const kept = settings(part)
    this.controls = sampling()
    this.system = el('textarea', { id: 'chat-system', rows: '3', placeholder: 'You are a helpful assistant.', value: textOf(kept.system), on: { input: () => { keep(part, { system: this.system.value }); hooks.system(this.system.value) } } })
    this.formatted = el('input', { type: 'checkbox', id: 'chat-formatted', checked: kept.formatted !== false })
    this.shaded = el('input', { type: 'checkbox', id: 'chat-shaded', checked: kept.shaded === true })
    for (const box of [this.formatted, this.shaded]) {
      box.addEventListener('change', () => {
        keep(part, { formatted: this.formatted.checked, shaded: this.shaded.checked })
        hooks.look()
      })
    }
    remember(this.controls.element, part)
    this.element = el('aside', { class: 'chat-options panel', id: 'chat-options', 'aria-label': 'Settings' },
      el('div', { class: 'stack' }, helped('System prompt', this.system, 'Tells the model how to answer in this conversation, and in new ones.').element,
        el('label', { class: 'check', for: this.formatted.id }, this.formatted, 'Formatted answers'),
        el('label', { class: 'check', for: this.shaded.id }, this.shaded, 'Token probabilities'),
        this.controls.element))
  }

  /**
   * Takes ranges and defaults from the schema of a request.
   * @param {any} schema
   * @param {number} context of the model, tokens; 0: unknown
   */
  limit(schema, context) {
    this.controls.limit(schema, context)
    if (!this.#settled) recall(this.controls.element, part, { max_tokens: '' }) // an answer ends by itself
    this.#settled ||= Boolean(schema)
  }

  /** @returns {import('./turn.js').Look} */
  look() {
    return { formatted: this.formatted.checked, shaded: this.shaded.checked }
  }
}
