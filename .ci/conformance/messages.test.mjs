// The Messages API through Anthropic's Node SDK and the AI SDK's provider for it.
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { createAnthropic } from '@ai-sdk/anthropic'
import Anthropic from '@anthropic-ai/sdk'
import { generateText, stepCountIs, streamText, tool } from 'ai'
import { z } from 'zod'
import { serve } from './server.mjs'

const weather = {
  name: 'get_weather', description: 'Get the weather in a city.',
  input_schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: false },
}
const messages = [{ role: 'user', content: 'What is the weather in London?' }]
let server

before(async () => { server = await serve() })
after(() => server.stop())

suite('@anthropic-ai/sdk', () => {
  const client = () => new Anthropic({ baseURL: server.url, apiKey: 'not-needed', maxRetries: 0 })

  test('create, count and errors', async () => {
    const sent = { model: 'tools', messages, tools: [weather] }
    const answer = await client().messages.create({ ...sent, max_tokens: 200, temperature: 0 })
    assert.deepEqual(answer.content.map((b) => [b.type, b.name, b.input]), [['tool_use', 'get_weather', { city: 'London' }]])
    assert.equal((await client().messages.countTokens(sent)).input_tokens, answer.usage.input_tokens + answer.usage.cache_read_input_tokens)
    await assert.rejects(client().messages.create({ ...sent, max_tokens: 9, model: 'nowhere' }), (e) => e instanceof Anthropic.NotFoundError && Boolean(e.requestID))
  })

  test('stream', async () => {
    const stream = client().messages.stream({ model: 'novels', max_tokens: 12, temperature: 0, messages: [{ role: 'user', content: 'The old lighthouse' }] })
    let text = ''
    stream.on('text', (piece) => { text += piece })
    const final = await stream.finalMessage()
    assert.deepEqual([final.content[0].text, final.stop_reason, final.usage.output_tokens], [text, 'max_tokens', 12])
  })

  test('models', async () => {
    const ids = []
    for await (const model of client().models.list()) ids.push(model.id)
    assert.ok(ids.includes('novels'))
  })
})

suite('@ai-sdk/anthropic', () => {
  const made = []
  const tools = {
    get_weather: tool({ description: 'Get the weather in a city.', inputSchema: z.object({ city: z.string() }), execute: ({ city }) => { made.push(city); return `rain in ${city}` } }),
  }
  const options = () => ({
    model: createAnthropic({ baseURL: `${server.url}/v1`, apiKey: 'not-needed' })('tools'), tools, temperature: 0, maxOutputTokens: 200, stopWhen: stepCountIs(3), prompt: messages[0].content,
  })

  test('generateText runs the tool and answers', async () => {
    made.length = 0
    const { text, steps } = await generateText(options())
    assert.deepEqual(made, ['London'])
    assert.deepEqual(steps.map((s) => s.finishReason), ['tool-calls', 'stop'])
    assert.match(text, /rain in London/)
  })

  test('streamText', async () => {
    const stream = streamText(options())
    assert.match(await stream.text, /rain in London/)
  })
})
