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
  // Responses are not stored: each step sends the items before it.
  const options = () => ({ model: openai('tools'), tools, temperature: 0, stopWhen: stepCountIs(3), providerOptions: { openai: { store: false } } })

  test('a text', async () => {
    const { text, usage, finishReason } = await generateText({ model: openai('novels'), temperature: 0, maxOutputTokens: 8, prompt: 'The old lighthouse' })
    assert.match(text, /stood/)
    assert.deepEqual([usage.inputTokens, usage.outputTokens, finishReason], [3, 8, 'length'])
  })

  test('generateText runs the tool and answers', async () => {
    made.length = 0
    const { text, steps } = await generateText({ ...options(), prompt: 'What is the weather in London?' })
    assert.deepEqual(made, ['London'])
    assert.deepEqual(steps.map((s) => s.finishReason), ['tool-calls', 'stop'])
    assert.match(text, /rain in London/)
  })

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
