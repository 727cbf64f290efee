// Tools, reasoning and the rendered prompt in the view Chat.
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { clean, ends, open, picked, server, shoot } from './browser.mjs'
import { chatServer } from './chatserver.mjs'

const weather = '[{"name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}]'
const oslo = { id: 'call_1', name: 'get_weather', arguments: '{"city": "Oslo"}' }

// said sends a message and waits until nothing is being answered.
async function said(page, text) {
  await page.locator('#chat-text').fill(text)
  await page.locator('#chat-text').press('Enter')
  await settled(page)
}

const settled = (page) => page.waitForFunction(() => document.querySelectorAll('.thread-turns > li').length > 1 &&
  document.querySelector('#chat-stop').hidden && !document.querySelector('.turn[aria-busy=true]'))

suite('tools of the starter', () => {
  // starter opens Chat with the starter that calls tools, and its examples.
  async function starter(t, options = {}) {
    const page = await open(t, (await server()).url, { hash: 'chat', ...options })
    await picked(page, 'chat-model', 'tools')
    if (options.width === 360) await page.locator('#chat-options-toggle').click()
    await page.locator('#chat-tools-example').click()
    await page.locator('#view-chat [data-param=temperature]').fill('0')
    if (options.width === 360) await page.locator('#chat-options-toggle').click()
    return page
  }

  test('a call is answered by the page, and the model answers with its result', async (t) => {
    const page = await starter(t)
    await page.getByRole('button', { name: 'What is 17 times 23?' }).click()
    await page.locator('.assistant').nth(1).waitFor()
    await settled(page)
    assert.deepEqual(await page.locator('.thread-turns > li').evaluateAll((list) => list.map((li) => li.className)), ['user', 'assistant', 'tool', 'assistant'])
    assert.match(await page.locator('.assistant .calls').textContent(), /Calls multiply.*"a": 17.*"b": 23/s)
    assert.match(await page.locator('.tool .calls').textContent(), /Result of multiply.*391/s)
    assert.match(await page.locator('.assistant .said').nth(1).textContent(), /391/)
    await page.reload() // it is stored
    assert.match(await page.locator('.tool .calls').textContent(), /391/)
    await said(page, 'Add 2 and 40')
    await page.locator('.tool').nth(1).waitFor()
    assert.match(await page.locator('.tool').nth(1).textContent(), /42/)
  })

  test('a first message that the starter can answer brings the functions that it needs', async (t) => {
    const page = await open(t, (await server()).url, { hash: 'chat' })
    await picked(page, 'chat-model', 'tools')
    for (const [text, want] of [['What is 17 times 23?', /391/], ['Add 12.5 and 30', /42\.5/], ['What time is it in Tokyo?', /\d\d:\d\d/]]) {
      assert.equal(await page.locator('#chat-tools').inputValue(), '')
      await page.locator('#view-chat [data-param=temperature]').fill('0')
      await page.getByRole('button', { name: text }).click()
      await page.locator('.assistant').nth(1).waitFor()
      await settled(page)
      assert.match(await page.locator('.assistant .said').nth(1).textContent(), want)
      await page.getByRole('button', { name: 'New chat' }).click()
    }
    await page.locator('#chat-tools').fill(weather)
    assert.equal(await page.locator('.chat-empty .tries button').count(), 0) // the page does not know what they answer
  })

  test('the prompt is shown, by who wrote it', async (t) => {
    const page = await starter(t)
    await said(page, 'What is 6 times 7?')
    await page.locator('.assistant').nth(1).waitFor()
    await settled(page)
    await page.locator('.assistant').nth(1).getByRole('button', { name: 'Show prompt' }).click()
    const text = page.locator('.prompt-text')
    await text.waitFor()
    assert.match(await text.textContent(), /^multiply\(a: number, b: number\) Multiply two numbers\.\n.*<\|user\|>What is 6 times 7\?<\|answer\|>.*<\|result\|>42<\|answer\|>$/s)
    assert.equal(await text.locator('.user').textContent(), 'What is 6 times 7?')
    assert.equal(await text.locator('.tool').last().textContent(), '42')
    assert.ok((await text.locator('.template').allTextContents()).some((s) => s.endsWith('<|user|>')))
    assert.match(await page.locator('.prompt-place .muted').textContent(), /^\d+ characters, \d+ tokens$/)
    await page.keyboard.press('Escape')
    assert.equal(await page.locator('dialog.prompt').evaluate((d) => d.open), false)
  })

  test('accessible in both themes and widths', async (t) => {
    const page = await starter(t)
    await said(page, 'What is 17 times 23?')
    await page.locator('.assistant').nth(1).waitFor()
    await settled(page)
    assert.match(await page.locator('.assistant .figures').first().textContent(), /^\d+ tokens · [\d,.]+ tokens\/s · first after [\d.]+ m?s · called a tool$/)
    await shoot(page, 'tools')
    await page.locator('.assistant').nth(1).getByRole('button', { name: 'Show prompt' }).click()
    await page.locator('.prompt-text').waitFor()
    await shoot(page, 'prompt')
  })

  test('in a narrow window the settings are behind a button', async (t) => {
    const page = await starter(t, { width: 360 })
    await said(page, 'Add 1 and 2')
    await page.locator('.assistant').nth(1).waitFor()
    await settled(page)
    await clean(page, 'narrow')
  })
})

