// The view Server: the figures of GET /activity, live, in charts and as a table.
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { brief, duration, latest, rate, series, size, span, weights, whole } from '../../pkg/page/js/activity.js'
import { alpha, proxy, serve } from './servers.mjs'
import { clean, ends, open, server, shoot, view } from './browser.mjs'

const interval = (at, more) => ({ at, requests: 0, errors: 0, input_tokens: 0, output_tokens: 0, running: 0, waiting: 0, ...more })
const activity = (now, intervals) => ({ since: intervals[0]?.at ?? now, now, interval_seconds: 5, generations: { running: 0, waiting: 0, workers: 8 },
  memory: { bytes: 0, models: [] }, errors: [], intervals })

suite('activity', () => {
  test('rates are of the latest seconds', () => {
    const list = [interval(0, { requests: 90 }), interval(5, { requests: 5 }), interval(10, { requests: 6 }), interval(15, { requests: 1 })]
    assert.equal(rate(activity(17, list), 'requests'), 1) // 12 in 12 s
    assert.equal(rate(activity(17, [interval(15, { requests: 4 })]), 'requests'), 2)
    assert.equal(rate(activity(15, []), 'requests'), 0)
    assert.equal(rate({ ...activity(15, [interval(10, { requests: 2 })]), since: 14 }, 'requests'), 2) // the server has just started
  })

  test('the interval that goes on is in no chart', () => {
    const a = activity(12, [interval(0, { output_tokens: 10, first_token_ms: 7 }), interval(5), interval(10, { output_tokens: 90 })])
    assert.deepEqual(whole(a).map((i) => i.at), [0, 5])
    assert.deepEqual([series(a).output, series(a).median, latest(series(a).median), latest(series(a).slow)], [[2, 0], [7, null], 7, null])
  })

  test('experts of a model that is larger than memory', () => {
    const held = { name: 'mixture', bytes: 1048576, in_use: 1 }
    assert.equal(weights(held), '1 MiB')
    assert.equal(weights({ ...held, experts: { bytes: 9, hits: 0, misses: 0 } }), '1 MiB') // none was chosen yet
    assert.equal(weights({ ...held, experts: { bytes: 9, hits: 27, misses: 5 } }), '1 MiB, 84.4 % of chosen experts found')
  })

  test('figures in words', () => {
    assert.deepEqual([0, 0.456, 12.34, 1234.5].map(brief), ['0', '0.46', '12.3', '1,235'])
    assert.deepEqual([null, 0.73, 18.1, 1500].map(duration), ['–', '0.73 ms', '18.1 ms', '1.5 s'])
    assert.deepEqual([0, 512, 10668032, 18957385728].map(size), ['0 B', '512 B', '10.2 MiB', '17.7 GiB'])
    assert.deepEqual([1, 45, 60, 300].map(span), ['1 second', '45 seconds', '60 seconds', '5 minutes'])
  })
})

