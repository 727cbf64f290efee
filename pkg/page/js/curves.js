// @ts-check
// The metrics of a training run, polled while it goes on.

/** @typedef {import('./chart.js').Point} Point */

const soon = 1500, late = 30000 // ms between polls

export class Curves {
  /** @type {Point[]} */
  loss = []
  /** @type {Point[]} */
  valLoss = []
  /** @type {Point[]} */
  lr = []
  /** The last line. @type {Record<string, any>|null} */
  last = null
  #next = 0
  #wait = soon

  /**
   * @param {import('./api.js').Api} api
   * @param {import('./state.js').Model} model
   */
  constructor(api, model) {
    this.api = api
    this.model = model
  }

  /** Reads the new lines; resolves to whether there were any. */
  async read() {
    let news = false
    for (let more = true; more;) {
      const path = `/api/models/${encodeURIComponent(this.model.name)}/metrics?from=${this.#next}`
      const answer = await this.api.json('GET', path, undefined, { background: true })
      if (answer.from === 0) this.loss = [], this.valLoss = [], this.lr = []
      for (const line of answer.metrics) this.#add(line)
      news ||= answer.metrics.length > 0
      more = answer.more && answer.next > this.#next
      this.#next = answer.next
    }
    this.#wait = news ? soon : Math.min(this.#wait * 2, late)
    return news
  }

  /** The time to the next poll, ms; 0: the training is over. */
  wait() {
    return this.training() ? this.#wait : 0
  }

  /** Whether the run has steps left. */
  training() {
    const end = this.model.run?.trainConfig?.iters
    return typeof end === 'number' && this.last !== null && this.last.step < end
  }

  /** Whether no line has arrived for a while. */
  quiet() {
    return this.#wait > 10000
  }

  /** @param {Record<string, any>} line */
  #add(line) {
    this.last = line
    for (const [list, value] of /** @type {[Point[], any][]} */ ([[this.loss, line.loss], [this.valLoss, line.valLoss], [this.lr, line.lr]])) {
      if (typeof value !== 'number' || typeof line.step !== 'number') continue
      while ((list.at(-1)?.[0] ?? -1) >= line.step) list.pop() // a run that continued from an older checkpoint
      list.push([line.step, value])
    }
  }
}
