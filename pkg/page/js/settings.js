// @ts-check
// The settings that survive a reload: choices of models and controls, never the key, and
// never prompts. Foreign or damaged entries are ignored.

const entry = 'glossa-settings'
const version = 1
const maxChars = 100_000

/** @returns {Record<string, any>} */
function load() {
  try {
    const value = JSON.parse(localStorage.getItem(entry) ?? 'null')
    return value?.v === version ? value : {}
  } catch {
    return {} // storage is off, or the entry is damaged
  }
}

/**
 * The settings of a part of the page.
 * @param {string} part
 * @returns {Record<string, any>}
 */
export function settings(part) {
  const all = load(), value = Object.hasOwn(all, part) ? all[part] : null
  return value && typeof value === 'object' && !Array.isArray(value) ? value : {}
}

/**
 * Stores settings of a part; the others of the part stay.
 * @param {string} part
 * @param {Record<string, any>} values
 */
export function keep(part, values) {
  const text = JSON.stringify({ ...load(), v: version, [part]: { ...settings(part), ...values } })
  if (text.length > maxChars) return
  try {
    localStorage.setItem(entry, text)
  } catch {
    // then they last as long as the page
  }
}

/** A setting that must be a text. @param {any} v */
export const textOf = (v) => typeof v === 'string' ? v : ''
