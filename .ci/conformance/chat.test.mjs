// Values and errors through the official Node SDK.
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { TextStreamChatTransport } from 'ai'
import OpenAI from 'openai'
import { counts, serve } from './server.mjs'

const starters = ['novels', 'abc', 'chords', 'forms']
const prompts = { novels: 'The old lighthouse stood', abc: 'X:1', chords: 'C G', forms: '\n\nHilda is' }
const user = (content) => [{ role: 'user', content }]

suite('chat completions', () => {
  let server, client
  before(async () => {
    server = await serve()
    client = server.client()
  })
  after(() => server.stop())

  const create = (params) => client.chat.completions.create({ model: 'novels', messages: user('The castle'), ...params })

  test('models', async () => {
    const ids = []
    for await (const model of client.models.list()) ids.push(model.id)
    for (const name of starters) {
      assert.ok(ids.includes(name), `${name} in ${ids}`)
      assert.equal((await client.models.retrieve(name)).id, name)
    }
    assert.ok(['novels', 'novels-5hr'].includes((await client.models.retrieve('novels-5hr')).id))
  })

  test('a prediction does not change the answer', async () => {
    const params = { seed: 3, temperature: 1, max_tokens: 60 }
    const { choices: [{ message: { content } }], usage } = await create(params)
    assert.equal(usage.completion_tokens_details, undefined)
    for (const [prediction, came] of [[content, true], [[{ type: 'text', text: 'Zebra ' }, { type: 'text', text: 'Zoo' }], false]]) {
      const answer = await create({ ...params, prediction: { type: 'content', content: prediction } })
      assert.equal(answer.choices[0].message.content, content)
      const { accepted_prediction_tokens: accepted, rejected_prediction_tokens: rejected } = answer.usage.completion_tokens_details
      assert.ok(came ? accepted > 50 && rejected < 10 : accepted === 0 && rejected > 0, `${accepted} accepted, ${rejected} rejected`)
    }
  })

  for (const model of starters) {
    test(`${model}: the stream equals the whole`, async () => {
      const params = { model, messages: user(prompts[model]), seed: 11, temperature: 1, max_tokens: 40, n: 2 }
      const whole = await create(params)
      const texts = ['', '']
      const finishes = []
      let usage
      for await (const chunk of await create({ ...params, stream: true })) {
        for (const { index, delta, finish_reason: finish } of chunk.choices) {
          texts[index] += delta.content ?? ''
          if (finish) finishes[index] = finish
        }
        usage = chunk.usage ?? usage
      }
      const choices = whole.choices.toSorted((a, b) => a.index - b.index)
      assert.deepEqual(texts, choices.map((c) => c.message.content))
      assert.deepEqual(finishes, choices.map((c) => c.finish_reason))
      assert.deepEqual(counts(usage), counts(whole.usage))
      assert.notEqual(texts[0], texts[1])
    })

    test(`${model}: max_tokens and logprobs count the same tokens`, async () => {
      const { choices, usage } = await create({
        model, messages: user(prompts[model]), max_tokens: 9, temperature: 0, logprobs: true, top_logprobs: 4 })
      const [{ finish_reason: finish, logprobs, message }] = choices
      assert.equal(usage.completion_tokens, 9)
      assert.equal(finish, 'length')
      assert.equal(logprobs.content.length, 9)
      assert.equal(Buffer.concat(logprobs.content.map((t) => Buffer.from(t.bytes))).toString(), message.content)
      for (const { token, logprob, top_logprobs: top } of logprobs.content) {
        assert.deepEqual([top[0].token, top[0].logprob], [token, logprob])
        assert.ok(top.every((t, i) => i === 0 || t.logprob <= top[i - 1].logprob))
        assert.ok(top.reduce((sum, t) => sum + Math.exp(t.logprob), 0) <= 1 + 1e-6)
      }
    })
  }

  test('the stream helper of the SDK', async () => {
    const params = { model: 'novels', messages: user('The castle'), seed: 5, max_tokens: 20 }
    const runner = client.chat.completions.stream({ ...params, stream_options: { include_usage: true } })
    const pieces = []
    runner.on('content', (piece) => pieces.push(piece))
    const final = await runner.finalChatCompletion()
    const whole = await create(params)
    assert.equal(pieces.join(''), whole.choices[0].message.content)
    assert.equal(final.choices[0].message.content, whole.choices[0].message.content)
    assert.deepEqual(counts(final.usage), counts(whole.usage))
  })

  test('stop', async () => {
    const params = { temperature: 0, max_tokens: 40 }
    const text = (await create(params)).choices[0].message.content
    const stop = text.slice(15, 18)
    const [choice] = (await create({ ...params, stop })).choices
    assert.equal(choice.message.content, text.slice(0, text.indexOf(stop)))
    assert.equal(choice.finish_reason, 'stop')
  })

  test('errors', async () => {
    await assert.rejects(create({ model: 'nope' }), (e) => e instanceof OpenAI.NotFoundError && e.code === 'model_not_found')
    await assert.rejects(create({ temperature: 3 }), (e) => e instanceof OpenAI.BadRequestError && e.param === 'temperature')
    await assert.rejects(create({ temperature: 3, stream: true }), (e) => e instanceof OpenAI.BadRequestError && e.param === 'temperature')
    await assert.rejects(create({ messages: user('The castle stood. '.repeat(2000)) }),
      (e) => e instanceof OpenAI.BadRequestError && e.code === 'context_length_exceeded' && Boolean(e.requestID) &&
        e.message.includes("This model's maximum context length is 256 tokens. However, "))
  })

  test('an aborted stream ends, and the server answers on', async () => {
    for (let i = 0; i < 10; i++) {
      const stream = await create({ stream: true, n: 8 })
      for await (const chunk of stream) {
        assert.equal(chunk.object, 'chat.completion.chunk')
        stream.controller.abort()
      }
    }
    assert.equal((await create({ max_tokens: 3 })).usage.completion_tokens, 3)
  })
})

