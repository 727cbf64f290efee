// @ts-check
// JSON Schemas as the reference shows them: types, limits and members in words, and examples.
// Pure.

/** @typedef {Record<string, any>} Schema */

/**
 * A key of an object, or a parameter outside the body.
 * @typedef {object} Member
 * @property {string} name
 * @property {Schema} schema resolved
 * @property {boolean} required
 * @property {string} type in words
 * @property {string} text
 * @property {string} fallback the value of an absent key; ''
 * @property {string[]} limits
 * @property {string[]} values the allowed values as JSON, if they are few
 * @property {string} status '' (honoured), 'not supported' or 'no effect'
 * @property {string} remote the effect with models of other providers, if it differs
 */

/** @typedef {{title: string, members: Member[], type: string}} Form */

/** Resolves references within a document. */
export class Schemas {
  /** @param {any} document */
  constructor(document) {
    this.document = document
  }

  /**
   * Follows a reference; its siblings take precedence.
   * @param {Schema|undefined} schema @returns {Schema}
   */
  resolve(schema) {
    if (!schema) return {}
    if (!schema.$ref) return schema
    const { $ref, ...siblings } = schema
    const target = $ref.replace(/^#\//, '').split('/').reduce((/** @type {any} */ at, /** @type {string} */ key) => at?.[key.replaceAll('~1', '/').replaceAll('~0', '~')], this.document)
    return { ...this.resolve(target), ...siblings }
  }

  /**
   * The alternatives of a schema without null, resolved: one if it has no alternatives.
   * @param {Schema|undefined} schema @returns {Schema[]}
   */
  ways(schema) {
    const s = this.resolve(schema)
    if (s.anyOf) return s.anyOf.flatMap((/** @type {Schema} */ way) => this.ways(way))
    const types = typesOf(s)
    if (types.length === 1 && types[0] === 'null') return []
    return [s]
  }

  /**
   * The type in words: "array of strings".
   * @param {Schema|undefined} schema @param {boolean} [plural] @returns {string}
   */
  type(schema, plural = false) {
    const words = this.ways(schema).map((s) => this.#word(s, plural))
    return [...new Set(words)].join(' or ') || 'any'
  }

  /** @param {Schema|undefined} schema @returns {boolean} */
  #nullable(schema) {
    const s = this.resolve(schema)
    return typesOf(s).includes('null') || (s.anyOf ?? []).some((/** @type {Schema} */ way) => this.#nullable(way))
  }

  /** @param {Schema} s @param {boolean} plural */
  #word(s, plural) {
    const types = typesOf(s).filter((t) => t !== 'null')
    const many = (/** @type {string} */ word) => plural ? word + 's' : word
    if (s.contentSchema) return many('JSON string')
    return types.map((type) => {
      if (type === 'array') return `${many('array')} of ${this.type(s.items, true)}`
      const values = s.additionalProperties
      if (type === 'object' && !s.properties && values && Object.keys(values).length) return `${many('map')} to ${this.type(values, true)}`
      return many(type)
    }).join(' or ') || (plural ? 'any values' : 'any')
  }

  /** @param {Schema|undefined} schema @returns {string[]} */
  limits(schema) {
    return [...new Set(this.ways(schema).flatMap((s) => this.#limitsOf(s)))]
  }

  /** @param {Schema} s @returns {string[]} */
  #limitsOf(s) {
    const found = []
    const [low, above, high] = [s.minimum, s.exclusiveMinimum, s.maximum]
    if (low !== undefined && high !== undefined) found.push(low === high ? `only ${low}` : `${low} to ${high}`)
    else if (above !== undefined) found.push(high === undefined ? `above ${above}` : `above ${above}, up to ${high}`)
    else if (low !== undefined) found.push(`${low} or more`)
    else if (high !== undefined) found.push(`up to ${high}`)
    if (s.minLength === 1) found.push('not empty')
    if (s.pattern) found.push(`matches ${s.pattern}`)
    if (s.format) found.push(s.format)
    if (s.contentEncoding) found.push(s.contentEncoding)
    const [least, most] = [s.minItems, s.maxItems]
    if (most === 0) found.push('empty')
    else if (least !== undefined && most !== undefined) found.push(`${least} to ${most} items`)
    else if (least !== undefined) found.push(`${least} or more items`)
    else if (most !== undefined) found.push(`up to ${most} items`)
    if (s.items) found.push(...this.limits(s.items).map((l) => `each ${l}`))
    if (s.propertyNames?.pattern) found.push(`keys match ${s.propertyNames.pattern}`)
    return found
  }

  /** The allowed values as JSON. @param {Schema|undefined} schema @returns {string[]} */
  values(schema) {
    const all = this.ways(schema).flatMap((s) => s.const !== undefined ? [s.const] : s.enum ?? (s.items ? this.resolve(s.items).enum ?? [] : []))
    return [...new Set(all.filter((v) => v !== null).map((v) => JSON.stringify(v)))]
  }

  /**
   * @param {string} name @param {Schema|undefined} given @param {boolean} required
   * @param {string} [described] text next to the schema
   * @returns {Member}
   */
  member(name, given, required, described) {
    const schema = this.resolve(given)
    let text = described || schema.description || '', fallback = schema.default === undefined ? '' : JSON.stringify(schema.default)
    /** @type {Record<string, string>} */
    const words = { unsupported: 'not supported', 'no effect': 'no effect' }
    let status = words[schema['x-disposition']] ?? ''
    const absent = /^Default: ([^;]*?)(?:; (.*)|\.)$/s.exec(text)
    if (absent) {
      fallback ||= absent[1] ?? ''
      text = absent[2] ?? ''
    }
    const without = /^Not supported: (.*)$/s.exec(text)
    if (without) {
      status = 'not supported'
      text = without[1] ?? ''
    }
    return {
      name, schema, required, type: this.type(schema), text: sentence(text), fallback, status, remote: schema['x-remote'] ?? '',
      limits: this.limits(schema), values: this.values(schema),
    }
  }

  /**
   * The members of the objects that a value may contain, one form for each kind of object.
   * @param {Schema|undefined} schema @returns {Form[]}
   */
  forms(schema) {
    return this.ways(schema).flatMap((s) => {
      if (s.contentSchema) return this.forms(s.contentSchema)
      if (s.items) return this.forms(s.items)
      if (s.properties) {
        const required = new Set(s.required ?? [])
        const members = Object.entries(s.properties).map(([name, member]) => this.member(name, member, required.has(name)))
        return members.length ? [{ title: s.title ?? '', type: 'object', members }] : []
      }
      return s.additionalProperties ? this.forms(s.additionalProperties) : []
    })
  }

  /**
   * An example of a value: given ones, and otherwise made ones.
   * @param {Schema|undefined} schema @param {string} [name] @param {string} [model] @param {number} [depth]
   * @returns {any}
   */
  example(schema, name = '', model = 'novels', depth = 0) {
    const s = this.ways(schema)[0]
    if (!s || depth > 8 || this.#nullable(schema) && !usual.test(name)) return null
    if (s.examples?.length) return s.examples[0]
    if (s.const !== undefined) return s.const
    if (s.enum?.length) return s.enum[0]
    if (s.contentSchema) return this.example(s.contentSchema, name, model, depth)
    switch (typesOf(s).find((t) => t !== 'null')) {
      case 'object': {
        if (!s.properties) return s.additionalProperties && Object.keys(s.additionalProperties).length ? { name: this.example(s.additionalProperties, '', model, depth + 1) } : {}
        const shown = Object.entries(s.properties).filter(([key]) => !s.required || s.required.includes(key) || usual.test(key))
        return Object.fromEntries(shown.map(([key, member]) => [key, this.example(member, key, model, depth + 1)]))
      }
      case 'array': return [this.example(s.items, singular(name), model, depth + 1)]
      case 'boolean': return true
      case 'integer': return s.minimum && s.minimum > 0 ? s.minimum : integer(name)
      case 'number': return /logprob|log_prob/.test(name) ? -1.25 : /score|embedding|value/.test(name) ? 0.125 : s.minimum ?? 0.5
      case 'string': return text(name, model)
    }
    return null
  }
}

/** The optional keys that examples have. */
const usual = /^(content|text|usage|delta|finish_reason|completion|generated_text|message)$/

/** @param {Schema} s @returns {string[]} */
function typesOf(s) {
  return s.type === undefined ? [] : Array.isArray(s.type) ? s.type : [s.type]
}

/** @param {string} s */
export function sentence(s) {
  const t = /^[\w-]+\.\w/.test(s) ? s : s.charAt(0).toUpperCase() + s.slice(1) // names of files stay
  return t && !/[.!?…]$/.test(t) ? t + '.' : t
}

/** @param {string} name */
const singular = (name) => name.replace(/s$/, '')

/** @param {string} name */
function integer(name) {
  const known = /** @type {[RegExp, number][]} */ ([
    [/created|started|loaded/i, 1767225600], [/mtime|time/i, 1767225600000], [/index|offset/i, 0], [/total/i, 32], [/prompt|input/i, 12],
    [/completion|output|generated/i, 20], [/context|max_model_len|size/i, 1024], [/token|id/i, 464], [/step/i, 1000],
  ]).find(([pattern]) => pattern.test(name))
  return known ? known[1] : 1
}

/** @param {string} name @param {string} model */
function text(name, model) {
  const known = /** @type {[RegExp, string][]} */ ([
    [/^(model|model_name|root|engine|name|base_model_name)$/, model], [/model_?(family|type)|family|owned_by/, 'local'], [/model_version|version/, '1.0.0'],
    [/finish_reason|reason/, 'stop'], [/^(text|content|completion|generated_text|generation|message|data|raw_completion|prompt)$/, ' stood above the bay.'],
    [/^(id|.*_id|request)$/, '59d0ee9a1de2b0fcb1a68c7c'], [/token|piece/, ' lighthouse'], [/error/, 'internal error'], [/date|day|at$/, '2026-01-01'],
  ]).find(([pattern]) => pattern.test(name))
  return known ? known[1] : '…'
}
