// @ts-check
// The images of a request as files: a program to copy reads them, instead of holding megabytes
// of base64. Pure.

/** @typedef {import('./requests.js').Call} Call */

/** A text that ends with a file in base64. */
export class Encoded {
  /** @param {string} before @param {string} name of the file */
  constructor(before, name) {
    this.before = before
    this.name = name
  }
}

/** The base64 of an image alone. @param {any} url a data URL, or one that ends with a file */
export const base64 = (url) => url instanceof Encoded ? new Encoded('', url.name) : String(url).replace(/^.*?,/, '')

/**
 * A chat with files in the place of its images; other requests are returned as they are.
 * @param {Call} call @returns {Call}
 */
export function filed(call) {
  if (!Array.isArray(call.body?.messages)) return call
  /** By data URL. @type {Map<string, Encoded>} */
  const files = new Map()
  const file = (/** @type {string} */ url) => {
    const [before, type] = /^data:image\/(\w+);base64,/.exec(url) ?? []
    if (before && !files.has(url)) files.set(url, new Encoded(before, `image-${files.size + 1}.${type === 'jpeg' ? 'jpg' : type}`))
    return files.get(url) ?? url
  }
  const part = (/** @type {any} */ p) => p?.type === 'image_url' ? { ...p, image_url: { ...p.image_url, url: file(String(p.image_url?.url)) } } : p
  const messages = call.body.messages.map((m) => Array.isArray(m?.content) ? { ...m, content: m.content.map(part) } : m)
  return { ...call, body: { ...call.body, messages } }
}

/**
 * The names of the files in a value, in their order.
 * @param {any} value @returns {string[]}
 */
export function fileNames(value) {
  if (value === null || typeof value !== 'object') return []
  return value instanceof Encoded ? [value.name] : [...new Set(Object.values(value).flatMap(fileNames))]
}
