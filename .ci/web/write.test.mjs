// The view Write: prompts and chats, streamed, by one model or by two.
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { ends, open, picked, server, shoot, view } from './browser.mjs'
import { proxy } from './servers.mjs'

const story = 'The old lighthouse stood'

suite('write', () => {
  // shown opens the view; write fills in controls by their names, starts and waits.
  async function shown(t, { url, model = 'novels', ...options } = {}) {
    const page = await open(t, url ?? (await server()).url, { hash: 'write', ...options })
    await picked(page, 'write-model', model)
    const set = async (params) => {
      for (const [name, value] of Object.entries(params)) await page.locator(`[data-param=${name}]`).fill(String(value))
    }
    const ended = (n = 1) => page.waitForFunction((n) =>
      document.querySelectorAll('.column:not([hidden]) .answer[aria-busy=false]:not([hidden]) .to-code').length === n, n)
    const write = async (text, params = {}) => {
      await set(params)
      await page.locator('#write-prompt').fill(text)
      await page.locator('#write-go').click()
      await ended()
    }
    const text = (i = 0) => page.locator('.answer .written').nth(i).textContent()
    return { page, write, set, ended, text, answer: page.locator('.answer').first() }
  }
  const api = async (path, body) => (await fetch((await server()).url + path, { method: 'POST', body: JSON.stringify(body) })).json()

  test('a prompt goes on as the API has it, with the same seed', async (t) => {
    const { page, write, text, answer } = await shown(t)
    await write(story, { max_tokens: 40, seed: 7 })
    const { choices: [{ text: want }] } = await api('/v1/completions', { model: 'novels', prompt: story, max_tokens: 40, seed: 7 })
    assert.equal(await text(), want)
    assert.match(await answer.locator('.figures').textContent(), /^40 tokens · [\d,]+ tokens\/s · first after [\d.]+ ms · token limit reached$/)
    await write(story, { max_tokens: 12, temperature: 0 })
    assert.equal(await text(), (await api('/v1/completions', { model: 'novels', prompt: story, max_tokens: 12, temperature: 0 })).choices[0].text)
    await shoot(page, 'write')
  })

  test('it streams, and stops', async (t) => {
    const slow = await proxy((await server()).url)
    ends(t, slow.stop)
    const { page, set, text, ended, answer } = await shown(t, { url: slow.url })
    slow.held = true
    await set({ max_tokens: 200, seed: 7 })
    await page.locator('#write-prompt').fill(story)
    await page.locator('#write-go').click()
    await page.locator('.answer .written').first().waitFor({ state: 'attached' })
    for (let n = 0; n < 4; n++) {
      const before = (await text()).length
      slow.step(3)
      await page.waitForFunction((length) => document.querySelector('.answer .written').textContent.length > length, before)
    }
    assert.ok(await page.locator('#write-go').isDisabled())
    await page.locator('#write-stop').click()
    await ended()
    const stopped = await text()
    assert.match(await answer.locator('.figures').textContent(), /· stopped$/)
    assert.ok(stopped.length > 0 && stopped.length < 600)
    assert.equal(await page.locator('.answer [role=alert]').count(), 0) // stopping is no error
    while (slow.left.length === 0) await new Promise(setImmediate) // the server hears of it
    assert.deepEqual(slow.left, ['/v1/completions'])
    assert.equal(await text(), stopped)
  })

  test('controls have the defaults and the ranges of the API', async (t) => {
    const { page, write, answer } = await shown(t)
    await page.locator('[data-param=temperature][placeholder]').waitFor({ state: 'attached' }) // the server has described them
    const { paths: { '/v1/completions': { post } } } = await (await fetch(`${(await server()).url}/openapi.json`)).json()
    const { properties } = post.requestBody.content['application/json'].schema.anyOf.find((one) => one.properties.temperature)
    for (const name of ['temperature', 'top_p', 'presence_penalty', 'frequency_penalty']) {
      const control = page.locator(`[data-param=${name}]`)
      const { minimum, maximum, default: initial } = properties[name]
      for (const [key, want] of Object.entries({ min: minimum, max: maximum, placeholder: initial })) {
        if (want !== undefined) assert.equal(await control.getAttribute(key), String(want), `${name} ${key}`)
      }
    }
    page.expect(/status of 400/)
    await write(story, { temperature: 9 })
    assert.match(await answer.locator('[role=alert]').textContent(), /temperature/)
    const sent = page.waitForRequest(/\/v1\/completions/)
    await write(story, { temperature: 0.5, top_p: 0.9, max_tokens: 30, stop: ',\n\\n', seed: 3, frequency_penalty: 1, presence_penalty: 1 })
    const body = (await sent).postDataJSON()
    assert.deepEqual({ ...body, logprobs: 0 }, { model: 'novels', prompt: story, max_tokens: 30, temperature: 0.5, top_p: 0.9, presence_penalty: 1,
      frequency_penalty: 1, seed: 3, stop: [',', '\n'], stream: true, logprobs: 0 })
  })

  test('tokens are shaded, and tell what else there was', async (t) => {
    const { page, write, text, answer } = await shown(t)
    await write(story, { max_tokens: 20, seed: 7 })
    const tokens = answer.locator('.written .tok')
    assert.equal(await tokens.count(), 20)
    assert.ok(new Set(await tokens.evaluateAll((all) => all.map((s) => s.dataset.p))).size > 1)
    const list = page.locator('#alternatives')
    await tokens.nth(2).hover()
    await list.waitFor()
    assert.equal(await list.locator('li').count(), 5)
    assert.match(await list.textContent(), /%/)
    await page.mouse.move(5, 5)
    await list.waitFor({ state: 'hidden' })

    await page.keyboard.press('Tab') // so that the focus can be seen
    await answer.locator('.answer-text').focus()
    for (const key of ['ArrowRight', 'ArrowRight', 'ArrowLeft']) await page.keyboard.press(key)
    await list.waitFor()
    const token = await tokens.nth(1).textContent()
    assert.ok((await list.locator('strong').textContent()).endsWith(token.trim()))
    const before = await tokens.nth(0).textContent()
    await page.keyboard.press('Enter')
    const other = list.locator('li:not(.chosen) button').first()
    await other.focus()
    const chosen = (await other.locator('.alt-piece').textContent()).replaceAll('␣', ' ')
    await page.keyboard.press('Enter')
    await answer.locator('.before', { hasText: `${story}${before}${chosen}` }).waitFor()
    await answer.locator('.to-code').waitFor()
    assert.ok((await text()).length > 0)
  })

  test('two models beside each other', async (t) => {
    const { page, set, ended, text } = await shown(t, { model: 'chords' })
    await page.locator('#write-compare').check()
    await picked(page, 'write-model-2', 'novels')
    await set({ max_tokens: 16, seed: 5 })
    await page.locator('#write-prompt').fill('C-major pop : chorus')
    await page.locator('#write-go').click()
    await ended(2)
    for (const [i, model] of ['chords', 'novels'].entries()) {
      const { choices: [{ text: want }] } = await api('/v1/completions', { model, prompt: 'C-major pop : chorus', max_tokens: 16, seed: 5 })
      assert.equal(await text(i), want)
    }
    await shoot(page, 'compare')
  })

  test('an answer stays in its view, and settings and the model survive a reload', async (t) => {
    const { page, write, text } = await shown(t)
    await write(story, { max_tokens: 8, seed: 3, stop: 'x\\n' })
    const answer = await text()
    await view(page, 'chat')
    await page.locator('.chat-empty').waitFor()
    assert.equal(await page.locator('.turn').count(), 0)
    await view(page, 'write')
    assert.equal(await text(), answer)
    await page.locator('#write-logprobs').uncheck()
    await picked(page, 'write-model', 'abc')
    await page.reload()
    await page.waitForFunction(() => document.querySelector('[data-param=seed]')?.value === '3')
    assert.equal(await page.locator('#write-model').inputValue(), 'abc')
    assert.equal(await page.locator('[data-param=max_tokens]').inputValue(), '8')
    assert.equal(await page.locator('[data-param=stop]').inputValue(), 'x\\n')
    assert.equal(await page.locator('#write-logprobs').isChecked(), false)
  })
})
