// @ts-check
// Requests as programs to copy: curl, Python and JavaScript. Pure. They do not contain the
// key, but read it from the environment.
import { KEY, literal, node, openaiNode, openaiPython, pretty, python, quote } from '../snippets.js'

/**
 * A request with all of its parameters.
 * @typedef {object} Request
 * @property {string} method
 * @property {string} path with its query string
 * @property {Record<string, string>} headers without the key
 * @property {any} body JSON; null: none
 * @property {string} file the media type of a body of bytes; ''
 * @property {import('./document.js').Field[]} fields of a body that is a form
 * @property {boolean} flows the answer is a stream
 */

/** @type {{id: string, title: string, of: (request: Request, base: string, keyed: boolean) => string}[]} */
export const languages = [
  { id: 'curl', title: 'curl', of: curl },
  { id: 'python', title: 'Python', of: (r, base, keyed) => sdk(r, base, openaiPython) ?? requests(r, base, keyed) },
  { id: 'javascript', title: 'JavaScript', of: (r, base, keyed) => sdk(r, base, openaiNode) ?? fetched(r, base, keyed) },
]

/** The file that samples send. */
const FILE = 'checkpoint.json'
/** The file that samples send in a form. */
const LINES = 'requests.jsonl'

/** @param {Request} r @param {string} base @param {typeof openaiPython} of */
function sdk(r, base, of) {
  if (Object.keys(r.headers).length || r.file || r.fields.length) return null
  return of(/** @type {any} */ ({ method: r.method, path: r.path, body: r.body }), base)?.trimEnd() ?? null
}

/** @param {Request} r @param {string} base @param {boolean} keyed */
function curl(r, base, keyed) {
  const lines = [`curl -s${r.flows ? 'N' : ''} ${quote(base + r.path)}`]
  if (r.method !== (r.body === null && !r.file && !r.fields.length ? 'GET' : 'POST')) lines[0] += ` -X ${r.method}`
  if (keyed) lines.push(`-H "Authorization: Bearer $${KEY}"`)
  for (const [name, value] of Object.entries(r.headers)) lines.push(`-H ${quote(`${name}: ${value}`)}`)
  if (r.file) lines.push(`-H ${quote(`Content-Type: ${r.file}`)}`, `--data-binary @${FILE}`)
  for (const f of r.fields) lines.push(`-F ${f.name}=${f.file ? `@${LINES}` : quote(f.value)}`)
  if (r.body !== null) lines.push(`-H 'Content-Type: application/json'`, `-d ${quote(pretty(r.body))}`)
  return lines.join(' \\\n  ')
}

/** @param {Request} r @param {string} base @param {boolean} keyed */
function requests(r, base, keyed) {
  const texts = r.fields.filter((f) => !f.file), files = r.fields.filter((f) => f.file)
  const headers = Object.entries(r.headers).map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`)
  if (keyed) headers.unshift(`"Authorization": f"Bearer {os.environ['${KEY}']}"`)
  if (r.file) headers.push(`"Content-Type": ${JSON.stringify(r.file)}`)
  const args = [
    JSON.stringify(base + r.path), headers.length && block('headers={', headers, '    }'), r.file && `data=open("${FILE}", "rb")`,
    texts.length && `data={${texts.map((f) => `${JSON.stringify(f.name)}: ${JSON.stringify(f.value)}`).join(', ')}}`,
    files.length && `files={${files.map((f) => `${JSON.stringify(f.name)}: open("${LINES}", "rb")`).join(', ')}}`,
    r.body !== null && `json=${literal(r.body, '    ', python)}`, r.flows && 'stream=True',
  ].filter(Boolean)
  const print = r.flows ? 'for line in response.iter_lines(decode_unicode=True):\n    print(line)' : 'print(response.text)'
  return `${keyed ? 'import os\n\n' : ''}import requests

response = requests.${r.method.toLowerCase()}(${args.length === 1 ? args[0] : `\n${args.map((a) => `    ${a},\n`).join('')}`})
response.raise_for_status()
${print}`
}

/** @param {string} open @param {string[]} lines @param {string} close */
function block(open, lines, close) {
  return `${open}\n${lines.map((line) => `        ${line},\n`).join('')}${close}`
}

/** @param {Request} r @param {string} base @param {boolean} keyed */
function fetched(r, base, keyed) {
  const headers = Object.entries(r.headers).map(([name, value]) => `${node.key(name)}: ${JSON.stringify(value)}`)
  if (keyed) headers.unshift(`Authorization: \`Bearer \${process.env.${KEY}}\``)
  if (r.body !== null) headers.push(`'Content-Type': 'application/json'`)
  if (r.file) headers.push(`'Content-Type': ${JSON.stringify(r.file)}`)
  const options = [
    r.method !== 'GET' && `  method: '${r.method}',\n`, headers.length && `  headers: {\n${headers.map((h) => `    ${h},\n`).join('')}  },\n`,
    r.body !== null && `  body: JSON.stringify(${literal(r.body, '  ', node)}),\n`, r.file && `  body: await readFile('${FILE}'),\n`,
    r.fields.length && '  body: form,\n',
  ].filter(Boolean)
  const print = r.flows ? 'for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {\n  process.stdout.write(piece)\n}' : 'console.log(await response.text())'
  const parts = r.fields.map((f) => `form.append('${f.name}', ${f.file ? `new Blob([await readFile('${LINES}')]), '${LINES}'` : `'${f.value}'`})\n`)
  const form = parts.length ? `const form = new FormData()\n${parts.join('')}` : ''
  return `${r.file || form ? `import { readFile } from 'node:fs/promises'\n\n` : ''}${form}const response = await fetch(${JSON.stringify(base + r.path)}${options.length ? `, {\n${options.join('')}}` : ''})
if (!response.ok) throw new Error(await response.text())
${print}`
}
