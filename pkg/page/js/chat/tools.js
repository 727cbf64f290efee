// @ts-check
// The functions that a model may call: their declarations, and a few that the page computes
// itself. It does not know elements.

/** @typedef {import('./tree.js').Call} Call */
/** @typedef {import('./tree.js').Result} Result */

/** @param {string} name @param {string} description @param {Record<string, string>} types by parameter */
const declare = (name, description, types) => ({ type: 'function', function: { name, description, parameters: {
  type: 'object', properties: Object.fromEntries(Object.entries(types).map(([key, type]) => [key, { type }])), required: Object.keys(types), additionalProperties: false,
} } })

/** Functions that the page computes. @type {Record<string, (args: any) => string>} */
const computed = {
  add: ({ a, b }) => String(a + b),
  multiply: ({ a, b }) => String(a * b),
  get_time: ({ city }) => time(String(city)),
}

/** The declarations of the functions that the page computes. */
export const example = [
  declare('multiply', 'Multiply two numbers.', { a: 'number', b: 'number' }),
  declare('add', 'Add two numbers.', { a: 'number', b: 'number' }),
  declare('get_time', 'Get the current time in a city.', { city: 'string' }),
]

/** Their declarations as a text. */
export const examples = JSON.stringify(example, null, 2)

/** Requests to them. */
export const requests = ['What is 17 times 23?', 'Add 12.5 and 30', 'What time is it in Tokyo?']

/**
 * The declarations in a text; none if it is wrong.
 * @param {string} text
 * @returns {any[]}
 */
export function known(text) {
  return wrong(text) ? [] : list(text)
}

/** @param {string} text @returns {any[]} */
const list = (text) => text.trim() ? [JSON.parse(text)].flat().map((t) => t.function ? t : { type: 'function', function: t }) : []

/**
 * What is wrong with declarations, as a sentence; '' if nothing is.
 * @param {string} text
 */
export function wrong(text) {
  let tools
  try {
    tools = list(text)
  } catch (error) {
    return `This is not JSON: ${error instanceof Error ? error.message : error}.`
  }
  const names = new Set()
  for (const [i, tool] of tools.entries()) {
    const f = tool.function
    if (typeof f?.name !== 'string' || !/^[\w-]{1,64}$/.test(f.name)) return `Function ${i + 1} needs a name of 1 to 64 letters, digits, _ or -.`
    if (names.has(f.name)) return `Two functions are called ${f.name}.`
    if (f.parameters !== undefined && (f.parameters === null || typeof f.parameters !== 'object' || Array.isArray(f.parameters))) return `The parameters of ${f.name} must be a JSON Schema.`
    names.add(f.name)
  }
  return ''
}

/**
 * The results of calls if the page can compute all of them; null if not.
 * @param {Call[]} calls
 * @param {string} tools the declarations
 * @returns {Result[]|null}
 */
export function run(calls, tools) {
  const results = calls.map((call) => ({ id: call.id, name: call.name, text: result(call, tools) }))
  return results.length && results.every((r) => r.text !== '') ? results : null
}

/**
 * What the page computes for a call of one of its own functions; '' if it cannot.
 * @param {Call} call
 * @param {string} tools the declarations
 */
export function result({ name, arguments: text }, tools) {
  const own = JSON.stringify(example.find((t) => t.function.name === name))
  if (!known(tools).some((t) => JSON.stringify(t) === own)) return ''
  try {
    return computed[name]?.(JSON.parse(text)) ?? ''
  } catch {
    return ''
  }
}

/** The time in a city whose name is that of a time zone. @param {string} city */
function time(city) {
  const wanted = city.split(',')[0]?.trim().toLowerCase().replace(/\s+/g, '_')
  const zone = Intl.supportedValuesOf('timeZone').find((z) => z.split('/').at(-1)?.toLowerCase() === wanted)
  return zone ? new Intl.DateTimeFormat('en-GB', { timeZone: zone, hour: '2-digit', minute: '2-digit' }).format(new Date()) : ''
}
