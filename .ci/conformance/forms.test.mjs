// Structured output through the interfaces of the official Node SDK and the AI SDK. Untrained
// models always give valid answers. A model trained to fill in forms gives the facts of a
// sentence.
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateObject, generateText, Output, stepCountIs, streamObject, streamText, tool } from 'ai'
import OpenAI from 'openai'
import { zodFunction, zodResponseFormat } from 'openai/helpers/zod'
import { z } from 'zod'
import { serve } from './server.mjs'

// All members are bounded: 900 tokens are more than enough.
const Place = z.object({
  name: z.string().max(8),
  kind: z.enum(['town', 'river']),
  height: z.number().int().min(-400).max(9000).nullable(),
})
const Journey = z.object({ places: z.array(Place).max(2), by: Place, onFoot: z.boolean() })
const Clock = z.object({ zone: z.enum(['UTC', 'CET']) })
const Letter = z.object({ text: z.string(), words: z.array(z.string()) }) // not bounded

const base = { model: 'letters', messages: [{ role: 'user', content: 'Where was it?' }], temperature: 1, max_tokens: 900 }
const seeds = Array.from({ length: 6 }, (_, i) => i)
let server, client, model, caller, trained

before(async () => {
  server = await serve({ args: ['--checkpoints', process.env.FORMS] })
  client = server.client()
  const provider = createOpenAICompatible({ name: 'glossa', baseURL: `${server.url}/v1`, supportsStructuredOutputs: true })
  model = provider('letters')
  caller = provider('chatter')
  trained = provider('forms')
})
after(() => server.stop())

suite('openai: response_format', () => {
  test('parse', async () => {
    for (const seed of seeds) {
      const [choice] = (await client.chat.completions.parse({ ...base, seed, response_format: zodResponseFormat(Journey, 'journey') })).choices
      assert.deepEqual(choice.message.parsed, Journey.parse(JSON.parse(choice.message.content)))
      assert.deepEqual(Object.keys(choice.message.parsed), ['places', 'by', 'onFoot'])
      assert.deepEqual([choice.finish_reason, choice.guarantee, choice.message.refusal], ['stop', 'enforced', null])
    }
  })

  test('stream', async () => {
    const params = { ...base, seed: 2, response_format: zodResponseFormat(Journey, 'journey') }
    const runner = client.chat.completions.stream(params)
    const done = []
    runner.on('content.done', ({ parsed }) => done.push(parsed))
    const [choice] = (await runner.finalChatCompletion()).choices
    const [whole] = (await client.chat.completions.parse(params)).choices
    assert.deepEqual(done, [whole.message.parsed])
    assert.deepEqual(choice.message.parsed, whole.message.parsed)
  })

  test('a limit is told, and what it ended is whole', async () => {
    let cut = 0
    for (const seed of seeds) {
      const response_format = zodResponseFormat(Letter, 'letter')
      const [choice] = (await client.chat.completions.create({ ...base, seed, max_tokens: 30, response_format })).choices
      Letter.parse(JSON.parse(choice.message.content))
      if (choice.finish_reason === 'length') {
        cut++
        await assert.rejects(client.chat.completions.parse({ ...base, seed, max_tokens: 30, response_format }), OpenAI.LengthFinishReasonError)
      }
    }
    assert.ok(cut > 0)
  })

  test('errors', async () => {
    const format = (schema) => ({ type: 'json_schema', json_schema: { name: 'x', schema } })
    await assert.rejects(client.chat.completions.create({ ...base, response_format: format({ type: 'object', properties: { a: { type: 'objekt' } } }) }),
      (e) => e instanceof OpenAI.BadRequestError && e.param === 'response_format' && e.message.includes('/properties/a: type: '))
    await assert.rejects(client.chat.completions.create({ ...base, max_tokens: 2, response_format: format({ type: 'object', properties: { a: { type: 'string' } }, required: ['a'] }) }),
      (e) => e instanceof OpenAI.BadRequestError && e.param === 'max_tokens')
  })
})

