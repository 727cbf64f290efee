// @ts-check
// The messages and tools of OpenAI's chats as Anthropic, Ollama and OpenAI's Responses have them.
// Pure. Sources: the README of each dialect.
import { base64 } from './files.js'

/** @typedef {{role: string, content: any, tool_calls?: any[], tool_call_id?: string}} Message */
/** @typedef {{function: {name: string, description?: string, parameters?: object}}} Tool */

/** @param {any} content @returns {any[]} */
const parts = (content) => Array.isArray(content) ? content : content ? [{ type: 'text', text: content }] : []

/** The text of a content. @param {any} content @returns {string} */
const text = (content) => parts(content).filter((p) => p.type === 'text').map((p) => p.text).join('\n')

/** The content without a list if it is only a text. @param {any} content @param {(part: any) => object} item */
const short = (content, item) => Array.isArray(content) ? content.map(item) : content ?? ''

/** The texts of the system, which precede a chat in other dialects. @param {Message[]} messages */
export const system = (messages) => messages.filter((m) => m.role === 'system').map((m) => text(m.content)).join('\n')

/** The arguments of a call. @param {any} call */
function given(call) {
  try {
    return JSON.parse(call.function.arguments)
  } catch {
    return {}
  }
}

/** @param {any} url of an image: a data URL, or one that ends with a file @returns {string} */
const media = (url) => /^data:([^;]*);/.exec(url.before ?? url)?.[1] ?? 'image/png'

/** @param {any} p a part of a message */
const block = (p) => p.type === 'text' ? p : { type: 'image', source: { type: 'base64', media_type: media(p.image_url.url), data: base64(p.image_url.url) } }

/** Results of calls that follow each other are one message. @param {Message[]} messages */
export function anthropicMessages(messages) {
  /** @type {{role: string, content: any}[]} */
  const list = []
  for (const [i, m] of messages.entries()) {
    if (m.role === 'tool') {
      const result = { type: 'tool_result', tool_use_id: m.tool_call_id, content: text(m.content) }
      if (messages[i - 1]?.role === 'tool') list.at(-1)?.content.push(result)
      else list.push({ role: 'user', content: [result] })
    } else if (m.tool_calls?.length) {
      list.push({ role: m.role, content: [...parts(m.content).map(block), ...m.tool_calls.map((c) => ({ type: 'tool_use', id: c.id, name: c.function.name, input: given(c) }))] })
    } else if (m.role !== 'system') list.push({ role: m.role, content: short(m.content, block) })
  }
  return list
}

/** @param {Tool[]} tools */
export const anthropicTools = (tools) => tools.map(({ function: { name, description, parameters } }) =>
  ({ name, ...(description && { description }), input_schema: parameters ?? { type: 'object' } }))

/** @param {Message[]} messages */
export function ollamaMessages(messages) {
  const names = new Map(messages.flatMap((m) => m.tool_calls ?? []).map((c) => [c.id, c.function.name]))
  return messages.map((m) => {
    const images = parts(m.content).filter((p) => p.type === 'image_url').map((p) => base64(p.image_url.url))
    return { role: m.role, ...(m.role === 'tool' && { tool_name: names.get(m.tool_call_id) }), content: text(m.content), ...(images.length && { images }),
      ...(m.tool_calls?.length && { tool_calls: m.tool_calls.map((c) => ({ function: { name: c.function.name, arguments: given(c) } })) }) }
  })
}

/** A single text of the user is not a list. @param {Message[]} messages */
export function responsesInput(messages) {
  /** @type {any[]} */
  const list = messages.filter((m) => m.role !== 'system').flatMap(/** @returns {any[]} */ (m) => {
    if (m.role === 'tool') return [{ type: 'function_call_output', call_id: m.tool_call_id, output: text(m.content) }]
    const calls = (m.tool_calls ?? []).map((c) => ({ type: 'function_call', call_id: c.id, name: c.function.name, arguments: c.function.arguments }))
    const content = short(m.content, (p) => p.type === 'text' ? { type: 'input_text', text: p.text } : { type: 'input_image', image_url: p.image_url.url })
    return content.length ? [{ role: m.role, content }, ...calls] : calls
  })
  const [only] = list
  return list.length === 1 && only.role === 'user' && typeof only.content === 'string' ? only.content : list
}

/** @param {Tool[]} tools */
export const responsesTools = (tools) => tools.map((t) => ({ type: 'function', ...t.function }))
