// The parts of the page that need no browser: requests parsed and translated to other
// dialects, programs to copy, JSON with its schema, similarities, maps.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { suite, test } from 'node:test'
import { DIALECTS, outputType, readings } from '../../pkg/page/js/dialects.js'
import { Encoded } from '../../pkg/page/js/files.js'
import { isOutputType, read, schemaOf } from '../../pkg/page/js/requests.js'
import { goCode, javascriptCode, pythonCode } from '../../pkg/page/js/languages.js'
import { coherePython, compact, curl, openaiNode, openaiPython, quote } from '../../pkg/page/js/snippets.js'
import { jsonFault, typed } from '../../pkg/page/js/typed.js'
import { cut, fit, high, place, radius } from '../../pkg/page/js/labels.js'
import { eigen, plane } from '../../pkg/page/js/plane.js'
import { fixed } from '../../pkg/page/js/scale.js'
import { cosine, extremes, nearest, similarities } from '../../pkg/page/js/vectors.js'

const post = (path, body) => ({ method: 'POST', path, body })
const say = (id, intent, family = 'local') => DIALECTS.find((d) => d.id === id).say(intent, family)

const types = { name: 'str', age: 'int', height: 'float', tall: 'bool', kind: ['a', 'b'] }

suite('requests', () => {
  test('what the page sends is read, and in its own dialect said as it was', () => {
    const settings = { max_tokens: 9, temperature: 0.5, seed: 1, stop: ['a'], n: 2, top_p: 0.5, presence_penalty: 1, frequency_penalty: -1, stream: true }
    const sent = [
      ['openai', { method: 'GET', path: '/v1/models', body: null }],
      ['alpha', { method: 'GET', path: '/api/models', body: null }],
      ['alephalpha', { method: 'GET', path: '/models_available', body: null }],
      ['invoke', { method: 'GET', path: '/list_models', body: null }],
      ['openai', post('/v1/chat/completions', { model: 'a/b', messages: [{ role: 'system', content: 's' }, { role: 'user', content: 'u' }], ...settings, logprobs: true, top_logprobs: 5 })],
      ['openai', post('/v1/completions', { model: 'm', prompt: ['x', 'y'], ...settings, logprobs: 5 })],
      ['openai', post('/v1/completions', { model: 'm', prompt: 'x', max_tokens: 0, echo: true, logprobs: 1 })],
      ['openai', post('/v1/embeddings', { model: 'm', input: ['a', 'b'] })],
      ['cohere', post('/v1/rerank', { model: 'm', query: 'q', documents: ['a', 'b'], top_n: 1 })],
      ['cohere', post('/v1/rerank', { model: 'm', query: 'q', documents: ['a'] })],
      ['textsynth', post('/v1/engines/a%2Fb/logprob', { context: 'a', continuation: 'b' })],
      ['textsynth', post('/v1/engines/m/translate', { text: ['a'], source_lang: 'en', target_lang: 'fr' })],
      ['alephalpha', post('/tokenize', { model: 'm', prompt: 't', tokens: true, token_ids: true })],
      ['lamini', post('/v2/completions', { model_name: 'm', prompt: 'x', output_type: types, max_new_tokens: 4 })],
      ['openai', post('/v1/chat/completions', { model: 'm', messages: [{ role: 'user', content: 'u' }],
        response_format: { type: 'json_schema', json_schema: { name: 'answer', schema: schemaOf(types) } } })],
    ]
    for (const [dialect, call] of sent) {
      const reading = read(call)
      assert.deepEqual([reading.dialect, reading.unread], [dialect, []])
      assert.deepEqual(say(dialect, reading.intent), { call, left: [] }, call.path)
    }
  })

  test('what is not understood is told', () => {
    assert.deepEqual(read(post('/v1/completions', { model: 'm', prompt: 'x', echo: true, logit_bias: { 1: 2 }, stop: 'a', max_tokens: null })),
      { intent: { kind: 'complete', model: 'm', prompts: ['x'], settings: { stop: ['a'] } }, dialect: 'openai', unread: ['echo', 'logit_bias'] })
    assert.equal(read({ method: 'DELETE', path: '/api/models?name=a', body: null }), null)
    assert.equal(read(post('/api/upload', {})), null)
  })

  test('what a dialect cannot say is told', () => {
    const intent = { kind: 'complete', model: 'm', prompts: ['x'], settings: { maxTokens: 1, seed: 1, logprobs: 2, stop: ['a'], presence: 1 } }
    const left = Object.fromEntries(DIALECTS.map((d) => [d.id, d.say(intent, 'local').left]))
    assert.deepEqual(left, { openai: [], textsynth: ['logprobs'], alephalpha: ['seed'], lamini: ['seed', 'logprobs', 'stop', 'presence_penalty'],
      alpha: ['seed', 'logprobs', 'stop', 'presence_penalty'], invoke: [], ollama: [], responses: undefined, anthropic: undefined, cohere: undefined })
    assert.deepEqual(say('invoke', intent, 'bedrock').call.body, { model_family: 'bedrock', model_name: 'm',
      body: { prompt: 'x', max_new_tokens: 1, seed: 1, logprobs: 2, stop: ['a'], presence_penalty: 1 } })
    for (const id of ['textsynth', 'alephalpha', 'alpha', 'invoke']) {
      const { call } = say(id, { ...intent, settings: { stream: true } })
      assert.ok(call.body?.stream === true || /stream|inference/.test(call.path), id)
    }
  })

  test('which dialects can express a request, and why the others cannot', () => {
    const call = post('/v1/completions', { model: 'm', prompt: 'x', frequency_penalty: 1, seed: 1, suffix: 'y' })
    const said = Object.fromEntries(readings(call, read(call), 'local').map((r) => [r.id, r.why]))
    assert.deepEqual(said, {
      openai: '', alpha: 'Alpha has no seed, frequency_penalty, or suffix for completions.', alephalpha: 'Aleph Alpha has no seed or suffix for completions.',
      textsynth: 'TextSynth has no suffix for completions.', lamini: 'Lamini has no seed, frequency_penalty, or suffix for completions.',
      invoke: 'API layer has no suffix for completions.', ollama: 'Ollama has no suffix for completions.', cohere: '',
      anthropic: 'Anthropic has no completions, only chats.', responses: 'OpenAI Responses has no completions, only chats.' })
    const list = readings(post('/v1/embeddings', {}), { intent: { kind: 'embed', model: 'm', texts: ['a', 'b'] }, dialect: 'openai', unread: [] }, 'local')
    assert.deepEqual(list.filter((r) => r.call).map((r) => r.id), ['openai', 'ollama', 'lamini'])
    assert.deepEqual(list.map((r) => r.why).filter(Boolean), ['Aleph Alpha embeds one text at a time.'])
  })

  test('rankings, which Cohere has alone, and no other requests of it', () => {
    const call = post('/v1/rerank', { model: 'm', query: 'q', documents: ['a'], top_n: 1, priority: 2 })
    const list = readings(call, read(call), 'local')
    assert.deepEqual(list.filter((r) => r.call).map((r) => [r.id, r.call.path, r.lacks]), [['alephalpha', '/rerank', ['priority']], ['cohere', '/v1/rerank', null]])
    const python = coherePython(call, 'http://h')
    assert.match(python, /base_url="http:\/\/h",\n[\s\S]*client\.rerank\(\n {4}model="m",\n {4}query="q",\n {4}documents=\["a"\],\n {4}top_n=1,/)
    assert.equal(coherePython(post('/rerank', {}), 'http://h'), null)
    const models = { method: 'GET', path: '/v1/models', body: null }
    assert.equal(readings(models, read(models), 'local').find((r) => r.id === 'cohere').call, null)
  })

  test('a translation of Aleph Alpha’s, which detects the language', () => {
    const call = post('/v1/engines/m/translate', { text: ['a'], source_lang: 'en', target_lang: 'fr' })
    const found = (sent) => readings(sent, read(sent), 'local').find((r) => r.id === 'alephalpha')
    const { call: said, lacks } = found(call)
    assert.deepEqual([said, lacks], [post('/translate', { model: 'm', source: 'a', target_language: 'fr' }), ['source_lang']])
    assert.equal(found(post(call.path, { ...call.body, source_lang: 'auto' })).lacks, null)
    assert.equal(found(post(call.path, { ...call.body, text: ['a', 'b'] })).why, 'Aleph Alpha translates one text at a time.')
  })

  test('a chat with tools, images and a system prompt in other dialects', () => {
    const schema = { type: 'object', properties: { city: { type: 'string' } } }
    const tools = [{ type: 'function', function: { name: 'look', description: 'Look.', parameters: schema } }, { type: 'function', function: { name: 'wait' } }]
    const calls = [['c1', '{"city":"Oslo"}'], ['c2', 'cut']].map(([id, args]) => ({ id, type: 'function', function: { name: 'look', arguments: args } }))
    const image = new Encoded('data:image/jpeg;base64,', 'image-1.jpg'), bare = new Encoded('', 'image-1.jpg')
    const { intent } = read(post('/v1/chat/completions', { model: 'm', max_tokens: 9, stop: ['x'], temperature: 0.5, seed: 1, tools, messages: [
      { role: 'system', content: 's' }, { role: 'user', content: [{ type: 'text', text: 'u' }, { type: 'image_url', image_url: { url: image } }, { type: 'image_url', image_url: { url: 'data:image/png;base64,QQ==' } }] },
      { role: 'assistant', content: 'a', tool_calls: calls }, { role: 'tool', tool_call_id: 'c1', content: 'r1' }, { role: 'tool', tool_call_id: 'c2', content: 'r2' }, { role: 'user', content: 'v' }] }))
    assert.deepEqual(say('anthropic', intent), { left: ['seed'], call: { ...post('/v1/messages', { model: 'm', max_tokens: 9, system: 's', stop_sequences: ['x'], temperature: 0.5,
      tools: [{ name: 'look', description: 'Look.', input_schema: schema }, { name: 'wait', input_schema: { type: 'object' } }], messages: [
        { role: 'user', content: [{ type: 'text', text: 'u' }, { type: 'image', source: { type: 'base64', media_type: 'image/jpeg', data: bare } }, { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'QQ==' } }] },
        { role: 'assistant', content: [{ type: 'text', text: 'a' }, { type: 'tool_use', id: 'c1', name: 'look', input: { city: 'Oslo' } }, { type: 'tool_use', id: 'c2', name: 'look', input: {} }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: 'r1' }, { type: 'tool_result', tool_use_id: 'c2', content: 'r2' }] },
        { role: 'user', content: 'v' }] }), headers: { 'anthropic-version': '2023-06-01' } } })
    assert.deepEqual(say('ollama', intent), { left: [], call: post('/api/chat', { model: 'm', stream: false, tools, options: { num_predict: 9, stop: ['x'], temperature: 0.5, seed: 1 }, messages: [
      { role: 'system', content: 's' }, { role: 'user', content: 'u', images: [bare, 'QQ=='] },
      { role: 'assistant', content: 'a', tool_calls: [{ function: { name: 'look', arguments: { city: 'Oslo' } } }, { function: { name: 'look', arguments: {} } }] },
      { role: 'tool', tool_name: 'look', content: 'r1' }, { role: 'tool', tool_name: 'look', content: 'r2' }, { role: 'user', content: 'v' }] }) })
    assert.deepEqual(say('responses', intent), { left: ['seed', 'stop'], call: post('/v1/responses', { model: 'm', instructions: 's', max_output_tokens: 9, temperature: 0.5,
      tools: tools.map((t) => ({ type: 'function', ...t.function })), input: [
        { role: 'user', content: [{ type: 'input_text', text: 'u' }, { type: 'input_image', image_url: image }, { type: 'input_image', image_url: 'data:image/png;base64,QQ==' }] },
        { role: 'assistant', content: 'a' }, ...calls.map((c) => ({ type: 'function_call', call_id: c.id, name: 'look', arguments: c.function.arguments })),
        { type: 'function_call_output', call_id: 'c1', output: 'r1' }, { type: 'function_call_output', call_id: 'c2', output: 'r2' }, { role: 'user', content: 'v' }] }) })
    assert.deepEqual(say('textsynth', intent), { why: 'has no chats, only single texts' })
    assert.deepEqual(say('alpha', intent).left.filter((name) => name === 'tools'), ['tools'])
    assert.deepEqual(say('anthropic', { ...intent, settings: { temperature: 1.5 } }).left, ['temperature above 1'])
  })

  test('a chat of several messages is no text', () => {
    const intent = { kind: 'chat', model: 'm', messages: [{ role: 'user', content: 'a' }, { role: 'assistant', content: 'b' }], settings: {} }
    assert.deepEqual(DIALECTS.filter((d) => 'why' in d.say(intent, 'local')).map((d) => d.id), ['alephalpha', 'textsynth', 'lamini', 'cohere'])
    assert.equal(say('textsynth', { ...intent, messages: [intent.messages[0]] }).call.body.prompt, 'a')
  })
})

