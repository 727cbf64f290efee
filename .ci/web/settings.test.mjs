// The settings of Write: ranges of the model, help in tooltips, and the sheet on a phone.
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { clean, open, picked, server, shoot, themes } from './browser.mjs'

suite('settings', () => {
  async function shown(t, options) {
    const page = await open(t, (await server()).url, { hash: 'write', ...options })
    await picked(page, 'write-model', 'novels')
    await page.locator('[data-param=temperature][placeholder]').waitFor({ state: 'attached' })
    const param = (name) => page.locator(`#view-write [data-param=${name}]`)
    const mark = (name) => page.locator('#view-write').getByRole('button', { name: `Help: ${name}`, exact: true })
    return { page, param, mark, tip: page.locator('#view-write [role=tooltip]:popover-open') }
  }

  test('the model limits the tokens, and a value beyond its limits is named', async (t) => {
    const { page, param } = await shown(t)
    const models = await (await fetch(`${(await server()).url}/api/models`)).json()
    for (const { name, modelConfig } of models) {
      await page.locator('#write-model').selectOption(name)
      assert.equal(await param('max_tokens').getAttribute('max'), String(modelConfig.blockSize), name)
      const [value, placeholder] = [await param('max_tokens').inputValue(), await param('max_tokens').getAttribute('placeholder')].map(Number)
      assert.ok(value <= modelConfig.blockSize && placeholder <= modelConfig.blockSize, name)
    }
    await param('temperature').fill('9')
    assert.equal(await param('temperature').getAttribute('aria-invalid'), 'true')
    await page.getByText('Must be from 0 to 2.').waitFor()
    await page.getByRole('button', { name: 'Temperature: use the default' }).click()
    assert.deepEqual([await param('temperature').inputValue(), await param('temperature').getAttribute('aria-invalid')], ['', 'false'])
  })

  for (const stored of ['', '0.3']) {
    test(`settings made before the server has described their ranges stay, also over a reload: ${stored ? 'some' : 'nothing'} stored`, async (t) => {
      const { page, param } = await shown(t)
      if (stored) await param('temperature').fill(stored)
      let describe
      const described = new Promise((done) => { describe = done })
      await page.route('**/openapi.json', (route) => described.then(() => route.continue()))
      await page.reload()
      await picked(page, 'write-model', 'novels')
      assert.equal(await param('temperature').inputValue(), stored)
      await page.getByRole('button', { name: 'Max tokens: use the default' }).click()
      await param('temperature').fill('0.7')
      describe()
      for (let loads = 0; loads < 2; loads++) {
        await page.locator('[data-param=temperature][placeholder]').waitFor({ state: 'attached' })
        assert.deepEqual([await param('temperature').inputValue(), await param('max_tokens').inputValue()], ['0.7', ''])
        await page.reload()
      }
    })
  }

  test('help has the words of the API, opens by pointer and keyboard, and Escape closes it alone', async (t) => {
    const { page, param, mark, tip } = await shown(t)
    const { paths: { '/v1/completions': { post } } } = await (await fetch(`${(await server()).url}/openapi.json`)).json()
    const { properties } = post.requestBody.content['application/json'].schema.anyOf.find((one) => one.properties.temperature)
    for (const name of ['max_tokens', 'temperature', 'top_p', 'presence_penalty', 'frequency_penalty', 'seed', 'stop']) {
      const text = await param(name).evaluate((c) => c.getAttribute('aria-describedby').split(' ').map((id) => document.getElementById(id).textContent).join(' '))
      const clause = properties[name].description.split('; ').find((part) => !part.startsWith('Default:')).replace(/\.$/, '')
      assert.ok(text.toLowerCase().includes(clause.toLowerCase()), `${name}: ${text}`)
    }
    await mark('Temperature').hover()
    await tip.waitFor()
    assert.match(await tip.textContent(), /From 0 to 2; default: 1\.$/)
    await tip.hover() // it stays
    await clean(page, 'tooltip')
    await mark('Top P').hover() // there is one at most
    await page.locator('[role=tooltip]:popover-open', { hasText: 'From 0.01 to 1; default: 1.' }).waitFor()
    assert.equal(await tip.count(), 1)
    await page.mouse.move(5, 5)
    await tip.waitFor({ state: 'hidden' })
    await param('temperature').focus()
    await page.keyboard.press('Shift+Tab')
    await tip.waitFor()
    assert.equal(await mark('Temperature').getAttribute('aria-expanded'), 'true')
    await page.keyboard.press('Escape')
    await tip.waitFor({ state: 'hidden' })
    assert.equal(await mark('Temperature').evaluate((m) => m === document.activeElement), true)
    await page.keyboard.press('Enter')
    await tip.waitFor()
    await page.keyboard.press('Enter')
    await tip.waitFor({ state: 'hidden' })
  })

  test('on a phone Write fits the screen, and settings open as a sheet', async (t) => {
    const { page, param, mark, tip } = await shown(t, { width: 360, height: 640 })
    await page.locator('#settings-open').click()
    await param('seed').fill('1')
    await page.keyboard.press('Escape')
    await page.locator('#write-go').click()
    await page.locator('.answer .to-code').waitFor()
    await page.evaluate(() => scrollTo(0, 0))
    for (const part of ['#write-model', '#write-prompt', '#write-go', '#settings-open', '.answer h3', '.answer .written .tok >> nth=20']) {
      const box = await page.locator(part).first().boundingBox()
      assert.ok(box.y >= 0 && box.y + box.height <= 640, `${part} ends at ${box.y + box.height}`)
    }
    assert.equal(await param('temperature').isVisible(), false)
    await page.locator('#settings-open').tap()
    await param('temperature').waitFor()
    await mark('Temperature').tap()
    await tip.waitFor()
    for (const theme of themes) {
      await page.emulateMedia({ colorScheme: theme })
      await clean(page, `sheet, ${theme}`)
    }
    await page.keyboard.press('Escape')
    await tip.waitFor({ state: 'hidden' })
    assert.equal(await param('temperature').isVisible(), true) // the sheet is still there
    await mark('Temperature').tap()
    await tip.waitFor()
    await mark('Temperature').tap()
    await tip.waitFor({ state: 'hidden' })
    await param('temperature').fill('0')
    await page.keyboard.press('Escape')
    await param('temperature').waitFor({ state: 'hidden' })
    assert.equal(await page.evaluate(() => document.activeElement.id), 'settings-open')
    const sent = page.waitForRequest(/\/v1\/completions/)
    await page.locator('#write-go').tap()
    assert.equal((await sent).postDataJSON().temperature, 0)
    await page.locator('#settings-open').tap()
    await param('temperature').waitFor()
    await page.setViewportSize({ width: 1280, height: 900 }) // turned, or a larger window
    await param('temperature').waitFor()
    await page.waitForFunction(() => !document.querySelector('dialog[open]'))
    assert.equal(await param('temperature').inputValue(), '0')
  })

  test('as it looks', async (t) => {
    const { page, mark } = await shown(t, { width: 360, height: 640 })
    await page.locator('#settings-open').click()
    await mark('Max tokens').tap()
    await shoot(page, 'settings')
  })
})
