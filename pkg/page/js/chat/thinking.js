// @ts-check
// The reasoning that some models write between tags before their answer. Pure.
// Source: the chat templates of Qwen3 and DeepSeek-R1.

const open = '<think>', close = '</think>'

/**
 * The reasoning of an answer, and what follows it; '' for either that has not come.
 * @param {string} text
 * @returns {{thought: string, answer: string}}
 */
export function split(text) {
  const trimmed = text.trimStart()
  if (!trimmed.startsWith(open)) return { thought: '', answer: text }
  const end = trimmed.indexOf(close)
  if (end < 0) return { thought: trimmed.slice(open.length).trim(), answer: '' }
  return { thought: trimmed.slice(open.length, end).trim(), answer: trimmed.slice(end + close.length).trimStart() }
}