suite('forms', () => {
  test('output_type and JSON Schema', () => {
    assert.deepEqual(outputType(schemaOf(types)), types)
    for (const schema of [undefined, { type: 'array' }, { type: 'object', properties: { a: { type: 'string' } } },
      { type: 'object', properties: { a: { type: 'string', maxLength: 3 } }, required: ['a'] },
      { type: 'object', properties: { a: { type: 'object' } }, required: ['a'] }]) assert.equal(outputType(schema), null)
  })

  test('which of the two a form is', () => {
    for (const form of [types, { a: 'str' }, { a: [1, 2] }]) assert.ok(isOutputType(form))
    for (const form of [null, true, [], {}, { type: 'object' }, schemaOf(types), { a: 'string' }, { enum: [1], type: 'integer' }, { enum: [1] }, { type: ['string', 'null'] }]) assert.ok(!isOutputType(form), JSON.stringify(form))
  })

  test('in the dialects', () => {
    const { intent } = read(post('/v2/completions', { model_name: 'm', prompt: 'x', output_type: types }))
    assert.deepEqual(say('openai', intent).call.body.response_format.json_schema.schema, schemaOf(types))
    assert.deepEqual(say('lamini', intent).call.body.output_type, types)
    assert.deepEqual(say('invoke', intent).call.body.body.schema, schemaOf(types))
    assert.deepEqual(say('responses', intent).call.body.text.format.schema, schemaOf(types))
    assert.deepEqual(say('anthropic', intent).call.body.output_config.format.schema, schemaOf(types))
    assert.deepEqual(say('ollama', intent).call.body.format, schemaOf(types))
    assert.deepEqual(say('alephalpha', intent).left, ['JSON Schema'])
    assert.equal(say('anthropic', intent).call.body.temperature, 0)
    assert.deepEqual([0, 0.5].map((temperature) => say('lamini', { ...intent, settings: { temperature } }).left), [[], ['temperature']])
    intent.settings.schema.properties.age.minimum = 3
    assert.match(say('lamini', intent).why, /types/)
  })
})

