// @ts-check
// A JSON value with its schema as a tree of rows, tables and values with the names of their
// types. Pure.

/**
 * @typedef {{kind: 'value', type: string, text: string}
 *   | {kind: 'object', type: string, members: {key: string, value: Shown}[]}
 *   | {kind: 'list', type: string, items: Shown[]}
 *   | {kind: 'table', type: string, keys: string[], rows: (Shown | null)[][]}
 * } Shown
 */

/** @param {any} value @returns {string} its JSON type */
function jsonType(value) {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  if (Number.isInteger(value)) return 'integer'
  return typeof value
}

/**
 * The type in the schema, or else the type of the value.
 * @param {any} value @param {any} schema
 */
function typeName(value, schema) {
  if (Array.isArray(schema?.enum)) return 'choice'
  const types = [schema?.type ?? []].flat()
  if (types.includes('number') && typeof value === 'number' && !types.includes('integer')) return 'number'
  const type = jsonType(value)
  return schema?.format && type === 'string' ? schema.format : type
}

/**
 * Resolves one $ref within the schema's own document.
 * @param {any} schema @param {any} root @returns {any}
 */
function resolve(schema, root) {
  const ref = schema?.$ref
  if (typeof ref !== 'string' || !ref.startsWith('#')) return schema
  return ref.slice(1).split('/').filter(Boolean)
    .reduce((/** @type {any} */ s, key) => s?.[decodeURIComponent(key).replaceAll('~1', '/').replaceAll('~0', '~')], root)
}

/** @param {any} value @returns {value is Record<string, any>} */
const isObject = (value) => value !== null && typeof value === 'object' && !Array.isArray(value)

/**
 * @param {any} value @param {any} [schema] @param {any} [root] the whole schema
 * @returns {Shown}
 */
export function typed(value, schema = {}, root = schema) {
  schema = resolve(schema, root)
  if (isObject(value)) {
    const members = Object.entries(value).map(([key, member]) => ({ key, value: typed(member, memberOf(schema, key), root) }))
    return { kind: 'object', type: 'object', members }
  }
  if (!Array.isArray(value)) return { kind: 'value', type: typeName(value, schema), text: typeof value === 'string' ? value : JSON.stringify(value) }
  const item = (/** @type {number} */ i) => schema?.prefixItems?.[i] ?? schema?.items ?? {}
  if (value.length > 0 && value.every(isObject)) {
    const keys = [...new Set(value.flatMap(Object.keys))]
    const rows = value.map((row, i) => keys.map((key) =>
      key in row ? typed(row[key], memberOf(resolve(item(i), root), key), root) : null))
    return { kind: 'table', type: 'array', keys, rows }
  }
  return { kind: 'list', type: 'array', items: value.map((v, i) => typed(v, item(i), root)) }
}

/** @param {any} schema @param {string} key */
const memberOf = (schema, key) => schema?.properties?.[key] ?? (isObject(schema?.additionalProperties) ? schema.additionalProperties : {})

/**
 * Describes the first error in a JSON text; null for valid JSON.
 * @param {string} text
 */
export function jsonFault(text) {
  if (text.trim() === '') return 'it is empty'
  try {
    JSON.parse(text)
    return null
  } catch (err) {
    const message = String(/** @type {Error} */ (err).message)
    const at = /position (\d+)/.exec(message)
    if (!at) return message.replace(/^JSON\.parse: /, '')
    const line = text.slice(0, Number(at[1])).split('\n').length
    return `${message.replace(/ (in JSON )?at position.*$/, '')} on line ${line}`
  }
}
