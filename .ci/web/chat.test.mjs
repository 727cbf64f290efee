// The view Chat: conversations, kept in the browser.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { suite, test } from 'node:test'
import { clean, ends, open, picked, server, shoot } from './browser.mjs'
import { chatServer } from './chatserver.mjs'

const rich = `Plants make sugar from **light**. In short:

1. Leaves take in \`CO₂\` and water.
2. Chlorophyll catches light.
   - It absorbs red and blue.
   - It reflects *green*.
3. Sugar stays, oxygen leaves.

| Step | Where | Output |
|:-----|:-----:|-------:|
| Light reactions | thylakoid | ATP |
| Calvin cycle | stroma | sugar |

\`\`\`python
def grow(light, water):
    """Return the sugar of a day."""
    return min(light, water) * 0.03
\`\`\`

> A leaf is a factory with the roof off.

More at [the encyclopedia](https://example.org/photosynthesis).`

// bare returns the address of a server with base models alone.
async function bare(t) {
  const front = await chatServer((await server()).url, { sage: false })
  ends(t, front.stop)
  return front.url
}

suite('chat', () => {
  // shown opens the view with the model sage; say sends a message and waits for the answer.
  async function shown(t, options = {}) {
    const front = await chatServer((await server()).url)
    ends(t, front.stop)
    const page = await open(t, front.url, { hash: 'chat', ...options })
    await page.locator('#chat-model option[value=sage]').waitFor({ state: 'attached' })
    const ended = (n) => page.waitForFunction((n) => document.querySelectorAll('.assistant .turn[aria-busy=false]').length === n && document.querySelector('#chat-stop').hidden, n)
    const say = async (text) => {
      const n = await page.locator('.assistant').count()
      await page.locator('#chat-text').fill(text)
      await page.locator('#chat-text').press('Enter')
      await ended(n + 1)
    }
    const texts = () => page.locator('.thread-turns .said').allTextContents()
    return { page, front, say, ended, texts, user: page.locator('.user'), assistant: page.locator('.assistant') }
  }

  test('Enter sends, Shift+Enter begins a line, and an input method keeps its Enter', async (t) => {
    const { page, front, ended, texts } = await shown(t)
    const text = page.locator('#chat-text')
    await text.fill('one')
    await text.dispatchEvent('keydown', { key: 'Enter', isComposing: true })
    await text.dispatchEvent('keydown', { key: 'Enter', keyCode: 229 })
    assert.equal(await text.inputValue(), 'one')
    await text.press('Shift+Enter')
    await page.keyboard.type('two')
    assert.equal(await text.inputValue(), 'one\ntwo')
    await text.press('Enter')
    await ended(1)
    assert.deepEqual(front.bodies[0].messages, [{ role: 'user', content: 'one\ntwo' }])
    assert.deepEqual(await texts(), ['one\ntwo', 'Hello.'])
    assert.equal(await text.inputValue(), '')
    await text.fill('  ')
    await text.press('Enter')
    assert.equal(front.bodies.length, 1) // nothing is nothing to send
  })

  test('the model sees the conversation, the system prompt and the settings', async (t) => {
    const { page, front, say } = await shown(t)
    await page.locator('#chat-system').fill('Be brief.')
    await page.locator('#view-chat [data-param=temperature]').fill('0.5')
    front.answer = () => 'First.'
    await say('a')
    front.answer = () => ({ text: 'Second.', finish: 'length' })
    await say('b')
    assert.deepEqual(front.bodies[1], { model: 'sage', temperature: 0.5, stream: true, messages: [
      { role: 'system', content: 'Be brief.' }, { role: 'user', content: 'a' }, { role: 'assistant', content: 'First.' }, { role: 'user', content: 'b' }] })
    assert.match(await page.locator('.assistant .figures').first().textContent(), /^1 token · .*tokens\/s · first after [\d.]+ ms · finished$/)
    assert.match(await page.locator('.assistant .figures').last().textContent(), /token limit reached$/)
  })

  test('a model of the server remembers what was said', async (t) => {
    const page = await open(t, await bare(t), { hash: 'chat' })
    await picked(page, 'chat-model', 'novels')
    await page.waitForFunction(() => document.querySelector('#view-chat [data-param=temperature]').placeholder)
    for (const [name, value] of [['max_tokens', '8'], ['temperature', '0']]) await page.locator(`#view-chat [data-param=${name}]`).fill(value)
    const say = async (text, n) => {
      await page.locator('#chat-text').fill(text)
      const sent = page.waitForRequest(/\/v1\/chat\/completions/)
      await page.locator('#chat-send').click()
      await page.waitForFunction((n) => document.querySelectorAll('.assistant .turn[aria-busy=false]').length === n, n)
      return (await sent).postDataJSON().messages
    }
    const first = await say('The old lighthouse stood', 1)
    const answer = await fetch(`${(await server()).url}/v1/chat/completions`, { method: 'POST', body: JSON.stringify({ model: 'novels', messages: first, max_tokens: 8, temperature: 0 }) })
    const { choices: [{ message: { content } }] } = await answer.json()
    assert.deepEqual(await say('And then', 2), [...first, { role: 'assistant', content }, { role: 'user', content: 'And then' }])
  })

  test('only models that chat are offered, and base models are named', async (t) => {
    const { page } = await shown(t)
    assert.deepEqual(await page.locator('#chat-model option').allTextContents(), ['sage'])
    assert.match(await page.locator('.about').textContent(), /^novels, abc, chords and 1 more are base models: they continue texts and are offered in Write\.$/)
  })

  test('a server with base models alone offers them, and says so', async (t) => {
    const plain = await open(t, await bare(t), { hash: 'chat' })
    await picked(plain, 'chat-model', 'novels')
    assert.deepEqual(await plain.locator('#chat-model option').allTextContents(), ['novels', 'abc', 'chords', 'forms'])
    assert.match(await plain.locator('.about').textContent(), /novels is a base model: it continues your text instead of answering it/)
    const sent = plain.waitForRequest(/\/v1\/chat\/completions/)
    await plain.locator('#chat-text').fill('The old lighthouse')
    await plain.locator('#chat-send').click()
    assert.equal((await sent).postDataJSON().max_tokens, 64)
    await plain.locator('.assistant .figures', { hasText: '64 tokens' }).waitFor()
    await shoot(plain, 'chat-base')
  })

  test('it streams without shouting, stops by Esc and by the button, and keeps what came', async (t) => {
    const { page, front, ended, texts } = await shown(t)
    front.held = true
    front.answer = () => 'one two three four five'
    for (const stop of [() => page.keyboard.press('Escape'), () => page.locator('#chat-stop').click()]) {
      await page.locator('#chat-new').click()
      await page.locator('#chat-text').fill('count')
      await page.locator('#chat-text').press('Enter')
      front.step(2)
      await page.locator('.assistant .said', { hasText: 'one two' }).waitFor()
      assert.equal(await page.locator('.assistant .turn').getAttribute('aria-busy'), 'true')
      assert.deepEqual(await page.evaluate(() => [...document.querySelectorAll('#view-chat [aria-live], #view-chat [role=log], #view-chat [role=alert]')].filter((e) => e.textContent.includes('two')).length), 0)
      await stop()
      await ended(1)
      assert.deepEqual(await texts(), ['count', 'one two'])
      assert.match(await page.locator('.assistant .figures').textContent(), /^2 tokens .* stopped$/)
      assert.equal(await page.evaluate(() => document.activeElement.id), 'chat-text')
    }
    await page.waitForFunction(() => document.querySelector('.thread-frame [role=status]').textContent.startsWith('Answer complete: 2 tokens'))
    while (front.left < 2) await new Promise(setImmediate) // the server hears of it
  })

  test('the reader is not pulled to the end, and finds the way back', async (t) => {
    const { page, front } = await shown(t)
    front.held = true
    front.answer = () => Array.from({ length: 90 }, (_, i) => `Line ${i}.\n\n`).join('')
    await page.locator('#chat-text').fill('go')
    await page.locator('#chat-text').press('Enter')
    const at = () => page.locator('.thread').evaluate((e) => [e.scrollTop, e.scrollHeight - e.clientHeight - e.scrollTop])
    front.step(100)
    await page.locator('.assistant p', { hasText: 'Line 49.' }).waitFor()
    assert.ok((await at())[1] < 48)
    await page.locator('.thread').evaluate((e) => { e.scrollTop = 100 })
    await page.locator('#chat-latest').waitFor()
    front.step(40)
    await page.locator('.assistant p', { hasText: 'Line 69.' }).waitFor()
    assert.equal((await at())[0], 100)
    await page.locator('#chat-latest').click()
    front.step(1000)
    await page.locator('.assistant p', { hasText: 'Line 89.' }).waitFor()
    await page.locator('#chat-latest').waitFor({ state: 'hidden' })
    assert.ok((await at())[1] < 48)
  })

  test('a message edited and an answer regenerated are branches, which survive a reload', async (t) => {
    const { page, front, say, ended, texts, user, assistant } = await shown(t)
    let n = 0
    front.answer = () => `Answer ${++n}.`
    await say('first')
    await say('second')
    await assistant.nth(1).getByRole('button', { name: 'Regenerate' }).click()
    await page.locator('.said', { hasText: 'Answer 3.' }).waitFor()
    await ended(2)
    assert.equal(await assistant.nth(1).locator('.pages span').textContent(), '2/2')
    await user.nth(0).getByRole('button', { name: 'Edit' }).click()
    const field = page.getByLabel('Edit your message')
    await field.press('Escape')
    assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Edit')
    await page.keyboard.press('Enter')
    await field.fill('changed')
    await field.press('Enter')
    await page.locator('.said', { hasText: 'Answer 4.' }).waitFor()
    await ended(1)
    assert.deepEqual(await texts(), ['changed', 'Answer 4.'])
    assert.deepEqual(front.bodies.at(-1).messages, [{ role: 'user', content: 'changed' }])
    await user.nth(0).getByRole('button', { name: 'Previous alternative' }).click()
    assert.deepEqual(await texts(), ['first', 'Answer 1.', 'second', 'Answer 3.'])
    await assistant.nth(1).getByRole('button', { name: 'Previous alternative' }).click()
    assert.deepEqual(await texts(), ['first', 'Answer 1.', 'second', 'Answer 2.'])
    await page.reload()
    await assistant.nth(1).waitFor()
    assert.deepEqual(await texts(), ['first', 'Answer 1.', 'second', 'Answer 2.'])
    assert.equal(await user.nth(0).locator('.pages span').textContent(), '1/2')
    await assistant.nth(1).getByRole('button', { name: 'Next alternative' }).click()
    assert.deepEqual(await texts(), ['first', 'Answer 1.', 'second', 'Answer 3.'])
    await shoot(page, 'chat-branches')
  })

  test('conversations, settings, the model and the view survive a reload', async (t) => {
    const { page, say, texts } = await shown(t)
    await page.locator('#chat-system').fill('Be kind.')
    await page.locator('#view-chat [data-param=top_p]').fill('0.9')
    await page.locator('#chat-formatted').uncheck()
    await page.locator('#chat-options-toggle').click()
    await say('hello')
    await page.goto(page.url().replace('#chat', ''))
    await page.locator('#view-chat .said').nth(1).waitFor()
    assert.deepEqual(await texts(), ['hello', 'Hello.'])
    assert.equal(await page.locator('#chat-system').inputValue(), 'Be kind.')
    await page.waitForFunction(() => document.querySelector('#view-chat [data-param=top_p]').value === '0.9')
    assert.equal(await page.locator('#chat-formatted').isChecked(), false)
    assert.equal(await page.locator('#chat-options').isVisible(), false)
  })

  test('a list of conversations: new, renamed, searched, deleted, brought back, all deleted', async (t) => {
    const { page, front, say } = await shown(t)
    const names = () => page.locator('.conversations [data-open]').allTextContents()
    front.answer = (messages) => `About ${messages[0].content}.`
    for (const text of ['apples', 'bears', 'clouds']) {
      await page.locator('#chat-new').click()
      await say(text)
    }
    assert.deepEqual(await names(), ['clouds', 'bears', 'apples'])
    await page.getByRole('button', { name: 'Rename “bears”' }).click({ force: true })
    await page.getByLabel('Name of the conversation').fill('Brown bears')
    await page.keyboard.press('Enter')
    assert.deepEqual(await names(), ['clouds', 'Brown bears', 'apples'])
    await page.locator('#chat-search').fill('ABOUT BEARS')
    assert.deepEqual(await names(), ['Brown bears'])
    await page.locator('#chat-search').fill('')
    await page.locator('[data-open]', { hasText: 'apples' }).click()
    assert.equal(await page.locator('.user .said').textContent(), 'apples')
    await page.getByRole('button', { name: 'Delete “apples”' }).click()
    assert.deepEqual(await names(), ['clouds', 'Brown bears'])
    assert.equal(await page.locator('.user').count(), 0)
    await page.getByRole('button', { name: 'Undo' }).click()
    assert.equal((await names()).length, 3)
    assert.equal(await page.locator('.user .said').textContent(), 'apples')
    await page.getByRole('button', { name: 'Delete all' }).click()
    await clean(page, 'the question before all is deleted')
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
    assert.equal((await names()).length, 3)
    await page.getByRole('button', { name: 'Delete all' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete all' }).click()
    assert.deepEqual(await names(), [])
    assert.deepEqual(await page.evaluate(() => Object.keys(localStorage).filter((k) => k.startsWith('glossa-chat-'))), [])
  })

  test('an exported conversation is imported again, and a foreign file is refused in words', async (t) => {
    const { page, front, say, texts } = await shown(t)
    front.answer = () => 'Some **bold** words.'
    await say('export me')
    const download = async (name) => {
      await page.locator('.menu summary').click()
      const [file] = await Promise.all([page.waitForEvent('download'), page.locator('.menu-box').getByRole('button', { name }).click()])
      return { name: file.suggestedFilename(), path: await file.path(), text: await readFile(await file.path(), 'utf8') }
    }
    const md = await download('Markdown'), json = await download('JSON')
    assert.deepEqual([md.name, md.text], ['export-me.md', '# export me\n\n## You\n\nexport me\n\n## sage\n\nSome **bold** words.\n'])
    assert.equal(json.name, 'export-me.json')
    await page.locator('#chat-new').click()
    await page.locator('#chat-file').setInputFiles(json.path)
    await page.getByText('Imported 1 conversation.').waitFor()
    assert.equal(await page.locator('.conversations li').count(), 2) // a copy
    assert.deepEqual(await texts(), ['export me', 'Some bold words.'])
    await page.locator('#chat-file').setInputFiles({ name: 'x.json', mimeType: 'application/json', buffer: Buffer.from('[1]') })
    await page.getByText('This file holds no conversations exported from this page.').waitFor()
  })

  test('an error stands at its answer, and Try again keeps what was written', async (t) => {
    const { page, front, ended, texts, assistant } = await shown(t)
    page.expect(/status of 503/)
    front.answer = () => ({ status: 503, error: 'the weights are asleep' })
    await page.locator('#chat-text').fill('wake up')
    await page.locator('#chat-text').press('Enter')
    const alert = assistant.getByRole('alert')
    await alert.waitFor()
    assert.deepEqual(await assistant.getByRole('button').allTextContents(), ['Try again', 'Show as code', 'Show prompt']) // there is nothing to copy
    assert.match(await alert.locator('p').textContent(), /The weights are asleep\./)
    await shoot(page, 'chat-error')
    front.answer = () => 'Awake.'
    await alert.getByRole('button', { name: 'Try again' }).click()
    await alert.waitFor({ state: 'detached' })
    await ended(1)
    assert.deepEqual(await texts(), ['wake up', 'Awake.'])
    assert.equal(await page.locator('.pages').count(), 0) // the failure is no alternative
    page.expect(/ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE/)
    front.answer = () => ({ text: 'half an', cut: () => page.locator('.assistant .said', { hasText: 'half an' }).waitFor() })
    await page.locator('#chat-text').fill('more')
    await page.locator('#chat-text').press('Enter')
    await alert.waitFor()
    assert.deepEqual((await texts()).slice(2), ['more', 'half an'])
    assert.match(await assistant.last().locator('.figures').textContent(), /^2 tokens .* failed$/)
  })

  test('answers are Markdown, or plain text', async (t) => {
    const { page, front, say } = await shown(t, { permissions: ['clipboard-read', 'clipboard-write'] })
    front.answer = () => rich
    await say('Explain photosynthesis')
    const said = page.locator('.assistant .said')
    for (const [selector, n] of [['ol > li', 3], ['ol ul > li', 2], ['table tbody tr', 2], ['.code-block pre code', 1], ['blockquote', 1], ['a[target=_blank][rel~=noopener]', 1], ['strong', 1]]) {
      assert.equal(await said.locator(selector).count(), n, selector)
    }
    await page.getByRole('button', { name: 'Copy code' }).click()
    assert.match(await page.evaluate(() => navigator.clipboard.readText()), /^def grow[\s\S]*0\.03$/)
    await page.locator('.assistant .turn-foot').getByRole('button', { name: 'Copy' }).click()
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), rich)
    await page.locator('.thread').evaluate((e) => { e.scrollTop = 0 })
    await shoot(page, 'chat')
    await page.setViewportSize({ width: 1280, height: 900 })
    await page.locator('#chat-formatted').uncheck()
    assert.equal(await said.textContent(), rich)
  })

  test('the reasoning of a model is folded away, and not sent back', async (t) => {
    const { page, front, say } = await shown(t)
    front.answer = () => '<think>\nFirst I add.\n</think>\n\nIt is **4**.'
    await say('2 + 2?')
    assert.equal(await page.locator('.assistant .markdown').textContent(), 'It is 4.')
    assert.equal(await page.locator('.thinking .plain').isVisible(), false)
    await page.getByText('Reasoning').click()
    assert.equal(await page.locator('.thinking .plain').textContent(), 'First I add.')
    await say('and 3?')
    assert.deepEqual(front.bodies[1].messages[1], { role: 'assistant', content: 'It is **4**.' })
  })

  test('hostile Markdown loads nothing, runs nothing and ends', async (t) => {
    const { page, front, say } = await shown(t)
    const asked = []
    page.on('request', (r) => asked.push(r.url()))
    front.answer = () => [
      '<img src=x onerror=alert(1)><script>alert(1)</script><iframe src="https://example.com"></iframe>',
      '[a](javascript:alert(1)) [b](JaVaScRiPt:alert(1)) [c](data:text/html,x) [d](vbscript:x) [e](//example.com) [f](  javascript:x) <javascript:alert(1)>',
      '![g](https://example.com/track.png) ![h](data:image/svg+xml,x) [![i](x)](javascript:x)',
      '[j](https://example.com/?q="onmouseover="alert(1)) [k](mailto:a@example.com)',
      '> '.repeat(400) + 'deep', '- '.repeat(400) + 'deep', '*a **b '.repeat(400), '['.repeat(400) + '](x)'.repeat(400), '`'.repeat(999), '|'.repeat(400) + '\n' + '|-'.repeat(400),
    ].join('\n\n')
    await say('attack')
    const said = page.locator('.assistant .said')
    assert.equal(await said.locator('img, script, iframe, object, style, svg, form').count(), 0)
    assert.deepEqual(await said.locator('a').evaluateAll((all) => all.map((a) => a.protocol + a.textContent)), ['https:https://example.com', 'https:Image: g', 'https:j', 'mailto:k'])
    assert.equal(await said.locator('*').evaluateAll((all) => all.flatMap((e) => [...e.attributes]).filter((a) => /^on|^style$|^src$/.test(a.name)).length), 0)
    assert.ok(asked.every((url) => url.startsWith(front.url)))
    assert.match(await said.textContent(), /<script>alert\(1\)<\/script>/)
  })

  test('storage that is damaged, foreign, full or off is no obstacle', async (t) => {
    const { page, say, texts } = await shown(t)
    await say('good')
    await page.evaluate(() => {
      const good = Object.keys(localStorage).find((k) => k.startsWith('glossa-chat-'))
      for (const [key, value] of [['a', '{'], ['b', 'null'], ['c', '{"v":99}'], ['d', '{"v":1,"id":"d","turns":[{"id":"x","parent":"x","role":"user","text":"t"}]}'], ['e', localStorage[good]]]) localStorage.setItem(`glossa-chat-${key}`, value)
      localStorage.setItem('glossa-settings', '[1,{')
      localStorage.setItem('other', 'x')
    })
    await page.reload()
    await page.locator('.said').nth(1).waitFor()
    assert.deepEqual(await texts(), ['good', 'Hello.'])
    assert.deepEqual(await page.locator('.conversations [data-open]').allTextContents(), ['good', 'New chat'])
    await page.getByRole('button', { name: 'Delete all' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete all' }).click()
    assert.deepEqual(await page.evaluate(() => [localStorage.getItem('other'), localStorage.getItem('glossa-chat-a')]), ['x', '{'])
    const off = await shown(t)
    await off.page.addInitScript(() => { Object.defineProperty(globalThis, 'localStorage', { get() { throw new DOMException('denied', 'SecurityError') } }) })
    await off.page.reload()
    await off.page.getByText('This browser stores nothing for this page').waitFor()
    await off.say('still there')
    assert.deepEqual(await off.texts(), ['still there', 'Hello.'])
  })

  test('probabilities of tokens', async (t) => {
    const { page, say, front } = await shown(t)
    await page.locator('#chat-shaded').check()
    await say('x')
    assert.equal(front.bodies[0].logprobs, undefined) // remote models tell none
    const local = await open(t, await bare(t), { hash: 'chat' })
    await picked(local, 'chat-model', 'novels')
    await local.locator('#chat-shaded').check()
    await local.locator('#chat-text').fill('The old')
    await local.locator('#chat-text').press('Enter')
    await local.locator('.assistant .turn[aria-busy=false] .tok[data-p]').first().waitFor()
    await local.locator('.assistant .tok').nth(2).hover()
    await local.locator('#view-chat .alternatives li').nth(4).waitFor()
    await shoot(local, 'chat-probabilities')
  })

  test('an empty conversation offers beginnings', async (t) => {
    const { page, front, ended } = await shown(t)
    await shoot(page, 'chat-empty')
    await page.setViewportSize({ width: 1280, height: 900 })
    await page.locator('.chat-empty .tries button').first().click()
    await ended(1)
    assert.equal(front.bodies[0].messages[0].content, 'Explain photosynthesis to a ten-year-old')
  })

  test('on a phone the panes cover the conversation', async (t) => {
    const { page, say } = await shown(t, { width: 360 })
    await say('hi')
    assert.equal(await page.locator('#chat-list').isVisible(), false)
    await page.locator('#chat-list-toggle').click()
    assert.equal(await page.locator('.thread').isVisible(), false)
    await clean(page, 'the list on a phone')
    await page.locator('#chat-options-toggle').click()
    assert.equal(await page.locator('#chat-list').isVisible(), false)
    await clean(page, 'settings on a phone')
    await page.locator('#chat-list-toggle').click()
    await page.locator('#chat-new').click()
    assert.equal(await page.locator('#chat-text').isVisible(), true)
    assert.equal(await page.evaluate(() => document.documentElement.scrollHeight <= innerHeight), true) // it fits
  })
})
