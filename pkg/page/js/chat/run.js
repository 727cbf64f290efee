// @ts-check
// Generates one answer: sends the conversation and collects the tokens in its turn.
import { Meter } from '../meter.js'
import { step } from '../tokens.js'

/** @typedef {import('../tokens.js').Token} Token */
/** @typedef {import('./tree.js').Turn} Turn */

export class Run {
  /** @type {Token[]} */
  tokens = []
  /** id of the request; 0: none was sent */
  sent = 0
  done = false
  #control = new AbortController()

  /**
   * @param {import('../api.js').Api} api
   * @param {Turn} turn the answer
   */
  constructor(api, turn) {
    this.api = api
    this.turn = turn
  }

  stop() {
    this.#control.abort()
  }

  /**
   * Ends when the answer ends, for whatever reason; the turn says which.
   * @param {any} body
   * @param {() => void} changed
   */
  async write(body, changed) {
    const { turn } = this, meter = new Meter()
    const measure = () => { if (meter.tokens) Object.assign(turn, { tokens: meter.tokens, rate: meter.rate(), first: meter.wait() }) }
    const sent = (/** @type {import('../api.js').Sent} */ s) => { this.sent = s.id }
    try {
      for await (const event of this.api.events('POST', '/v1/chat/completions', body, { signal: this.#control.signal, sent })) {
        const s = step(event)
        for (const token of s.tokens) {
          this.tokens.push(token)
          turn.text += token.text
          meter.count(token.count)
        }
        if (s.thought) {
          turn.thought = (turn.thought ?? '') + s.thought
          meter.count(1)
        }
        for (const piece of s.calls) {
          this.#call(piece)
          meter.count(1)
        }
        if (s.used !== null) meter.tokens = s.used
        if (s.finish) turn.end = s.finish
        measure()
        changed()
      }
      turn.end ??= ''
    } catch (error) {
      if (/** @type {any} */ (error)?.kind === 'stopped') turn.end = 'stopped'
      else turn.fault = error instanceof Error ? error.message : String(error)
    }
    this.done = true
  }

  /** Adds a piece of a call. @param {import('../tokens.js').CallPiece} piece */
  #call(piece) {
    const calls = this.turn.calls ??= []
    const call = calls[piece.index] ??= { id: '', name: '', arguments: '' }
    call.id ||= piece.id ?? ''
    call.name ||= piece.name ?? ''
    call.arguments += piece.arguments ?? ''
  }
}