suite('server', () => {
  const figure = (page, title) => page.locator('.tile', { hasText: title }).locator('.figure')
  const ask = (url, model, headers = {}) => fetch(`${url}/v1/completions`, { method: 'POST', headers,
    body: JSON.stringify({ model, prompt: 'The old lighthouse', max_tokens: 40 }) }).then((r) => r.text())

  test('it is live, and has what the API tells', async (t) => {
    const own = await serve()
    ends(t, own.stop)
    const page = await open(t, own.url, { hash: 'server' })
    await figure(page, 'Requests').waitFor()
    assert.match(await page.locator('#view-server').textContent(), /No model is open/)
    for (const model of ['novels', 'chords', 'none']) await ask(own.url, model)
    await page.locator('#view-server').getByRole('row', { name: /not_found 1/ }).waitFor()
    assert.equal(await figure(page, 'Errors').textContent(), '1')
    assert.match(await figure(page, 'Generations').textContent(), /^0 of \d+$/)
    assert.match(await figure(page, 'Time to first token').textContent(), /^([\d.]+ m?s|–)$/)
    const { memory } = await (await fetch(`${own.url}/activity`)).json()
    const rows = await page.getByRole('group', { name: 'Models in memory' }).getByRole('row').evaluateAll((all) => all.slice(1).map((r) => [...r.cells].slice(0, 2).map((c) => c.textContent)))
    assert.deepEqual(rows, memory.models.map((m) => [m.name, size(m.bytes)]))
    await page.locator('.history summary').click()
    const count = page.locator('.history tbody tr')
    await count.first().waitFor()
    const before = await count.count()
    await page.waitForFunction((n) => document.querySelectorAll('.history tbody tr').length > n, before)
    await page.waitForFunction(() => document.querySelectorAll('.spark .line.one').length === 6)
    const spark = page.locator('.spark').nth(1)
    await page.waitForFunction(() => document.querySelectorAll('.spark .line.one')[1].getAttribute('d').length > 30)
    const box = await spark.boundingBox()
    await page.mouse.move(box.x + box.width - 2, box.y + 20)
    await page.locator('.tile .now', { hasText: /\d\d:\d\d:\d\d · [\d.,]+\/s/ }).first().waitFor()
    await page.mouse.move(5, 5)
    await shoot(page, 'server')
  })

  test('it can be read before the first figures', async (t) => {
    const page = await open(t, (await server()).url)
    await page.locator('#tab-server').waitFor()
    let release = () => {}
    const held = new Promise((go) => { release = go })
    await page.route('**/activity', async (route) => { await held; await route.continue() })
    await view(page, 'server')
    await clean(page, 'no figures yet')
    assert.equal(await page.getByRole('img', { name: /no values yet/ }).count(), 6)
    release()
    await page.getByRole('img', { name: /Requests over the last/ }).waitFor()
  })

  test('it pauses, and stops while it is not seen', async (t) => {
    const front = await proxy((await server()).url)
    ends(t, front.stop)
    const page = await open(t, front.url, { hash: 'server' })
    const asked = () => front.seen.filter((path) => path === '/activity').length
    await page.clock.install() // its timers run when the test says so
    await page.reload()
    await figure(page, 'Requests').waitFor()
    // later lets a minute pass, and returns how many requests it had.
    const later = async () => {
      const before = asked()
      await page.clock.runFor(60_000)
      await page.evaluate(() => fetch('health').then((r) => r.text())) // comes after them
      return asked() - before
    }
    assert.ok(await later() > 0)
    await page.locator('#server-pause').click()
    assert.equal(await page.locator('#server-pause').textContent(), 'Resume')
    assert.equal(await later(), 0)
    const again = page.waitForResponse(/\/activity/)
    await page.locator('#server-pause').click()
    await again
    await view(page, 'models')
    await page.locator('#models-table tbody tr').first().waitFor()
    assert.equal(await later(), 0)
    await view(page, 'code') // polls are one entry of the requests
    await page.locator('#view-code pre').waitFor()
    assert.equal(await page.locator('#code-request option', { hasText: '/activity' }).count(), 1)
  })

  test('a server without the figures has no such view', async (t) => {
    const page = await alpha()
    ends(t, page.stop)
    const tab = await open(t, page.url, { hash: 'server' })
    tab.expect(/status of 404/)
    await tab.getByText('This address serves the page but not the API.').waitFor()
    assert.equal(await tab.locator('#tab-server').isVisible(), false)
    assert.equal(await tab.locator('#view-write').isVisible(), true)
  })

  test('a key that may not read the figures is told so', async (t) => {
    const keyed = await serve({ args: ['--auth'], env: { GLOSSA_KEYS: 'client:k-1618033988749894,monitor:k-1414213562373095' } })
    ends(t, keyed.stop)
    const page = await open(t, keyed.url)
    page.expect(/status of 401/)
    page.expect(/status of 403/)
    await page.locator('#api-key').fill('k-1618033988749894')
    await page.locator('#api-key').press('Enter')
    await page.locator('#connection[data-state=on]').waitFor()
    await view(page, 'server')
    await page.locator('#view-server [role=alert]', { hasText: 'This key does not allow that.' }).waitFor()
    await page.locator('#connection').click()
    await page.locator('#api-key').fill('k-1414213562373095')
    await page.locator('#api-key').press('Enter')
    await figure(page, 'Requests').waitFor()
  })
})
