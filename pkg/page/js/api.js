// @ts-check
// The page's only connection to the server: every request goes through Api.send. It knows
// HTTP, streams and the shapes of errors, but not the contents of requests.

/**
 * A request as it was sent, without the key.
 * @typedef {object} Sent
 * @property {number} id
 * @property {string} method
 * @property {string} path as documented, such as /v1/models
 * @property {any} body null if there was none
 * @property {Date} at
 * @property {string} view the view that sent it
 * @property {boolean} background sent by the page itself, not by the user
 * @property {number|null} status null until the answer begins
 */

/**
 * @typedef {object} Options
 * @property {AbortSignal} [signal]
 * @property {boolean} [background] sent by the page itself, not by the user
 * @property {(sent: Sent) => void} [sent] called with the request when it is sent
 */

/** @typedef {'lost'|'refused'|'stopped'|'broken'} Kind */

/**
 * The header that CloudFront needs before a function's URL: it signs a request, but does not read
 * its body.
 * @param {string} url
 * @param {string|undefined} body
 * @returns {Promise<Record<string, string>>}
 */
export async function hashed(url, body) {
  if (body === undefined || !new URL(url).hostname.endsWith('.cloudfront.net')) return {}
  const sum = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(body))
  return { 'X-Amz-Content-Sha256': [...new Uint8Array(sum)].map((b) => b.toString(16).padStart(2, '0')).join('') }
}

/** An error with a message for users. */
export class Problem extends Error {
  /**
   * @param {Kind} kind lost: the connection; refused: by the server; stopped: by the user; broken: not an answer of this API
   * @param {string} message
   * @param {{status?: number, code?: string, param?: string, retryAfter?: number}} [more]
   */
  constructor(kind, message, more = {}) {
    super(message)
    this.name = 'Problem'
    this.kind = kind
    this.status = more.status ?? 0
    this.code = more.code ?? ''
    this.param = more.param ?? ''
    /** seconds; 0: unknown */
    this.retryAfter = more.retryAfter ?? 0
  }
}

const kept = 20 // requests in the history

export class Api extends EventTarget {
  /** The address of the server, with a final slash; '' is the page's own. */
  base = ''
  /** The key. It is never stored, shown or recorded elsewhere. */
  key = ''
  /** The view that requests come from. */
  view = ''
  /** The latest requests, newest first. @type {Sent[]} */
  sent = []
  /** The latest request that was not in the background. @type {Sent|null} */
  last = null
  #ids = 0

  /**
   * The absolute URL of a path.
   * @param {string} path
   */
  url(path) {
    return new URL(path.replace(/^\//, ''), this.base || new URL('.', document.baseURI)).href
  }

  /**
   * Sends a request once and returns its answer. Error answers are thrown.
   * @param {string} method
   * @param {string} path
   * @param {any} [body] sent as JSON
   * @param {Options} [options]
   * @returns {Promise<Response>}
   */
  async send(method, path, body, options = {}) {
    const sent = this.#record(method, path, body, options.background ?? false)
    options.sent?.(sent)
    /** @type {Record<string, string>} */
    const headers = {}
    if (body !== undefined) headers['Content-Type'] = 'application/json'
    if (this.key) headers['Authorization'] = `Bearer ${this.key}`
    const text = body === undefined ? undefined : JSON.stringify(body)
    let response
    try {
      Object.assign(headers, await hashed(this.url(path), text))
      response = await fetch(this.url(path), {
        method, headers, body: text,
        signal: options.signal, cache: 'no-store', credentials: 'omit', referrerPolicy: 'no-referrer',
      })
    } catch (error) {
      throw this.#failure(error, options.signal)
    }
    sent.status = response.status
    this.dispatchEvent(new Event('sent'))
    this.dispatchEvent(new CustomEvent('reached', { detail: response.status }))
    if (!response.ok) throw await refusal(response)
    return response
  }

  /**
   * Sends a request whose answer is one JSON value.
   * @param {string} method
   * @param {string} path
   * @param {any} [body]
   * @param {Options} [options]
   * @returns {Promise<any>}
   */
  async json(method, path, body, options = {}) {
    const response = await this.send(method, path, body, options)
    let text
    try {
      text = await response.text()
    } catch (error) {
      throw this.#failure(error, options.signal)
    }
    return parse(text)
  }

  /**
   * Sends a request whose answer is a stream, and yields its values as they arrive: JSON, or
   * pieces of text if the answer is plain text.
   * @param {string} method
   * @param {string} path
   * @param {any} body
   * @param {Options} [options]
   * @returns {AsyncGenerator<any, void, void>}
   */
  async * events(method, path, body, options = {}) {
    const response = await this.send(method, path, body, options)
    const kind = response.headers.get('Content-Type') ?? ''
    const plain = kind.startsWith('text/plain')
    const sse = kind.startsWith('text/event-stream')
    let rest = ''
    for await (const piece of this.#pieces(response, options.signal)) {
      if (plain) {
        yield piece
        continue
      }
      const lines = (rest + piece).split(/\r?\n/)
      rest = lines.pop() ?? ''
      for (const line of lines) {
        const data = sse ? line.match(/^data: ?(.*)$/)?.[1] : line
        if (data === '[DONE]') return
        if (data) yield value(parse(data))
      }
    }
    if (!sse && rest.trim()) yield value(parse(rest))
    if (sse && path.startsWith('/v1/')) { // these streams mark their end
      throw new Problem('lost', 'The answer was cut off.')
    }
  }

  /**
   * @param {Response} response
   * @param {AbortSignal|undefined} signal
   * @returns {AsyncGenerator<string, void, void>}
   */
  async * #pieces(response, signal) {
    if (!response.body) return
    const reader = response.body.getReader()
    const decoder = new TextDecoder()
    try {
      for (;;) {
        const { done, value } = await reader.read()
        if (done) break
        yield decoder.decode(value, { stream: true })
      }
    } catch (error) {
      throw this.#failure(error, signal)
    } finally {
      reader.cancel().catch(() => {}) // it may be closed already
    }
    yield decoder.decode()
  }

  /**
   * @param {string} method
   * @param {string} path
   * @param {any} body
   * @param {boolean} background
   * @returns {Sent}
   */
  #record(method, path, body, background) {
    const sent = { id: ++this.#ids, method, path, body: copied(body ?? null), at: new Date(), view: this.view, background, status: null }
    const again = (/** @type {Sent} */ s) => background && s.background && s.method === method && s.path.split('?')[0] === path.split('?')[0]
    this.sent = [sent, ...this.sent.filter((s) => !again(s))].slice(0, kept) // polls do not evict other requests
    if (!background) this.last = sent
    this.dispatchEvent(new Event('sent'))
    return sent
  }

  /**
   * @param {unknown} error
   * @param {AbortSignal|undefined} signal
   * @returns {Problem}
   */
  #failure(error, signal) {
    if (error instanceof Problem) return error
    if (signal?.aborted) return new Problem('stopped', 'Stopped.')
    this.dispatchEvent(new Event('lost'))
    const where = new URL(this.url('')).host
    return new Problem('lost', navigator.onLine ? `The connection to ${where} was lost.` : 'This device is offline.')
  }
}

