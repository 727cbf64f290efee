// The frame of the page: how it is served, below prefixes and from functions, keys, errors,
// keyboard, themes and motion.
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { clean, ends, open, picked, server, shoot, view, widths } from './browser.mjs'
import { alpha, proxy, serve } from './servers.mjs'

const views = ['write', 'chat', 'structure', 'inside', 'models', 'server', 'code']

// tour uses every view that needs the server.
async function tour(page) {
  await view(page, 'write')
  await picked(page, 'write-model', 'novels')
  await page.locator('[data-param=temperature][placeholder]').waitFor({ state: 'attached' }) // all is there
  const sheet = await page.locator('#settings-open').isVisible() // on a narrow screen
  if (sheet) await page.locator('#settings-open').click()
  await page.locator('[data-param=max_tokens]').fill('8')
  await page.locator('#view-write [data-param=seed]').fill('1')
  if (sheet) await page.getByRole('button', { name: 'Done' }).click()
  await page.locator('#write-go').click()
  await page.locator('.answer .to-code').waitFor()
  assert.equal(await page.locator('.answer .written .tok').count(), 8)
  await view(page, 'structure')
  await picked(page, 'structure-model', 'forms')
  await page.locator('#structure-go').click()
  await page.locator('.promise').waitFor()
  await view(page, 'inside')
  await picked(page, 'tokens-model', 'novels')
  await page.locator('#tokens-go').click()
  await page.locator('.piece').first().waitFor()
  await view(page, 'models')
  await page.locator('#models-table tbody tr').nth(4).waitFor()
  await view(page, 'code')
  await page.locator('#view-code pre').waitFor()
  await view(page, 'chat')
  await picked(page, 'chat-model', 'tools')
  await page.locator('#chat-text').fill('The old')
  await page.locator('#chat-text').press('Enter')
  await page.locator('.assistant .turn[aria-busy=false]').waitFor()
  assert.equal(await page.locator('.assistant [role=alert]').count(), 0)
}

suite('serving', () => {
  test('embedded files, a strict policy, and what has not changed is not sent again', async () => {
    const { url } = await server()
    const paths = ['/']
    const html = await (await fetch(`${url}/`)).text()
    for (const [, path] of html.matchAll(/(?:href|src)="(page\/[^"]+)"/g)) paths.push(`/${path}`)
    assert.ok(paths.length > 6)
    assert.doesNotMatch(html, /<style|style=|<script>|\son\w+=|https?:\/\/(?!www\.w3\.org)/)
    for (const path of paths) {
      const response = await fetch(url + path)
      assert.equal(response.status, 200, path)
      const policy = Object.fromEntries(response.headers.get('content-security-policy').split('; ').map((d) => [d.split(' ')[0], d.split(' ').slice(1).join(' ')]))
      assert.deepEqual(policy, { 'default-src': "'none'", 'script-src': "'self'", 'style-src': "'self'", 'connect-src': "'self'", 'img-src': "'self' data:",
        'base-uri': "'none'", 'form-action': "'none'", 'frame-ancestors': "'none'" }, path)
      assert.equal(response.headers.get('x-content-type-options'), 'nosniff', path)
      const etag = response.headers.get('etag')
      assert.match(etag, /^"[^"]+"$/, path)
      assert.equal((await fetch(url + path, { headers: { 'If-None-Match': etag } })).status, 304, path)
    }
  })

  test('below a stage prefix', async (t) => {
    const stage = await proxy((await server()).url, '/dev')
    ends(t, stage.stop)
    await tour(await open(t, stage.url))
    assert.ok(stage.seen.length > 10 && stage.seen.every((path) => path.startsWith('/dev/')))
  })

  test('a function that has a part of the routes asks for the address of the API', async (t) => {
    const page = await alpha()
    ends(t, page.stop)
    const api = await serve({ args: ['--origins', page.url] })
    ends(t, api.stop)
    const tab = await open(t, page.url)
    tab.expect(/status of 404/)
    tab.allow(api.url)
    await tab.getByText('This address serves the page but not the API.').waitFor()
    await tab.locator('#api-address').fill('nonsense')
    await tab.locator('#api-address').press('Enter')
    assert.equal(await tab.evaluate(() => document.querySelector('#api-address').checkValidity()), false)
    await tab.locator('#api-address').fill(api.url)
    await tab.locator('#api-address').press('Enter')
    await tab.locator('#connection[data-state=on]').waitFor()
    await tour(tab)
    assert.match(await tab.locator('#view-code pre').textContent(), new RegExp(api.url))
  })
})

