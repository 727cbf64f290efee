// The view Code: its programs run unchanged, with curl in a shell and with OpenAI's SDKs.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { promisify } from 'node:util'
import { DIALECTS } from '../../pkg/page/js/dialects.js'
import { ends, open, picked, server, shoot, view, widths } from './browser.mjs'
import { proxy, serve } from './servers.mjs'

const here = new URL('.', import.meta.url).pathname
const run = promisify(execFile)
const python = process.env.SDKS_PYTHON // one that has the SDKs
const ownSDK = ['OpenAI, Python', 'OpenAI Responses, Python', 'Anthropic, Python', 'Ollama, Python', 'Cohere, Python'] // programs that need one

const within = '#view-code'

// tabs returns the dialects with a tab; shown selects one, and a language, and returns its program.
const tabs = (page) => page.locator(`${within} .dialects button`).allTextContents()
async function shown(page, dialect, language) {
  await page.getByRole('tab', { name: dialect, exact: true }).click()
  await page.locator(`${within} .segments label`, { hasText: language }).click()
  await page.getByRole('group', { name: `Program: ${dialect}, ${language}`, exact: true }).waitFor()
  return page.locator(`${within} pre`).textContent()
}

// lacking returns the reasons of the dialects without a tab.
const lacking = (page) => page.locator(`${within} .lacking li > span`).allTextContents()

// printed runs a program and returns its output, which must not be an error.
async function printed(title, program, env = {}) {
  const [, language] = title.split(', ')
  const { PATH, HOME } = process.env
  const dir = language === 'Go' ? await mkdtemp(join(tmpdir(), 'glossa-go-')) : ''
  if (dir) await writeFile(join(dir, 'program.go'), program)
  const options = { cwd: dir || here, env: { PATH, HOME, GOFLAGS: '-mod=mod -trimpath', CGO_ENABLED: '0', NODE_NO_WARNINGS: '1', ...env }, timeout: 120_000 }
  const [file, args] = {
    Python: [ownSDK.includes(title) ? python : 'python3', ['-c', program]],
    JavaScript: ['node', ['--input-type=module', '-e', program]],
    Go: ['go', ['run', 'program.go']],
    curl: ['sh', ['-euc', program]],
  }[language]
  try {
    const { stdout, stderr } = await run(file, args, options)
    assert.equal(stderr, '', title)
    assert.notEqual(stdout, '', title)
    assert.doesNotMatch(stdout, /"(error|detail)":(?! ?null)/, `${title}\n${program}\n${stdout}`)
    return stdout
  } finally {
    if (dir) await rm(dir, { recursive: true })
  }
}

// tried runs the programs of all tabs in some languages, and returns their outputs.
async function tried(t, page, languages = ['curl', 'Python', 'JavaScript'], env = {}) {
  const programs = []
  for (const dialect of await tabs(page)) {
    for (const language of languages) programs.push([`${dialect}, ${language}`, await shown(page, dialect, language)])
  }
  const outputs = {}
  await Promise.all(programs.map(async ([title, program]) => {
    if (ownSDK.includes(title) && !python) {
      t.diagnostic('not run: no Python has the SDK; make conformance installs one')
      assert.notEqual(process.env.CI, 'true')
    } else outputs[title] = await printed(title, program, env)
  }))
  return outputs
}

// said returns the text of an output: the output itself, or the joined texts of its JSON.
function said(output) {
  const pieces = output.split('\n').map((line) => line.replace(/^data: /, '')).filter((line) => line.startsWith('{')).map((line) => JSON.parse(line))
  if (pieces.length === 0) return output
  return pieces.map((p) => p.choices?.[0]?.text ?? p.text ?? p.token ?? p.response ?? p.completion ?? p.generated_text ?? p.outputs?.output ?? '').join('')
}

