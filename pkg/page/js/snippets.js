// @ts-check
// Requests as programs to copy: curl, OpenAI's SDKs for Python and Node, and Cohere's for Python. Pure. They do
// not contain the key, but read it from the environment. The SDKs of Anthropic and Ollama are in sdks.js.

import { Encoded, fileNames } from './files.js'

/** @typedef {import('./requests.js').Call} Call */

/** The environment variable with the key. */
export const KEY = 'GLOSSA_API_KEY'

export const WIDE = 76 // columns of a call on one line

/** @param {string} text quoted for a POSIX shell, with literal $ and \ */
export const quote = (text) => `'${text.replaceAll("'", `'\\''`)}'`

/** Whether the answer is a stream. @param {Call} call */
export const streams = (call) => call.body?.stream ?? /stream$|inference|\/api\/chat$/.test(call.path.split('?')[0] ?? '')

/**
 * @param {Call} call @param {string} base the address of the server, without / at its end
 * @param {boolean} keyed whether the server requires a key
 */
export function curl(call, base, keyed) {
  const reads = fileNames(call.body).length > 0
  const lines = [`curl -s${streams(call) ? 'N' : ''} ${quote(base + call.path)}`]
  if (call.method !== (call.body ? 'POST' : 'GET')) lines[0] += ` -X ${call.method}`
  if (keyed) lines.push(`-H "Authorization: Bearer $${KEY}"`)
  for (const [name, value] of Object.entries(call.headers ?? {})) lines.push(`-H ${quote(`${name}: ${value}`)}`)
  if (call.body) {
    lines.push(`-H 'Content-Type: application/json'`)
    lines.push(reads ? '-d @-' : `-d ${quote(pretty(call.body))}`)
  }
  const command = lines.join(' \\\n  ')
  return reads ? `printf '%s' ${reading(quote(pretty(call.body)))} | ${command}` : command // files would exceed the length of an argument
}

/** @param {string} quoted JSON with marked files */
const reading = (quoted) => quoted.replace(FILE, (_, name) => `'"$(base64 < ${name})"'`)

/** @typedef {{atom: (v: any) => string, key: (k: string) => string, deeper: string, last: string}} Language last: the separator that may follow the last member */

/**
 * The members of a list or of an object.
 * @param {any} value @param {Language} language @param {(v: any) => string} write
 * @returns {string[]}
 */
const members = (value, language, write) => Array.isArray(value) ? value.map(write)
  : Object.entries(value).map(([key, member]) => `${language.key(key)}: ${write(member)}`)

/** @param {any} value */
const isAtom = (value) => value === null || typeof value !== 'object' || value instanceof Encoded

/**
 * A value on one line, in a language with the strings of JSON.
 * @param {any} value @param {Language} language @returns {string}
 */
function flat(value, language) {
  if (isAtom(value)) return language.atom(value)
  const line = members(value, language, (v) => flat(v, language)).join(', ')
  return Array.isArray(value) ? `[${line}]` : `{${line}}`
}

/**
 * A value on as many lines as needed.
 * @param {any} value @param {string} indent @param {Language} language @returns {string}
 */
export function literal(value, indent, language) {
  const line = flat(value, language)
  if (line.length <= WIDE - indent.length || isAtom(value)) return line
  const deeper = indent + language.deeper
  const lines = members(value, language, (v) => literal(v, deeper, language)).map((m) => deeper + m).join(',\n')
  return `${line[0]}\n${lines}${language.last}\n${indent}${line.at(-1)}`
}

/** Matches the mark of a file in JSON, which has no other NUL. */
export const FILE = /\0([^\0]*)\0/g

/** The text before a file, as an operand. @param {Encoded} v */
const before = (v) => v.before ? `${JSON.stringify(v.before)} + ` : ''

/** @type {Language} */
const json = { atom: (v) => v instanceof Encoded ? `"${v.before}\0${v.name}\0"` : JSON.stringify(v), key: (k) => JSON.stringify(k), deeper: '  ', last: '' }
/** @type {Language} */
export const python = { ...json, deeper: '    ', last: ',',
  atom: (v) => v instanceof Encoded ? `${before(v)}base64.b64encode(open("${v.name}", "rb").read()).decode()`
    : v === null ? 'None' : v === true ? 'True' : v === false ? 'False' : JSON.stringify(v),
}
/** @type {Language} */
export const node = { ...json, last: ',',
  atom: (v) => v instanceof Encoded ? `${before(v)}readFileSync("${v.name}", "base64")` : JSON.stringify(v),
  key: (k) => /^[A-Za-z_$][\w$]*$/.test(k) ? k : JSON.stringify(k),
}

/** JSON on one line, with spaces between its members.
 * @param {any} value */
export const compact = (value) => flat(value, json)

/** JSON on as few lines as possible.
 * @param {any} value */
export const pretty = (value) => literal(value, '', json)

/**
 * The functions of the SDKs by path, with the expressions to print of a whole answer and of
 * a piece of a stream.
 * @type {Record<string, {method: string, whole: string, piece: string}>}
 */
const METHODS = {
  '/v1/chat/completions': { method: 'chat.completions.create', whole: 'choices[0].message.content', piece: 'choices[0].delta.content' },
  '/v1/completions': { method: 'completions.create', whole: 'choices[0].text', piece: 'choices[0].text' },
  '/v1/responses': { method: 'responses.create', whole: 'output_text', piece: '' },
  '/v1/embeddings': { method: 'embeddings.create', whole: 'data[0].embedding', piece: '' },
  '/v1/models': { method: 'models.list', whole: '', piece: '' },
}

/** The expressions for answers that may be calls of tools. @type {Record<string, string>} */
const CALLED = { '/v1/chat/completions': 'choices[0].message', '/v1/responses': 'output' }

/** @param {Call} call */
function printed(call) {
  const { method, whole, piece } = METHODS[call.path]
  const scored = call.path === '/v1/completions' && call.body?.echo && call.body.max_tokens === 0
  const said = scored ? 'choices[0].logprobs.token_logprobs' : call.body?.tools ? CALLED[call.path] ?? whole : whole
  return { method, whole: said, piece, streams: call.body?.stream === true }
}

/**
 * @param {Call} call one of OpenAI's; null for others
 * @param {string} base @returns {string | null}
 */
export function openaiPython(call, base) {
  if (!METHODS[call.path]) return null
  const { method, whole, piece, streams } = printed(call)
  const invoked = `client.${method}(${call.body ? keywords(call.body) : ''})`
  const head = `${pythonFiles(call)}import os

