// @ts-check
// Server: throughput, queue, times, errors and memory over the last minutes, for the person who
// runs it. It reads GET /activity every other second while it is seen.
import { brief, clock, duration, latest, rate, series, size, span, weights, whole } from '../activity.js'
import { button, clear, el, problem } from '../dom.js'
import { Spark } from '../spark.js'

/** @typedef {import('../state.js').App} App */
/** @typedef {import('../activity.js').Activity} Activity */
/** @typedef {import('../activity.js').Series} Series */
/** @typedef {ReturnType<typeof series>} All */

const often = 2000, later = 15000 // ms between requests; after a failure
const most = 60 // intervals that the server keeps
const least = 24 // intervals that a chart has room for

/**
 * @typedef {object} Figure
 * @property {string} title
 * @property {{key: keyof All, name: string}[]} lines of its chart
 * @property {(a: Activity, all: All) => string} now
 * @property {(a: Activity, all: All) => string} [also] beside it
 * @property {(v: number|null) => string} say a value in words
 */

/** @type {Figure[]} */
const CHARTS = [
  { title: 'Requests', lines: [{ key: 'requests', name: 'requests per second' }], now: (a) => `${brief(rate(a, 'requests'))}/s`, say: (v) => `${brief(v ?? 0)}/s` },
  { title: 'Generated tokens', lines: [{ key: 'output', name: 'tokens per second' }], now: (a) => `${brief(rate(a, 'output_tokens'))}/s`, say: (v) => `${brief(v ?? 0)}/s` },
  { title: 'Prompt tokens', lines: [{ key: 'input', name: 'tokens per second' }], now: (a) => `${brief(rate(a, 'input_tokens'))}/s`, say: (v) => `${brief(v ?? 0)}/s` },
  { title: 'Generations', lines: [{ key: 'running', name: 'running' }, { key: 'waiting', name: 'waiting' }],
    now: ({ generations: g }) => `${g.running} of ${g.workers}`, also: ({ generations: g }) => `running · ${g.waiting} waiting`, say: (v) => String(v ?? 0) },
  { title: 'Time to first token', lines: [{ key: 'median', name: 'median' }, { key: 'slow', name: 'p95' }],
    now: (_, all) => duration(latest(all.median)), also: (_, all) => latest(all.slow) === null ? '' : `median · p95 ${duration(latest(all.slow))}`, say: duration },
  { title: 'Errors', lines: [{ key: 'errors', name: 'failed requests' }], now: (a) => String(a.errors.reduce((sum, e) => sum + e.count, 0)),
    also: (a) => `in ${span(Math.min(most * a.interval_seconds, Math.max(a.now - a.since, 1)))}`, say: (v) => String(v ?? 0) },
]

/**
 * @param {HTMLElement} root
 * @param {App} app
 * @returns {import('../state.js').Mounted}
 */
export function mount(root, app) {
  const view = new Server(app)
  root.append(view.element)
  return { show: () => view.show(), hide: () => view.rest() }
}

class Server {
  shown = false
  paused = false
  /** @type {number|undefined} */
  timer = undefined
  /** @type {Activity|null} */
  activity = null
  /** The interval under the pointer. @type {number|null} */
  #at = null

