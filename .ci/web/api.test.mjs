// The page's client of the server, without a browser: streams in pieces of any size, errors
// in the shapes of every dialect, and computations on answers.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import http from 'node:http'
import { suite, test } from 'node:test'
import { Api, hashed } from '../../pkg/page/js/api.js'
import { stops } from '../../pkg/page/js/sampling.js'
import { linear, logarithmic, ticks } from '../../pkg/page/js/scale.js'
import { level, percent, visible } from '../../pkg/page/js/shade.js'
import { bounds, described, range } from '../../pkg/page/js/slider.js'
import { step } from '../../pkg/page/js/tokens.js'

// answering serves one answer in pieces of a number of bytes, and returns an Api for it.
async function answering(t, { status = 200, type = 'application/json', headers = {}, body = '', bytes = Infinity }) {
  const seen = []
  const server = http.createServer(async (request, response) => {
    seen.push([request.url, request.headers.authorization])
    response.writeHead(status, { 'Content-Type': type, ...headers })
    const all = Buffer.from(body)
    for (let i = 0; i < all.length; i += bytes) await new Promise((done) => response.write(all.subarray(i, Math.min(i + bytes, all.length)), () => setImmediate(done)))
    response.end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const api = new Api()
  api.base = `http://127.0.0.1:${server.address().port}/dev/`
  return { api, seen }
}

async function all(stream) {
  const values = []
  for await (const value of stream) values.push(value)
  return values
}

suite('streams', () => {
  const values = [{ a: 'ü😀' }, { b: 1 }]
  const lines = values.map((v) => JSON.stringify(v))
  for (const [name, type, body] of [
    ['server-sent events', 'text/event-stream', `data: ${lines[0]}\n\n: note\r\n\r\ndata:${lines[1]}\r\n\r\ndata: [DONE]\n\n`],
    ['lines of JSON', 'application/x-ndjson', `${lines[0]}\n${lines[1]}`],
    ['JSON and two line feeds', 'application/json', `${lines[0]}\n\n${lines[1]}\n\n`],
  ]) {
    for (const bytes of [1, 7, Infinity]) {
      test(`${name}, ${bytes} bytes at a time`, async (t) => {
        const { api, seen } = await answering(t, { type, body, bytes })
        assert.deepEqual(await all(api.events('POST', '/v1/x', {})), values)
        assert.deepEqual(seen, [['/dev/v1/x', undefined]])
      })
    }
  }

  test('plain text, its characters whole', async (t) => {
    const { api } = await answering(t, { type: 'text/plain; charset=utf-8', body: 'ü😀x', bytes: 1 })
    assert.equal((await all(api.events('POST', '/api/chat', {}))).join(''), 'ü😀x')
  })

  test('one that ends before its end is a lost connection', async (t) => {
    const { api } = await answering(t, { type: 'text/event-stream', body: `data: ${lines[0]}\n\n` })
    const got = []
    await assert.rejects(async () => { for await (const v of api.events('POST', '/v1/x', {})) got.push(v) }, { kind: 'lost' })
    assert.deepEqual(got, values.slice(0, 1))
  })

  test('the key is sent, and not remembered with the request', async (t) => {
    const { api, seen } = await answering(t, { body: '{}' })
    api.key = 'secret'
    await api.json('POST', '/v1/x', { a: 1 })
    assert.deepEqual(seen, [['/dev/v1/x', 'Bearer secret']])
    assert.ok(!JSON.stringify([api.sent, api.last]).includes('secret'))
    assert.deepEqual([api.last.method, api.last.path, api.last.body, api.last.status], ['POST', '/v1/x', { a: 1 }, 200])
  })

  test('a request is remembered as it was sent', async (t) => {
    const { api } = await answering(t, { body: '{}' })
    const body = { messages: [{ role: 'user', content: null }], n: 1 }
    await api.json('POST', '/v1/x', body)
    body.messages[0].content = 'changed'
    body.messages.push({})
    assert.deepEqual(api.last.body, { messages: [{ role: 'user', content: null }], n: 1 })
    await api.json('GET', '/v1/x')
    assert.equal(api.last.body, null)
  })
})

test('CloudFront gets the hash of a body, others do not', async () => {
  const sum = createHash('sha256').update('{"a":"ü"}').digest('hex')
  assert.deepEqual(await hashed('https://d1.cloudfront.net/v1/x', '{"a":"ü"}'), { 'X-Amz-Content-Sha256': sum })
  for (const [url, body] of [['https://d1.cloudfront.net/v1/x', undefined], ['https://cloudfront.net.example.com/x', '{}'], ['http://127.0.0.1:8080/v1/x', '{}']]) {
    assert.deepEqual(await hashed(url, body), {})
  }
})

suite('errors in words', () => {
  for (const [dialect, body] of Object.entries({
    openai: { error: { message: 'too long', type: 't', param: 'prompt', code: 'c' } }, textsynth: { error: 'too long' },
    alephalpha: { error: 'too long', code: 'C' }, lamini: { detail: 'too long' }, 'lamini, checked': { detail: [{ loc: ['body'], msg: 'too long', type: 't' }] },
    gateway: { message: 'too long' } })) {
    test(dialect, async (t) => {
      const { api } = await answering(t, { status: 400, body: JSON.stringify(body) })
      await assert.rejects(api.json('GET', '/x'), { kind: 'refused', status: 400, message: 'Too long.' })
    })
  }

  test('how long to wait', async (t) => {
    const { api } = await answering(t, { status: 429, headers: { 'Retry-After': '3' }, body: '{"error":"queue"}' })
    await assert.rejects(api.json('GET', '/x'), { retryAfter: 3, message: /in 3 s/ })
  })
})

test('tokens of streams', () => {
  const chat = { choices: [{ delta: { content: 'ab' }, logprobs: { content: [
    { token: 'a', logprob: -1, top_logprobs: [{ token: 'a', logprob: -1 }, { token: 'x', logprob: -2 }] }, { token: 'b', logprob: -3, top_logprobs: [] }] } }] }
  assert.deepEqual(step(chat).tokens.map((t) => [t.text, t.logprob, t.top.length]), [['a', -1, 2], ['b', -3, 0]])
  const plain = { choices: [{ text: 'a', finish_reason: 'stop', logprobs: { tokens: ['a'], token_logprobs: [-1], top_logprobs: [{ x: -2, a: -1 }] } }], usage: { completion_tokens: 4 } }
  assert.deepEqual(step(plain), { tokens: [{ text: 'a', logprob: -1, count: 1, top: [{ text: 'a', logprob: -1 }, { text: 'x', logprob: -2 }] }], finish: 'stop', used: 4, calls: [], thought: '' })
  assert.deepEqual(step({ choices: [{ delta: { content: 'ab' } }] }).tokens.map((t) => [t.text, t.logprob]), [['ab', null]])
  const half = { choices: [{ text: 'é', logprobs: { tokens: ['\\xc3', '\\xa9'], token_logprobs: [-1, -2], top_logprobs: [{}, {}] } }] }
  assert.deepEqual(step(half).tokens.map((t) => [t.text, t.logprob, t.count]), [['é', -3, 2]]) // one character of two tokens
})

test('shades and shares', () => {
  assert.deepEqual([0, -0.2, -1, -2, -4, -50].map(level), [0, 1, 2, 3, 4, 5])
  assert.deepEqual([0, Math.log(0.5), Math.log(0.012), -50].map(percent), ['100 %', '50 %', '1.2 %', '< 0.001 %'])
  assert.equal(visible(' a\n'), '␣a⏎')
})

test('controls', () => {
  assert.deepEqual(stops('a\n\n\\n\\\\'), ['a', '\n\\'])
  assert.equal(stops('\n'), undefined)
})

test('ranges hold their default', () => {
  const { min, max, initial } = range({ type: ['number', 'null'], minimum: 0, maximum: 2, default: 1 }, 256)
  assert.deepEqual([min, max, initial], [0, 2, 1])
  const tokens = (schema, context) => {
    const r = range({ type: 'integer', minimum: 1, ...schema }, context)
    return [r.min, r.max, r.initial]
  }
  assert.deepEqual(tokens({}, 256), [1, 256, null])
  assert.deepEqual(tokens({ default: 2048 }, 256), [1, 256, 256]) // the model has no room for the API's default
  assert.deepEqual(tokens({ default: 4096 }, 0), [1, 4096, 4096])
  assert.deepEqual(tokens({ maximum: 100, default: 16 }, 256), [1, 100, 16])
  assert.deepEqual(tokens({ maximum: 4096, default: 16 }, 256), [1, 256, 16])
  assert.equal(range(undefined, 256), null)
  assert.equal(bounds(range({ type: 'number', minimum: -2, maximum: 2, default: 0 }, 0)), 'From −2 to 2; default: 0.')
  assert.equal(bounds(range({ type: 'integer', minimum: 1, description: 'Default: to the end of the context; the most tokens to generate; 2048 is a maximum.' }, 256)),
    'From 1 to 256; default: to the end of the context.')
  assert.deepEqual(described('Default: random; the same seed gives the same text.'), { fallback: 'random', text: 'The same seed gives the same text.' })
  assert.deepEqual(described('The most tokens to generate; 0 with echo describes the prompt.'), { fallback: '', text: 'The most tokens to generate.' })
  assert.deepEqual(described(), { fallback: '', text: '' })
})

test('scales', () => {
  assert.deepEqual(ticks(0, 8000, 8), [0, 1000, 2000, 3000, 4000, 5000, 6000, 7000, 8000])
  for (const scale of [linear(1, 100, 0, 300, 5), logarithmic(1, 100, 0, 300, 5)]) {
    assert.deepEqual([scale.at(1), scale.at(100)].map(Math.round), [0, 300])
    for (const v of [1, 2, 50]) assert.ok(Math.abs(scale.of(scale.at(v)) - v) < 1e-9)
  }
})
