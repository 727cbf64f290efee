// Starts the servers of the page, and proxies in front of them that add a stage prefix or
// lose connections.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import http from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

const startMillis = 60_000

async function freePort() {
  const server = http.createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  await once(server, 'close')
  return port
}

// start runs a program that listens on a port until stop, which requires a clean exit.
async function start(program, args, env, port) {
  const { PATH, HOME, TMPDIR } = process.env
  const child = spawn(program, args, { env: { PATH, HOME, ...(TMPDIR && { TMPDIR }), ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
  let log = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece) => { log += piece })
  const exited = once(child, 'exit')
  const url = `http://127.0.0.1:${port}`
  const deadline = Date.now() + startMillis
  while (!(await fetch(`${url}/`).then((r) => r.arrayBuffer(), () => null))) {
    if (child.exitCode !== null || Date.now() > deadline) {
      child.kill('SIGKILL')
      throw new Error(`${program} does not answer, exit code ${child.exitCode}:\n${log}`)
    }
    await sleep(20)
  }
  return {
    url,
    stop: async () => {
      child.kill('SIGTERM')
      const [code] = await exited
      if (code !== 0) throw new Error(`${program} stopped with ${code}:\n${log}`)
    },
  }
}

// serve runs `glossa serve` with the starter models, and those of args.
export async function serve({ args = [], env = {} } = {}) {
  const port = await freePort()
  return start(process.env.GLOSSA, ['serve', '--host', '127.0.0.1', '--port', String(port), ...args], env, port)
}

// alpha runs the function that serves the page and a part of the routes.
export async function alpha() {
  const port = await freePort()
  return start(process.env.ALPHA, [], { GLOSSA_LISTEN: `127.0.0.1:${port}`, GLOSSA_OPEN: 'true' }, port)
}

// proxy runs a proxy of a server below a prefix. Its member fault, if set, returns for each
// request the number of bytes of the answer after which the connection is lost, as soon as arrived
// ends: the browser forgets what it has not read. While it is held, no stream goes on: step lets n
// events through. left lists the paths of cancelled requests.
export async function proxy(url, prefix = '') {
  const front = { url: '', fault: null, arrived: async () => {}, held: false, quota: 0, waiting: [], seen: [], left: [] }
  front.step = (n) => {
    front.quota += n
    for (const go of front.waiting.splice(0)) go()
  }
  const server = http.createServer((request, response) => {
    if (!request.url.startsWith(`${prefix}/`)) {
      response.writeHead(403, { 'Content-Type': 'application/json' }).end('{"message":"Missing Authentication Token"}') // as API Gateway has it
      return
    }
    front.seen.push(request.url)
    const bytes = front.fault?.(request) ?? Infinity
    const onward = http.request(url + request.url.slice(prefix.length), { method: request.method, headers: request.headers }, (answer) => {
      response.writeHead(answer.statusCode, answer.headers)
      pass(front, answer, response, bytes).catch(() => response.destroy())
    })
    onward.on('error', () => response.destroy())
    response.on('close', () => {
      if (!response.writableFinished && bytes === Infinity) front.left.push(request.url)
      front.step(0)
      onward.destroy()
    })
    request.pipe(onward)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  front.url = `http://127.0.0.1:${server.address().port}${prefix}`
  front.stop = async () => {
    server.close()
    server.closeAllConnections()
    await once(server, 'close')
  }
  return front
}

async function pass(front, answer, response, bytes) {
  const stream = answer.headers['content-type']?.startsWith('text/event-stream')
  for await (const piece of answer) {
    for (const event of piece.toString('latin1').split(/(?<=\n\n)/)) {
      while (stream && front.held && front.quota === 0 && !response.closed) await new Promise((go) => front.waiting.push(go))
      if (stream && front.held) front.quota--
      response.write(Buffer.from(event, 'latin1').subarray(0, bytes))
      bytes -= event.length
      if (bytes > 0) continue
      await front.arrived()
      throw new Error('lost')
    }
  }
  response.end()
}