suite('snippets', () => {
  const evil = `it's $HOME \\ "quoted"\n\`id\` ünï \u2028 😀`
  test('a shell reads what was written', () => {
    for (const text of [evil, '', "'", "a'b''c"]) {
      assert.equal(execFileSync('sh', ['-c', `printf %s ${quote(text)}`]).toString(), text)
    }
  })

  test('curl', () => {
    assert.equal(curl({ method: 'GET', path: '/v1/models', body: null }, 'http://h/dev', false), `curl -s 'http://h/dev/v1/models'`)
    const line = curl(post('/v1/completions', { prompt: evil, stream: true }), 'http://h', true)
    assert.match(line, /^curl -sN 'http:\/\/h\/v1\/completions' \\\n {2}-H "Authorization: Bearer \$GLOSSA_API_KEY" \\\n/)
    assert.equal(curl({ method: 'DELETE', path: '/api/models?name=a', body: null }, '', false), `curl -s '/api/models?name=a' -X DELETE`)
  })

  test('in Python, JavaScript and Go', () => {
    const call = post('/complete', { prompt: evil, stream: true })
    for (const [program, key] of [[pythonCode, /os\.environ/], [javascriptCode, /process\.env/], [goCode, /os\.Getenv/]]) {
      assert.match(program(call, 'http://h/dev', true), key)
      assert.doesNotMatch(program(call, 'http://h/dev', false), key)
      assert.match(program(call, 'http://h/dev', false), /http:\/\/h\/dev\/complete/)
      assert.match(program({ method: 'DELETE', path: '/api/models?name=a', body: null }, '', false), /DELETE/)
    }
    const text = /const body = ([\s\S]*?)\n\n/.exec(goCode(call, '', false))[1]
    assert.deepEqual(JSON.parse(new Function(`return ${text}`)()), call.body) // Go and JavaScript share these literals
    assert.match(goCode(post('/complete', { prompt: 'a\uFEFF' }), '', false), /`[^`]*\\ufeff[^`]*`/)
  })

  test('literals', () => {
    const body = { model: 'm', messages: [{ role: 'user', content: evil }], a: [null, true, 1.5], 'b-c': {}, long: Array(40).fill('word') }
    assert.deepEqual(JSON.parse(compact(body)), body)
    const js = openaiNode(post('/v1/chat/completions', body), 'http://h')
    const object = js.slice(js.indexOf('create(') + 7, js.lastIndexOf('})') + 1)
    assert.deepEqual(new Function(`return ${object}`)(), body)
    const python = openaiPython(post('/v1/chat/completions', body), 'http://h')
    assert.match(python, /a=\[None, True, 1.5\],/)
    assert.equal(openaiPython(post('/complete', body), 'http://h'), null)
  })
})

