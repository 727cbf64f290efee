// Streams with keep-alives before and between their events, through OpenAI's and Anthropic's SDKs
// and the AI SDK's providers for them.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import Anthropic from '@anthropic-ai/sdk'
import { streamText } from 'ai'
import { serve } from './server.mjs'

const words = ['Tall', ' ships', ' and', ' winds']
const text = words.join('')
const stallMillis = 500 // before each event
const messages = [{ role: 'user', content: 'x' }]
let endpoint, records, server

// answer is the stream of an endpoint of OpenAI's API that stalls.
async function answer(request, response) {
  request.resume()
  const send = (value) => response.write(`data: ${JSON.stringify(value)}\n\n`)
  response.writeHead(200, { 'Content-Type': 'text/event-stream' })
  for (const [i, content] of words.entries()) {
    await sleep(stallMillis)
    send({ choices: [{ index: 0, delta: { content }, finish_reason: i === words.length - 1 ? 'stop' : null }] })
  }
  send({ choices: [], usage: { prompt_tokens: 3, completion_tokens: words.length, total_tokens: 3 + words.length } })
  response.end('data: [DONE]\n\n')
}

before(async () => {
  endpoint = createServer(answer).listen(0, '127.0.0.1')
  await once(endpoint, 'listening')
  records = await mkdtemp(join(tmpdir(), 'records-'))
  await writeFile(join(records, 'openai-slow-chat.json'), JSON.stringify({ pk: 'models', sk: 'openai-slow-chat', url: `http://127.0.0.1:${endpoint.address().port}/v1`, like: 'chat' }))
  server = await serve({ args: ['--keep-alive', '100ms'], env: { GLOSSA_RECORDS: records } })
})
after(async () => {
  await server.stop()
  endpoint.close()
  await rm(records, { recursive: true })
})

suite('keep-alives', () => {
  test('are sent', async () => {
    const body = JSON.stringify({ model: 'slow-chat', messages, stream: true })
    const stream = await (await fetch(`${server.url}/v1/chat/completions`, { method: 'POST', body })).text()
    assert.ok(stream.startsWith(': keep-alive\n\n') && stream.endsWith('data: [DONE]\n\n'), stream)
  })

  test('openai', async () => {
    let got = ''
    for await (const chunk of await server.client().chat.completions.create({ model: 'slow-chat', messages, stream: true })) got += chunk.choices[0]?.delta.content ?? ''
    assert.equal(got, text)
    got = ''
    for await (const event of await server.client().responses.create({ model: 'slow-chat', input: 'x', stream: true })) {
      if (event.type === 'response.output_text.delta') got += event.delta
    }
    assert.equal(got, text)
  })

  test('@anthropic-ai/sdk', async () => {
    const client = new Anthropic({ baseURL: server.url, apiKey: 'not-needed', maxRetries: 0 })
    const final = await client.messages.stream({ model: 'slow-chat', max_tokens: 9, messages }).finalMessage()
    assert.deepEqual([final.content[0].text, final.stop_reason], [text, 'end_turn'])
  })

  test('ai', async () => {
    const options = { baseURL: `${server.url}/v1`, apiKey: 'not-needed' }
    for (const model of [createOpenAI(options).chat('slow-chat'), createOpenAI(options).responses('slow-chat'), createAnthropic(options)('slow-chat')]) {
      assert.equal(await streamText({ model, messages, maxRetries: 0 }).text, text)
    }
  })
})
