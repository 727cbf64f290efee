// The view Code: its programs run unchanged, with curl in a shell and with OpenAI's SDKs.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { suite, test } from 'node:test'
import { promisify } from 'node:util'
import { open, picked, server, shoot, view } from './browser.mjs'
import { proxy, serve } from './servers.mjs'

const here = new URL('.', import.meta.url).pathname
const run = promisify(execFile)
const python = process.env.OPENAI_PYTHON // one that has OpenAI's SDK

// programs returns the programs that the view shows: [title, program].
const programs = (page) => page.locator('#view-code .snippet').evaluateAll((cards) =>
  cards.map((c) => [c.getAttribute('aria-label'), c.querySelector('pre')?.textContent ?? '', c.querySelector('.hint')?.textContent ?? '']))

// printed runs a program and returns its output, which must not be an error.
async function printed(title, program, env = {}) {
  const { PATH, HOME } = process.env
  const options = { cwd: here, env: { PATH, HOME, NODE_NO_WARNINGS: '1', ...env }, timeout: 60_000 }
  const [file, args] = {
    'OpenAI for Python': [python, ['-c', program]],
    'OpenAI for Node': ['node', ['--input-type=module', '-e', program]],
  }[title] ?? ['sh', ['-euc', program]]
  const { stdout, stderr } = await run(file, args, options)
  assert.equal(stderr, '', title)
  assert.notEqual(stdout, '', title)
  assert.doesNotMatch(stdout, /"(error|detail)":/, `${title}\n${program}\n${stdout}`)
  return stdout
}

// tried runs all shown programs concurrently and returns their outputs.
async function tried(t, page, env) {
  const outputs = {}
  await Promise.all((await programs(page)).map(async ([title, program, note]) => {
    if (title === 'OpenAI for Python' && program && !python) {
      t.diagnostic('not run: no Python has OpenAI’s SDK; make conformance installs one')
      assert.notEqual(process.env.CI, 'true')
    } else if (program) outputs[title] = await printed(title, program, env)
    else assert.match(note, /^\S.* (has no|does not|knows the types|embeds one|completes one)/, title)
  }))
  return outputs
}

// said returns the text of an output: the output itself, or the joined texts of its JSON.
function said(output) {
  const pieces = output.split('\n').map((line) => line.replace(/^data: /, '')).filter((line) => line.startsWith('{')).map((line) => JSON.parse(line))
  if (pieces.length === 0) return output
  return pieces.map((p) => p.choices?.[0]?.text ?? p.text ?? p.token ?? p.completion ?? p.generated_text ?? p.outputs?.output ?? '').join('')
}

