// The part of Inspect for classifiers. The models are small random ones, so the tests compare the
// page with the API, not with meaning.
import assert from 'node:assert/strict'
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, suite, test } from 'node:test'
import { fixed } from '../../pkg/page/js/scale.js'
import { open, picked, server, shoot, view } from './browser.mjs'
import { serve } from './servers.mjs'

const testdata = new URL('../../pkg/engine/testdata/classifiers/', import.meta.url).pathname

suite('classifiers', () => {
  let running, dir
  const classifiers = () => running ??= (async () => {
    dir = await mkdtemp(join(tmpdir(), 'classifiers-'))
    for (const [name, from] of [['inference', 'bert'], ['toxicity', 'roberta']]) await cp(testdata + from, join(dir, name), { recursive: true })
    return serve({ args: ['--checkpoints', dir] })
  })()
  after(async () => {
    await (await running)?.stop()
    if (dir) await rm(dir, { recursive: true })
  })

  async function shown(t, hash = 'inside') {
    const page = await open(t, (await classifiers()).url, { hash })
    const part = page.locator('#view-inside').getByRole('region', { name: 'Classification', exact: true })
    const ask = async () => {
      await page.locator('#classification-go').click()
      await part.locator('.answer-place:not([aria-busy])').locator('.to-code, [role=alert]').first().waitFor()
    }
    if (hash === 'inside') await page.locator('#classification-model option').first().waitFor({ state: 'attached' })
    return { page, part, ask }
  }
  const api = async (path, body) => (await fetch((await classifiers()).url + path, body && { method: 'POST', body: JSON.stringify(body) })).json()
  // rows reads the labels and scores of each text.
  const rows = (part) => part.locator('.classified > li').evaluateAll((items) => items.map((item) =>
    [...item.querySelectorAll('.labels tr')].map((r) => [r.cells[0].textContent, r.cells[2].textContent])))

  test('the scores are those of the server, the largest first', async (t) => {
    const { page, part, ask } = await shown(t)
    const { data: models } = await api('/v1/models')
    for (const [name, hint] of [['inference', /^The scores of a text add up to 1: one label applies\. Bars range from 0 to 1\.$/], ['toxicity', /^Each label has a score of its own\. Bars range from 0 to 1\.$/]]) {
      await picked(page, 'classification-model', name)
      await ask()
      const input = (await page.locator('#classification-texts').inputValue()).split('\n')
      const { data } = await api('/classify', { model: name, input })
      const { labels } = models.find((m) => m.id === name)
      const want = data.map(({ probs }) => probs.map((score, i) => [labels[i], score]).sort((a, b) => b[1] - a[1]).map(([label, score]) => [label, fixed(score, 3)]))
      assert.deepEqual(await rows(part), want)
      assert.deepEqual(want.map(([[label]]) => label), data.map((d) => d.label))
      assert.deepEqual(await part.locator('.said').allTextContents(), input)
      assert.match(await part.locator('.answer-place > .hint').textContent(), hint)
    }
  })

  test('many labels are folded, and values beyond 0 and 1 have their own scale', async (t) => {
    const { page, part, ask } = await shown(t)
    await page.locator('#classification-texts').fill('one')
    await page.route('**/classify', (route) => route.fulfill({ contentType: 'application/json', body: JSON.stringify({ data: [{ index: 0, label: '0', probs: [-1, 0, 3, 1, 2, -0.5, 0.5] }] }) }))
    await ask()
    assert.deepEqual((await rows(part)).map((list) => list.map(([, score]) => score)), [['3.000', '2.000', '1.000', '0.500', '0.000', '−0.500', '−1.000']])
    assert.equal(await part.locator('summary').textContent(), '2 more labels')
    assert.ok(await part.locator('details td').first().isHidden())
    assert.deepEqual(await part.locator('.bar-part').evaluateAll((bars) => bars.map((b) => Number(b.getAttribute('width')))), [100, 75, 50, 37.5, 25, 12.5, 0.5])
    assert.match(await part.textContent(), /Each label has a score of its own\. Bars range from −1 to 3\./)
  })

  test('the list of models leads to it', async (t) => {
    const { page } = await shown(t, 'models')
    const row = page.locator('#models-table tbody tr').filter({ has: page.getByRole('button', { name: 'toxicity', exact: true }) })
    assert.deepEqual(await row.locator('.chip').allTextContents(), ['classifies texts'])
    await row.getByRole('button', { name: 'Classify' }).click()
    await page.waitForFunction(() => document.activeElement?.id === 'classification-go' && document.getElementById('classification-model').value === 'toxicity')
    await page.reload()
    await page.waitForFunction(() => document.activeElement?.id === 'classification-go' && document.getElementById('classification-model').value === 'toxicity')
  })

  test('what cannot be classified is said in its place', async (t) => {
    const { page, part, ask } = await shown(t)
    await page.locator('#classification-texts').fill(' \n')
    await ask()
    assert.equal(await part.locator('[role=alert] p').textContent(), 'Enter at least one text.')
    await page.locator('#classification-texts').fill(`short\n${'long '.repeat(500)}`)
    page.expect(/status of 400/)
    await ask()
    assert.match(await part.locator('[role=alert]').textContent(), /input\[1\]/)
  })

  test('a server without classifiers does not show it', async (t) => {
    const page = await open(t, (await server()).url, { hash: 'inside' })
    await page.locator('#ranking-model option').first().waitFor({ state: 'attached' })
    assert.ok(await page.locator('section.panel:has(#classification-go)').isHidden())
  })

  test('as it looks', async (t) => {
    const { page, ask } = await shown(t)
    await picked(page, 'classification-model', 'toxicity')
    await ask()
    await shoot(page, 'classification')
  })
})