suite('version', () => {
  test('the footer has the version of the server that tells it', async (t) => {
    const { url } = await server()
    const document = await (await fetch(`${url}/openapi.json`)).json()
    const page = await open(t, url, { hash: 'code' })
    await page.route('**/openapi.json', (route) => route.fulfill({ json: { ...document, paths: { ...document.paths, '/api/version': { get: {} } } } }))
    await page.route('**/api/version', (route) => route.fulfill({ json: { version: 'v1.2.3', revision: '', go: 'go1.26' } }))
    await page.reload()
    await page.locator('footer', { hasText: 'glossa v1.2.3' }).waitFor()
    await page.route('**/api/version', (route) => route.fulfill({ body: '1.19.0' })) // of another server
    await page.reload()
    await page.locator('#tab-server').waitFor()
    assert.equal(await page.locator('#version').textContent(), '')
  })
})

suite('keys', () => {
  test('asked for, kept in the memory of the tab alone', async (t) => {
    const secret = 'k-2718281828459045'
    const keyed = await serve({ args: ['--auth'], env: { GLOSSA_KEYS: `client:${secret}` } })
    ends(t, keyed.stop)
    const page = await open(t, keyed.url)
    page.expect(/status of 401/)
    await page.getByText('This server requires an API key.').waitFor()
    assert.equal(await page.locator('#api-address').isVisible(), false) // the policy allows this server alone
    await shoot(page, 'key')
    await page.locator('#api-key').fill('wrong')
    await page.locator('#api-key').press('Enter')
    await page.getByText('The server does not accept this key.').waitFor()
    await page.locator('#api-key').fill(secret)
    await page.locator('#api-key').press('Enter')
    await page.locator('#connection[data-state=on]').waitFor()
    await page.locator('#view-write #write-model option[value=novels]').waitFor({ state: 'attached' }) // it begins anew
    await tour(page)
    const kept = await page.evaluate(() => JSON.stringify([localStorage, sessionStorage, document.cookie, location.href, history.state, document.documentElement.outerHTML]))
    assert.ok(kept.includes('glossa-chat-') && !kept.includes(secret))
    const { cookies, origins } = await page.context().storageState({ indexedDB: true })
    assert.deepEqual(cookies, [])
    assert.ok(origins.length === 1 && !JSON.stringify(origins).includes(secret))
    await page.reload()
    await page.getByText('This server requires an API key.').waitFor()
  })
})

