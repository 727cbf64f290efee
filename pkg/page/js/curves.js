// @ts-check
// What was measured while a model was trained, read on while it is trained.

/** @typedef {import('./chart.js').Point} Point */

const soon = 1500, late = 30000 // ms between questions

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

  /** Reads what came since the last time; tells whether anything did. */
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

  /** How long to wait before it is read again, ms; 0: the training is over. */
  wait() {
    return this.training() ? this.#wait : 0
  }

  /** Whether steps are missing of those that the run is to have. */
  training() {
    const end = this.model.run?.trainConfig?.iters
    return typeof end === 'number' && this.last !== null && this.last.step < end
  }

  /** Whether nothing has come for a while. */
  quiet() {
    return this.#wait > 10000
  }

  /** @param {Record<string, any>} line */
  #add(line) {
    this.last = line
    for (const [list, value] of /** @type {[Point[], any][]} */ ([[this.loss, line.loss], [this.valLoss, line.valLoss], [this.lr, line.lr]])) {
      if (typeof value !== 'number' || typeof line.step !== 'number') continue
      while ((list.at(-1)?.[0] ?? -1) >= line.step) list.pop() // a run that went on from an older checkpoint
      list.push([line.step, value])
    }
  }
}
