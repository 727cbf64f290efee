// @ts-check
// Requests as programs with the SDKs of Anthropic and Ollama, for Python and Node. Pure.
import { KEY, broken, importFiles, keywords, pythonFiles } from './snippets.js'

/** @typedef {import('./requests.js').Call} Call */

/** Keys that Anthropic's SDK for Python has no arguments for, from version 2 on. */
const EXTRA = ['temperature', 'top_p', 'top_k']

/** Moves those keys of a body to the argument that adds to it. @param {Record<string, any>} body */
function extended(body) {
  const has = (/** @type {boolean} */ is) => Object.fromEntries(Object.entries(body).filter(([key]) => EXTRA.includes(key) === is))
  const extra = has(true)
  return Object.keys(extra).length ? { ...has(false), extra_body: extra } : body
}

/** @param {Call} call one of Anthropic's @param {string} base the address of the server, without / at its end */
export function anthropicPython(call, base) {
  const head = `${pythonFiles(call)}import os

from anthropic import Anthropic

client = Anthropic(
    base_url=${JSON.stringify(base)},
    api_key=os.environ.get("${KEY}", "not-needed"),
)
`
  if (!call.body) return `${head}for model in client.models.list():\n    print(model.id)\n`
  const { stream, ...rest } = call.body, body = extended(rest)
  if (!stream) return `${head}message = client.messages.create(${keywords(body)})\nfor block in message.content:\n    print(block.text if block.type == "text" else block)\n`
  return `${head}with client.messages.stream(${keywords(body)}) as stream:\n    for text in stream.text_stream:\n        print(text, end="", flush=True)\n`
}

/** @param {Call} call one of Anthropic's @param {string} base */
export function anthropicNode(call, base) {
  const head = `${importFiles(call)}import Anthropic from '@anthropic-ai/sdk'

const client = new Anthropic({
  baseURL: ${JSON.stringify(base)},
  apiKey: process.env.${KEY} ?? 'not-needed',
})
`
  if (!call.body) return `${head}for await (const model of client.models.list()) console.log(model.id)\n`
  const { stream, ...body } = call.body
  if (!stream) return `${head}const message = await client.messages.create(${broken(body)})\nfor (const block of message.content) console.log(block.type === 'text' ? block.text : block)\n`
  return `${head}const stream = client.messages.stream(${broken(body)})\nstream.on('text', (text) => process.stdout.write(text))\nawait stream.finalMessage()\n`
}

/**
 * The functions of Ollama's SDKs by path, with the expression to print.
 * @type {Record<string, {method: string, said: string}>}
 */
const OLLAMA = {
  '/api/chat': { method: 'chat', said: 'message.content' },
  '/api/generate': { method: 'generate', said: 'response' },
  '/api/embed': { method: 'embed', said: 'embeddings[0]' },
}

/** The function of a request, and the expression to print. @param {Call} call */
function spoken(call) {
  const { method, said } = OLLAMA[call.path] ?? { method: 'list', said: '' }
  return { method, said: call.body?.tools && !call.body.stream ? 'message' : said }
}

/** @param {Call} call one of Ollama's @param {string} base */
export function ollamaPython(call, base) {
  const { method, said } = spoken(call)
  const head = `${pythonFiles(call)}import os

from ollama import Client

client = Client(
    host=${JSON.stringify(base)},
    headers={"Authorization": "Bearer " + os.environ.get("${KEY}", "not-needed")},
)
`
  if (!call.body) return `${head}for model in client.list().models:\n    print(model.model)\n`
  const invoked = `client.${method}(${keywords(call.body)})`
  if (!call.body.stream) return `${head}answer = ${invoked}\nprint(answer.${said})\n`
  return `${head}for chunk in ${invoked}:\n    print(chunk.${said}, end="", flush=True)\n`
}

/** @param {Call} call one of Ollama's @param {string} base */
export function ollamaNode(call, base) {
  const { method, said } = spoken(call)
  const head = `${importFiles(call)}import { Ollama } from 'ollama'

const client = new Ollama({
  host: ${JSON.stringify(base)},
  headers: { Authorization: \`Bearer \${process.env.${KEY} ?? 'not-needed'}\` },
})
`
  if (!call.body) return `${head}for (const { name } of (await client.list()).models) console.log(name)\n`
  const invoked = `await client.${method}(${broken(call.body)})`
  if (!call.body.stream) return `${head}const answer = ${invoked}\nconsole.log(answer.${said})\n`
  return `${head}for await (const chunk of ${invoked}) {\n  process.stdout.write(chunk.${said})\n}\n`
}