suite('errors', () => {
  const story = async (page) => {
    await picked(page, 'write-model', 'novels')
    await page.locator('#write-prompt').fill('The old')
    await page.locator('#write-go').click()
  }
  const error = { error: { message: 'the weights are asleep', type: 'server_error', param: null, code: null } }
  for (const [name, answer, words] of [
    ['401', { status: 401, json: { error: { message: 'this key was revoked' } } }, /requires a valid API key.*This key was revoked\./],
    ['429', { status: 429, headers: { 'Retry-After': '7' }, json: { error: { message: 'the queue is full' } } }, /busy: try again in 7 s\. The queue is full\./],
    ['500', { status: 500, json: error }, /The server failed\. The weights are asleep\./],
    ['503 of a gateway', { status: 503, contentType: 'text/html', body: '<html>down</html>' }, /^The server is not ready\./],
    ['an answer of another server', { status: 200, contentType: 'text/event-stream', body: 'data: <html>\n\n' }, /not JSON: “<html>”/],
    ['one in a stream', { status: 200, contentType: 'text/event-stream', body: `data: ${JSON.stringify(error)}\n\n` }, /the weights are asleep/],
  ]) {
    test(`${name}: said in words, and tried again`, async (t) => {
      const page = await open(t, (await server()).url)
      if (answer.status !== 200) page.expect(new RegExp(`status of ${answer.status}`))
      await page.route('**/v1/completions', (route) => route.fulfill(answer))
      await story(page)
      const alert = page.locator('.answer [role=alert]')
      await alert.waitFor()
      assert.match(await alert.locator('p').textContent(), words)
      await page.unroute('**/v1/completions')
      await alert.getByRole('button', { name: 'Try again' }).click()
      await alert.waitFor({ state: 'detached' })
      await page.locator('.answer .to-code').waitFor()
    })
  }

  test('a connection lost in the middle is said, what came is kept, and it is tried again', async (t) => {
    const front = await proxy((await server()).url)
    ends(t, front.stop)
    const page = await open(t, front.url)
    page.expect(/ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE/)
    front.fault = (request) => request.url === '/v1/completions' ? 3000 : Infinity
    front.arrived = () => page.locator('.answer .written .tok').first().waitFor()
    await story(page)
    const alert = page.locator('.answer [role=alert]')
    await alert.waitFor()
    assert.match(await alert.locator('p').textContent(), /connection .* lost|cut off/)
    assert.ok(await page.locator('.answer .written .tok').count() > 0)
    await shoot(page, 'lost')
    front.fault = null
    await alert.getByRole('button', { name: 'Try again' }).click()
    await alert.waitFor({ state: 'detached' })
    await page.locator('.answer .to-code').waitFor()
  })

  test('a server that is not there is said, and asked again', async (t) => {
    const page = await open(t, (await server()).url)
    await picked(page, 'write-model', 'novels')
    await page.route('**/v1/**', (route) => route.abort('connectionrefused'))
    page.expect(/ERR_CONNECTION_REFUSED/)
    await page.locator('#write-go').click()
    await page.locator('.answer [role=alert]').getByText(/connection to 127\.0\.0\.1:\d+ was lost/).waitFor()
    await page.locator('#connection[data-state=lost]').waitFor()
    await page.unroute('**/v1/**')
    await page.locator('.answer').getByRole('button', { name: 'Try again' }).click()
    await page.locator('#connection[data-state=on]').waitFor()
  })
})