suite('code', () => {
  const shown = async (t, url, options) => {
    const page = await open(t, url, { hash: 'code', ...options })
    await page.locator('#view-code .snippet').first().waitFor()
    return page
  }

  test('every request that the view begins with runs in all its dialects', async (t) => {
    const page = await shown(t, (await server()).url)
    const names = await page.locator('#code-request optgroup[label="To begin with"] option').allTextContents()
    const dialects = {}
    for (const name of names) {
      await page.locator('#code-request').selectOption({ label: name })
      dialects[name] = await tried(t, page)
    }
    const count = (name) => Object.keys(dialects[name]).filter((d) => d !== 'OpenAI for Python').length
    assert.deepEqual(names.map(count), [7, 7, 7, 2, 4, 4, 1, 5])
    const chat = dialects['A chat, streamed']
    assert.match(chat.curl, /^data: [\s\S]*\[DONE\]/)
    const content = chat.curl.split('\n').map((l) => l.slice(6)).filter((d) => d.startsWith('{'))
      .map((d) => JSON.parse(d).choices[0].delta.content ?? '').join('')
    assert.equal(chat['OpenAI for Node'], content) // the seed makes them the same
    if (python) assert.equal(chat['OpenAI for Python'], content)
    assert.equal(JSON.parse(dialects['A form filled in'].curl).outputs.age, 10)
    assert.equal(JSON.parse(dialects['A form filled in']['OpenAI for Node']).age, 10)
    assert.match(dialects['A translation'].curl, /Le train est en retard/)
    assert.equal(JSON.parse(dialects['The likelihood of a continuation']['Aleph Alpha']).result.log_probability,
      JSON.parse(dialects['The likelihood of a continuation'].curl).logprob)
  })

  test('the likeliest text is the same in every dialect', async (t) => {
    const page = await open(t, (await server()).url, { hash: 'write' })
    await picked(page, 'write-model', 'novels')
    await page.locator('[data-param=max_tokens]').fill('8')
    await page.locator('[data-param=temperature]').fill('0')
    await page.locator('#write-prompt').fill('The old lighthouse')
    await page.locator('#write-go').click()
    await page.locator('.answer .to-code').click()
    await page.locator('#view-code .snippet pre').first().waitFor()
    const text = await page.locator('.answer .written').first().textContent()
    const outputs = await tried(t, page)
    assert.ok(Object.keys(outputs).length >= 7)
    for (const [title, output] of Object.entries(outputs)) assert.ok(said(output).includes(text), `${title}: ${output}`)
  })

  test('what the page sent is there, with hostile text, and runs', async (t) => {
    const evil = `it's "$HOME" \\ \`id\` $(id) 😀\n-- `
    const page = await open(t, (await server()).url, { hash: 'inside' })
    await picked(page, 'tokens-model', 'novels')
    await page.locator('#tokens-text').fill(evil)
    await page.locator('#tokens-go').click()
    await page.locator('#view-inside .to-code').click()
    await page.locator('#view-code .snippet pre').first().waitFor()
    assert.match(await page.locator('#code-request option:checked').textContent(), /^POST \/tokenize · novels/)
    const outputs = await tried(t, page)
    const { token_ids: ids } = await (await fetch(`${(await server()).url}/tokenize`, { method: 'POST',
      body: JSON.stringify({ model: 'novels', prompt: evil, tokens: true, token_ids: true }) })).json()
    assert.deepEqual(JSON.parse(outputs.curl).token_ids, ids)
    assert.deepEqual(JSON.parse(outputs.TextSynth).tokens, ids)
  })

  test('a key is named and never shown', async (t) => {
    const secret = 'k-3141592653589793'
    const keyed = await serve({ args: ['--auth'], env: { GLOSSA_KEYS: `client:${secret}` } })
    t.after(keyed.stop)
    const page = await open(t, keyed.url)
    page.expect(/status of 401/)
    await page.locator('#api-key').fill(secret)
    await page.locator('#api-key').press('Enter')
    await page.locator('#connection[data-state=on]').waitFor()
    await view(page, 'code')
    await page.locator('#code-request').selectOption({ label: 'A completion' })
    const all = await programs(page)
    for (const [title, program] of all.filter(([, program]) => program)) {
      assert.match(program, /GLOSSA_API_KEY/, title)
      if (title !== 'OpenAI for Python' || python) await printed(title, program, { GLOSSA_API_KEY: secret })
    }
    assert.ok(!(await page.content()).includes(secret))
    await assert.rejects(printed('curl', all[0][1], { GLOSSA_API_KEY: 'wrong' }), /"code":"invalid_api_key"/)
  })

  test('addresses have the stage prefix', async (t) => {
    const stage = await proxy((await server()).url, '/dev')
    t.after(stage.stop)
    const page = await shown(t, stage.url)
    await page.locator('#code-request').selectOption({ label: 'The models' })
    for (const [title, program] of await programs(page)) {
      if (program && (title !== 'OpenAI for Python' || python)) assert.match(await printed(title, program), /novels/, title)
    }
  })

  test('copying', async (t) => {
    const page = await shown(t, (await server()).url, { permissions: ['clipboard-read', 'clipboard-write'] })
    const [[, program]] = await programs(page)
    await page.locator('#view-code .snippet').first().getByRole('button', { name: 'Copy' }).click()
    await page.getByText('Copied').first().waitFor()
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), program)
  })

  test('as it looks', async (t) => {
    const page = await shown(t, (await server()).url)
    await page.locator('#code-request').selectOption({ label: 'A form filled in' })
    await shoot(page, 'code')
  })
})
