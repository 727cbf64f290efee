// The reference of the API: everything in the document is shown, found, linked and tried.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import { suite, test } from 'node:test'
import { promisify } from 'node:util'
import { clean, ends, open, server, themes, widths } from './browser.mjs'
import { alpha, proxy, serve } from './servers.mjs'
import { entries, exampleText, reference, search } from '../../pkg/page/js/docs/document.js'
import { languages } from '../../pkg/page/js/docs/samples.js'
import { Schemas } from '../../pkg/page/js/docs/schema.js'

const run = promisify(execFile)
const shots = new URL('../../.cache/web/', import.meta.url).pathname

const docs = async (t, url, options = {}) => {
  const page = await open(t, url, { path: 'docs', ...options })
  await page.locator('.op .endpoint').first().waitFor()
  return page
}
const document_ = async (url) => (await fetch(`${url}/openapi.json`)).json()
const operations = (doc) => Object.entries(doc.paths).flatMap(([path, item]) => Object.entries(item).map(([method, op]) => ({ path, method: method.toUpperCase(), ...op })))

// attempt opens the dialog of an operation.
async function attempt(page, id) {
  await page.locator(`#${id}`).getByRole('button', { name: 'Try it' }).click()
  const dialog = page.locator('dialog.try')
  await dialog.waitFor()
  return dialog
}

// answer sends the request of the dialog, and returns the status and the text of the answer.
async function answer(page) {
  await page.locator('#try-send').click()
  await page.locator('#try-stop').waitFor({ state: 'hidden' })
  await page.locator('.try-status[data-kind=good], .try-status[data-kind=bad]').waitFor()
  return { status: await page.locator('.try-status').textContent(), text: await page.locator('.try-answer .code code').textContent() }
}

// look takes screenshots of the window in both themes and widths, and checks each with axe.
async function look(page, name, { before = async () => {}, check = true } = {}) {
  await mkdir(shots, { recursive: true })
  for (const theme of themes) {
    await page.emulateMedia({ colorScheme: theme })
    for (const width of widths) {
      await page.setViewportSize({ width, height: 900 })
      await before(width)
      await page.evaluate(() => Promise.all(document.getAnimations().map((a) => a.finished.catch(() => {}))))
      if (check) await clean(page, `${name}, ${theme}, ${width}`, theme === themes[0] ? undefined : ['color-contrast'])
      await page.screenshot({ path: `${shots}${name}-${theme}-${width}.png` })
    }
  }
}

