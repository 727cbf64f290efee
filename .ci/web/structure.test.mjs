// The view Structure, over the starter that fills in forms.
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { open, picked, server, shoot, view } from './browser.mjs'

suite('structure', () => {
  // shown opens the view with one of its examples.
  async function shown(t, example) {
    const page = await open(t, (await server()).url, { hash: 'structure' })
    const panel = page.locator('#view-structure')
    await picked(page, 'structure-model', 'forms')
    if (example) await page.locator('#structure-example').selectOption({ label: example })
    const fill = async () => {
      await page.locator('#structure-go').click()
      await panel.locator('.answer-place:not([aria-busy]) .to-code, .answer-place:not([aria-busy]) [role=alert]').waitFor()
    }
    const answer = async () => JSON.parse(await panel.locator('.raw pre').textContent())
    return { page, panel, fill, answer }
  }

  test('a schema is filled in, typed and promised', async (t) => {
    const { page, panel, fill, answer } = await shown(t)
    await fill()
    assert.deepEqual(await answer(), { name: 'Hilda', age: 43, trade: 'weaver', town: 'Lower Sands' })
    assert.deepEqual(await panel.locator('.typed dt').allTextContents(), ['name', 'age', 'trade', 'town'])
    assert.deepEqual(await panel.locator('.typed .type').allTextContents(), ['string', 'integer', 'string', 'string'])
    assert.match(await panel.locator('.promise').textContent(), /Enforced.*Constrained/)
    await shoot(page, 'structure')
  })

  test('lists and forms in forms', async (t) => {
    const { panel, fill, answer } = await shown(t, 'An order, with a list and a nested object')
    await fill()
    const order = await answer()
    assert.deepEqual(Object.keys(order), ['customer', 'items', 'total', 'ship_to'])
    assert.equal(await panel.locator('.typed ol.items > li').count(), order.items.length)
    assert.equal(await panel.locator('.typed .members .members dt').count(), 2)
  })

  test('an output_type is filled in', async (t) => {
    const { panel, fill, answer } = await shown(t, 'A list of choices, as output_type')
    await fill()
    assert.deepEqual(await answer(), { name: 'Hilda', trade: 'weaver', age: 43 })
    assert.deepEqual(await panel.locator('.typed .type').allTextContents(), ['string', 'choice', 'integer'])
    assert.match(await panel.locator('.promise').textContent(), /Enforced/)
  })

  test('what is pasted says which kind of form it is', async (t) => {
    const { page, fill, answer } = await shown(t)
    await page.locator('#structure-form').fill('{"age": "int"}')
    assert.ok(await page.getByLabel('output_type').isChecked())
    await fill()
    assert.deepEqual(await answer(), { age: 43 })
    await page.locator('#structure-form').fill('{"type": "object"}')
    assert.ok(await page.getByLabel('JSON Schema').isChecked())
  })

  test('a limit is told', async (t) => {
    const { panel, fill, answer } = await shown(t, 'A token limit')
    await fill()
    assert.deepEqual(Object.keys(await answer()), ['name', 'age', 'trade', 'town'])
    assert.match(await panel.locator('.result').textContent(), /token limit shortened/)
  })

  test('refusals are in words', async (t) => {
    const { page, panel, fill } = await shown(t, 'An unsupported keyword')
    page.expect(/status of 400/)
    await fill()
    assert.match(await panel.locator('[role=alert]').textContent(), /\/properties\/tags\/items: pattern: .* not supported/)
    await picked(page, 'structure-model', 'novels') // has no token for it
    await page.locator('#structure-example').selectOption('0')
    await panel.getByRole('button', { name: 'Try again' }).click()
    await panel.getByText("no token of the model has the character '{'").waitFor()
    await page.locator('#structure-form').fill('{"type": "object",\n}')
    await fill()
    assert.match(await panel.locator('[role=alert]').textContent(), /not valid JSON: .* on line 2/)
  })

  test('an answer that was checked, and one that nothing is said of', async (t) => {
    const { page, panel, fill } = await shown(t)
    for (const [guarantee, words] of [['validated', /Validated.*cannot be constrained.*checked/], [undefined, /Not guaranteed.*no constrained decoding/]]) {
      await page.route('**/v1/chat/completions', (route) => route.fulfill({ json: {
        choices: [{ index: 0, message: { role: 'assistant', content: '{"people":[{"name":"a"},{"name":"b","age":null}]}' }, finish_reason: 'stop', guarantee }] } }))
      await fill()
      assert.match(await panel.locator('.promise').textContent(), words)
      assert.deepEqual(await panel.locator('.typed thead th').allTextContents(), ['name', 'age'])
      await page.unroute('**/v1/chat/completions')
    }
  })

  test('by keyboard, and on to code', async (t) => {
    const { page, panel } = await shown(t)
    await page.locator('#structure-prompt').focus()
    await page.keyboard.press('Control+Enter')
    await panel.locator('.promise').waitFor()
    await panel.getByRole('button', { name: 'Show as code' }).click()
    const code = page.locator('#view-code')
    await code.getByText('response_format').first().waitFor()
    assert.match(await code.locator('.lacking li[data-dialect=lamini]').textContent(), /^Lamini has only the types str, int/) // and no minimum
    await view(page, 'structure')
    await panel.locator('.promise').waitFor()
  })
})
