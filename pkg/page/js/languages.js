// @ts-check
// Requests as programs in Python, JavaScript and Go that need only the language's own library.
// Pure. OpenAI's SDKs are in snippets.js.
import { fileNames } from './files.js'
import { FILE, KEY, WIDE, importFiles, literal, node, pretty, python, quote, streams } from './snippets.js'

/** @typedef {import('./requests.js').Call} Call */

/** The headers that only the dialect of a request has. @param {Call} call @param {(text: string) => string} quoted @param {string} [between] */
const own = (call, quoted, between = ': ') => Object.entries(call.headers ?? {}).map(([name, value]) => quoted(name) + between + quoted(value))

/**
 * @param {Call} call @param {string} base the address of the server, without / at its end
 * @param {boolean} keyed whether the server requires a key
 */
export function pythonCode(call, base, keyed) {
  const flows = streams(call)
  const body = call.body && `body = ${literal(call.body, '', python)}\n`
  const headers = [call.body && '"Content-Type": "application/json"', keyed && `"Authorization": f"Bearer {os.environ['${KEY}']}"`, ...own(call, JSON.stringify)].filter(Boolean)
  const more = [
    call.body && 'data=json.dumps(body).encode()', headers.length && `headers={${headers.join(', ')}}`,
    call.method !== (call.body ? 'POST' : 'GET') && `method=${JSON.stringify(call.method)}`,
  ].filter(Boolean)
  const request = `request = urllib.request.Request(\n    ${[JSON.stringify(base + call.path), ...more].join(',\n    ')},\n)\n`
  const read = flows ? '    for line in response:\n        print(line.decode(), end="", flush=True)\n'
    : '    print(json.dumps(json.load(response), indent=2, ensure_ascii=False))\n'
  const modules = [fileNames(call.body).length ? 'base64' : '', !flows || call.body ? 'json' : '', keyed ? 'os' : '', 'urllib.request'].filter(Boolean)
  return `${modules.map((name) => `import ${name}\n`).join('')}\n${body ?? ''}${request}with urllib.request.urlopen(request) as response:\n${read}`
}

/**
 * @param {Call} call @param {string} base
 * @param {boolean} keyed
 */
export function javascriptCode(call, base, keyed) {
  const headers = [call.body && `'Content-Type': 'application/json'`, keyed && `Authorization: \`Bearer \${process.env.${KEY}}\``, ...own(call, quote)].filter(Boolean)
  const options = [
    call.method !== 'GET' && `  method: '${call.method}',\n`, headers.length && `  headers: { ${headers.join(', ')} },\n`,
    call.body && `  body: JSON.stringify(${literal(call.body, '  ', node)}),\n`,
  ].filter(Boolean)
  const fetched = `const response = await fetch(${JSON.stringify(base + call.path)}${options.length ? `, {\n${options.join('')}}` : ''})\n`
  const failed = 'if (!response.ok) throw new Error(await response.text())\n'
  return importFiles(call) + fetched + failed + (streams(call)
    ? 'for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {\n  process.stdout.write(chunk)\n}\n'
    : 'console.log(JSON.stringify(await response.json(), null, 2))\n')
}

/**
 * @param {Call} call @param {string} base
 * @param {boolean} keyed
 */
export function goCode(call, base, keyed) {
  const reads = fileNames(call.body).length > 0
  const text = call.body ? goBody(pretty(call.body).replaceAll('\uFEFF', '\\ufeff')) : ''
  const begin = call.method === 'GET' && !call.body ? `http.NewRequest("GET", ${JSON.stringify(base + call.path)}, nil)`
    : `http.NewRequest(${JSON.stringify(call.method)}, ${JSON.stringify(base + call.path)}, ${call.body ? 'strings.NewReader(body)' : 'nil'})`
  const imports = [reads ? 'encoding/base64' : '', 'io', 'log', 'net/http', 'os', call.body ? 'strings' : ''].filter(Boolean)
  return `package main

import (
${imports.map((name) => `\t"${name}"\n`).join('')})

${text && `${reads ? 'var' : 'const'} body = ${text}\n\n`}func main() {
	request, err := ${begin}
	if err != nil {
		log.Fatal(err)
	}
${call.body ? '\trequest.Header.Set("Content-Type", "application/json")\n' : ''}${keyed ? `\trequest.Header.Set("Authorization", "Bearer "+os.Getenv("${KEY}"))\n` : ''}${own(call, JSON.stringify, ', ').map((pair) => `\trequest.Header.Set(${pair})\n`).join('')}	response, err := http.DefaultClient.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	if _, err := io.Copy(os.Stdout, response.Body); err != nil {
		log.Fatal(err)
	}
	if response.StatusCode >= 400 {
		log.Fatal(response.Status)
	}
}
${reads ? goEncoded : ''}`
}

const goEncoded = `
// encoded returns a file in base64.
func encoded(name string) string {
	data, err := os.ReadFile(name)
	if err != nil {
		log.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(data)
}
`

/** @param {string} text JSON with marked files */
const goBody = (text) => text.split(FILE).map((part, i) => i % 2 ? `encoded("${part}")` : goString(part)).join(' + ')

/**
 * A Go string: a raw one, or if the text has backquotes, which these cannot hold, an
 * interpreted one. JSON escapes the other characters that raw strings change.
 * @param {string} text
 */
const goString = (text) => text.includes('`') ? wrapped(text) : `\`${text}\``

/** @param {string} text */
function wrapped(text) {
  const quoted = (/** @type {string} */ s) => JSON.stringify(s).replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029')
  return text.length < WIDE ? quoted(text) : text.split(/(?<=\n)/).map(quoted).join(' +\n\t')
}
