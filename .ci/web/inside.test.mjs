// The view Inspect: tokens, likelihoods and translations of the starters. Similarity and Ranking
// are in embeddings.test.mjs.
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { open, picked, server, shoot } from './browser.mjs'

suite('look inside', () => {
  async function shown(t) {
    const page = await open(t, (await server()).url, { hash: 'inside' })
    const part = (name) => page.locator('#view-inside').getByRole('region', { name, exact: true })
    // ask presses the button of a part and waits for its answer or its error.
    const ask = async (id) => {
      const place = page.locator(`section.panel:has(#${id}-go) .answer-place:not([aria-busy])`)
      await page.locator(`#${id}-go`).click()
      await place.locator('.to-code, [role=alert]').first().waitFor()
      return place
    }
    for (const id of ['tokens', 'score']) await picked(page, `${id}-model`, 'novels')
    await picked(page, 'translate-model', 'phrases')
    return { page, part, ask }
  }
  const api = async (path, body) => (await fetch((await server()).url + path, { method: 'POST', body: JSON.stringify(body) })).json()

  test('tokens', async (t) => {
    const { page, part, ask } = await shown(t)
    await page.locator('#tokens-text').fill('The old lighthouse stood')
    await ask('tokens')
    assert.deepEqual(await part('Tokens').locator('.piece .mono').allTextContents(), ['The', '␣old', '␣lighthouse', '␣stood'])
    assert.deepEqual(await part('Tokens').locator('.piece .id').allTextContents(), ['129', '202', '461', '511'])
    assert.match(await part('Tokens').textContent(), /4 tokens, 24 characters \(6\.0 characters per token\).*the same text/)

    await picked(page, 'tokens-model', 'forms')
    await page.locator('#tokens-text').fill('Hé <b>😀</b>')
    await ask('tokens')
    assert.match(await part('Tokens').textContent(), /cannot represent the whole text/)
    assert.equal(await part('Tokens').locator('pre').textContent(), 'H <b></b>')
    await page.locator('#tokens-text').fill('')
    await ask('tokens')
    assert.equal(await part('Tokens').locator('.piece').count(), 0)
  })

  test('a likelihood is what the server says, token by token', async (t) => {
    const { page, part, ask } = await shown(t)
    await ask('score')
    const text = { context: 'The old lighthouse', continuation: ' stood at the edge of the bay' }
    const { logprob, num_tokens: n } = await api('/v1/engines/novels/logprob', text)
    const facts = Object.fromEntries(await part('Likelihood').locator('.facts > div').evaluateAll((rows) =>
      rows.map((r) => [r.querySelector('dt').textContent, r.querySelector('dd').textContent])))
    assert.equal(facts['log-probability'], logprob.toFixed(3).replace('-', '−'))
    assert.equal(facts['perplexity'], Math.exp(-logprob / n).toFixed(2))
    assert.equal(facts['most likely continuation'], 'no')
    const each = (await part('Likelihood').locator('tbody td:nth-child(2)').allTextContents()).map((x) => Number(x.replace('−', '-')))
    assert.equal(each.length, n)
    assert.ok(Math.abs(each.reduce((a, b) => a + b) - logprob) < 0.001 * n, `${each} ${logprob}`)
    assert.equal(await part('Likelihood').locator('.scored').textContent(), text.context + text.continuation)
    assert.ok(await part('Likelihood').locator('.scored .tok[data-p="0"]').count() > 0)

    await page.locator('#score-context').fill('')
    await page.locator('#score-continuation').fill('The')
    await ask('score')
    assert.match(await part('Likelihood').locator('tbody').textContent(), /first token/)
  })

  test('translations', async (t) => {
    const { page, part, ask } = await shown(t)
    await ask('translate')
    const rows = () => part('Translation').locator('tbody tr').evaluateAll((rows) => rows.map((r) => [...r.cells].map((c) => c.textContent)))
    assert.deepEqual((await rows())[0], ['The train is late.', 'English', 'Le train est en retard.'])
    await page.locator('#translate-text').fill('Je veux un café.')
    await page.locator('#translate-target').selectOption('en')
    await ask('translate')
    assert.deepEqual((await rows()).map((r) => r.slice(1)), [['French', 'I want a coffee.']])
    page.expect(/status of 400/)
    await page.locator('#translate-target').selectOption('ja')
    await ask('translate')
    assert.match(await part('Translation').locator('[role=alert]').textContent(), /does not translate to the language "ja", only to en, fr/)
  })

  test('as it looks', async (t) => {
    const { page, ask } = await shown(t)
    for (const id of ['tokens', 'score', 'likeness', 'translate']) await ask(id)
    await shoot(page, 'inside')
  })
})
