// @ts-check
// The settings of Chat: system prompt, sampling, and how answers look.
import { button, el } from '../dom.js'
import { recall, remember } from '../remember.js'
import { sampling } from '../sampling.js'
import { keep, settings, textOf } from '../settings.js'
import { helped } from '../tip.js'
import { examples, wrong } from './tools.js'

const part = 'chat'

export class Options {
  /** @param {{system: (text: string) => void, tools: (text: string) => void, look: () => void}} hooks */
  constructor(hooks) {
    const kept = settings(part)
    this.controls = sampling()
    this.system = el('textarea', { id: 'chat-system', rows: '3', placeholder: 'You are a helpful assistant.', value: textOf(kept.system), on: { input: () => { keep(part, { system: this.system.value }); hooks.system(this.system.value) } } })
    this.tools = el('textarea', { id: 'chat-tools', rows: '3', spellcheck: 'false', placeholder: '[{"name": "get_weather", …}]', value: textOf(kept.tools), 'aria-describedby': 'chat-tools-wrong', on: { input: () => this.#setTools(hooks) } })
    this.wrong = el('p', { class: 'hint bad', id: 'chat-tools-wrong', role: 'status', text: wrong(this.tools.value) })
    const use = button('Use examples', () => { this.tools.value = examples; this.#setTools(hooks) }, { kind: 'quiet', id: 'chat-tools-example' })
    this.formatted = el('input', { type: 'checkbox', id: 'chat-formatted', checked: kept.formatted !== false })
    this.shaded = el('input', { type: 'checkbox', id: 'chat-shaded', checked: kept.shaded === true })
    for (const box of [this.formatted, this.shaded]) {
      box.addEventListener('change', () => {
        keep(part, { formatted: this.formatted.checked, shaded: this.shaded.checked })
        hooks.look()
      })
    }
    recall(this.controls.element, part, { max_tokens: '' }) // an answer ends by itself
    remember(this.controls.element, part)
    this.element = el('aside', { class: 'chat-options panel', id: 'chat-options', 'aria-label': 'Settings' },
      el('div', { class: 'stack' }, helped('System prompt', this.system, 'Tells the model how to answer in this conversation, and in new ones.').element,
        helped('Tools', this.tools, 'Functions that the model may call: a JSON list with name, description and parameters, as OpenAI takes them. You send the results of its calls; the page answers those of the examples itself.').element, this.wrong, use,
        el('label', { class: 'check', for: this.formatted.id }, this.formatted, 'Formatted answers'),
        el('label', { class: 'check', for: this.shaded.id }, this.shaded, 'Token probabilities'),
        this.controls.element))
  }

  /** @param {{tools: (text: string) => void}} hooks */
  #setTools(hooks) {
    this.wrong.textContent = wrong(this.tools.value)
    this.tools.setAttribute('aria-invalid', String(this.wrong.textContent !== ''))
    if (this.wrong.textContent) return
    keep(part, { tools: this.tools.value })
    hooks.tools(this.tools.value)
  }

  /** Shows the tools of a conversation. @param {string} text */
  showTools(text) {
    if (this.tools.value === text || this.wrong.textContent && document.activeElement === this.tools) return
    this.tools.value = text
    this.wrong.textContent = wrong(text)
  }

  /**
   * Takes ranges and defaults from the schema of a request.
   * @param {any} schema
   * @param {number} context of the model, tokens; 0: unknown
   */
  limit(schema, context) {
    this.controls.limit(schema, context)
  }

  /** @returns {import('./turn.js').Look} */
  look() {
    return { formatted: this.formatted.checked, shaded: this.shaded.checked }
  }
}