  /** @param {App} app */
  constructor(app) {
    this.app = app
    this.when = el('span', { class: 'muted small' })
    this.pause = button('Pause', () => this.#toggle(), { kind: 'quiet', id: 'server-pause' })
    this.wrong = el('div')
    this.tiles = CHARTS.map((chart) => new Tile(chart, (index) => this.#point(index)))
    this.errors = el('tbody')
    this.models = el('tbody')
    this.total = el('p', { class: 'muted small' })
    this.rows = el('tbody')
    this.table = el('details', { class: 'history', on: { toggle: () => this.#history() } }, el('summary', { text: 'Show as a table' }),
      table('The last minutes, newest first', ['Time', 'Requests', 'Generated', 'Prompt', 'Running', 'Waiting', 'First token, median', 'p95', 'Errors'], this.rows))
    this.measured = el('div', { class: 'stack unsure' }, this.table,
      el('div', { class: 'grid' },
        el('section', { class: 'panel stack', 'aria-labelledby': 'server-models' }, el('h3', { id: 'server-models', text: 'Models in memory' }), this.total, table('Models in memory', ['Model', 'Weights', 'Requests'], this.models)),
        el('section', { class: 'panel stack', 'aria-labelledby': 'server-errors' }, el('h3', { id: 'server-errors', text: 'Errors by code' }), table('Errors by code', ['Code', 'Requests'], this.errors))))
    this.element = el('div', { class: 'stack server-view' },
      el('div', { class: 'row' }, el('h2', { text: 'Server' }), el('div', { class: 'row push' }, this.when, this.pause)), this.wrong, el('div', { class: 'tiles' }, this.tiles.map((t) => t.element)), this.measured)
  }

  show() {
    this.shown = true
    void this.read()
  }

  rest() {
    this.shown = false
    clearTimeout(this.timer)
  }

  #toggle() {
    this.paused = !this.paused
    this.pause.textContent = this.paused ? 'Resume' : 'Pause'
    if (this.paused) clearTimeout(this.timer)
    else void this.read()
  }

  /** Reads the measurements, and reads on. */
  async read() {
    clearTimeout(this.timer)
    let wait = often
    if (!document.hidden) {
      try {
        this.activity = await this.app.api.json('GET', '/activity', undefined, { background: true })
        clear(this.wrong)
        this.draw()
      } catch (error) {
        wait = later
        clear(this.wrong).append(problem(error, () => void this.read()))
      }
    }
    clearTimeout(this.timer) // of a reading that ended meanwhile
    if (this.shown && !this.paused) this.timer = setTimeout(() => void this.read(), wait)
  }

  draw() {
    const { activity: a } = this
    if (!a) return
    this.measured.classList.remove('unsure')
    this.when.textContent = `Updated ${clock(a.now)}`
    const all = series(a)
    for (const tile of this.tiles) tile.set(a, all)
    const { limit = 0, bytes, models } = a.memory
    this.total.textContent = models.length ? `${size(bytes)}${limit ? ` of ${size(limit)}` : ''}` : 'No model is open: the first request opens one.'
    fill(this.models, models.map((m) => [m.name, weights(m), m.in_use ? `${m.in_use} now` : 'idle']))
    fill(this.errors, a.errors.length ? a.errors.map((e) => [e.code, String(e.count)]) : [['none', '0']])
    this.#history()
    this.#point(this.#at)
  }

  /** Fills the table, if it is open. */
  #history() {
    const { activity: a } = this
    if (!a || !this.table.open) return
    const all = series(a), keys = CHARTS.flatMap((c) => c.lines.map(({ key }) => ({ key, say: c.say })))
    fill(this.rows, whole(a).map((interval, i) => [clock(interval.at), ...keys.map(({ key, say }) => say(all[key][i] ?? null))]).reverse())
  }

  /** Reads the charts at an interval. @param {number|null} index */
  #point(index) {
    this.#at = index
    const at = index === null || !this.activity ? undefined : whole(this.activity)[index]?.at
    for (const tile of this.tiles) tile.read(index, at === undefined ? '' : clock(at))
  }
}

/** A figure and its chart. */
class Tile {
  /** @type {All|null} */
  #all = null
  #also = ''

  /**
   * @param {Figure} chart
   * @param {(index: number|null) => void} point
   */
  constructor(chart, point) {
    this.chart = chart
    this.now = el('span', { class: 'figure' })
    this.peak = el('span', { class: 'muted small' })
    this.also = el('span', { class: 'muted small' })
    this.spark = new Spark({ label: `${chart.title}: no values yet`, styles: ['one', 'two'], point })
    this.element = el('section', { class: 'panel tile', 'aria-label': chart.title },
      el('div', { class: 'head' }, el('h3', { text: chart.title }), this.peak), el('p', { class: 'now' }, this.now, ' ', this.also), this.spark.element)
  }

  /** @param {Activity} a @param {All} all */
  set(a, all) {
    const { title, lines, now, also, say } = this.chart
    this.#all = all
    this.now.textContent = now(a, all)
    this.#also = also?.(a, all) ?? ''
    const words = lines.map(({ key, name }) => `${name}: at most ${say(Math.max(...all[key].map((v) => v ?? 0), 0))}`)
    const room = Math.max(least, whole(a).length)
    this.peak.textContent = `peak ${say(Math.max(...lines.flatMap(({ key }) => all[key]).map((v) => v ?? 0), 0))}`
    this.spark.set(lines.map(({ key }) => all[key]), room, `${title} over the last ${span(room * a.interval_seconds)}. ${words.join(', ')}.`)
  }

  /** Shows the values of an interval; null: what there is now. @param {number|null} index @param {string} at */
  read(index, at) {
    const all = this.#all
    this.spark.mark(index)
    this.also.textContent = index === null || !all ? this.#also
      : `${at} · ${this.chart.lines.map(({ key, name }, i) => `${i || this.chart.lines.length > 1 ? `${name} ` : ''}${this.chart.say(all[key][index] ?? null)}`).join(', ')}`
  }
}

/**
 * @param {string} caption
 * @param {string[]} columns
 * @param {HTMLElement} body
 */
function table(caption, columns, body) {
  return el('div', { class: 'wide', tabindex: 0, role: 'group', 'aria-label': caption }, el('table', { class: 'data' }, el('caption', { class: 'sr', text: caption }),
    el('thead', {}, el('tr', {}, columns.map((c, i) => el('th', { scope: 'col', class: i ? 'num' : undefined, text: c })))), body))
}

/**
 * @param {HTMLElement} body
 * @param {string[][]} rows
 */
function fill(body, rows) {
  clear(body).append(...rows.map(([first, ...rest]) => el('tr', {}, el('th', { scope: 'row', text: first }), rest.map((text) => el('td', { class: 'num', text })))))
}
