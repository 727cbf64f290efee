// @ts-check
// The prompt that a chat became, coloured by who wrote which part of it.
import { button, clear, el, problem } from '../dom.js'

/** @typedef {import('./tree.js').Message} Message */
/** @typedef {{text: string, template: boolean}} Span */
/** @typedef {'template'|'system'|'user'|'assistant'|'tool'} Writer */

const names = { template: 'the chat template', system: 'the system prompt and tools', user: 'you', assistant: 'the model', tool: 'results' }
const keys = ['model', 'messages', 'tools', 'tool_choice', 'chat_template_kwargs', 'reasoning_effort']

export class PromptDialog {
  #control = new AbortController()

  /** @param {import('../api.js').Api} api */
  constructor(api) {
    this.api = api
    this.place = el('div', { class: 'prompt-place' })
    this.element = el('dialog', { class: 'prompt', 'aria-labelledby': 'prompt-title', on: { close: () => this.#control.abort() } },
      el('h2', { id: 'prompt-title', text: 'Prompt' }), this.place, el('div', { class: 'row' }, button('Close', () => this.element.close())))
  }

  /** Shows the prompt of a request that was sent. @param {number} id */
  async show(id) {
    const sent = this.api.sent.find((s) => s.id === id)
    this.#control = new AbortController()
    clear(this.place).append(el('p', { class: 'muted', text: 'loading…' }))
    if (!this.element.open) this.element.showModal()
    if (!sent) {
      clear(this.place).append(el('p', { class: 'muted', text: 'The request is too long ago.' }))
      return
    }
    const body = Object.fromEntries(keys.filter((k) => sent.body?.[k] !== undefined).map((k) => [k, sent.body[k]]))
    const options = { background: true, signal: this.#control.signal }
    try {
      const { prompt, spans } = await this.api.json('POST', '/apply-template', body, options)
      clear(this.place).append(...drawn(spans, body.messages, await this.#size(body, prompt, options)))
    } catch (error) {
      if (/** @type {any} */ (error)?.kind !== 'stopped') clear(this.place).append(problem(error, () => void this.show(id)))
    }
  }

  /**
   * The size of a prompt. The server does not count the tokens of images.
   * @param {Record<string, any>} body of the chat
   * @param {string} prompt
   * @param {import('../api.js').Options} options
   */
  async #size({ tool_choice, reasoning_effort, ...chat }, prompt, options) {
    const images = chat.messages.flatMap((/** @type {Message} */ m) => m.content).filter((/** @type {any} */ p) => p?.type === 'image_url').length
    const tokens = images ? 0 : await this.api.json('POST', '/tokenize', chat, options).then((a) => a.count, () => 0)
    const counts = [count(prompt.length, 'character'), tokens ? count(tokens, 'token') : '', images ? `${count(images, 'image')} not shown` : '']
    return counts.filter(Boolean).join(', ')
  }
}

/** @param {number} n @param {string} noun */
const count = (n, noun) => `${n.toLocaleString('en')} ${noun}${n === 1 ? '' : 's'}`

/**
 * @param {Span[]} spans
 * @param {Message[]} messages
 * @param {string} size of the prompt
 */
function drawn(spans, messages, size) {
  const writers = writersOf(spans, messages)
  const legend = el('ul', { class: 'prompt-legend', 'aria-label': 'Written by' }, [...new Set(writers)].map((w) => el('li', {}, el('span', { class: `by ${w}`, text: names[w] }))))
  const text = el('pre', { class: 'prompt-text', tabindex: '0', 'aria-label': 'Prompt' }, spans.map((s, i) => el('span', { class: `by ${writers[i]}`, text: s.text })))
  return [el('p', { class: 'muted', text: size }), legend, text]
}

/**
 * Who wrote each span. The template writes messages in their order, and leaves out none of the
 * user's; what is in none of them describes the tools.
 * @param {Span[]} spans
 * @param {Message[]} messages
 * @returns {Writer[]}
 */
export function writersOf(spans, messages) {
  let at = 0, begun = false // the message of the last span, and whether it is one
  return spans.map(({ text, template }) => {
    if (template || !text.trim()) return 'template'
    const next = messages.findIndex((m, i) => (begun ? i > at : i >= at) && m.role === 'user'), end = next < 0 ? messages.length : next + 1
    const found = messages.findIndex((m, i) => i >= at && i < end && texts(m).some((t) => alike(t.trim(), text.trim())))
    if (found < 0) return 'system'
    at = found
    begun = true
    const role = messages[found]?.role
    return role === 'user' || role === 'assistant' || role === 'tool' ? role : 'system'
  })
}

/**
 * Whether a template made one text of the other: it may trim it, or leave out a part.
 * @param {string} a
 * @param {string} b
 */
function alike(a, b) {
  const [short, long] = a.length < b.length ? [a, b] : [b, a]
  return long.includes(short) && short.length * 2 > long.length
}

/** What a message says. @param {Message} m @returns {string[]} */
function texts(m) {
  const calls = /** @type {any[]} */ (m.tool_calls ?? []).flatMap((c) => [c.function.name, c.function.arguments, ...values(c.function.arguments)])
  const content = Array.isArray(m.content) ? m.content.map((/** @type {any} */ p) => p.text) : [m.content]
  return [...content, ...calls].filter(Boolean)
}

/** The values in arguments, which templates write in their own way. @param {string} text @returns {string[]} */
function values(text) {
  try {
    return Object.entries(JSON.parse(text)).flat().map(String)
  } catch {
    return []
  }
}