from openai import OpenAI

client = OpenAI(
    base_url=${JSON.stringify(`${base}/v1`)},
    api_key=os.environ.get("${KEY}", "not-needed"),
)
`
  if (method === 'models.list') return `${head}for model in ${invoked}:\n    print(model.id)\n`
  if (!streams) return `${head}answer = ${invoked}\nprint(answer.${whole})\n`
  if (!piece) return `${head}stream = ${invoked}\nfor event in stream:\n    if event.type == "response.output_text.delta":\n        print(event.delta, end="", flush=True)\n`
  return `${head}stream = ${invoked}\nfor chunk in stream:\n    if chunk.choices and chunk.${piece}:\n        print(chunk.${piece}, end="", flush=True)\n`
}

/** The import of a program that reads files. @param {Call} call */
export const pythonFiles = (call) => fileNames(call.body).length ? 'import base64\n' : ''

/** Arguments of Python, one a line.
 * @param {Record<string, any>} body */
export const keywords = (body) => `\n${Object.entries(body).map(([key, value]) => `    ${key}=${literal(value, '    ', python)},\n`).join('')}`

/**
 * @param {Call} call one of Cohere's; null for others
 * @param {string} base @returns {string | null}
 */
export function coherePython(call, base) {
  if (call.path !== '/v1/rerank' || !call.body) return null
  return `import os

import cohere

client = cohere.ClientV2(
    base_url=${JSON.stringify(base)},
    api_key=os.environ.get("${KEY}", "not-needed"),
)
answer = client.rerank(${keywords(call.body)})
for result in answer.results:
    print(result.index, result.relevance_score)
`
}

/**
 * @param {Call} call one of OpenAI's; null for others
 * @param {string} base @returns {string | null}
 */
export function openaiNode(call, base) {
  if (!METHODS[call.path]) return null
  const { method, whole, piece, streams } = printed(call)
  const invoked = `client.${method}(${call.body ? broken(call.body) : ''})`
  const head = `${importFiles(call)}import OpenAI from 'openai'

const client = new OpenAI({
  baseURL: ${JSON.stringify(`${base}/v1`)},
  apiKey: process.env.${KEY} ?? 'not-needed',
})
`
  if (method === 'models.list') return `${head}for await (const model of ${invoked}) console.log(model.id)\n`
  if (!streams) return `${head}const answer = await ${invoked}\nconsole.log(answer.${whole})\n`
  if (!piece) return `${head}const stream = await ${invoked}\nfor await (const event of stream) {\n  if (event.type === 'response.output_text.delta') process.stdout.write(event.delta)\n}\n`
  return `${head}const stream = await ${invoked}\nfor await (const chunk of stream) {\n  process.stdout.write(chunk.${piece.replace('[0].', '[0]?.')} ?? '')\n}\n`
}

/** The import of a program that reads files. @param {Call} call */
export const importFiles = (call) => fileNames(call.body).length === 0 ? '' : `import { readFileSync } from 'node:fs'\n\n`

/** An object of one member a line.
 * @param {Record<string, any>} body */
export const broken = (body) => `{\n${Object.entries(body).map(([key, value]) => `  ${node.key(key)}: ${literal(value, '  ', node)},\n`).join('')}}`
