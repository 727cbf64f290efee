// The parts of Inspect for encoders: similarity with a map, and ranking. The models are small
// random ones, so the tests compare the page with the API, not with meaning.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, suite, test } from 'node:test'
import { promisify } from 'node:util'
import { fixed } from '../../pkg/page/js/scale.js'
import { open, picked, server, shoot, view } from './browser.mjs'
import { serve } from './servers.mjs'

const number = (text) => Number(text.replace('−', '-'))
const execute = promisify(execFile)
const testdata = new URL('../../pkg/engine/testdata/', import.meta.url).pathname

suite('encoders', () => {
  let running, dir
  // encoders serves the starters, an embedder, a reranker, and one that cuts long documents.
  const encoders = () => running ??= (async () => {
    dir = await mkdtemp(join(tmpdir(), 'encoders-'))
    for (const [name, from] of [['embedder', 'encoders/mpnet'], ['ranker', 'rerankers/qwen3'], ['short', 'rerankers/bert-saved']]) {
      await cp(testdata + from, join(dir, name), { recursive: true })
    }
    return serve({ args: ['--checkpoints', dir] })
  })()
  after(async () => {
    await (await running)?.stop()
    if (dir) await rm(dir, { recursive: true })
  })

  async function shown(t) {
    const page = await open(t, (await encoders()).url, { hash: 'inside' })
    const part = (name) => page.locator('#view-inside').getByRole('region', { name, exact: true })
    const ask = async (id) => {
      await page.locator(`#${id}-go`).click()
      await page.locator(`section.panel:has(#${id}-go) .answer-place:not([aria-busy])`).locator('.to-code, [role=alert]').first().waitFor()
    }
    await picked(page, 'likeness-model', 'embedder')
    await page.locator('#ranking-model option').first().waitFor({ state: 'attached' })
    return { page, part, ask }
  }
  const api = async (path, body) => {
    const response = await fetch((await encoders()).url + path, { method: 'POST', body: JSON.stringify(body) })
    assert.equal(response.status, 200)
    return response.json()
  }
  const options = (page, id) => page.locator(`#${id} option`).allTextContents()
  // texts reads the visible text of each label, without its number.
  const labels = (page) => page.locator('.scatter .point').evaluateAll((points) => points.map((p) => p.querySelector('text')?.textContent ?? null))

  test('models are offered for what they do', async (t) => {
    const { page } = await shown(t)
    const { data } = await (await fetch(`${(await encoders()).url}/v1/models`)).json()
    const named = (...tasks) => data.filter((m) => tasks.includes(m.task)).map((m) => m.id)
    assert.deepEqual(await options(page, 'likeness-model'), named('embed'))
    assert.deepEqual(await options(page, 'ranking-model'), named('embed', 'rerank'))
    assert.ok(named('rerank').includes(await page.locator('#ranking-model').inputValue()))
    assert.ok(await page.locator('#likeness-note').isHidden())
    const others = named('embed', 'rerank')
    assert.deepEqual(['embedder', 'ranker', 'short'].filter((m) => !others.includes(m)), [])
    for (const id of ['score-model', 'translate-model']) {
      const list = await options(page, id)
      assert.deepEqual([list.length > 0, list.filter((m) => others.includes(m))], [true, []], id)
    }
    for (const [tab, id] of [['write', 'write-model'], ['chat', 'chat-model'], ['structure', 'structure-model']]) {
      await view(page, tab)
      await page.locator(`#${id} option`).first().waitFor({ state: 'attached' })
      const list = await options(page, id)
      assert.deepEqual([list.length > 0, list.filter((m) => others.includes(m))], [true, []], id)
    }
  })

  test('the list of models says which embed and which rank, and leads to them', async (t) => {
    const { page } = await shown(t)
    await view(page, 'models')
    const row = (name) => page.locator('#models-table tbody tr').filter({ has: page.getByRole('button', { name, exact: true }) })
    await row('embedder').waitFor()
    assert.deepEqual(await row('embedder').locator('.chip').allTextContents(), ['embeds texts'])
    assert.deepEqual(await row('short').locator('.chip').allTextContents(), ['ranks documents'])
    assert.equal(await row('embedder').getByRole('button', { name: 'Write' }).count(), 0)
    await row('short').getByRole('button', { name: 'Rank' }).click()
    await page.waitForFunction(() => document.getElementById('ranking-model').value === 'short')
    await view(page, 'models')
    await row('embedder').getByRole('button', { name: 'Compare' }).click()
    await page.locator('#likeness-go').waitFor()
    assert.equal(await page.evaluate(() => location.hash), '#inside/similarity/embedder')
    await page.reload()
    await page.waitForFunction(() => document.getElementById('likeness-model')?.value === 'embedder')
  })

  test('a map of points, by pointer and keyboard', async (t) => {
    const { page, part, ask } = await shown(t)
    await ask('likeness')
    const lines = (await page.locator('#likeness-lines').inputValue()).split('\n')
    const { data } = await api('/v1/embeddings', { model: 'embedder', input: lines })
    const cells = (await part('Similarity').locator('.heat td[data-heat]').allTextContents()).map(number)
    const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0)
    const cosine = (i, j) => dot(data[i].embedding, data[j].embedding) / Math.sqrt(dot(data[i].embedding, data[i].embedding) * dot(data[j].embedding, data[j].embedding))
    lines.forEach((_, i) => lines.forEach((_, j) => assert.ok(Math.abs(cells[lines.length * i + j] - cosine(i, j)) < 0.0051, `${i} ${j}`)))
    const points = page.locator('.scatter .point')
    assert.equal(await points.count(), lines.length)
    const reading = page.locator('.map-reading')
    assert.match(await reading.textContent(), /^Tap or point at/)
    const nearest = (i) => lines.map((_, j) => j).filter((j) => j !== i).reduce((best, j) => cosine(i, j) > cosine(i, best) ? j : best)
    const says = (i) => {
      const near = nearest(i)
      return `${i + 1} ${lines[i]}Most similar, ${fixed(cosine(i, near), 2)}: ${near + 1} ${lines[near]}`
    }
    await points.nth(3).locator('.spot').hover({ force: true })
    await page.getByText(says(3)).waitFor()
    assert.equal(await page.locator('.point.on').count(), 1)
    await page.mouse.move(0, 0)
    await page.locator('.point.on').waitFor({ state: 'detached' })

    await points.first().focus()
    assert.equal(await reading.textContent(), says(0))
    for (const [key, i] of [['ArrowRight', 1], ['ArrowDown', 2], ['ArrowLeft', 1], ['End', 9], ['ArrowRight', 9], ['Home', 0]]) {
      await page.keyboard.press(key)
      assert.equal(await reading.textContent(), says(i), key)
    }
    await page.keyboard.press('ArrowRight')
    assert.equal(await page.evaluate(() => document.activeElement.getAttribute('aria-label')), `2: ${lines[1]} Most similar: ${nearest(1) + 1}, ${fixed(cosine(1, nearest(1)), 2)}.`)
    assert.equal(await points.evaluateAll((all) => all.filter((p) => p.getAttribute('tabindex') === '0').length), 1)
  })

  test('labels do not cover each other, wide or narrow, and equal lines keep two labels', async (t) => {
    const { page, ask } = await shown(t)
    await page.locator('#likeness-lines').fill(['same', 'same', 'same', ...Array.from({ length: 13 }, (_, i) => `line ${'of a few words '.repeat(i % 4)}${i}`)].join('\n'))
    await ask('likeness')
    for (const width of [1280, 360]) {
      await page.setViewportSize({ width, height: 900 })
      await page.waitForFunction(() => {
        const drawing = document.querySelector('.scatter')
        return Math.abs(drawing.getBoundingClientRect().width - drawing.parentElement.getBoundingClientRect().width) < 1
      })
      const boxes = await page.locator('.scatter .point text').evaluateAll((texts) => texts.map((t) => {
        const { left, right, top, bottom } = t.getBoundingClientRect()
        return { left, right, top: top + 2, bottom: bottom - 2, text: t.textContent }
      }))
      assert.equal(boxes.length, 16)
      boxes.forEach((a, i) => boxes.slice(i + 1).forEach((b) =>
        assert.ok(a.right <= b.left + 0.5 || b.right <= a.left + 0.5 || a.bottom <= b.top + 0.5 || b.bottom <= a.top + 0.5, `${width}: “${a.text}” and “${b.text}”`)))
      const texts = await labels(page)
      texts.forEach((text, i) => assert.match(text, new RegExp(`^${i + 1}( |$)`)))
    }
  })

  test('a ranking is the order of the server, with the lines of the documents', async (t) => {
    const { page, part, ask } = await shown(t)
    await picked(page, 'ranking-model', 'ranker')
    await ask('ranking')
    const query = await page.locator('#ranking-query').inputValue()
    const documents = (await page.locator('#ranking-documents').inputValue()).split('\n')
    const want = await api('/v1/rerank', { model: 'ranker', query, documents })
    const rows = () => part('Ranking').locator('tbody tr').evaluateAll((rows) => rows.map((r) => [...r.cells].map((c) => c.textContent)))
    const written = ({ index, relevance_score: score }, i) => [String(i + 1), `line ${index + 1} ${documents[index]}`, fixed(score, 3)]
    assert.deepEqual(await rows(), want.results.map(written))
    const bars = await part('Ranking').locator('.bar-part').evaluateAll((bars) => bars.map((b) => Number(b.getAttribute('width'))))
    want.results.forEach(({ relevance_score: score }, i) => assert.ok(Math.abs(bars[i] - Math.max(100 * score, 0.5)) < 1e-6))

    await page.locator('#ranking-top').fill('2')
    await ask('ranking')
    assert.deepEqual(await rows(), want.results.slice(0, 2).map(written))
    assert.match(await part('Ranking').textContent(), /4 of 6 documents are left out\./)

    await page.locator('#ranking-top').fill('')
    const next = page.locator('#view-inside .tries button').nth(1)
    await next.click()
    assert.equal(await page.locator('#ranking-query').inputValue(), await next.textContent())
    const other = await api('/v1/rerank', { model: 'ranker', query: await next.textContent(), documents })
    await page.waitForFunction((score) => document.querySelector('.ranked tbody .num')?.textContent === score, fixed(other.results[0].relevance_score, 3))
  })

  test('what cannot be ranked is said in its place', async (t) => {
    const { page, part, ask } = await shown(t)
    const alert = part('Ranking').locator('[role=alert]')
    await picked(page, 'ranking-model', 'ranker')
    for (const [id, value, pattern] of [['ranking-top', '0', /positive integer/], ['ranking-documents', ' \n', /at least one document/], ['ranking-query', ' ', /Enter a query/]]) {
      const before = await page.locator(`#${id}`).inputValue()
      await page.locator(`#${id}`).fill(value)
      await ask('ranking')
      assert.match(await alert.textContent(), pattern)
      await page.locator(`#${id}`).fill(before)
    }
    await page.locator('#ranking-documents').fill('word '.repeat(3000))
    await picked(page, 'ranking-model', 'short')
    await ask('ranking')
    assert.match(await part('Ranking').locator('.warned').textContent(), /documents \[0\] were cut to the maximum length/)
    await page.route('**/v1/rerank', (route) => route.fulfill({ status: 400, contentType: 'application/json', body: '{"error":{"message":"documents[3]: is too long","param":"documents[3]"}}' }))
    page.expect(/status of 400/)
    await ask('ranking')
    assert.match(await alert.textContent(), /documents\[3\]: is too long/i)
  })

  test('scores below zero and above one have their own scale', async (t) => {
    const { page, part, ask } = await shown(t)
    await page.route('**/v1/rerank', (route) => route.fulfill({ contentType: 'application/json',
      body: JSON.stringify({ results: [{ index: 2, relevance_score: 3 }, { index: 0, relevance_score: 1 }, { index: 1, relevance_score: -1 }] }) }))
    await ask('ranking')
    assert.deepEqual(await part('Ranking').locator('.bar-part').evaluateAll((bars) => bars.map((b) => Number(b.getAttribute('width')))), [100, 50, 0.5])
    assert.match(await part('Ranking').textContent(), /Bars range from −1 to 3\./)
  })

  test('both requests as programs', async (t) => {
    const { page, part, ask } = await shown(t)
    await picked(page, 'ranking-model', 'ranker')
    await page.locator('#ranking-top').fill('3')
    await ask('ranking')
    await part('Ranking').locator('.to-code').click()
    const pre = page.locator('#code-panel pre')
    await pre.waitFor()
    assert.match(await page.locator('#code-request option:checked').textContent(), /^POST \/v1\/rerank · ranker/)
    const query = await page.locator('#ranking-query').inputValue(), documents = (await page.locator('#ranking-documents').inputValue()).split('\n')
    const { results } = await api('/v1/rerank', { model: 'ranker', query, documents, top_n: 3 })
    assert.deepEqual(await page.locator('.dialects button').allTextContents(), ['Aleph Alpha', 'Cohere'])
    const program = async (dialect, language) => {
      await page.getByRole('tab', { name: dialect }).click()
      await page.locator('.segments').getByText(language, { exact: true }).click()
      await page.getByRole('group', { name: `Program: ${dialect}, ${language}`, exact: true }).waitFor()
      return pre.textContent()
    }
    for (const [dialect, language, command, ...flags] of [['Cohere', 'curl', 'sh', '-c'], ['Aleph Alpha', 'curl', 'sh', '-c'],
      ['Aleph Alpha', 'Python', 'python3', '-c'], ['Cohere', 'JavaScript', 'node', '--input-type=module', '-e']]) {
      const { stdout } = await execute(command, [...flags, await program(dialect, language)])
      assert.deepEqual(JSON.parse(stdout).results, results, `${dialect}, ${language}`)
    }
    const sdk = await program('Cohere', 'Python')
    assert.match(sdk, /^import cohere$/m)
    if (process.env.SDKS_PYTHON) {
      const { stdout } = await execute(process.env.SDKS_PYTHON, ['-c', sdk])
      assert.deepEqual(stdout.trim().split('\n').map((line) => line.split(' ').map(Number)), results.map((r) => [r.index, r.relevance_score]))
    } else {
      t.diagnostic('not run: no Python has Cohere’s SDK; make conformance installs one')
      assert.notEqual(process.env.CI, 'true')
    }
    await view(page, 'inside')
    await ask('likeness')
    await part('Similarity').locator('.to-code').click()
    await page.getByRole('tab', { name: 'OpenAI' }).waitFor()
    await page.locator('.segments').getByText('Python', { exact: true }).click()
    assert.match(await pre.textContent(), /client\.embeddings\.create\(\n {4}model="embedder"/)
  })

  // served shows Inspect as if the server had other models.
  async function served(t, choose) {
    const { url } = await server()
    const page = await open(t, url, { hash: 'code' })
    await page.route('**/v1/models', async (route) => {
      const response = await route.fetch()
      const list = await response.json()
      await route.fulfill({ response, json: { ...list, data: choose(list.data) } })
    })
    await page.goto(`${url}/#inside`)
    await page.reload()
    await page.locator('#likeness-model option').first().waitFor({ state: 'attached' })
    return page
  }

  test('a server without encoders compares with another model and says so', async (t) => {
    const page = await served(t, (list) => list.filter((m) => !m.task))
    assert.equal(await page.locator('#likeness-model').inputValue(), 'novels')
    assert.match(await page.locator('#likeness-note').textContent(), /^This server has no embedder\. The vectors of novels are averages/)
    assert.match(await page.locator('#ranking-note').textContent(), /^This server has no model that ranks documents/)
    await page.locator('#likeness-lines').fill([
      'The old lighthouse stood over the bay.', 'A lighthouse kept watch over the sea.', 'The baker sold warm bread.', 'The train is late.', 'The train is on time.'].join('\n'))
    await page.locator('#likeness-go').click()
    await page.locator('.scatter .point').nth(4).waitFor()
    const cells = (await page.locator('.heat td[data-heat]').allTextContents()).map(number)
    assert.equal(cells.length, 25)
    const at = (i, j) => cells[5 * i + j]
    for (let i = 0; i < 5; i++) for (let j = 0; j < 5; j++) assert.equal(at(i, j), i === j ? 1 : at(j, i))
    const most = Math.max(...cells.filter((c) => c < 1))
    assert.match(await page.locator('#view-inside .sum').textContent(),
      new RegExp(`^Most similar: 4 “The train is late.” and 5 “The train is on time.”, ${fixed(most, 2)}. Least similar: 2 .* and 4 .*, ${fixed(Math.min(...cells), 2)}\\.$`))
    await page.locator('#likeness-lines').fill('alone')
    await page.locator('#likeness-go').click()
    await page.getByRole('alert').getByText('at least two lines').waitFor()
    await page.locator('#ranking-go').click()
    await page.getByRole('alert').getByText('This server has no model that ranks documents.').waitFor()
  })

  test('a server of an embedder alone offers it nowhere else', async (t) => {
    const page = await served(t, () => [{ id: 'vectors', object: 'model', owned_by: 'local', task: 'embed' }])
    assert.deepEqual([await options(page, 'likeness-model'), await options(page, 'ranking-model'), await options(page, 'score-model')], [['vectors'], ['vectors'], ['no suitable model']])
    assert.match(await page.locator('#ranking-note').textContent(), /^vectors is an embedder: a score is the cosine/)
    for (const id of ['write', 'chat', 'structure']) {
      await view(page, id)
      await page.locator(`#${id}-model option`).first().waitFor({ state: 'attached' })
      assert.deepEqual(await options(page, `${id}-model`), ['no suitable model'])
    }
  })

  test('as it looks', async (t) => {
    const { page, ask } = await shown(t)
    await picked(page, 'ranking-model', 'ranker')
    for (const id of ['likeness', 'ranking']) await ask(id)
    await shoot(page, 'encoders')
    await view(page, 'models')
    await page.getByRole('button', { name: 'embedder', exact: true }).waitFor()
    await shoot(page, 'models-encoders')
  })
})
