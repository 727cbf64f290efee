// Images in the view Chat, for models that read them, and in the view Code.
import assert from 'node:assert/strict'
import { execFile, execFileSync } from 'node:child_process'
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { promisify } from 'node:util'
import { crc32, deflateSync } from 'node:zlib'
import { markdown, pack, read, write } from '../../pkg/page/js/chat/format.js'
import { kind, limits } from '../../pkg/page/js/chat/images.js'
import { add, contains, messages, newConversation } from '../../pkg/page/js/chat/tree.js'
import { filed, fileNames } from '../../pkg/page/js/files.js'
import { curl, openaiPython } from '../../pkg/page/js/snippets.js'
import { clean, ends, open, picked, server, shoot } from './browser.mjs'
import { chatServer } from './chatserver.mjs'
import { serve } from './servers.mjs'

const model = new URL('../../pkg/engine/arch/testdata/vision/smolvlm/', import.meta.url)
const photo = await readFile(new URL('0.png', model))
const dataURL = (bytes, type = 'image/png') => `data:${type};base64,${bytes.toString('base64')}`
const file = (name, buffer = photo, mimeType = 'image/png') => ({ name, mimeType, buffer })

// png returns an image of noise, which no format makes smaller, or one that is transparent with alpha.
function png(width, height, alpha = false) {
  const chunk = (kind, data) => {
    const body = Buffer.concat([Buffer.from(kind), data]), ends = Buffer.alloc(8)
    ends.writeUInt32BE(data.length)
    ends.writeUInt32BE(crc32(body), 4)
    return Buffer.concat([ends.subarray(0, 4), body, ends.subarray(4)])
  }
  const head = Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 8, alpha ? 6 : 2, 0, 0, 0]) // 8 bits each of red, green, blue and alpha
  head.writeUInt32BE(width)
  head.writeUInt32BE(height, 4)
  const bytes = alpha ? 4 : 3, row = 1 + bytes * width, pixels = Buffer.alloc(row * height)
  for (let i = 0, seed = 1; i < pixels.length; i++) {
    seed = Math.imul(seed, 48271) % 0x7fffffff
    pixels[i] = i % row === 0 || alpha && i % row % 4 === 0 ? 0 : seed >> 8
  }
  return Buffer.concat([photo.subarray(0, 8), chunk('IHDR', head), chunk('IDAT', deflateSync(pixels, { level: 0 })), chunk('IEND', Buffer.alloc(0))])
}

// give dispatches an event with files, and perhaps text, as the browser does after a drop or a paste.
const give = (locator, type, files, text = '') => locator.evaluate((node, { type, files, text }) => {
  const data = new DataTransfer()
  for (const { name, mimeType, bytes } of files) data.items.add(new File([Uint8Array.from(atob(bytes), (c) => c.charCodeAt(0))], name, { type: mimeType }))
  if (text) data.setData('text/plain', text)
  const init = { bubbles: true, cancelable: true }
  const event = type === 'paste' ? new ClipboardEvent(type, { ...init, clipboardData: data }) : new DragEvent(type, { ...init, dataTransfer: data })
  return !node.dispatchEvent(event)
}, { type, files: files.map(({ buffer, ...f }) => ({ ...f, bytes: buffer.toString('base64') })), text })

const settled = (page, n) => page.waitForFunction((n) => document.querySelectorAll('.assistant .turn[aria-busy=false]').length === n && document.querySelector('#chat-stop').hidden, n)

// parts of the view.
const waiting = (page) => page.locator('.attachments img')
const names = (page) => waiting(page).evaluateAll((all) => all.map((i) => i.alt))
const said = (page) => page.locator('#chat-images-said')
const attach = async (page, ...files) => {
  const n = await waiting(page).count()
  await page.locator('#chat-images').setInputFiles(files)
  await waiting(page).nth(n + files.length - 1).waitFor()
}

