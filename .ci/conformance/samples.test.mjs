// The Node sample of Alpha's documentation, unchanged except for the base URL.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import OpenAI from 'openai'
import { serve } from './server.mjs'

test('the Node sample', async (t) => {
  const server = await serve()
  t.after(server.stop)
  const printed = []
  t.mock.method(console, 'log', (line) => printed.push(line))

  const client = new OpenAI({
    baseURL: `${server.url}/v1`,
    apiKey: 'not-needed',
  })

  const completion = await client.chat.completions.create({
    model: 'novels-5hr',
    messages: [{ role: 'user', content: 'The old lighthouse' }],
    max_tokens: 200,
  })
  console.log(completion.choices[0].message.content)

  assert.equal(printed.length, 1)
  assert.ok(printed[0].split(/\s+/).length > 20, printed[0])
  const { usage, choices } = completion
  assert.equal(usage.total_tokens, usage.prompt_tokens + usage.completion_tokens)
  assert.equal(choices[0].finish_reason, usage.completion_tokens === 200 ? 'length' : 'stop')
})
