// The starter that calls tools, through the AI SDK and the official Node SDK.
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateText, stepCountIs, streamText, tool } from 'ai'
import { zodFunction } from 'openai/helpers/zod'
import { z } from 'zod'
import { serve } from './server.mjs'

const City = z.object({ city: z.string() })
const Timer = z.object({ minutes: z.number().int() })
let server, model

before(async () => {
  server = await serve()
  model = createOpenAICompatible({ name: 'glossa', baseURL: `${server.url}/v1`, includeUsage: true })('tools')
})
after(() => server.stop())

suite('ai', () => {
  const made = []
  const tools = {
    get_weather: tool({ description: 'Get the weather in a city.', inputSchema: City, execute: ({ city }) => { made.push(city); return `rain in ${city}` } }),
    set_timer: tool({ description: 'Set a timer in minutes.', inputSchema: Timer, execute: ({ minutes }) => { made.push(minutes); return 'ok' } }),
  }

  test('generateText runs the tool and answers', async () => {
    made.length = 0
    const { text, steps } = await generateText({ model, tools, temperature: 0, stopWhen: stepCountIs(3), prompt: 'What is the weather in London?' })
    assert.deepEqual(made, ['London'])
    assert.deepEqual(steps.map((s) => s.finishReason), ['tool-calls', 'stop'])
    assert.match(text, /rain in London/)
  })

  test('streamText', async () => {
    made.length = 0
    const result = streamText({ model, tools, temperature: 0, stopWhen: stepCountIs(3), prompt: 'Set a timer for 25 minutes.' })
    await result.consumeStream()
    assert.deepEqual(made, [25])
    assert.match(await result.text, /ok/)
    assert.ok((await result.totalUsage).outputTokens > 0)
  })
})

suite('openai', () => {
  test('runTools', async () => {
    const cities = []
    const runner = server.client().chat.completions.runTools({
      model: 'tools', temperature: 0, messages: [{ role: 'user', content: 'Is it warm in Madrid?' }],
      tools: [zodFunction({ name: 'get_weather', description: 'Get the weather in a city.', parameters: City, function: ({ city }) => { cities.push(city); return '31 degrees' } })],
    })
    assert.match(await runner.finalContent(), /31 degrees/)
    assert.deepEqual(cities, ['Madrid'])
  })
})