suite('images without a browser', () => {
  const url = dataURL(photo)
  const image = (of) => ({ type: 'image_url', image_url: { url: of } })

  test('a request has the images that are not gone, and those alone are exported', () => {
    const c = newConversation('Be brief.')
    const turn = add(c, '', 'user', 'x')
    turn.images = [{ id: 'a', name: 'a.png' }, { id: 'b', name: 'b.png' }]
    const see = (id) => id === 'b' ? url : ''
    assert.deepEqual(messages(c, turn.id, see).at(-1).content, [image(url), { type: 'text', text: 'x' }])
    assert.equal(messages(c, turn.id).at(-1).content, 'x')
    const { conversations, images } = read(write([c], see), () => false)
    assert.deepEqual([...images], [['b', url]])
    assert.deepEqual(conversations[0].turns, c.turns)
    assert.ok(!pack(conversations[0]).includes('base64'))
    assert.deepEqual([contains(c, 'B.PNG'), contains(c, 'c.png')], [true, false])
    assert.match(markdown(c), /## You\n\nImage: a\.png\n\nImage: b\.png\n\nx\n/)
  })

  test('damaged and hostile images of a file are left out', () => {
    const c = newConversation('')
    const file = (images) => JSON.stringify({ kind: 'glossa-conversations', v: 1, conversations: [{ v: 1, ...c, turns: [{ id: 't', parent: '', role: 'user', text: '', at: 1, images }] }, null, 7] })
    for (const bad of ['https://example.com/x.png', 'javascript:alert(1)', 'data:image/svg+xml;base64,AAAA', 'data:text/html;base64,AAAA', 'data:image/png,x', 'data:image/png;base64,<img>', url + '\n',
      `data:image/png;base64,${'A'.repeat(2 * limits.bytes)}`, 7, null, undefined]) {
      const { conversations, images } = read(file([{ id: 'i', name: 'x', url: bad }]), () => false)
      assert.deepEqual([[...images], conversations[0].turns[0].images], [[], [{ id: 'i', name: 'x' }]], String(bad).slice(0, 40))
    }
    for (const bad of [7, 'x', [null], [{}], [{ id: '__proto__', name: 'x', url }], [{ id: 'a b', url }], [{ id: 7 }]]) {
      const { conversations, images } = read(file(bad), () => false)
      assert.deepEqual([[...images], conversations[0].turns[0].images ?? []], [[], []], JSON.stringify(bad).slice(0, 40))
    }
    assert.equal(read(file(Array.from({ length: 30 }, (_, i) => ({ id: `i${i}`, name: 'x' }))), () => false).conversations[0].turns[0].images.length, limits.images)
  })

  test('the first bytes tell the type', () => {
    for (const [bytes, want] of [[photo, 'image/png'], [[0xff, 0xd8, 0xff, 0xe0], 'image/jpeg'], [[0xff, 0xd8], ''], [[], ''], [Buffer.from('GIF89a'), '']]) assert.equal(kind(Uint8Array.from(bytes)), want)
  })

  test('programs read files in the place of images', () => {
    const jpeg = 'data:image/jpeg;base64,/9j/', evil = 'data:image/png;base64,it\'s $HOME `id` \0x\0'
    const body = { model: 'm', messages: [{ role: 'system', content: evil }, { role: 'user', content: [image(url), image(jpeg), image(url), { type: 'text', text: evil }] }] }
    const call = filed({ method: 'POST', path: '/v1/chat/completions', body })
    assert.deepEqual(fileNames(call.body), ['image-1.png', 'image-2.jpg'])
    const program = curl(call, 'http://h', false).replace(/\| curl [^]*/, '').replaceAll('base64 <', 'echo')
    const sent = JSON.parse(execFileSync('sh', ['-euc', program]))
    assert.deepEqual(sent.messages[0], body.messages[0])
    assert.deepEqual(sent.messages[1].content, [image('data:image/png;base64,image-1.png'), image('data:image/jpeg;base64,image-2.jpg'), image('data:image/png;base64,image-1.png'), { type: 'text', text: evil }])
    for (const other of [{ method: 'GET', path: '/v1/models', body: null }, { method: 'POST', path: '/embed', body: { input: [url] } }]) assert.equal(filed(other), other)
    const fetched = image('https://example.com/x.png')
    assert.deepEqual(filed({ ...call, body: { messages: [{ role: 'user', content: [fetched] }] } }).body.messages[0].content, [fetched])
    assert.match(openaiPython(call, 'http://h'), /^import base64\n[\s\S]*"url": "data:image\/jpeg;base64," \+ base64\.b64encode\(open\("image-2\.jpg", "rb"\)\.read\(\)\)\.decode\(\)/)
    assert.doesNotMatch(openaiPython({ ...call, body: { ...body, messages: [] } }, 'http://h'), /base64/)
  })
})

suite('images', () => {
  // shown opens Chat with a model that reads images; say sends a message and waits for the answer.
  async function shown(t, options = {}) {
    const front = await chatServer((await server()).url, { images: true })
    ends(t, front.stop)
    const page = await open(t, front.url, { hash: 'chat', ...options })
    await page.locator('#chat-add-image').waitFor()
    const say = async (text) => {
      const n = await page.locator('.assistant').count()
      await page.locator('#chat-text').fill(text)
      await page.locator('#chat-text').press('Enter')
      await settled(page, n + 1)
    }
    return { page, front, say }
  }

  test('chosen, shown by name, and removed by the keyboard', async (t) => {
    const { page } = await shown(t)
    const [chooser] = await Promise.all([page.waitForEvent('filechooser'), page.getByRole('button', { name: 'Add image' }).click()])
    assert.equal(chooser.isMultiple(), true)
    assert.equal(await page.locator('#chat-images').getAttribute('accept'), 'image/png,image/jpeg')
    await chooser.setFiles([file('a.png'), file('b.png'), file('c.png')])
    await waiting(page).nth(2).waitFor()
    assert.deepEqual(await names(page), ['a.png', 'b.png', 'c.png'])
    assert.equal(await said(page).textContent(), 'Added a.png; b.png; c.png.')
    assert.ok(await waiting(page).evaluateAll((all) => all.every((i) => i.complete && i.naturalWidth > 0)))
    assert.equal(await page.evaluate(() => document.activeElement.id), 'chat-text')
    const focused = () => page.evaluate(() => document.activeElement.getAttribute('aria-label'))
    await page.getByRole('button', { name: 'Remove b.png' }).focus()
    await page.keyboard.press('Enter')
    assert.deepEqual([await names(page), await said(page).textContent(), await focused()], [['a.png', 'c.png'], 'Removed b.png.', 'Remove c.png'])
    await page.keyboard.press('Enter')
    assert.equal(await focused(), 'Remove a.png')
    await page.keyboard.press('Enter')
    assert.deepEqual([await names(page), await focused()], [[], 'Message'])
    assert.equal(await page.locator('#chat-send').getAttribute('aria-disabled'), 'true')
  })

  test('pasted, unless there is text, and dropped', async (t) => {
    const { page } = await shown(t)
    const text = page.locator('#chat-text')
    assert.equal(await give(text, 'paste', [file('word.png')], 'a paragraph'), false)
    assert.equal(await give(text, 'paste', [], 'a paragraph'), false)
    assert.equal(await give(text, 'paste', [file('pasted.png')]), true)
    await waiting(page).waitFor()
    const main = page.locator('.chat-main')
    assert.equal(await give(text, 'dragover', [file('x.png')]), true)
    assert.equal(await main.evaluate((e) => e.classList.contains('dropping')), true)
    assert.equal(await give(main, 'dragleave', []), false)
    assert.equal(await main.evaluate((e) => e.classList.contains('dropping')), false)
    assert.equal(await give(text, 'dragover', [], 'words'), false) // they go to the field
    assert.equal(await give(text, 'drop', [file('dropped.png')]), true)
    await waiting(page).nth(1).waitFor()
    assert.deepEqual(await names(page), ['pasted.png', 'dropped.png'])
    for (const name of 'ab') await give(text, 'drop', Array.from({ length: 12 }, (_, i) => file(`${name}${i}.png`))) // both are being read
    await page.getByText('A conversation has room for 20 images: b6.png was not added.').waitFor()
    assert.equal(await waiting(page).count(), limits.images)
  })

  test('files that the server would refuse are refused in words', async (t) => {
    const { page, front } = await shown(t)
    const signature = photo.subarray(0, 8)
    for (const [given, want] of [
      [file('notes.txt', Buffer.from('notes'), 'text/plain'), 'notes.txt is not a PNG or JPEG image.'],
      [file('moving.gif', Buffer.from('GIF89a'), 'image/gif'), 'moving.gif is not a PNG or JPEG image.'],
      [file('false.png', Buffer.from('GIF89a')), 'false.png is not a PNG or JPEG image.'],
      [file('empty.png', Buffer.alloc(0)), 'empty.png is not a PNG or JPEG image.'],
      [file('cut.png', photo.subarray(0, 40)), 'cut.png cannot be read as an image.'],
      [file('huge.png', Buffer.concat([signature, Buffer.alloc(limits.bytes)])), 'huge.png has more than 3,750,000 bytes and cannot be scaled down.'],
    ]) {
      await page.locator('#chat-images').setInputFiles(given)
      await page.getByText(want, { exact: true }).waitFor()
      assert.deepEqual(await names(page), [])
    }
    assert.deepEqual(await said(page).evaluate((e) => [e.getAttribute('role'), e.className]), ['status', 'hint bad'])
    await page.locator('#chat-images').setInputFiles([file('no.gif', Buffer.from('GIF89a')), file('yes.png')])
    await page.getByText('no.gif is not a PNG or JPEG image. Added yes.png.').waitFor()
    await page.locator('#chat-images').setInputFiles(Array.from({ length: limits.images }, (_, i) => file(`${i}.png`)))
    await page.getByText('A conversation has room for 20 images: 19.png was not added.').waitFor()
    assert.equal(await waiting(page).count(), limits.images)
    await page.locator('#chat-text').press('Enter')
    await settled(page, 1)
    assert.equal(front.bodies[0].messages[0].content.length, limits.images)
    await page.locator('#chat-images').setInputFiles(file('more.png'))
    await page.getByText('A conversation has room for 20 images: more.png was not added.').waitFor()
  })

  test('a photo that is too large is scaled down to a JPEG', async (t) => {
    const { page, front, say } = await shown(t)
    const [large, exact] = [png(2500, 600), Buffer.concat([photo, Buffer.alloc(limits.bytes - photo.length)])]
    assert.ok(large.length > limits.bytes)
    await attach(page, file('large.png', large), file('exact.png', exact))
    assert.equal(await said(page).textContent(), 'Added large.png, scaled down to 2048 × 492; exact.png.')
    assert.match(await page.locator('.attachments .hint').first().textContent(), /Those above 3\.75 MB are scaled down to 2048 pixels\.$/)
    await say('what is it?')
    const [small, same] = front.bodies[0].messages[0].content.map((p) => p.image_url?.url)
    assert.match(small, /^data:image\/jpeg;base64,/)
    assert.deepEqual(await page.locator('.user img').first().evaluate((i) => [i.naturalWidth, i.naturalHeight]), [2048, 492])
    assert.equal(same, dataURL(exact))
    assert.equal(await waiting(page).count(), 0)
  })

  test('what is transparent becomes white', async (t) => {
    const { page } = await shown(t)
    await attach(page, file('clear.png', png(1000, 1000, true)))
    assert.equal(await said(page).textContent(), 'Added clear.png, scaled down to 1000 × 1000.')
    assert.deepEqual(await waiting(page).evaluate((image) => {
      const to = document.createElement('canvas').getContext('2d')
      to.drawImage(image, 0, 0)
      return [...to.getImageData(50, 50, 1, 1).data]
    }), [255, 255, 255, 255])
  })

  test('the largest noise fits when it is scaled down', async (t) => {
    const { page, front, say } = await shown(t)
    await attach(page, file('noise.png', png(2048, 2048)))
    await say('?')
    const bytes = Buffer.from(front.bodies[0].messages[0].content[0].image_url.url.split(',')[1], 'base64')
    assert.ok(bytes.length < limits.bytes, `${bytes.length} bytes`)
  })

  test('a message has its images, alone or before its text, in all later requests, edits and answers', async (t) => {
    const { page, front, say } = await shown(t)
    await attach(page, file('a.png'))
    await page.locator('#chat-send').click() // without text
    await settled(page, 1)
    assert.deepEqual(front.bodies[0].messages, [{ role: 'user', content: [{ type: 'image_url', image_url: { url: dataURL(photo) } }] }])
    assert.equal(await page.locator('.conversations [data-open]').textContent(), 'a.png')
    await attach(page, file('b.jpg')) // its bytes tell the type
    await say('And this?')
    const part = { type: 'image_url', image_url: { url: dataURL(photo) } }
    assert.deepEqual(front.bodies[1].messages, [{ role: 'user', content: [part] }, { role: 'assistant', content: 'Hello.' }, { role: 'user', content: [part, { type: 'text', text: 'And this?' }] }])
    await say('Thanks')
    assert.deepEqual(front.bodies[2].messages.map((m) => m.content.length), [1, 'Hello.'.length, 2, 'Hello.'.length, 'Thanks'.length])
    await page.locator('.user').nth(1).getByRole('button', { name: 'Edit' }).click()
    assert.deepEqual(await page.locator('.edit img').evaluateAll((all) => all.map((i) => i.alt)), ['b.jpg'])
    await page.getByLabel('Edit your message').fill('And that?')
    await page.getByLabel('Edit your message').press('Enter')
    await page.waitForFunction(() => document.querySelectorAll('.user').length === 2)
    await settled(page, 2)
    assert.deepEqual(front.bodies[3].messages[2].content, [part, { type: 'text', text: 'And that?' }])
    await page.locator('.assistant').nth(1).getByRole('button', { name: 'Regenerate' }).click()
    await page.locator('.assistant .pages').waitFor()
    await settled(page, 2)
    assert.deepEqual(front.bodies[4].messages, front.bodies[3].messages)
    assert.equal(await page.locator('.sight').textContent(), 'Images are kept until the page is reloaded, and in exported JSON.')
  })

  test('after a reload names remain, storage holds no images, and an exported file brings them back', async (t) => {
    const { page, front, say } = await shown(t)
    await attach(page, file('a.png'))
    await say('What is it?')
    const [exported] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Export all' }).click()])
    const path = await exported.path()
    await page.reload()
    await page.locator('.gone').waitFor()
    assert.equal(await page.locator('.gone').textContent(), 'a.png, not kept')
    assert.equal(await page.evaluate(() => Object.values(localStorage).some((v) => v.includes('base64'))), false)
    await page.getByText('Images sent before the page was reloaded are gone: the model does not see them.').waitFor()
    await say('And now?')
    assert.deepEqual(front.bodies[1].messages[0], { role: 'user', content: 'What is it?' })
    await shoot(page, 'images-gone')
    await page.setViewportSize({ width: 1280, height: 900 })
    await page.getByRole('button', { name: 'Delete “What is it?”' }).click()
    await page.locator('#chat-file').setInputFiles(path)
    await page.locator('.user img').waitFor()
    await say('And now?')
    assert.deepEqual(front.bodies[2].messages[0].content[0].image_url.url, dataURL(photo))
    await page.locator('.menu summary').click()
    const [md] = await Promise.all([page.waitForEvent('download'), page.locator('.menu-box').getByRole('button', { name: 'Markdown' }).click()])
    assert.match(await readFile(await md.path(), 'utf8'), /## You\n\nImage: a\.png\n\nWhat is it\?\n/)
  })

  test('images of a conversation that is deleted for good are forgotten', async (t) => {
    const { page, say } = await shown(t)
    await attach(page, file('a.png'))
    await say('What is it?')
    const [exported] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Export all' }).click()])
    const bare = JSON.parse(await readFile(await exported.path(), 'utf8'))
    delete bare.conversations[0].turns[0].images[0].url
    const remove = (title) => page.getByRole('button', { name: `Delete “${title}”` }).click()
    await remove('What is it?')
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.locator('.user img').waitFor()
    await remove('What is it?')
    await say('other')
    await remove('other')
    await page.locator('#chat-file').setInputFiles(file('bare.json', Buffer.from(JSON.stringify(bare)), 'application/json'))
    await page.getByText('a.png, not kept').waitFor()
  })

  test('accessible in both themes and widths', async (t) => {
    const { page, front, say } = await shown(t)
    front.answer = () => 'A pattern of coloured squares.'
    await attach(page, file('first.png'), file('second.png'))
    await page.locator('#chat-images').setInputFiles(file('moving.gif', Buffer.from('GIF89a')))
    await said(page).getByText('moving.gif is not').waitFor()
    await shoot(page, 'images-composer')
    await page.setViewportSize({ width: 1280, height: 900 })
    await say('What is on these?')
    await attach(page, file('third.png'))
    await shoot(page, 'images')
  })
})

suite('images and a model of the server', () => {
  // vision opens Chat with a tiny model that reads images, whose answers are short and repeatable.
  async function vision(t, options = {}) {
    const dir = await mkdtemp(join(tmpdir(), 'glossa-vision-'))
    ends(t, () => rm(dir, { recursive: true }))
    await cp(model, join(dir, 'smolvlm'), { recursive: true })
    const own = await serve({ args: ['--checkpoints', dir] })
    ends(t, own.stop)
    const page = await open(t, own.url, { hash: 'chat', ...options })
    await picked(page, 'chat-model', 'smolvlm')
    await page.waitForFunction(() => document.querySelector('#view-chat [data-param=temperature]').placeholder)
    for (const [name, value] of [['max_tokens', '8'], ['temperature', '0']]) await page.locator(`#view-chat [data-param=${name}]`).fill(value)
    await attach(page, file('photo.png'))
    await page.locator('#chat-text').fill('What is it?')
    const sent = page.waitForRequest(/\/v1\/chat\/completions/)
    await page.locator('#chat-text').press('Enter')
    const body = (await sent).postDataJSON()
    await settled(page, 1)
    return { page, url: own.url, body }
  }

  test('it answers about an image, and its prompt is shown', async (t) => {
    const { page, url, body } = await vision(t)
    assert.deepEqual(body.messages, [{ role: 'user', content: [{ type: 'image_url', image_url: { url: dataURL(photo) } }, { type: 'text', text: 'What is it?' }] }])
    const content = await answered(url, body)
    assert.notEqual(content, await answered(url, { ...body, messages: [{ role: 'user', content: 'What is it?' }] }))
    await page.locator('#chat-formatted').uncheck()
    assert.equal(await page.locator('.assistant .plain').last().textContent(), content.trim())
    await page.locator('.assistant').getByRole('button', { name: 'Show prompt' }).click()
    await page.locator('.prompt-text').waitFor()
    assert.match(await page.locator('.prompt-place .muted').textContent(), /^\d+ characters, 1 image not shown$/)
    assert.equal(await page.locator('.prompt-text .user').textContent(), 'What is it?')
  })

  test('models that read text only have no controls, and see no images of the conversation', async (t) => {
    const { page } = await vision(t)
    await attach(page, file('waiting.png'))
    await picked(page, 'chat-model', 'tools')
    await page.getByText('The images of the message were removed: this model reads text only.').waitFor()
    await picked(page, 'chat-model', 'smolvlm')
    const src = await page.locator('.user img').getAttribute('src')
    await page.locator('#chat-text').evaluate(async (text, src) => {
      const data = new DataTransfer(), select = document.querySelector('#chat-model')
      data.items.add(new File([Uint8Array.from(atob(src.split(',')[1]), (c) => c.charCodeAt(0))], 'late.png'))
      text.dispatchEvent(new DragEvent('drop', { bubbles: true, cancelable: true, dataTransfer: data }))
      select.value = 'tools' // while the file is read
      select.dispatchEvent(new Event('change', { bubbles: true }))
    }, src)
    assert.deepEqual(await Promise.all(['#chat-add-image', '.attachments .pictures'].map((s) => page.locator(s).isVisible())), [false, false])
    assert.equal(await page.locator('.sight').textContent(), 'tools reads text only and does not see the images of this conversation.')
    assert.equal(await give(page.locator('#chat-text'), 'paste', [file('x.png')]), false)
    assert.equal(await give(page.locator('#chat-text'), 'drop', [file('x.png')]), false)
    await page.locator('#chat-text').fill('Add 1 and 2')
    await page.locator('#chat-send[aria-disabled=false]').waitFor()
    const sent = page.waitForRequest(/\/v1\/chat\/completions/)
    await page.locator('#chat-text').press('Enter')
    const body = (await sent).postDataJSON()
    assert.deepEqual([body.model, body.messages[0]], ['tools', { role: 'user', content: 'What is it?' }])
    await settled(page, 2)
    assert.deepEqual(await page.locator('.user img').evaluateAll((all) => all.map((i) => i.alt)), ['photo.png'])
    await clean(page, 'a model that reads text only')
    await page.locator('#tab-models').click()
    await page.locator('#view-models .chip').nth(1).waitFor()
    assert.deepEqual(await page.locator('#view-models tr:has(.chip)').evaluateAll((all) => all.map((r) => [...r.querySelectorAll('button.name, .chip')].map((e) => e.textContent))), [['smolvlm', 'reads images'], ['phrases', 'translates'], ['sentences', 'embeds texts']])
  })

  test('as code: programs that read a file, and run', async (t) => {
    const { page, url, body } = await vision(t)
    await page.locator('.assistant').getByRole('button', { name: 'Show as code' }).click()
    const view = page.locator('#view-code')
    assert.deepEqual(await view.locator('.dialects button').allTextContents(), ['OpenAI', 'OpenAI Responses', 'Anthropic', 'Ollama', 'Aleph Alpha'])
    assert.deepEqual(await view.locator('.lacking li > span').allTextContents(), ['Alpha has no images.', 'TextSynth has no images.', 'Lamini has no images.', 'API layer has no images.', 'Cohere has no chats.'])
    const dir = await mkdtemp(join(tmpdir(), 'glossa-program-'))
    ends(t, () => rm(dir, { recursive: true }))
    await writeFile(join(dir, 'image-1.png'), photo)
    await symlink(new URL('node_modules', import.meta.url).pathname, join(dir, 'node_modules'))
    const told = { OpenAI: await answered(url, body), 'OpenAI Responses': null, Anthropic: null, Ollama: null, 'Aleph Alpha': null }
    for (const dialect of Object.keys(told)) {
      for (const language of languages) {
        await page.getByRole('tab', { name: dialect, exact: true }).click()
        await view.locator('.segments label', { hasText: language }).click()
        assert.match(await view.locator('.program .note').textContent(), /^The program reads image-1\.png from the current folder\./)
        const program = await view.locator('pre').textContent()
        assert.ok(program.includes('image-1.png') && program.length < 2000, program)
        if (language === 'Python' && dialect !== 'Aleph Alpha') {
          assert.match(program, /^import base64\nimport os\n/) // its SDK may not be there
          continue
        }
        const text = await printed(dir, language, program)
        told[dialect] ??= dialect === 'OpenAI Responses' || dialect === 'Anthropic' ? told.OpenAI : text // Ollama's messages and Aleph Alpha's prompts place images otherwise
        assert.equal(text, told[dialect], `${dialect}, ${language}`)
      }
    }
    await shoot(page, 'images-code')
  })
})

const run = promisify(execFile)
const languages = ['curl', 'Python', 'JavaScript', 'Go']

// answered returns the answer to a chat.
async function answered(url, body) {
  const answer = await fetch(`${url}/v1/chat/completions`, { method: 'POST', body: JSON.stringify({ ...body, stream: false }) })
  const { choices: [{ message: { content } }] } = await answer.json()
  return content
}

// printed runs a program in a directory and returns the text that it streams.
async function printed(dir, language, program) {
  await writeFile(join(dir, 'program.go'), program)
  const [name, args] = {
    curl: ['sh', ['-euc', program]], Python: ['python3', ['-c', program]], JavaScript: ['node', ['--input-type=module', '-e', program]], Go: ['go', ['run', 'program.go']],
  }[language]
  const { PATH, HOME } = process.env
  const { stdout, stderr } = await run(name, args, { cwd: dir, env: { PATH, HOME, GOFLAGS: '-mod=mod -trimpath', CGO_ENABLED: '0' }, timeout: 120_000 })
  assert.equal(stderr, '', program)
  const events = stdout.split('\n').map((line) => line.replace(/^data: /, '')).filter((line) => line.startsWith('{')).map((line) => JSON.parse(line))
  return events.length ? events.map((e) => e.choices?.[0]?.delta?.content ?? e.delta?.text ?? (typeof e.delta === 'string' ? e.delta : e.message?.content ?? e.completion ?? '')).join('') : stdout
}
