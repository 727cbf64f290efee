// @ts-check

/** Counts the tokens of an answer and measures their time. */
export class Meter {
  begun = performance.now()
  first = 0 // ms, of performance.now
  last = 0
  tokens = 0
  #counted = 0

  /** @param {number} n tokens that arrived now */
  count(n) {
    this.last = performance.now()
    if (!this.#counted) this.first = this.last
    this.#counted += n
    this.tokens = this.#counted
  }

  /** Tokens a second: after the first, unless all arrived in one piece. */
  rate() {
    const took = this.last - this.first
    return took >= 5 ? (this.#counted - 1) / took * 1000 : this.#counted / (this.last - this.begun) * 1000
  }

  /** Milliseconds to the first token. */
  wait() {
    return this.first - this.begun
  }

  /**
   * The figures in words.
   * @param {string} end the reason for the end of the text; '': it goes on
   */
  line(end) {
    return this.#counted ? figures(this.tokens, this.rate(), this.wait(), end) : end || 'no text'
  }
}

/**
 * @param {number} tokens
 * @param {number} rate tokens per second
 * @param {number} wait milliseconds to the first token
 * @param {string} end the reason for the end of the text
 */
export function figures(tokens, rate, wait, end) {
  return [
    `${tokens} ${tokens === 1 ? 'token' : 'tokens'}`, `${Math.round(rate).toLocaleString('en')} tokens/s`,
    `first after ${wait.toFixed(wait < 10 ? 1 : 0)} ms`, end,
  ].filter(Boolean).join(' · ')
}