suite('code', () => {
  const opened = async (t, url, options) => {
    const page = await open(t, url, { hash: 'code', ...options })
    await page.locator(`${within} pre`).waitFor()
    return page
  }
  const choose = (page, label) => page.locator('#code-request').selectOption({ label })

  test('each example runs in the dialects that can express it', async (t) => {
    const page = await opened(t, (await server()).url)
    const want = {
      'A streamed chat': ['OpenAI', 'OpenAI Responses', 'Anthropic', 'Ollama', 'Alpha', 'Aleph Alpha', 'TextSynth', 'API layer'],
      'A completion': ['OpenAI', 'Ollama', 'TextSynth', 'API layer'],
      'Structured output': ['OpenAI', 'OpenAI Responses', 'Anthropic', 'Ollama', 'TextSynth', 'Lamini', 'API layer'],
      'Tokenize a text': ['Aleph Alpha', 'TextSynth'],
      'Score a continuation': ['OpenAI', 'Aleph Alpha', 'TextSynth'],
      'An embedding': ['OpenAI', 'Ollama', 'Lamini'],
      'A ranking': ['Aleph Alpha', 'Cohere'],
      'A translation': ['TextSynth'],
      'List the models': ['OpenAI', 'Anthropic', 'Ollama', 'Alpha', 'Aleph Alpha', 'API layer'],
    }
    const names = await page.locator('#code-request optgroup[label="Examples"] option').allTextContents()
    assert.deepEqual(names, Object.keys(want))
    const got = {}
    for (const name of names) {
      await choose(page, name)
      assert.deepEqual(await tabs(page), want[name], name)
      const rest = (await lacking(page)).join(' ')
      for (const dialect of DIALECTS) assert.ok(want[name].includes(dialect.name) || rest.includes(dialect.name), `${name}: ${dialect.name}`)
      got[name] = await tried(t, page)
    }
    const chat = got['A streamed chat']
    assert.match(chat['OpenAI, curl'], /^data: [\s\S]*\[DONE\]/)
    const content = chat['OpenAI, curl'].split('\n').map((l) => l.slice(6)).filter((d) => d.startsWith('{'))
      .map((d) => JSON.parse(d).choices[0].delta.content ?? '').join('')
    assert.notEqual(content, '')
    for (const dialect of ['OpenAI', 'OpenAI Responses', 'Anthropic', 'Ollama']) {
      assert.equal(chat[`${dialect}, JavaScript`], content, dialect)
      if (python) assert.equal(chat[`${dialect}, Python`], content, dialect)
    }
    assert.equal(chat['TextSynth, Python'], chat['TextSynth, curl'])
    const form = got['Structured output']
    for (const language of ['curl', 'Python', 'JavaScript']) assert.equal(JSON.parse(form[`Lamini, ${language}`]).outputs.age, 10)
    for (const dialect of ['OpenAI', 'OpenAI Responses', 'Anthropic', 'Ollama']) {
      assert.equal(JSON.parse(form[`${dialect}, JavaScript`]).age, 10, dialect)
      if (python) assert.equal(JSON.parse(form[`${dialect}, Python`]).age, 10, dialect)
    }
    assert.match(got['A translation']['TextSynth, Python'], /Le train est en retard/)
    const score = got['Score a continuation']
    assert.equal(JSON.parse(score['Aleph Alpha, curl']).result.log_probability, JSON.parse(score['TextSynth, Python']).logprob)
  })

  test('programs in Go run', async (t) => {
    const page = await opened(t, (await server()).url)
    await choose(page, 'Structured output')
    const outputs = await tried(t, page, ['Go'])
    assert.equal(JSON.parse(outputs['Lamini, Go']).outputs.age, 10)
    assert.equal(JSON.parse(JSON.parse(outputs['OpenAI, Go']).choices[0].message.content).age, 10)
    await choose(page, 'List the models')
    assert.match((await tried(t, page, ['Go']))['Alpha, Go'], /novels/)
  })

  test('a dialect that lacks a setting says which, and is shown without it if the user wants', async (t) => {
    const page = await open(t, (await server()).url, { hash: 'write' })
    await picked(page, 'write-model', 'novels')
    await page.locator('[data-param=max_tokens]').fill('8')
    await page.locator('[data-param=temperature]').fill('0')
    await page.locator('[data-param=frequency_penalty]').fill('0')
    await page.locator('#write-prompt').fill('The old lighthouse')
    await page.locator('#write-go').click()
    await page.locator('.answer .to-code').click()
    await page.locator(`${within} pre`).waitFor()
    const text = await page.locator('.answer .written').first().textContent()
    assert.deepEqual(await tabs(page), ['OpenAI', 'Ollama', 'Aleph Alpha', 'API layer'])
    const reasons = await page.locator(`${within} .lacking li:has(button) > span`).allTextContents()
    assert.equal(reasons.length, 3)
    for (const reason of reasons) assert.match(reason, /^(Alpha|TextSynth|Lamini) has no .*(frequency_penalty|logprobs).* for completions\.$/)
    for (const _ of reasons) {
      await page.getByRole('button', { name: 'Show without' }).first().click()
      assert.match(await page.locator(`${within} .note.lacks`).textContent(), /^Without .*(frequency_penalty|logprobs)/)
    }
    assert.deepEqual(await tabs(page), ['OpenAI', 'Ollama', 'Alpha', 'Aleph Alpha', 'TextSynth', 'Lamini', 'API layer'])
    assert.deepEqual(await lacking(page), ['OpenAI Responses has no completions, only chats.', 'Anthropic has no completions, only chats.', 'Cohere has no completions.'])
    const outputs = await tried(t, page, ['curl'])
    for (const [title, output] of Object.entries(outputs)) assert.ok(said(output).includes(text), `${title}: ${output}`)
  })

  test('a chat with tools runs in the dialects that have them', async (t) => {
    const page = await open(t, (await server()).url, { hash: 'chat' })
    await picked(page, 'chat-model', 'tools')
    await page.locator('#view-chat [data-param=temperature]').fill('0')
    await page.getByRole('button', { name: 'What is 17 times 23?' }).click()
    const answers = page.locator('.assistant')
    await answers.nth(1).locator('.figures').waitFor()
    for (const [at, want] of [[1, /391/], [0, /multiply/]]) { // what the model says of a result, and its call
      await answers.nth(at).getByRole('button', { name: 'Show as code' }).click()
      await page.locator(`${within} pre`).waitFor()
      assert.deepEqual(await tabs(page), ['OpenAI', 'OpenAI Responses', 'Anthropic', 'Ollama'])
      const outputs = await tried(t, page, ['curl'])
      if (at) for (const [title, output] of Object.entries(await tried(t, page, ['Python', 'JavaScript']))) assert.match(output, want, title)
      else for (const [title, output] of Object.entries(outputs)) assert.match(output, want, title)
      await view(page, 'chat')
    }
  })

  test('what the page sent is there, with hostile text, and runs', async (t) => {
    const evil = `it's "$HOME" \\ \`id\` $(id) \uFEFF😀\n-- `
    const page = await open(t, (await server()).url, { hash: 'inside' })
    await picked(page, 'tokens-model', 'novels')
    await page.locator('#tokens-text').fill(evil)
    await page.locator('#tokens-go').click()
    await page.locator('#view-inside .to-code').click()
    await page.locator(`${within} pre`).waitFor()
    assert.match(await page.locator('#code-request option:checked').textContent(), /^POST \/tokenize · novels/)
    const outputs = await tried(t, page, ['curl', 'Python', 'JavaScript', 'Go'])
    const { token_ids: ids } = await (await fetch(`${(await server()).url}/tokenize`, { method: 'POST',
      body: JSON.stringify({ model: 'novels', prompt: evil, tokens: true, token_ids: true }) })).json()
    for (const language of ['curl', 'Python', 'JavaScript', 'Go']) {
      assert.deepEqual(JSON.parse(outputs[`Aleph Alpha, ${language}`]).token_ids, ids, language)
      assert.deepEqual(JSON.parse(outputs[`TextSynth, ${language}`]).tokens, ids, language)
    }
  })

  test('a key is named and never shown', async (t) => {
    const secret = 'k-3141592653589793'
    const keyed = await serve({ args: ['--auth'], env: { GLOSSA_KEYS: `client:${secret}` } })
    ends(t, keyed.stop)
    const page = await open(t, keyed.url)
    page.expect(/status of 401/)
    await page.locator('#api-key').fill(secret)
    await page.locator('#api-key').press('Enter')
    await page.locator('#connection[data-state=on]').waitFor()
    await view(page, 'code')
    await choose(page, 'A completion')
    await tried(t, page, ['curl', 'Python', 'JavaScript'], { GLOSSA_API_KEY: secret })
    await printed('TextSynth, Go', await shown(page, 'TextSynth', 'Go'), { GLOSSA_API_KEY: secret })
    const program = await shown(page, 'OpenAI', 'curl')
    assert.match(program, /GLOSSA_API_KEY/)
    assert.ok(!(await page.content()).includes(secret))
    await assert.rejects(printed('OpenAI, curl', program, { GLOSSA_API_KEY: 'wrong' }), /"code":"invalid_api_key"/)
  })

  test('addresses have the stage prefix', async (t) => {
    const stage = await proxy((await server()).url, '/dev')
    ends(t, stage.stop)
    const page = await opened(t, stage.url)
    await choose(page, 'List the models')
    for (const [title, output] of Object.entries(await tried(t, page))) assert.match(output, /novels/, title)
  })

  test('copying', async (t) => {
    const page = await opened(t, (await server()).url, { permissions: ['clipboard-read', 'clipboard-write'] })
    const program = await page.locator(`${within} pre`).textContent()
    await page.locator(within).getByRole('button', { name: 'Copy' }).click()
    await page.getByText('Copied').first().waitFor()
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), program)
    for (const width of widths) { // the button covers none of it
      await page.setViewportSize({ width, height: 900 })
      const [button, code] = await Promise.all(['button:has-text("Cop")', 'pre'].map((s) => page.locator(`${within} #code-panel ${s}`).boundingBox()))
      assert.ok(button.y + button.height <= code.y, `${width}: ${JSON.stringify([button, code])}`)
    }
  })

  test('the dialect and the language are remembered', async (t) => {
    const page = await opened(t, (await server()).url)
    await choose(page, 'Structured output')
    await shown(page, 'TextSynth', 'Go')
    await page.reload()
    await page.locator(`${within} pre`).waitFor()
    await choose(page, 'A streamed chat')
    await page.getByRole('group', { name: 'Program: TextSynth, Go' }).waitFor()
    await choose(page, 'An embedding') // which TextSynth does not have
    await page.getByRole('group', { name: 'Program: OpenAI, Go' }).waitFor()
    await choose(page, 'A completion')
    await page.getByRole('group', { name: 'Program: TextSynth, Go' }).waitFor()
    const tab = page.getByRole('tab', { name: 'TextSynth' })
    await tab.focus()
    await page.keyboard.press('ArrowRight')
    await page.getByRole('group', { name: 'Program: API layer, Go' }).waitFor()
    assert.equal(await page.evaluate(() => document.activeElement.textContent), 'API layer')
    await page.keyboard.press('Home')
    await page.getByRole('group', { name: 'Program: OpenAI, Go' }).waitFor()
    await page.setViewportSize({ width: widths[0], height: 900 })
    await shown(page, 'API layer', 'Go')
    await page.reload()
    await page.getByRole('group', { name: 'Program: API layer, Go' }).waitFor()
    await page.waitForFunction((width) => { // until the tab is in sight
      const tab = [...document.querySelectorAll('[role=tab]')].find((t) => t.textContent.trim() === 'API layer')
      return tab?.getClientRects().length > 0 && tab.getBoundingClientRect().right <= width
    }, widths[0])
  })

  test('as it looks', async (t) => {
    const page = await opened(t, (await server()).url)
    await choose(page, 'Structured output')
    await shown(page, 'OpenAI', 'Python')
    await shoot(page, 'code')
  })
})