suite('reference: schemas in words', () => {
  const schemas = new Schemas({ components: { schemas: { Node: { type: 'object', description: 'a node', properties: { next: { $ref: '#/components/schemas/Node' }, id: { type: 'string' } }, required: ['id'] } } } })
  const node = { $ref: '#/components/schemas/Node' }

  test('types', () => {
    for (const [schema, words] of [
      [{}, 'any'], [{ type: ['integer', 'null'] }, 'integer'], [{ type: 'array', items: { type: 'string' } }, 'array of strings'],
      [{ anyOf: [{ type: 'string' }, { type: 'array', items: node }, { type: 'null' }] }, 'string or array of objects'],
      [{ type: 'object', additionalProperties: { type: 'number' } }, 'map to numbers'], [{ type: 'object', additionalProperties: {} }, 'object'],
      [{ type: 'array', items: { type: 'array', items: {} } }, 'array of arrays of any values'], [{ type: 'string', contentSchema: node }, 'JSON string'],
    ]) assert.equal(schemas.type(schema), words)
  })

  test('limits, values, defaults and dispositions', () => {
    assert.deepEqual(schemas.limits({ type: 'number', exclusiveMinimum: 0, maximum: 1 }), ['above 0, up to 1'])
    assert.deepEqual(schemas.limits({ anyOf: [{ type: 'string', minLength: 1 }, { type: 'array', maxItems: 4, items: { type: 'string', minLength: 1 } }] }), ['not empty', 'up to 4 items', 'each not empty'])
    assert.deepEqual(schemas.limits({ type: 'integer', minimum: 1, maximum: 1 }), ['only 1'])
    assert.deepEqual(schemas.values({ type: ['string', 'null'], enum: ['a', null] }), ['"a"'])
    const parts = ({ text, fallback, status, remote }) => [text, fallback, status, remote]
    assert.deepEqual(parts(schemas.member('n', { description: 'Default: random; the seed.', 'x-remote': 'refused' }, false)), ['The seed.', 'random', '', 'refused'])
    assert.deepEqual(parts(schemas.member('n', { description: 'Default: all.', default: 0 }, false)), ['', '0', '', ''])
    assert.deepEqual(parts(schemas.member('n', { description: 'Not supported: none.', 'x-disposition': 'unsupported' }, false)), ['None.', '', 'not supported', ''])
    assert.equal(schemas.member('n', { 'x-disposition': 'no effect', description: 'config.json in base64' }, false).text, 'config.json in base64.')
  })

  test('a schema that contains itself has members and an example', () => {
    assert.deepEqual(schemas.forms(node)[0].members.map((m) => m.name), ['next', 'id'])
    assert.equal(typeof schemas.example(node).id, 'string')
    const own = { openapi: '3.1.0', paths: { '/x': { post: { operationId: 'x', requestBody: { content: { 'application/json': { schema: node } } }, responses: {} } } }, components: schemas.document.components }
    assert.ok(search(entries(reference(own)), 'next').length > 0)
  })

  test('a stream’s example has its last event', () => {
    const kind = 'text/event-stream'
    const schema = { properties: { data: { anyOf: [{ type: 'string', contentSchema: { type: 'object', properties: { text: { type: 'string' } } } }, { const: 'END' }] } } }
    assert.equal(exampleText(schemas, { kind, schema }, 'm'), 'data: {"text":" stood above the bay."}\n\ndata: END\n')
  })

  test('samples quote what they send', () => {
    const request = { method: 'PUT', path: '/x?q=it%27s', headers: { 'X-Name': "it's" }, body: null, file: 'application/octet-stream', fields: [], flows: false }
    const [curl, python, javascript] = languages.map((l) => l.of(request, 'https://a.example/dev', true))
    assert.match(curl, /^curl -s 'https:\/\/a\.example\/dev\/x\?q=it%27s' -X PUT \\\n {2}-H "Authorization: Bearer \$GLOSSA_API_KEY" \\\n {2}-H 'X-Name: it'\\''s'[\s\S]*--data-binary @/)
    assert.match(python, /^import os\n\nimport requests\n[\s\S]*requests\.put\([\s\S]*"X-Name": "it's"[\s\S]*data=open\(/)
    assert.match(javascript, /method: 'PUT'[\s\S]*"X-Name": "it's"[\s\S]*readFile/)
  })

  test('samples send the fields of a form', () => {
    const fields = [{ name: 'purpose', file: false, value: 'batch', text: '' }, { name: 'file', file: true, value: '', text: '' }]
    const request = { method: 'POST', path: '/v1/files', headers: {}, body: null, file: '', fields, flows: false }
    const [curl, python, javascript] = languages.map((l) => l.of(request, 'https://a.example', false))
    assert.equal(curl, "curl -s 'https://a.example/v1/files' \\\n  -F purpose='batch' \\\n  -F file=@requests.jsonl")
    assert.match(python, /requests\.post\([\s\S]*data=\{"purpose": "batch"\}[\s\S]*files=\{"file": open\("requests\.jsonl", "rb"\)\}/)
    assert.match(javascript, /form\.append\('purpose', 'batch'\)[\s\S]*form\.append\('file', new Blob[\s\S]*body: form/)
  })
})

suite('reference: what it shows', () => {
  test('every operation with its parameters, answers and errors', async (t) => {
    const { url } = await server()
    const doc = await document_(url)
    const page = await docs(t, url)
    const all = operations(doc)
    assert.ok(all.length > 50)
    const shown = await page.evaluate(() => Object.fromEntries([...document.querySelectorAll('.op:has(.endpoint)')].map((s) => [s.id, {
      endpoint: s.querySelector('.endpoint').textContent, title: s.querySelector('h3').textContent, names: [...s.querySelectorAll('.member > .member-head .name')].map((n) => n.textContent),
      errors: [...s.querySelectorAll('.errors > details')].map((d) => d.id.split('.')[1]), sample: s.querySelector('.op-code pre').textContent,
      hidden: Number(s.querySelector('.unsupported summary')?.textContent.match(/^\d+/) ?? 0) }])))
    assert.deepEqual(Object.keys(shown).sort(), all.map((op) => op.operationId).sort())
    for (const op of all) {
      const s = shown[op.operationId]
      assert.equal(s.endpoint, `${op.method} ${op.path}`)
      assert.ok(s.title.startsWith(op.summary), s.title)
      assert.ok(s.sample.length > 10, op.operationId)
      assert.deepEqual(s.errors, Object.keys(op.responses).filter((c) => c >= '400'), op.operationId)
      for (const p of op.parameters ?? []) assert.ok(s.names.includes(p.name), `${op.operationId} ${p.name}`)
      const schema = op.requestBody?.content['application/json']?.schema
      const keys = (schema?.anyOf ?? [schema]).flatMap((form) => Object.entries(form?.properties ?? {}))
      const ignored = keys.filter(([, p]) => p['x-disposition'])
      assert.equal(s.hidden > 0, ignored.length > 0, op.operationId)
      for (const [name] of keys.filter(([, p]) => !p['x-disposition'])) assert.ok(s.names.includes(name), `${op.operationId} ${name}`)
    }
    const linked = await page.locator('.tree .group li a:not(.to-page)').evaluateAll((links) => links.map((a) => a.hash.slice(1)))
    for (const op of all) assert.equal(linked.filter((id) => id === op.operationId).length, op.tags.length, op.operationId)
    assert.ok(await page.evaluate(() => [...document.querySelectorAll('a[href^="#"]')].every((a) => document.getElementById(a.hash.slice(1)))))
  })

  test('bounds, defaults, what is required, without effect or nested', async (t) => {
    const page = await docs(t, (await server()).url)
    const member = (name) => page.locator(`[id="chatCompletion.${name}"]`)
    assert.match(await member('temperature').innerText(), /temperature\s+number\s+[\s\S]*Default\s+0\.7\s+Limits\s+0 to 2/)
    assert.match(await member('messages').locator('> .member-head').innerText(), /array of objects\s+required/)
    assert.match(await member('max_tokens').innerText(), /Default\s+up to the end of the context/)
    await member('messages').locator('> details > summary').click()
    assert.match(await member('messages.role').innerText(), /"system"[\s\S]*"assistant"/)
    await page.locator('#chatCompletion .unsupported > summary').click()
    assert.match(await member('user').innerText(), /no effect/)
    await page.locator('[id="chatCompletion.400"] > summary').click()
    const error = JSON.parse(await page.locator('[id="chatCompletion.400"] pre').first().textContent())
    assert.equal(error.error.param, 'temperature')
  })

  test('samples in the chosen language, whole or streamed; those of curl are answered', async (t) => {
    const { url } = await server()
    const page = await docs(t, url)
    const chat = page.locator('#chatCompletion .op-code')
    await chat.getByRole('button', { name: 'Python' }).click()
    assert.match(await chat.locator('pre').first().textContent(), /from openai import OpenAI[\s\S]*messages=/)
    assert.match(await page.locator('#complete .op-code pre').first().textContent(), /^import requests/)
    await chat.getByRole('button', { name: 'Stream', exact: true }).click()
    assert.match(await chat.locator('pre').first().textContent(), /stream=True/)
    assert.match(await chat.locator('.shape pre').textContent(), /^data: \{.*\}\n\ndata: \[DONE\]/)
    await chat.getByRole('button', { name: 'JavaScript' }).click()
    const script = await page.locator('#complete .op-code pre').first().textContent()
    const { stdout } = await run(process.execPath, ['--input-type=module', '-e', script])
    assert.ok(JSON.parse(stdout).completions[0].completion)
    await chat.getByRole('button', { name: 'curl' }).click()
    const samples = await page.evaluate(() => [...document.querySelectorAll('.op:has(.endpoint)')]
      .filter((s) => /no key required|public/.test(s.querySelector('.chips').textContent)).map((s) => [s.id, s.querySelector('.op-code pre').textContent]))
    assert.ok(samples.length > 30)
    const refused = []
    for (const [id, sample] of samples) {
      const { stdout: status } = await run('bash', ['-c', `${sample.replace('@requests.jsonl', '@/dev/null')} -o /dev/null -w '%{http_code}'`])
      if (status !== '200') refused.push(`${id} ${status}`)
    }
    // No starter translates, classifies or has a sparse head, and what has the ids of the samples does not exist.
    assert.deepEqual(refused.sort(), ['addFilePart 404', 'alephAlphaTranslate 400', 'cancelBatch 404', 'cancelFileUpload 404', 'cancelResponse 404', 'classify 400', 'classifyV1 400', 'completeFileUpload 404', 'createBatch 404',
      'deleteFile 404', 'deleteResponse 404', 'downloadFile 404', 'embedSparse 424', 'listResponseInputItems 404', 'predict 424', 'retrieveBatch 404', 'retrieveFile 404', 'retrieveResponse 404', 'translate 400'])
  })
})

suite('reference: ways in', () => {
  test('search by path, parameter, nested key and error, by keyboard', async (t) => {
    const page = await docs(t, (await server()).url)
    const results = page.locator('.results a')
    await page.keyboard.press('/')
    await page.keyboard.type('/v1/chat/completions')
    assert.equal(await results.first().getAttribute('href'), '#chatCompletion')
    await page.locator('#search').fill('include_usage')
    assert.equal(await results.first().getAttribute('href'), '#chatCompletion.stream_options.include_usage')
    await page.locator('#search').fill('429 completions')
    assert.match(await results.first().textContent(), /^429 Too Many Requests.*completions/)
    await page.locator('#search').fill('no such thing')
    await page.getByText('Nothing contains “no such thing”.').waitFor()
    await page.locator('#search').fill('top_k')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('ArrowDown')
    const to = await page.evaluate(() => document.activeElement.hash)
    await page.keyboard.press('Enter')
    await page.waitForFunction((hash) => document.getElementById(hash.slice(1))?.contains(document.activeElement), to)
    await page.locator('#search').focus()
    await page.keyboard.press('Escape')
    assert.equal(await page.locator('#search').inputValue(), '')
    await page.locator('.tree').waitFor()
  })

  test('links to operations, keys inside keys, what is not supported, and errors', async (t) => {
    const { url } = await server()
    const seen = (page, id) => page.waitForFunction((name) => {
      const box = document.getElementById(name)?.getBoundingClientRect()
      return box && box.height > 0 && box.top >= 0 && box.top < innerHeight
    }, id)
    const page = await docs(t, url, { hash: 'complete' })
    await seen(page, 'complete')
    await page.locator('.tree a[href="#complete"][aria-current]').waitFor()
    for (const id of ['chatCompletion.temperature', 'chatCompletion.messages.role', 'chatCompletion.user', 'complete.503', 'tag-textsynth', 'errors']) {
      await page.evaluate((name) => { location.hash = name }, id)
      await seen(page, id)
    }
    assert.equal(await page.locator('[id="complete.503"]').evaluate((d) => d.open), true)
    await page.evaluate(() => { location.hash = 'none.such' }) // stays where it is
    await page.goBack()
    await seen(page, 'errors')
  })

  test('the playground leads here, and back', async (t) => {
    const page = await open(t, (await server()).url)
    await page.getByRole('link', { name: 'API reference' }).click()
    await page.locator('#chatCompletion').waitFor()
    await page.getByRole('link', { name: 'Playground' }).first().click()
    await page.locator('#tab-write').waitFor()
  })
})

suite('reference: trying it', () => {
  test('a whole answer, a stream, an error, and a body that is not JSON', async (t) => {
    const page = await docs(t, (await server()).url)
    page.expect(/status of 400/)
    const dialog = await attempt(page, 'chatCompletion')
    let got = await answer(page)
    assert.match(got.status, /^200 OK/)
    assert.equal(JSON.parse(got.text).object, 'chat.completion')
    await page.locator('#try-stream').check()
    assert.equal(JSON.parse(await page.locator('#try-body').inputValue()).stream, true)
    got = await answer(page)
    assert.match(got.status, /^200 OK · \d+ ms · 2\d events$/)
    assert.match(got.text, /^data: \{[\s\S]*data: \[DONE\]\s*$/)
    await page.locator('#try-body').fill('{"messages": [{"role": "user", "content": "Hi"}], "temperature": 9}')
    got = await answer(page)
    assert.match(got.status, /^400 Bad Request/)
    assert.equal(JSON.parse(got.text).error.param, 'temperature')
    await page.locator('#try-body').fill('{')
    await dialog.getByText(/The body is not JSON/).waitFor()
    await page.locator('#try-send').click()
    assert.match(await page.locator('.try-status').textContent(), /^400/) // nothing was sent
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'hidden' })
  })

  test('parameters outside the body, lines of JSON, and a stream that is stopped', async (t) => {
    const front = await proxy((await server()).url)
    ends(t, front.stop)
    const page = await docs(t, front.url)
    await attempt(page, 'textsynthTokenize')
    await page.locator('#try-path-engine_id').fill('abc')
    assert.ok(JSON.parse((await answer(page)).text).tokens.length)
    assert.ok(front.seen.includes('/v1/engines/abc/tokenize'))
    await page.locator('#try-path-engine_id').fill('')
    await page.locator('#try-send').click()
    assert.equal(await page.locator('#try-path-engine_id').evaluate((e) => e.validity.valueMissing), true)
    await page.locator('#try-close').click()
    await attempt(page, 'invokeStream')
    assert.match((await answer(page)).text, /^\{.*\}\n\{/)
    await page.locator('#try-close').click()
    await attempt(page, 'inference')
    front.held = true
    front.step(2)
    await page.locator('#try-send').click()
    await page.waitForFunction(() => document.querySelector('.try-answer code').textContent.includes('data:'))
    await page.locator('#try-stop').click()
    await page.getByText('Stopped', { exact: true }).waitFor()
    assert.match(await page.locator('.try-answer .code code').textContent(), /data:/) // what came stays
  })

  test('a key is asked for where one is needed, and kept in memory alone', async (t) => {
    const secret = 'k-3141592653589793'
    const keyed = await serve({ args: ['--auth'], env: { GLOSSA_KEYS: `client:${secret}` } })
    ends(t, keyed.stop)
    const page = await docs(t, keyed.url)
    page.expect(/status of 401/)
    await page.getByText('This server requires an API key.').waitFor()
    assert.match(await page.locator('#chatCompletion .op-code pre').first().textContent(), /Authorization: Bearer \$GLOSSA_API_KEY/)
    await attempt(page, 'chatCompletion')
    assert.match((await answer(page)).status, /^401/)
    await page.getByText('This operation needs an API key. Enter it and send again.').waitFor()
    assert.equal(await page.evaluate(() => document.activeElement.id), 'try-key')
    await clean(page, 'the key')
    await page.screenshot({ path: `${shots}docs-key.png` })
    await page.keyboard.type('wrong')
    assert.match((await answer(page)).status, /^401/)
    await page.getByText('The server does not know this key.').waitFor()
    await page.locator('#try-key').fill(secret)
    assert.match((await answer(page)).status, /^200/)
    await page.locator('#try-close').click()
    await page.locator('#connection').click()
    assert.equal(await page.locator('#api-key').inputValue(), secret)
    const kept = await page.evaluate(() => JSON.stringify([localStorage, sessionStorage, document.cookie, location.href, history.state, document.documentElement.outerHTML]))
    assert.ok(!kept.includes(secret))
    assert.deepEqual(await page.context().storageState(), { cookies: [], origins: [] })
  })
})

suite('reference: everywhere', () => {
  test('below a stage prefix', async (t) => {
    const stage = await proxy((await server()).url, '/dev')
    ends(t, stage.stop)
    const page = await docs(t, stage.url)
    assert.match(await page.locator('#chatCompletion .op-code pre').first().textContent(), new RegExp(`${stage.url}/v1/chat/completions`))
    await attempt(page, 'listModels')
    assert.match((await answer(page)).status, /^200/)
    assert.ok(stage.seen.length > 10 && stage.seen.every((path) => path.startsWith('/dev/')))
  })

  test('from a function alone, and then of another server', async (t) => {
    const part = await alpha()
    ends(t, part.stop)
    const api = await serve({ args: ['--origins', part.url] })
    ends(t, api.stop)
    const page = await docs(t, part.url)
    page.allow(api.url)
    assert.equal(await page.locator('#chatCompletion').count(), 0)
    await page.locator('#alphaChat').waitFor()
    await page.locator('#connection').click()
    await page.locator('#api-address').fill(api.url)
    await page.locator('#api-address').press('Enter')
    await page.locator('#chatCompletion').waitFor()
    await attempt(page, 'listModels')
    assert.match((await answer(page)).status, /^200/)
  })

  test('a document that does not come is said, and asked for again', async (t) => {
    const { url } = await server()
    const page = await open(t, url)
    page.expect(/status of 503/)
    await page.route('**/openapi.json', (route) => route.fulfill({ status: 503, body: 'down' }))
    await page.goto(`${url}/docs`)
    await page.getByText('The OpenAPI document cannot be read.').waitFor()
    await page.unroute('**/openapi.json')
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.locator('#chatCompletion').waitFor()
  })

  test('in both themes, on a phone, by keyboard', async (t) => {
    const page = await docs(t, (await server()).url)
    await look(page, 'docs', { check: false })
    await page.setViewportSize({ width: 1280, height: 900 })
    await clean(page, 'all operations')
    await page.evaluate(() => { // axe needs a second for so many elements: the other checks take a few operations
      for (const op of document.querySelectorAll('.op:has(.endpoint)')) if (!['chatCompletion', 'tokenize', 'putPart', 'deleteModel', 'usage'].includes(op.id)) op.remove()
      for (const a of document.querySelectorAll('.tree li a, .index a')) if (!document.querySelector(a.hash || 'body')) a.parentElement.remove()
    })
    await page.locator('[id="chatCompletion.400"] > summary').click()
    await page.locator('#chatCompletion .unsupported > summary').click()
    await page.locator('[id="chatCompletion.messages"] > details > summary').click()
    await look(page, 'docs-operation', { before: () => page.evaluate(() => document.getElementById('chatCompletion').scrollIntoView({ behavior: 'instant' })) })
    await attempt(page, 'chatCompletion')
    await answer(page)
    await look(page, 'docs-try')
    await page.locator('#try-close').click()
    assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Try it')
    await page.setViewportSize({ width: 360, height: 900 })
    await page.locator('#menu').click()
    assert.equal(await page.evaluate(() => document.activeElement.id), 'search')
    await clean(page, 'menu')
    await page.screenshot({ path: `${shots}docs-menu-360.png` })
    await page.keyboard.type('temperature')
    await page.screenshot({ path: `${shots}docs-search-360.png` })
    await page.locator('.results a').first().click()
    await page.locator('#contents').waitFor({ state: 'hidden' })
    await page.setViewportSize({ width: 1280, height: 900 })
    await page.evaluate(() => { scrollTo({ top: 0, behavior: 'instant' }); document.body.focus() })
    await page.locator('.skip').focus()
    await page.keyboard.press('Enter')
    assert.equal(await page.evaluate(() => document.activeElement.id), 'main')
  })
})