// The AI SDK's interfaces over /api/chat, whose answers are plain text.
suite('text transport of the AI SDK', () => {
  let server
  before(async () => {
    server = await serve()
  })
  after(() => server.stop())

  const text = (id, role, ...parts) => ({ id, role, metadata: { at: 1 }, parts: parts.map((part) => (typeof part === 'string' ? { type: 'text', text: part, state: 'done' } : part)) })

  async function answer(messages, options = {}) {
    const transport = new TextStreamChatTransport({ api: `${server.url}/api/chat`, body: { model: 'novels', temperature: 0, maxTokens: 12 } })
    let said = ''
    const stream = await transport.sendMessages({ chatId: 'c1', trigger: 'submit-message', messages, abortSignal: undefined, ...options })
    for await (const chunk of stream) if (chunk.type === 'text-delta') said += chunk.delta
    return said
  }

  const plain = (messages) => fetch(`${server.url}/api/chat`, {
    method: 'POST', body: JSON.stringify({ model: 'novels', temperature: 0, maxTokens: 12, messages }) }).then((r) => r.text())

  test('a chat and its next turn', async () => {
    const turns = [text('m1', 'system', 'Chapter One'), text('m2', 'user', 'The ', 'castle')]
    const first = await answer(turns)
    assert.equal(first, await plain([{ role: 'system', content: 'Chapter One' }, { role: 'user', content: 'The castle' }]))
    assert.ok(first)
    const more = [...turns, text('m3', 'assistant', { type: 'step-start' }, first), text('m4', 'user', 'and')]
    assert.equal(await answer(more), await plain([{ role: 'system', content: 'Chapter One' }, { role: 'user', content: 'The castle' },
      { role: 'assistant', content: first }, { role: 'user', content: 'and' }]))
    assert.equal(await answer(turns, { trigger: 'regenerate-message', messageId: 'm3' }), first)
  })

  test('files are refused', async () => {
    await assert.rejects(answer([text('m1', 'user', 'Look', { type: 'file', mediaType: 'text/plain', url: 'data:,x' })]), /parts\[1\].*file/)
  })
})

suite('keys', () => {
  const key = 'client-key-of-the-tests'
  let server
  before(async () => {
    server = await serve({ args: ['--auth'], env: { GLOSSA_KEYS: `client:${key}` } })
  })
  after(() => server.stop())

  const params = { model: 'novels', messages: user('The castle'), max_tokens: 4 }

  test('a wrong key is refused', async () => {
    await assert.rejects(server.client().chat.completions.create(params),
      (e) => e instanceof OpenAI.AuthenticationError && e.code === 'invalid_api_key' && e.message.includes('Incorrect API key provided') && !e.message.includes('not-needed'))
    await assert.rejects(server.client().models.list(), OpenAI.AuthenticationError)
  })

  test('a right key is served', async () => {
    const { usage } = await server.client({ apiKey: key }).chat.completions.create(params)
    assert.equal(usage.completion_tokens, 4)
  })
})

suite('load', () => {
  let server
  before(async () => {
    server = await serve({ args: ['--workers', '1'] })
  })
  after(() => server.stop())

  test('the SDK retries 429 until it is served', async () => {
    const params = { model: 'novels', messages: user('The castle'), n: 8, max_tokens: 200 }
    const results = await Promise.allSettled(
      Array.from({ length: 40 }, () => server.client().chat.completions.create(params)))
    const refused = results.filter((r) => r.status === 'rejected').map((r) => r.reason)
    assert.ok(refused.length > 0, 'nobody was refused')
    for (const error of refused) {
      assert.ok(error instanceof OpenAI.RateLimitError, error)
      assert.ok(Number(error.headers.get('retry-after')) >= 1)
    }

    // The SDK waits as Retry-After says; nobody is refused for good.
    const served = await Promise.all(Array.from({ length: 40 }, () =>
      server.client({ maxRetries: 50 }).chat.completions.create({ ...params, n: 2, max_tokens: 60 })))
    for (const { usage } of served) assert.equal(usage.completion_tokens, 120)
  })
})
