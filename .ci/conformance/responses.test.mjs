// The Responses API through the AI SDK's default provider and the official Node SDK.
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { createOpenAI } from '@ai-sdk/openai'
import { generateText, stepCountIs, streamText, tool } from 'ai'
import { z } from 'zod'
import { serve } from './server.mjs'

const City = z.object({ city: z.string() })
let server, openai

before(async () => {
  server = await serve()
  openai = createOpenAI({ baseURL: `${server.url}/v1`, apiKey: 'not-needed' })
})
after(() => server.stop())

suite('ai', () => {
  const made = []
  const tools = {
    get_weather: tool({ description: 'Get the weather in a city.', inputSchema: City, execute: ({ city }) => { made.push(city); return `rain in ${city}` } }),
  }
  // By default a conversation refers to stored messages; with store false it has all of them.
  const options = (store) => ({ model: openai('tools'), tools, temperature: 0, stopWhen: stepCountIs(3), providerOptions: { openai: { store } } })

  test('a text', async () => {
    const { text, usage, finishReason } = await generateText({ model: openai('novels'), temperature: 0, maxOutputTokens: 8, prompt: 'The old lighthouse' })
    assert.match(text, /stood/)
    assert.deepEqual([usage.inputTokens, usage.outputTokens, finishReason], [3, 8, 'length'])
  })

  for (const store of [undefined, false]) {
    test(`generateText runs the tool and answers, with store ${store}`, async () => {
      made.length = 0
      const { text, steps, response } = await generateText({ ...options(store), prompt: 'What is the weather in London?' })
      assert.deepEqual(made, ['London'])
      assert.deepEqual(steps.map((s) => s.finishReason), ['tool-calls', 'stop'])
      assert.match(text, /rain in London/)
      const messages = [{ role: 'user', content: 'What is the weather in London?' }, ...response.messages, { role: 'user', content: 'What is the weather in Oslo?' }]
      const next = await generateText({ ...options(store), messages })
      assert.match(next.text, /rain in Oslo/)
      assert.equal(next.steps[0].request.body.input.some((item) => item.type === 'item_reference'), store !== false)
    })
  }

  test('streamText', async () => {
    made.length = 0
    const result = streamText({ ...options(), prompt: 'What is the weather in London?' })
    await result.consumeStream()
    assert.deepEqual(made, ['London'])
    assert.match(await result.text, /rain in London/)
    assert.ok((await result.totalUsage).outputTokens > 0)
  })
})

suite('openai', () => {
  test('a stored response', async () => {
    const client = server.client()
    const first = await client.responses.create({ model: 'novels', temperature: 0, max_output_tokens: 8, input: 'The old lighthouse' })
    const next = await client.responses.create({ model: 'novels', temperature: 0, max_output_tokens: 8, input: 'Then', previous_response_id: first.id })
    assert.ok(next.usage.input_tokens > first.usage.input_tokens + first.usage.output_tokens)
    assert.deepEqual((await client.responses.retrieve(next.id)).output, next.output)
    const items = []
    for await (const item of client.responses.inputItems.list(next.id, { limit: 1 })) items.push(item)
    assert.deepEqual(items.map((i) => i.role), ['user', 'assistant', 'user'])
    assert.deepEqual(items[1], first.output[0])
    await assert.rejects(client.responses.cancel(next.id), /Cannot cancel a response that has ended/)
    await client.responses.delete(next.id)
    await assert.rejects(client.responses.retrieve(next.id), { status: 404 })
  })

  test('stream', async () => {
    let joined = '', last
    for await (const event of await server.client().responses.create({ model: 'novels', temperature: 0, max_output_tokens: 8, input: 'The old lighthouse', stream: true })) {
      if (event.type === 'response.output_text.delta') joined += event.delta
      last = event
    }
    assert.equal(last.type, 'response.incomplete')
    assert.equal(last.response.output[0].content[0].text, joined)
    assert.match(joined, /stood/)
  })
})