suite('openai: tools', () => {
  const tools = [zodFunction({ name: 'visit', parameters: Place }), zodFunction({ name: 'clock', parameters: Clock })]
  const kinds = { visit: Place, clock: Clock }
  const caller = { ...base, model: 'chatter', max_tokens: 4000 } // has a token that ends its calls, some twenty at most

  test('parse', async () => {
    for (const seed of seeds) {
      const [choice] = (await client.chat.completions.parse({ ...caller, seed, tools, tool_choice: 'required' })).choices
      assert.deepEqual([choice.finish_reason, choice.message.content, choice.guarantee], ['tool_calls', null, 'enforced'])
      for (const { id, function: { name, parsed_arguments: parsed } } of choice.message.tool_calls) {
        assert.ok(id)
        kinds[name].parse(parsed)
      }
    }
  })

  test('stream', async () => {
    for (const seed of seeds) {
      const params = { ...caller, seed, tools, tool_choice: 'required' }
      const runner = client.chat.completions.stream(params)
      const done = []
      runner.on('tool_calls.function.arguments.done', ({ name, parsed_arguments: parsed }) => done.push([name, parsed]))
      const [choice] = (await runner.finalChatCompletion()).choices
      const [whole] = (await client.chat.completions.parse(params)).choices
      const calls = (c) => c.message.tool_calls.map((t) => [t.function.name, t.function.parsed_arguments])
      assert.deepEqual(calls(choice), calls(whole))
      assert.deepEqual(done, calls(whole))
      assert.equal(choice.finish_reason, 'tool_calls')
    }
  })

  test('runTools', async () => {
    const visited = []
    const runner = client.chat.completions.runTools({
      ...caller, seed: 1, tool_choice: { type: 'function', function: { name: 'visit' } },
      tools: [zodFunction({ name: 'visit', parameters: Place, function: (place) => visited.push(place) && 'rain' })],
    })
    await runner.done()
    assert.ok(visited.length > 0)
    for (const place of visited) Place.parse(place)

    // Answers are sent back as the SDK represents them, with the results of the calls.
    const loop = client.chat.completions.runTools({
      ...caller, seed: 1, tool_choice: 'required',
      tools: [zodFunction({ name: 'clock', parameters: Clock, function: ({ zone }) => `noon ${zone}` })],
    }, { maxChatCompletions: 3 })
    await loop.done()
    const roles = loop.messages.map((m) => m.role)
    assert.deepEqual(roles.filter((r) => r === 'assistant').length, 3)
    assert.ok(loop.messages.some((m) => m.role === 'tool' && m.content.startsWith('noon ')))
  })
})