/**
 * @param {string} text
 * @returns {any}
 */
function parse(text) {
  try {
    return JSON.parse(text)
  } catch {
    throw new Problem('broken', `The answer is not JSON: “${cut(text)}”`)
  }
}

/**
 * A value of a stream; throws if it is an error in the middle of the stream.
 * @param {any} v
 */
function value(v) {
  if (v && typeof v === 'object' && v.error && !v.choices) {
    const details = errorDetails(v)
    throw new Problem('refused', details.message || 'The server failed during its answer.', details)
  }
  return v
}

/**
 * Converts an error answer of the server to a Problem.
 * @param {Response} response
 * @returns {Promise<Problem>}
 */
async function refusal(response) {
  const status = response.status
  const retryAfter = Number(response.headers.get('Retry-After')) || 0
  /** @type {{message: string, code?: string, param?: string}} */
  let details = { message: '' }
  try {
    const text = await response.text()
    try {
      details = errorDetails(JSON.parse(text))
    } catch {
      if (!/^\s*</.test(text)) details.message = cut(text)
    }
  } catch {
    // only the status is known
  }
  const before = opening(status, retryAfter)
  return new Problem('refused', details.message ? `${before} ${sentence(details.message)}`.trim() : before || `The server answered with status ${status}.`,
    { ...details, status, retryAfter })
}

/**
 * @param {number} status
 * @param {number} retryAfter
 */
function opening(status, retryAfter) {
  switch (true) {
    case status === 401: return 'The server requires a valid API key.'
    case status === 403: return 'This key does not allow that.'
    case status === 413: return 'The request is too large.'
    case status === 429: return retryAfter ? `The server is busy: try again in ${retryAfter} s.` : 'The server is busy: try again.'
    case status === 502: return 'The model’s provider failed.'
    case status === 503: return 'The server is not ready.'
    case status === 504: return 'The model took too long.'
    case status >= 500: return 'The server failed.'
  }
  return ''
}

/**
 * The message of an error, in the shapes of the six dialects.
 * @param {any} v
 * @returns {{message: string, code?: string, param?: string}}
 */
function errorDetails(v) {
  const e = v?.error ?? v?.detail ?? v?.message ?? v
  if (typeof e === 'string') return { message: e, code: typeof v?.code === 'string' ? v.code : undefined }
  if (Array.isArray(e)) return { message: e.map((x) => x?.msg ?? errorDetails(x).message).join('; ') }
  const message = e?.message ?? e?.detail ?? e?.msg
  return { message: typeof message === 'string' ? message : '', code: e?.code ?? undefined, param: e?.param ?? undefined }
}

/**
 * A copy of JSON that shares its strings, which may be large images.
 * @param {any} v @returns {any}
 */
function copied(v) {
  if (v === null || typeof v !== 'object') return v
  return Array.isArray(v) ? v.map(copied) : Object.fromEntries(Object.entries(v).map(([key, member]) => [key, copied(member)]))
}

/** @param {string} s */
function sentence(s) {
  const t = s.charAt(0).toUpperCase() + s.slice(1)
  return /[.!?…”"]$/.test(t) ? t : t + '.'
}

/** @param {string} s */
function cut(s) {
  return s.length > 200 ? s.slice(0, 200) + '…' : s
}
