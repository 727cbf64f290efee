// The view Models: the table, the curves of training, and a run while it is trained.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { ends, open, server, shoot, view } from './browser.mjs'
import { serve } from './servers.mjs'

// train starts a run that takes longer than a test, and returns a function that ends it.
async function train(dir) {
  const child = spawn(process.env.GLOSSA, ['train', '--text', '-', '--out', dir, '--domain', 'songs', '--tokenizer', 'char',
    '--layers', '1', '--embd', '32', '--heads', '1', '--context', '64', '--batch', '4', '--steps', '100000'],
  { stdio: ['pipe', 'ignore', 'ignore'], env: { ...process.env, GOMAXPROCS: '1' } })
  const exited = once(child, 'exit')
  child.stdin.end('la la la, sang the lark to the old lake; lo, said the lake, so late? '.repeat(200))
  while (!existsSync(dir) || !(await readdir(dir)).some((f) => f.startsWith('checkpoint-'))) await sleep(50)
  return async () => {
    child.kill('SIGTERM')
    await exited
  }
}

suite('models', () => {
  const number = (text) => Number(text.replace(/\D/g, ''))
  async function shown(t, url) {
    const page = await open(t, url ?? (await server()).url, { hash: 'models' })
    await page.locator('#models-table tbody tr').nth(4).waitFor()
    const choose = async (name) => {
      await page.getByRole('button', { name, exact: true }).click()
      await page.getByRole('heading', { name: `Training of ${name}` }).waitFor()
    }
    return { page, choose, lines: page.locator('svg.chart').first().locator('path.line') }
  }

  test('the table has what the API tells', async (t) => {
    const { page } = await shown(t)
    const rows = await page.locator('#models-table tbody tr').evaluateAll((rows) => rows.map((r) =>
      [r.querySelector('button').textContent, ...[...r.cells].slice(1, 7).map((c) => c.textContent)]))
    const runs = await (await fetch(`${(await server()).url}/api/models`)).json()
    assert.deepEqual(rows.map((r) => r[0]), ['novels', 'abc', 'chords', 'forms', 'phrases', 'tools', 'sentences'])
    for (const [name, family, size, step, context, tokenizer, loss] of rows) {
      assert.ok(family.startsWith('local'), family)
      const run = runs.find((r) => r.name === name)
      if (!run) continue
      assert.match(size, /^[\d.]+[KM]$/)
      assert.deepEqual([number(step), number(context), tokenizer, loss],
        [run.step, run.modelConfig.blockSize, run.trainConfig.tokenizer, run.lastLoss.toFixed(3)], name)
    }
    assert.deepEqual(rows.slice(0, 4).map((r) => r[2]), ['1.3M', '838.4K', '493.4K', '846.1K']) // as glossa models has it
    assert.deepEqual(rows[4].slice(1), ['local · M2M100', '1.1M', '–', '256', '–', '–'])
    assert.deepEqual(rows.map((r) => r[2]).slice(5), ['1.5M', '1.4M'])
    assert.deepEqual(await page.locator('#models-table .act').allTextContents(), ['Write', 'Write', 'Write', 'Write', 'Translate', 'Chat', 'Compare'])
  })

  test('each button goes to the view for the model', async (t) => {
    const { page } = await shown(t)
    const go = async (title) => {
      await view(page, 'models')
      await page.getByTitle(title).click()
    }
    await go('Translate with phrases')
    await page.locator('#inside-translation').waitFor()
    assert.equal(await page.locator('#translate-model').inputValue(), 'phrases')
    await go('Chat with tools')
    await page.getByText('Chat with tools', { exact: true }).waitFor()
  })

  test('a list that comes again leaves the focus where it is', async (t) => {
    const { page } = await shown(t)
    const again = async (change) => {
      let send
      const held = new Promise((resolve) => { send = resolve })
      await page.route('**/api/models', async (route) => {
        await held
        const runs = await (await route.fetch()).json()
        await route.fulfill({ json: runs.map(change) })
      })
      await page.getByRole('button', { name: 'Refresh' }).click()
      await page.getByTitle('Write with novels').focus()
      send()
      await page.waitForResponse('**/api/models')
      await page.unrouteAll({ behavior: 'wait' })
    }
    const focused = () => page.evaluate(() => document.activeElement.title)
    await page.getByTitle('Write with novels').evaluate((e) => { e.dataset.first = 'yes' })
    await again((run) => run)
    assert.equal(await focused(), 'Write with novels')
    assert.equal(await page.locator('[data-first=yes]').count(), 1, 'the same list was drawn again')
    await again((run) => ({ ...run, lastLoss: 9.876 }))
    await page.getByText('9.876').first().waitFor()
    assert.equal(await focused(), 'Write with novels')
  })

  test('curves, zoomed and laid over each other', async (t) => {
    const { page, choose, lines } = await shown(t)
    await choose('novels')
    await lines.nth(1).waitFor()
    assert.equal(await page.locator('svg.chart').count(), 2)
    assert.equal(await lines.count(), 2) // loss and validation loss
    const d = () => lines.first().getAttribute('d')
    const all = await d()
    assert.ok(all.length > 500)
    await page.locator('#models-over').selectOption('forms')
    await lines.nth(3).waitFor()
    await shoot(page, 'models')

    await page.locator('svg.chart').first().scrollIntoViewIfNeeded()
    const box = await page.locator('svg.chart').first().boundingBox()
    const [before, y] = [await d(), box.y + box.height / 2]
    await page.mouse.move(box.x + 0.3 * box.width, y)
    await page.mouse.down()
    await page.mouse.move(box.x + 0.5 * box.width, y, { steps: 3 })
    await page.mouse.up()
    await page.mouse.move(5, 5)
    await page.waitForFunction((d) => document.querySelector('svg.chart path.line').getAttribute('d') !== d, before)
    await page.locator('#models-all').click()
    await page.waitForFunction((d) => document.querySelector('svg.chart path.line').getAttribute('d') === d, before)
    await page.locator('svg.chart').first().focus()
    await page.keyboard.press('+')
    await page.waitForFunction((d) => document.querySelector('svg.chart path.line').getAttribute('d') !== d, before)
    await page.keyboard.press('ArrowRight')
    await page.getByText(/^step [\d,]+: novels, loss [\d.]+, novels, validation loss [\d.]+, forms, loss/).first().waitFor({ state: 'attached' })
    await page.keyboard.press('0')
    await page.waitForFunction((d) => document.querySelector('svg.chart path.line').getAttribute('d') === d, before)
    await choose('phrases')
    await page.getByText('phrases has no training metrics').waitFor()
  })

  test('live while a run is trained, and on to Write', async (t) => {
    const dir = await mkdtemp(join(tmpdir(), 'glossa-web-'))
    const end = await train(join(dir, 'songs'))
    ends(t, async () => {
      await end()
      await rm(dir, { recursive: true })
    })
    const live = await serve({ args: ['--checkpoints', dir] })
    ends(t, live.stop)
    const { page, choose, lines } = await shown(t, live.url)
    await choose('songs')
    const state = page.locator('.live')
    await state.waitFor()
    assert.match(await state.textContent(), /^live: step [\d,]+ of 100,000$/)
    const [step, d] = [number((await state.textContent()).split(' of ')[0]), await lines.first().getAttribute('d')]
    await page.waitForFunction(([step, d]) => {
      const now = Number(document.querySelector('.live').textContent.split(' of ')[0].replace(/\D/g, ''))
      return now > step && document.querySelector('svg.chart path.line').getAttribute('d') !== d
    }, [step, d])
    await end()
    await page.locator('#models-table tr.chosen').getByRole('button', { name: 'Write' }).click()
    await page.locator('#view-write').waitFor()
    assert.equal(await page.locator('#write-model').inputValue(), 'songs')
    await view(page, 'models')
  })
})