suite('typed', () => {
  const schema = {
    type: 'object', $defs: { place: { type: 'object', properties: { name: { type: 'string' }, height: { type: 'number' } } } },
    properties: { kind: { enum: ['a', 'b'] }, at: { type: 'string', format: 'date' }, home: { $ref: '#/$defs/place' },
      places: { type: 'array', items: { $ref: '#/$defs/place' } }, tags: { type: 'array', items: { type: 'string' } } },
  }
  const types = (shown) => shown.kind === 'object' ? Object.fromEntries(shown.members.map((m) => [m.key, types(m.value)])) : shown.type

  test('types are those of the schema', () => {
    const value = { kind: 'a', at: '2026-11-22', home: { name: 'x', height: 3 }, tags: [], other: null, n: 1, x: 1.5, b: false }
    assert.deepEqual(types(typed(value, schema)), {
      kind: 'choice', at: 'date', home: { name: 'string', height: 'number' }, tags: 'array', other: 'null', n: 'integer', x: 'number', b: 'boolean' })
  })

  test('a list of objects is a table, with gaps', () => {
    const shown = typed({ places: [{ name: 'x' }, { height: 2, name: 'y' }] }, schema).members[0].value
    assert.deepEqual([shown.kind, shown.keys], ['table', ['name', 'height']])
    assert.deepEqual(shown.rows.map((row) => row.map((cell) => cell && `${cell.text}:${cell.type}`)), [['x:string', null], ['y:string', '2:number']])
    assert.equal(typed([{}, 1], {}).kind, 'list')
  })

  test('where a text stops being JSON', () => {
    assert.equal(jsonFault('{"a": [1]}'), null)
    assert.equal(jsonFault(' '), 'it is empty')
    assert.match(jsonFault('{\n"a": 1,\n}'), /on line 3$/)
    assert.ok(jsonFault('{"a":'))
  })
})

