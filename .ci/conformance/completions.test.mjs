// Completions and embeddings through the official Node SDK, and the AI SDK over the
// provider that it has for servers like this one.
import assert from 'node:assert/strict'
import { fileURLToPath } from 'node:url'
import { after, before, suite, test } from 'node:test'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { embed, embedMany, generateText, streamText } from 'ai'
import OpenAI from 'openai'
import { counts, serve } from './server.mjs'

const prompts = ['The old lighthouse stood', 'One pale afternoon']
let server, client

before(async () => {
  server = await serve()
  client = server.client()
})
after(() => server.stop())

const create = (params) => client.completions.create({ model: 'novels', prompt: prompts, max_tokens: 12, temperature: 0, ...params })

suite('openai: completions', () => {
  test('the stream equals the whole', async () => {
    const whole = await create({ n: 2, temperature: 1, seed: 3, logprobs: 1 })
    const texts = ['', '', '', '']
    const finishes = []
    const values = [[], [], [], []]
    let usage
    const stream = await create({ n: 2, temperature: 1, seed: 3, logprobs: 1, stream: true, stream_options: { include_usage: true } })
    for await (const chunk of stream) {
      for (const { index, text, logprobs, finish_reason: finish } of chunk.choices) {
        texts[index] += text
        values[index].push(...logprobs.token_logprobs)
        if (finish) finishes[index] = finish
      }
      usage = chunk.usage ?? usage
    }
    assert.deepEqual(whole.choices.map((c) => c.index), [0, 1, 2, 3])
    assert.deepEqual(texts, whole.choices.map((c) => c.text))
    assert.deepEqual(finishes, whole.choices.map((c) => c.finish_reason))
    assert.deepEqual(values, whole.choices.map((c) => c.logprobs.token_logprobs))
    assert.deepEqual(counts(usage), counts(whole.usage))
  })

  test('an echoed prompt is described', async () => {
    const [choice] = (await create({ prompt: prompts[0], echo: true, logprobs: 2, max_tokens: 0 })).choices
    const { tokens, token_logprobs: values, top_logprobs: top, text_offset: offsets } = choice.logprobs
    assert.equal(choice.text, prompts[0])
    assert.equal(tokens.join(''), prompts[0])
    assert.equal(values[0], null)
    assert.deepEqual(top[0], {})
    for (let i = 1; i < tokens.length; i++) {
      assert.equal(top[i][tokens[i]], values[i])
      assert.ok(choice.text.slice(offsets[i]).startsWith(tokens[i]))
    }
  })

  test('errors', async () => {
    await assert.rejects(create({ suffix: 'x' }), (e) => e instanceof OpenAI.BadRequestError && e.param === 'suffix')
    await assert.rejects(create({ model: 'none' }), OpenAI.NotFoundError)
  })
})

suite('openai: embeddings', () => {
  test('base64, which the SDK asks for, and floats are one vector', async () => {
    const packed = await client.embeddings.create({ model: 'novels', input: prompts })
    const plain = await client.embeddings.create({ model: 'novels', input: prompts, encoding_format: 'float' })
    assert.equal(packed.data.length, 2)
    packed.data.forEach(({ embedding }, i) => {
      assert.deepEqual(Array.from(embedding, Math.fround), plain.data[i].embedding.map(Math.fround))
      assert.ok(Math.abs(Math.hypot(...embedding) - 1) < 1e-5)
    })
    assert.deepEqual(packed.usage, plain.usage)
  })

  test('options of a model that is trained for embeddings', async () => {
    const encoders = fileURLToPath(new URL('../../pkg/engine/testdata/encoders', import.meta.url))
    const own = await serve({ args: ['--checkpoints', encoders] })
    try {
      const ask = (params) => own.client().embeddings.create({ model: 'bert', input: ['the red hen', 'a cat'], ...params })
      const [plain, query, named, cut] = await Promise.all([ask(), ask({ input_type: 'query' }), ask({ prompt_name: 'query' }), ask({ dimensions: 8 })])
      assert.deepEqual(query.data, named.data)
      assert.notDeepEqual(query.data, plain.data)
      assert.ok(query.usage.prompt_tokens > plain.usage.prompt_tokens)
      assert.equal(plain.data[1].embedding.length, 32)
      const [{ embedding }] = cut.data
      assert.equal(embedding.length, 8)
      assert.ok(Math.abs(Math.hypot(...embedding) - 1) < 1e-5)
      const long = 'the red hen '.repeat(20)
      await assert.rejects(ask({ input: long }), (e) => e instanceof OpenAI.BadRequestError && e.param === 'input' && /24 tokens/.test(e.message))
      assert.equal((await ask({ input: long, truncate: true })).usage.prompt_tokens, 24)
    } finally {
      await own.stop()
    }
  })
})

suite('ai: openai-compatible', () => {
  let provider
  before(() => {
    provider = createOpenAICompatible({ name: 'glossa', baseURL: `${server.url}/v1`, apiKey: 'not-needed', includeUsage: true })
  })

  for (const kind of ['chatModel', 'completionModel']) {
    test(`${kind}: the stream equals the whole`, async () => {
      const params = { model: provider[kind]('novels'), prompt: prompts[0], maxOutputTokens: 12, temperature: 0, seed: 1, maxRetries: 0 }
      const whole = await generateText(params)
      assert.equal(whole.finishReason, 'length')
      assert.equal(whole.usage.outputTokens, 12)
      const stream = streamText(params)
      let text = ''
      for await (const piece of stream.textStream) text += piece
      assert.equal(text, whole.text)
      assert.ok(text.length > 0)
      assert.equal(await stream.finishReason, 'length')
      assert.deepEqual((await stream.usage).totalTokens, whole.usage.totalTokens)
    })

    test(`${kind}: an error has the server's sentence`, async () => {
      const params = { model: provider[kind]('none'), prompt: 'x', maxRetries: 0 }
      await assert.rejects(generateText(params), (e) => e.statusCode === 404 && e.message.includes('none'))
    })
  }

  test('the chat is what the official SDK gets', async () => {
    const { text } = await generateText({ model: provider('novels'), prompt: prompts[0], maxOutputTokens: 9, temperature: 0 })
    const answer = await client.chat.completions.create({
      model: 'novels', messages: [{ role: 'user', content: prompts[0] }], max_tokens: 9, temperature: 0 })
    assert.equal(text, answer.choices[0].message.content)
  })

  test('embeddings', async () => {
    const model = provider.embeddingModel('novels')
    const { embeddings, usage } = await embedMany({ model, values: prompts })
    const { embedding } = await embed({ model, value: prompts[0] })
    assert.equal(embeddings.length, 2)
    embeddings[0].forEach((x, i) => assert.ok(Math.abs(x - embedding[i]) < 1e-6))
    const { data, usage: official } = await client.embeddings.create({ model: 'novels', input: prompts, encoding_format: 'float' })
    assert.deepEqual(embeddings, data.map((d) => d.embedding))
    assert.equal(usage.tokens, official.prompt_tokens)
  })
})
