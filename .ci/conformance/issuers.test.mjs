// Tokens of an OpenID Connect provider, oidc-provider, as a program gets them by its client's
// credentials, sent through OpenAI's SDK.
import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { after, before, suite, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import Provider from 'oidc-provider'
import { serve } from './server.mjs'

const audience = 'https://glossa.example'
const clients = { analyst: 'models:use', operator: 'models:use models:admin', guest: 'profile' }
const key = (kid) => ({ ...generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ format: 'jwk' }), kid, use: 'sig', alg: 'RS256' })
let http, issuer, provider, server

// provide makes the issuer sign with the first of some keys.
function provide(keys) {
  provider = new Provider(issuer, {
    jwks: { keys },
    scopes: ['openid', 'profile', 'models:use', 'models:admin'],
    clients: Object.entries(clients).map(([id, scope]) => ({
      client_id: id, client_secret: `${id}-secret`, grant_types: ['client_credentials'], redirect_uris: [], response_types: [], scope,
    })),
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => audience,
        getResourceServerInfo: (_, resource) => ({ scope: 'profile models:use models:admin', audience: resource, accessTokenFormat: 'jwt', accessTokenTTL: 600, jwt: { sign: { alg: 'RS256' } } }),
      },
    },
  })
}

async function token(client, { resource = audience } = {}) {
  const answer = await fetch(`${issuer}/token`, {
    method: 'POST', headers: { Authorization: `Basic ${btoa(`${client}:${client}-secret`)}` },
    body: new URLSearchParams({ grant_type: 'client_credentials', scope: clients[client], resource }),
  })
  const { access_token: value, ...rest } = await answer.json()
  assert.ok(value, JSON.stringify(rest))
  return value
}

const ask = async (apiKey, model = 'novels') => {
  const { choices } = await server.client({ apiKey }).completions.create({ model, prompt: 'The ship', max_tokens: 3 })
  return choices.length
}

before(async () => {
  http = createServer((request, response) => provider.callback()(request, response)).listen(0, '127.0.0.1')
  await once(http, 'listening')
  issuer = `http://127.0.0.1:${http.address().port}`
  provide([key('one')])
  server = await serve({
    args: ['--auth'],
    env: {
      GLOSSA_ISSUERS: JSON.stringify([{
        label: 'corp', issuer, audiences: [audience],
        rules: [{ claim: 'scope', is: 'models:admin', role: 'admin' }, { claim: 'scope', is: 'models:use', role: 'client', limits: { models: 'novels' } }],
      }]),
    },
  })
})

after(async () => {
  await server?.stop()
  http?.close()
  http?.closeAllConnections()
})

suite('tokens of an issuer', () => {
  test('a role and its models', async () => {
    const [analyst, operator] = [await token('analyst'), await token('operator')]
    assert.equal(await ask(analyst), 1)
    await assert.rejects(ask(analyst, 'abc'), { status: 404 })
    assert.equal(await ask(operator, 'abc'), 1)
    const metrics = (bearer) => fetch(`${server.url}/metrics`, { headers: { Authorization: `Bearer ${bearer}` } }).then(async (r) => [r.status, await r.text()])
    assert.equal((await metrics(analyst))[0], 403)
    assert.equal((await metrics(operator))[0], 200)
  })

  test('refused', async () => {
    await assert.rejects(ask(await token('guest')), { status: 403, message: /no rule for the issuer corp/ })
    await assert.rejects(ask(await token('analyst', { resource: 'https://else.example' })), { status: 401, message: /for another audience/ })
    const [head, , signature] = (await token('operator')).split('.')
    const [, claims] = (await token('analyst')).split('.')
    await assert.rejects(ask(`${head}.${claims}.${signature}`), { status: 401, message: /no key of the issuer has signed it/ })
    await assert.rejects(ask('not-a-token'), { status: 401 })
  })

  test('a new key of the issuer', async () => {
    provide([key('two')])
    const bearer = await token('analyst')
    const deadline = Date.now() + 30_000
    for (;;) { // made-up key ids must not make the server ask all the time
      const n = await ask(bearer).catch((err) => err.status)
      if (n === 1) break
      assert.equal(n, 401)
      assert.ok(Date.now() < deadline, 'the new key is not used')
      await sleep(500)
    }
  })
})
