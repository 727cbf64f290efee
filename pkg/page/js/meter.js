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

  /**
   * The figures in words.
   * @param {string} end the reason for the end of the text; '': it goes on
   */
  line(end) {
    if (!this.#counted) return end || 'no text'
    const wait = this.first - this.begun
    return [
      `${this.tokens} ${this.tokens === 1 ? 'token' : 'tokens'}`, `${Math.round(this.rate()).toLocaleString('en')} tokens/s`,
      `first after ${wait.toFixed(wait < 10 ? 1 : 0)} ms`, end,
    ].filter(Boolean).join(' · ')
  }
}