suite('for everybody', () => {
  test('little moves while a view loads', async (t) => {
    for (const width of widths) {
      const page = await open(t, (await server()).url, { width })
      const frames = () => page.evaluate(() => new Promise((done) => { requestAnimationFrame(() => requestAnimationFrame(done)) }))
      await page.addInitScript(() => {
        globalThis.moved = 0
        new PerformanceObserver((list) => { for (const e of list.getEntries()) if (!e.hadRecentInput) globalThis.moved += e.value }).observe({ type: 'layout-shift' })
      })
      // What there is without scripts, and then without each answer, is painted first.
      await page.route('**/js/main.js', async (route) => {
        await page.waitForFunction(() => performance.getEntriesByName('first-contentful-paint').length > 0).catch(() => {})
        await route.continue()
      })
      const seen = (answer) => (route) => frames().catch(() => {}).then(() => answer(route)).catch(() => {}) // the page may be being left
      for (const path of ['**/v1/models', '**/openapi.json']) await page.route(path, seen((route) => route.continue()))
      await page.route('**/activity', seen(async (route) => {
        const activity = await (await route.fetch()).json()
        activity.memory.models = Array.from({ length: 16 }, (_, i) => ({ name: `model ${i}`, bytes: 1 << 20, in_use: 0 }))
        await route.fulfill({ json: activity })
      }))
      for (const id of views) {
        await page.evaluate((id) => { location.hash = id }, id)
        await page.reload({ waitUntil: 'networkidle' })
        await page.locator(`#view-${id}`).waitFor()
        await frames()
        const moved = await page.evaluate(() => globalThis.moved)
        t.diagnostic(`${id}, ${width}: ${moved.toFixed(3)}`)
        assert.ok(moved < 0.1, `${id}, ${width}: ${moved}`)
      }
    }
  })

  test('on a phone', async (t) => {
    const page = await open(t, (await server()).url, { width: 360 })
    await tour(page)
    for (const id of views) {
      await view(page, id)
      await clean(page, id)
    }
  })

  test('by keyboard alone', async (t) => {
    const page = await open(t, (await server()).url)
    await picked(page, 'write-model', 'novels')
    await page.locator('#tab-server').waitFor()
    const focus = () => page.evaluate(() => document.activeElement?.id)
    await page.keyboard.press('Tab')
    assert.equal(await page.evaluate(() => document.activeElement.className), 'skip')
    await page.keyboard.press('Tab')
    assert.equal(await focus(), 'tab-write')
    for (const id of [...views.slice(1), views[0]]) {
      await page.keyboard.press('ArrowRight')
      assert.equal(await focus(), `tab-${id}`)
      await page.locator(`#view-${id}`).waitFor()
    }
    for (const id of views) {
      await page.locator(`#tab-${id}`).focus()
      await page.keyboard.press('Enter')
      await page.locator(`#view-${id}`).waitFor()
      assert.deepEqual(await tabbed(page, `#view-${id}`), [], id)
    }
    await page.locator('#tab-write').focus()
    await page.keyboard.press('Enter')
    await page.locator('#view-write').waitFor()
    await page.locator('#write-prompt').focus()
    await page.keyboard.press('Control+A')
    await page.keyboard.type('The castle')
    await page.keyboard.press('Control+Enter')
    await page.locator('.answer .to-code').waitFor()
    assert.equal(await page.locator('.answer .before').first().textContent(), 'The castle')
  })

  test('a theme is the system’s until one is chosen, and then stays', async (t) => {
    const page = await open(t, (await server()).url, { theme: 'dark' })
    const colour = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor)
    const dark = await colour()
    await page.getByRole('button', { name: 'Switch to light colours' }).click()
    const light = await colour()
    assert.notEqual(light, dark)
    await page.reload()
    assert.equal(await colour(), light)
    await page.getByRole('button', { name: 'Switch to dark colours' }).click()
    assert.equal(await colour(), dark)
  })

  test('nothing moves for who wants it so', async (t) => {
    const page = await open(t, (await server()).url, { reducedMotion: 'reduce' })
    for (const id of views) {
      await view(page, id)
      assert.deepEqual(await page.evaluate(() => [...document.querySelectorAll('*')].filter((e) => {
        const s = getComputedStyle(e)
        return [s.transitionDuration, s.animationDuration].some((d) => d.split(', ').some((x) => parseFloat(x) > 0)) || s.scrollBehavior === 'smooth'
      }).map((e) => e.outerHTML.slice(0, 80))), [], id)
    }
  })
})

// tabbed goes through a view with the Tab key, and returns the elements that it did not reach
// and those without a visible focus.
async function tabbed(page, within) {
  const wanted = await page.locator(within).evaluate((root) => {
    const all = [...root.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex]')]
      .filter((e) => !e.disabled && e.tabIndex >= 0 && e.checkVisibility({ visibilityProperty: true }) && (e.type !== 'radio' || e.checked))
    all.forEach((e, i) => { e.dataset.stop = String(i) })
    return all.map((e) => e.outerHTML.slice(0, 100))
  })
  const met = new Set()
  const unseen = []
  for (let i = 0; i < wanted.length + 20 && met.size < wanted.length; i++) {
    await page.keyboard.press('Tab')
    const { stop, seen, html } = await page.evaluate(() => {
      const e = document.activeElement
      const outlined = (n) => n && getComputedStyle(n).outlineStyle !== 'none' && parseFloat(getComputedStyle(n).outlineWidth) > 0
      return { stop: e.dataset.stop, seen: outlined(e) || outlined(e.closest('label')), html: e.outerHTML.slice(0, 100) }
    })
    if (stop !== undefined) met.add(Number(stop))
    if (!seen) unseen.push(`not seen: ${html}`)
  }
  return [...wanted.filter((_, i) => !met.has(i)), ...unseen]
}