test('similarities', () => {
  assert.equal(cosine([3, 4], [6, 8]), 1)
  assert.equal(cosine([1, 0], [0, 2]), 0)
  assert.equal(cosine([0, 0], [1, 1]), 0)
  const matrix = similarities([[1, 0], [0, 1], [1, 0.1]])
  assert.deepEqual(extremes(matrix).most.pair, [0, 2])
  assert.deepEqual(extremes(matrix).least.pair, [0, 1])
  assert.equal(extremes([[1]]), null)
  assert.deepEqual([0, 1, 2].map((i) => nearest(matrix, i)), [2, 2, 0])
  assert.equal(nearest([[1]], 0), 0)
})

// random returns numbers of the same sequence each time, between -1 and 1.
function random(seed) {
  return () => {
    seed = (seed * 1103515245 + 12345) % 2147483648
    return seed / 1073741824 - 1
  }
}

test('numbers', () => {
  assert.deepEqual([fixed(-0.5, 2), fixed(-0.001, 2), fixed(0, 3), fixed(12.345, 1), fixed(-3, 0)], ['−0.50', '0.00', '0.000', '12.3', '−3'])
})

suite('maps', () => {
  const near = (a, b, what) => assert.ok(Math.abs(a - b) < 1e-9, `${what}: ${a}, want ${b}`)
  const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0)

  test('eigenvectors satisfy their equation and are orthogonal', () => {
    const known = eigen([[2, 1], [1, 2]])
    known.values.forEach((value, i) => near(value, [3, 1][i], 'eigenvalue'))
    for (const n of [1, 2, 5, 16]) {
      const next = random(n)
      const half = Array.from({ length: n }, () => Array.from({ length: n }, next))
      const matrix = half.map((row, i) => row.map((x, j) => x + half[j][i]))
      const { values, vectors } = eigen(matrix)
      vectors.forEach((v, k) => {
        matrix.forEach((row, i) => near(dot(row, v), values[k] * v[i], `n ${n}, vector ${k}`))
        vectors.forEach((w, l) => near(dot(v, w), k === l ? 1 : 0, `n ${n}, vectors ${k} and ${l}`))
        if (k) assert.ok(values[k - 1] >= values[k])
      })
    }
  })

  test('a plane keeps the distances of vectors that lie in one, and never mirrors', () => {
    const angles = [0.1, 0.5, 1.2, 2.8, 4]
    const vectors = angles.map((a) => [3 * Math.cos(a), 0, 3 * Math.sin(a), 0])
    const { points, share } = plane(vectors)
    near(share, 1, 'share')
    angles.forEach((a, i) => angles.forEach((b, j) =>
      near(Math.hypot(points[i].x - points[j].x, points[i].y - points[j].y), 2 * Math.abs(Math.sin((a - b) / 2)), 'distance')))
    for (const axis of ['x', 'y']) {
      const list = points.map((p) => p[axis])
      near(list.reduce((a, b) => a + b), 0, 'mean')
      assert.equal(Math.max(...list), Math.max(...list.map(Math.abs)))
    }
    const turned = plane(vectors.map(([a, b, c, d]) => [-c, d, a, b])) // a rotation of the space moves no point
    turned.points.forEach((p, i) => { near(p.x, points[i].x, 'x'); near(p.y, points[i].y, 'y') })
    assert.deepEqual(plane(vectors), plane(vectors))
  })

  test('the share of a map, and vectors without one', () => {
    const e = (i) => Array.from({ length: 4 }, (_, j) => i === j ? 1 : 0)
    near(plane([e(0), e(1), e(2), e(3)]).share, 2 / 3, 'of three equal components, two')
    const two = plane([e(0), e(1)]).points
    near(two[0].y, 0, 'y'); near(two[1].y, 0, 'y'); near(Math.abs(two[0].x - two[1].x), Math.SQRT2, 'distance')
    const next = random(3), one = Array.from({ length: 50 }, next)
    const alike = [1, 3, 0.7, 11, 1e-3, 0.1, 1 / 3].map((factor) => one.map((x) => factor * x)) // equal but for rounding
    for (const vectors of [alike, [[1, 2], [2, 4], [0.1, 0.2]], [[0, 0], [0, 0]], [[1]]]) {
      const { points, share } = plane(vectors)
      assert.equal(share, 1)
      for (const { x, y } of points) assert.ok(x === 0 && y === 0, `${x} ${y}`)
    }
  })

  test('points fit into their room with one scale', () => {
    const room = { width: 400, height: 200 }
    assert.deepEqual(fit([{ x: -1, y: 0 }, { x: 1, y: 0 }, { x: 0, y: 0.5 }], room, 20), [{ x: 20, y: 145 }, { x: 380, y: 145 }, { x: 200, y: 55 }])
    assert.deepEqual(fit([{ x: 3, y: 3 }, { x: 3, y: 3 }], room, 20), [{ x: 200, y: 100 }, { x: 200, y: 100 }])
  })

  test('texts are cut between words', () => {
    assert.equal(cut('The cat sleeps on the sofa.', 16), 'The cat sleeps…')
    assert.equal(cut('Donaudampfschifffahrt', 10), 'Donaudamp…')
    assert.equal(cut('short', 5), 'short')
    assert.equal(cut('short', 0), '')
    assert.equal(cut('😀😀😀😀', 3), '😀😀…')
  })

  test('labels cover neither each other nor points, and stay inside', () => {
    const measure = (text, i) => 7 * (text.length + String(i + 1).length + 1)
    let whole = 0, bare = 0
    for (let seed = 1; seed <= 60; seed++) {
      const next = random(seed), n = 2 + seed % 15, room = seed % 2 ? { width: 570, height: 350 } : { width: 300, height: 260 }
      const dots = Array.from({ length: n }, () => ({ x: room.width * (0.5 + 0.4 * next()), y: room.height * (0.5 + 0.4 * next()) }))
      if (n > 4) dots[3] = dots[1]
      const texts = dots.map((_, i) => 'The cat sleeps on the red sofa.'.slice(0, 10 + i))
      const labels = place(dots, texts, room, measure)
      labels.forEach((l, i) => {
        assert.ok(l, `seed ${seed}: label ${i}`)
        if (l.text === texts[i]) whole++
        if (!l.text) bare++
        assert.equal(l.width, measure(l.text, i))
        assert.ok(l.x >= 0 && l.y >= 0 && l.x + l.width <= room.width && l.y + high <= room.height, `seed ${seed}: label ${i} is outside`)
        labels.slice(i + 1).forEach((m) => assert.ok(l.x + l.width <= m.x || m.x + m.width <= l.x || l.y + high <= m.y || m.y + high <= l.y, `seed ${seed}: label ${i}`))
        for (const { x, y } of dots) {
          assert.ok(Math.hypot(Math.max(l.x - x, 0, x - l.x - l.width), Math.max(l.y - y, 0, y - l.y - high)) >= radius, `seed ${seed}: label ${i} covers a point`)
        }
      })
    }
    assert.ok(whole > 10 * bare, `${whole} whole, ${bare} bare`)
  })

  test('a label without room is null, and one alone is next to its point', () => {
    assert.deepEqual(place([{ x: 5, y: 5 }], ['a'], { width: 10, height: 10 }, () => 50), [null])
    assert.deepEqual(place([{ x: 50, y: 50 }], ['a text'], { width: 200, height: 100 }, () => 60), [{ text: 'a text', x: 58, y: 41, width: 60, far: false }])
  })
})
