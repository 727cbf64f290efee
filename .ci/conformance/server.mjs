// Starts glossa servers for the tests and stops them.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import OpenAI from 'openai'

const startMillis = 60_000

// counts returns the tokens of a usage. How many of the prompt were known depends on earlier
// requests.
export const counts = ({ prompt_tokens: prompt, completion_tokens: completion, total_tokens: total }) => [prompt, completion, total]

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  await once(server, 'close')
  return port
}

// serve runs `glossa serve` until stop, which demands a clean exit.
export async function serve({ args = [], env = {} } = {}) {
  const port = await freePort()
  const { PATH, HOME, TMPDIR } = process.env
  const child = spawn(process.env.GLOSSA, ['serve', '--host', '127.0.0.1', '--port', String(port), ...args], {
    env: { PATH, HOME, ...(TMPDIR && { TMPDIR }), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let log = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece) => { log += piece })
  const exited = once(child, 'exit')
  const url = `http://127.0.0.1:${port}`
  const deadline = Date.now() + startMillis
  while (!(await fetch(`${url}/v1/models`).then((r) => r.arrayBuffer(), () => null))) {
    if (child.exitCode !== null || Date.now() > deadline) {
      child.kill('SIGKILL')
      throw new Error(`glossa serve does not answer, exit code ${child.exitCode}:\n${log}`)
    }
    await sleep(20)
  }
  return {
    url,
    // client tries once, so that every error is seen.
    client: (options) => new OpenAI({ baseURL: `${url}/v1`, apiKey: 'not-needed', maxRetries: 0, ...options }),
    stop: async () => {
      child.kill('SIGTERM')
      const [code] = await exited
      if (code !== 0) throw new Error(`glossa serve stopped with ${code}:\n${log}`)
    },
  }
}
