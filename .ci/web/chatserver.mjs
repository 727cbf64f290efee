// A server in front of another that adds the chat model sage, whose answers a test writes, and
// hides the starter that chats.
import { once } from 'node:events'
import http from 'node:http'

// chatServer returns a server, without sage if so asked, or with a sage that reads images, whose member answer(messages, body) returns the text of an
// answer, or {status, error} to refuse, or {text, thought, calls, finish}, or {text, cut} to lose the
// connection after the text, as soon as the function cut ends: the browser forgets what it has not read. bodies holds the requests. While held, no answer goes on: step
// lets n tokens through.
export async function chatServer(url, { sage = true, images = false } = {}) {
  const front = { sage, images, url: '', answer: () => 'Hello.', bodies: [], left: 0, held: false, quota: 0, waiting: [] }
  front.step = (n) => {
    front.quota += n
    for (const go of front.waiting.splice(0)) go()
  }
  const server = http.createServer((request, response) => {
    serve(front, url, request, response).catch(() => response.destroy())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  front.url = `http://127.0.0.1:${server.address().port}`
  front.stop = async () => {
    server.close()
    server.closeAllConnections()
    await once(server, 'close')
  }
  return front
}

const hidden = 'tools'
const changes = {
  '/models_available': (v, { images }) => {
    if (images) v.push({ name: 'sage', description: '', hostings: ['cloud'], image_support: true })
  },
  '/v1/models': (v, { sage }) => {
    v.data = v.data.filter((m) => m.id !== hidden)
    if (sage) v.data.push({ id: 'sage', object: 'model', created: 1795132800, owned_by: 'bedrock' })
  },
  '/list_models': (v, { sage }) => {
    v.models = v.models.filter((m) => m.model_name !== hidden)
    if (sage) v.models.push({ model_type: 'Claude', model_name: 'sage', model_family: 'bedrock', streaming: true })
  },
}

async function serve(front, url, request, response) {
  let sent = ''
  for await (const piece of request) sent += piece
  const body = sent && request.url === '/v1/chat/completions' ? JSON.parse(sent) : null
  if (body?.model === 'sage') return chat(front, body, response)
  const answer = await fetch(url + request.url, { method: request.method, headers: { 'Content-Type': 'application/json' }, body: sent || undefined })
  const headers = Object.fromEntries([...answer.headers].filter(([name]) => !['content-length', 'content-encoding', 'transfer-encoding', 'connection'].includes(name)))
  const change = changes[request.url]
  const bytes = Buffer.from(await answer.arrayBuffer())
  if (!change || answer.status !== 200) return response.writeHead(answer.status, headers).end(bytes)
  const value = JSON.parse(bytes)
  change(value, front)
  response.writeHead(200, headers).end(JSON.stringify(value))
}

async function chat(front, body, response) {
  front.bodies.push(body)
  let answer = front.answer(body.messages, body)
  if (typeof answer === 'string') answer = { text: answer }
  if (answer.status) return response.writeHead(answer.status, { 'Content-Type': 'application/json' }).end(JSON.stringify({ error: { message: answer.error } }))
  let gone = false
  response.on('close', () => {
    gone = true
    if (!response.writableFinished) front.left++
    front.step(0)
  })
  response.writeHead(200, { 'Content-Type': 'text/event-stream' })
  const event = (choice, more) => response.write(`data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', choices: choice ? [{ index: 0, ...choice }] : [], ...more })}\n\n`)
  for (const reasoning_content of answer.thought?.match(/\s*\S+/g) ?? []) event({ delta: { reasoning_content }, finish_reason: null })
  const tokens = answer.text?.match(/\s*\S+|\s+$/g) ?? []
  for (const content of tokens) {
    while (front.held && front.quota === 0 && !gone) await new Promise((go) => front.waiting.push(go))
    if (gone) return
    if (front.held) front.quota--
    const logprobs = body.logprobs ? { content: [{ token: content, logprob: -0.5, top_logprobs: [{ token: content, logprob: -0.5 }, { token: ' other', logprob: -1.5 }] }] } : null
    event({ delta: { content }, logprobs, finish_reason: null })
  }
  if (answer.cut) {
    await answer.cut()
    return response.destroy()
  }
  for (const [index, { id, name, arguments: text }] of (answer.calls ?? []).entries()) {
    event({ delta: { tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] }, finish_reason: null })
    for (const part of text.match(/.{1,4}/gs) ?? []) event({ delta: { tool_calls: [{ index, function: { arguments: part } }] }, finish_reason: null })
  }
  event({ delta: {}, finish_reason: answer.finish ?? (answer.calls ? 'tool_calls' : 'stop') }, { usage: { prompt_tokens: 9, completion_tokens: tokens.length, total_tokens: 9 + tokens.length } })
  response.end('data: [DONE]\n\n')
}