suite('tools by hand', () => {
  // shown opens Chat with sage and a declared function.
  async function shown(t, options = {}) {
    const front = await chatServer((await server()).url)
    ends(t, front.stop)
    const page = await open(t, front.url, { hash: 'chat', ...options })
    await picked(page, 'chat-model', 'sage')
    await page.locator('#chat-tools').fill(weather)
    return { page, front }
  }

  test('the user sends the results of calls', async (t) => {
    const { page, front } = await shown(t)
    front.answer = (messages) => messages.at(-1).role === 'tool' ? `It is ${messages.at(-1).content}.` : { text: 'I look.', calls: [oslo, { ...oslo, id: 'call_2', arguments: '{}' }] }
    await said(page, 'The weather in Oslo?')
    assert.deepEqual(front.bodies[0].tools, [{ type: 'function', function: JSON.parse(weather)[0] }])
    assert.match(await page.locator('.assistant .said').textContent(), /I look\..*Calls get_weather.*"city": "Oslo".*no arguments/s)
    assert.match(await page.locator('.assistant .figures').textContent(), /called a tool$/)
    const fields = page.getByLabel('Result of get_weather')
    await fields.nth(0).fill('sunny')
    await fields.nth(1).fill('cold')
    await page.getByRole('button', { name: 'Send results' }).click()
    await page.locator('.assistant').nth(1).waitFor()
    await settled(page)
    assert.deepEqual(front.bodies[1].messages.slice(1), [
      { role: 'assistant', content: 'I look.', tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: '{"city": "Oslo"}' } }, { id: 'call_2', type: 'function', function: { name: 'get_weather', arguments: '{}' } }] },
      { role: 'tool', tool_call_id: 'call_1', content: 'sunny' }, { role: 'tool', tool_call_id: 'call_2', content: 'cold' }])
    assert.match(await page.locator('.assistant .said').nth(1).textContent(), /It is cold\./)
    assert.equal(await page.getByRole('button', { name: 'Send results' }).count(), 0)

    await page.locator('.tool').getByRole('button', { name: 'Edit' }).click()
    assert.equal(await fields.nth(0).inputValue(), 'sunny')
    await fields.nth(1).fill('warm')
    await page.getByRole('button', { name: 'Send results' }).click()
    await page.getByText('It is warm.').waitFor()
    assert.equal(await page.locator('.tool .pages').textContent(), '‹2/2›')
    await settled(page)
    await page.locator('.tool').getByRole('button', { name: 'Previous alternative' }).click()
    assert.match(await page.locator('.assistant .said').nth(1).textContent(), /It is cold\./)
    await page.locator('.assistant').first().getByRole('button', { name: 'Show as code' }).click()
    assert.match(await page.locator('#view-code').textContent(), /get_weather/)
  })

  test('functions of the user are not those of the page', async (t) => {
    const { page, front } = await shown(t)
    await page.locator('#chat-tools').fill('[{"name": "add", "parameters": {"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}}}]')
    front.answer = () => ({ calls: [{ id: 'c', name: 'add', arguments: '{"a": 1, "b": 2}' }] })
    await said(page, 'Add it')
    assert.equal(await page.getByLabel('Result of add').inputValue(), '')
  })

  test('declarations that are wrong are named and not sent', async (t) => {
    const { page, front } = await shown(t)
    const tools = page.locator('#chat-tools'), wrong = page.locator('#chat-tools-wrong')
    for (const [text, want] of [['[{', /^This is not JSON: /], ['{"name": "a b"}', /^Function 1 needs a name of 1 to 64 letters/], ['[{"name": "a"}, {"name": "a"}]', /^Two functions are called a\.$/],
      ['[{"name": "a", "parameters": []}]', /^The parameters of a must be a JSON Schema\.$/], ['', /^$/]]) {
      await tools.fill(text)
      assert.match(await wrong.textContent(), want)
    }
    await said(page, 'hi')
    assert.equal(front.bodies[0].tools, undefined)
  })

  test('reasoning is folded, and later requests do not repeat it', async (t) => {
    const { page, front } = await shown(t)
    front.answer = () => ({ thought: 'Two and two.', text: 'Four.' })
    await said(page, '2 + 2?')
    const thinking = page.locator('.thinking')
    assert.equal(await thinking.locator('.plain').isVisible(), false)
    await thinking.locator('summary').click()
    assert.equal(await thinking.locator('.plain').textContent(), 'Two and two.')
    assert.match(await page.locator('.assistant .markdown').textContent(), /^Four\.$/)
    await said(page, 'sure?')
    assert.deepEqual(front.bodies[1].messages[1], { role: 'assistant', content: 'Four.' })
    await page.reload({ waitUntil: 'networkidle' })
    assert.equal(await thinking.first().locator('.plain').textContent(), 'Two and two.')
  })
})