suite('ai', () => {
  const params = { temperature: 1, maxOutputTokens: 900, maxRetries: 0 }
  const calling = () => ({ ...params, model: caller, maxOutputTokens: 4000 })

  test('generateObject', async () => {
    for (const seed of seeds) {
      const { object, finishReason } = await generateObject({ ...params, model, seed, schema: Journey, prompt: 'Where?' })
      assert.deepEqual(Journey.parse(object), object)
      assert.equal(finishReason, 'stop')
    }
    const { object } = await generateObject({ ...params, model, maxOutputTokens: 30, schema: Letter, prompt: 'Where?' })
    Letter.parse(object)
  })

  test('choices and lists', async () => {
    const { object: kind } = await generateObject({ ...params, model, output: 'enum', enum: ['town', 'river'], prompt: 'Where?' })
    assert.ok(['town', 'river'].includes(kind))
    const { object: list } = await generateObject({ ...params, model, output: 'array', schema: Clock, prompt: 'Where?', maxOutputTokens: 200 })
    for (const clock of list) Clock.parse(clock)
  })

  test('streamObject', async () => {
    const { partialObjectStream, object } = streamObject({ ...params, model, seed: 4, schema: Journey, prompt: 'Where?' })
    let last
    for await (const part of partialObjectStream) last = part
    assert.deepEqual(Journey.parse(await object), last)
  })

  test('the output of generateText', async () => {
    const { output } = await generateText({ ...params, model, output: Output.object({ schema: Journey }), prompt: 'Where?' })
    assert.deepEqual(Journey.parse(output), output)
  })

  const tools = (calls) => ({
    visit: tool({ description: 'goes there', inputSchema: Place, execute: (place) => { calls.push(['visit', place]); return 'rain' } }),
    clock: tool({ inputSchema: Clock, execute: (clock) => { calls.push(['clock', clock]); return { noon: true } } }),
  })

  test('generateText with tools', async () => {
    for (const seed of seeds) {
      const calls = []
      const { steps } = await generateText({
        ...calling(), seed, tools: tools(calls), toolChoice: 'required', stopWhen: stepCountIs(2), prompt: 'Where?' })
      assert.equal(steps.length, 2)
      assert.deepEqual(steps.map((s) => s.finishReason), ['tool-calls', 'tool-calls'])
      assert.deepEqual(steps.flatMap((s) => s.toolCalls.map((c) => [c.toolName, c.input])), calls)
      assert.ok(steps.every((s) => s.toolCalls.length > 0 && s.toolCalls.every((c) => !c.invalid)))
    }
    const calls = []
    await generateText({ ...calling(), tools: tools(calls), toolChoice: { type: 'tool', toolName: 'clock' }, prompt: 'Where?' })
    assert.ok(calls.length > 0 && calls.every(([name]) => name === 'clock'))
  })

  test('streamText with tools', async () => {
    const calls = []
    const result = streamText({ ...calling(), seed: 5, tools: tools(calls), toolChoice: 'required', prompt: 'Where?' })
    await result.consumeStream()
    assert.deepEqual((await result.toolCalls).map((c) => [c.toolName, c.input]), calls)
    assert.equal(await result.finishReason, 'tool-calls')
  })
})

suite('a trained model', () => {
  const Person = z.object({ name: z.string(), age: z.number().int(), trade: z.string(), town: z.string() })
  const text = '\n\nHilda, a tall weaver of 43 years, keeps house at Lower Sands with two children.'
  const hilda = { name: 'Hilda', age: 43, trade: 'weaver', town: 'Lower Sands' }
  const params = { temperature: 0, maxRetries: 0, schema: Person, prompt: text }

  test('openai: parse', async () => {
    const [choice] = (await client.chat.completions.parse({
      model: 'forms', temperature: 0, messages: [{ role: 'user', content: text }], response_format: zodResponseFormat(Person, 'person') })).choices
    assert.deepEqual([choice.message.parsed, choice.finish_reason], [hilda, 'stop'])
  })

  test('ai: generateObject', async () => {
    const { object, finishReason } = await generateObject({ ...params, model: trained })
    assert.deepEqual([object, finishReason], [hilda, 'stop'])
    for (const key of Object.keys(hilda)) {
      const { object } = await generateObject({ ...params, model: trained, schema: Person.pick({ [key]: true }) })
      assert.deepEqual(object, { [key]: hilda[key] })
    }
  })

  test('ai: streamObject', async () => {
    const { partialObjectStream, object } = streamObject({ ...params, model: trained })
    const names = []
    for await (const part of partialObjectStream) names.push(part.name ?? '')
    assert.deepEqual(await object, hilda)
    for (const name of names) assert.ok('Hilda'.startsWith(name), name)
    assert.ok(names.includes('Hil'), names)
  })

  test('ai: choices', async () => {
    const { object } = await generateObject({
      temperature: 0, maxRetries: 0, model: trained, schema: z.object({ trade: z.enum(['baker', 'miller', 'weaver']) }), prompt: text })
    assert.deepEqual(object, { trade: 'weaver' })
  })
})
