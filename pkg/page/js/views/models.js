// @ts-check
// Models: a table, and the curves of those that were trained here.
import { chats } from '../chat/models.js'
import { Chart, Span, value } from '../chart.js'
import { Curves } from '../curves.js'
import { button, clear, el, field, problem, svg } from '../dom.js'
import { figure } from '../scale.js'
import { use } from '../tasks.js'

/** @typedef {import('../state.js').App} App */
/** @typedef {import('../state.js').Model} Model */

const columns = ['Name', 'Family', 'Size', 'Step', 'Context', 'Tokenizer', 'Last loss']

/**
 * @param {HTMLElement} root
 * @param {App} app
 * @returns {import('../state.js').Mounted}
 */
export function mount(root, app) {
  const view = new Models(app)
  root.append(view.element)
  return { show: () => void view.load(true), hide: () => view.rest() }
}

class Models {
  /** @param {App} app */
  constructor(app) {
    this.app = app
    this.chosen = ''
    this.over = ''
    /** What the table shows. */
    this.listed = ''
    this.shown = false
    this.ticks = 0
    /** @type {number|undefined} */
    this.timer = undefined
    /** @type {Map<string, Curves>} */
    this.curves = new Map()
    this.span = new Span()
    this.lossChart = new Chart(this.span, { label: 'Loss', height: 300 })
    this.rateChart = new Chart(this.span, { label: 'Learning rate', height: 130 })
    this.log = el('input', { type: 'checkbox', id: 'models-log', checked: true, on: { change: () => this.draw() } })
    this.second = el('select', { id: 'models-over', on: { change: () => { this.over = this.second.value; void this.follow() } } })
    this.body = el('tbody')
    this.wrong = el('div')
    this.title = el('h3', { id: 'curves-title', text: 'Training' })
    this.state = el('span', { class: 'chip live', hidden: true })
    this.facts = el('p', { class: 'muted' })
    this.reading = el('span', { class: 'reading', 'aria-hidden': 'true' })
    this.rates = el('span', { class: 'reading', 'aria-hidden': 'true' })
    /** @type {Map<import('../chart.js').Line, HTMLElement>} */
    this.values = new Map()
    this.legend = el('ul', { class: 'curve-legend' })
    this.charts = el('div', { class: 'stack', hidden: true })
    this.training = el('section', { class: 'panel stack', 'aria-labelledby': 'curves-title', hidden: true }, el('div', { class: 'row' }, this.title, this.state), this.facts, this.charts)
    this.element = this.layout()
    this.span.addEventListener('change', () => this.read())
  }

  layout() {
    const all = button('Show all', () => this.span.show(null), { kind: 'quiet', id: 'models-all' })
    this.charts.append(
      el('div', { class: 'row end' }, field('Compare with', this.second), el('label', { class: 'check', for: this.log.id }, this.log, 'Logarithmic'),
        el('div', { class: 'row push zoom' }, button('Zoom in', () => this.span.zoom(0.5), { kind: 'quiet' }), button('Zoom out', () => this.span.zoom(2), { kind: 'quiet' }), all)),
      this.legend, el('p', { class: 'chart-name' }, 'Loss', this.reading), this.lossChart.element, el('p', { class: 'chart-name' }, 'Learning rate', this.rates), this.rateChart.element,
      el('p', { class: 'hint', text: 'Drag to zoom, double-click to show all. Keyboard: + and − zoom, 0 shows all, arrow keys read values, Shift with arrow keys pans.' }))
    return el('div', { class: 'stack models-view' },
      el('div', { class: 'row' }, el('h2', { text: 'Models' }), button('Refresh', () => void this.load(true), { kind: 'quiet', id: 'models-again' })),
      this.wrong,
      el('table', { id: 'models-table', class: 'data models-table' }, el('caption', { class: 'sr', text: 'The models of this server' }),
        el('thead', {}, el('tr', {}, columns.map((c, i) => el('th', { scope: 'col', class: i > 1 && i !== 5 ? 'num' : undefined, text: c })), el('th', {}, el('span', { class: 'sr', text: 'Actions' })))),
        this.body),
      this.training)
  }

  /** Requests the list. @param {boolean} again */
  async load(again) {
    this.shown = true
    try {
      const list = await this.app.models(again)
      clear(this.wrong)
      if (!list.some((m) => m.name === this.chosen)) this.chosen = (list.find((m) => m.name === this.app.state.model && m.run) ?? list.find((m) => m.run) ?? list[0])?.name ?? ''
      this.rows(list)
      await this.follow()
    } catch (error) {
      clear(this.wrong).append(problem(error, () => void this.load(true)))
    }
  }

  rest() {
    this.shown = false
    clearTimeout(this.timer)
  }

  /** Shows the list. What has not changed stays in place, with its focus. @param {Model[]} list */
  rows(list) {
    const rows = JSON.stringify([this.chosen, list])
    if (rows === this.listed) return
    this.listed = rows
    const focused = document.activeElement?.id
    clear(this.body).append(...list.map((m, i) => this.row(m, i)))
    if (focused) document.getElementById(focused)?.focus()
    const others = list.filter((m) => m.run && m.name !== this.chosen)
    if (!others.some((m) => m.name === this.over)) this.over = ''
    clear(this.second).append(el('option', { value: '', text: 'none' }), ...others.map((m) => el('option', { value: m.name, text: m.name })))
    this.second.value = this.over
  }

  /**
   * @param {Model} m
   * @param {number} i
   */
  row(m, i) {
    const choose = el('button', { type: 'button', id: `model-${i}`, class: 'quiet name', 'aria-pressed': String(m.name === this.chosen), text: m.name, on: { click: () => this.choose(m) } })
    const run = m.run, chip = use(m)?.chip ?? (m.images ? 'reads images' : '')
    const cells = [
      m.family + (m.type && m.type !== 'Alpha' ? ` · ${m.type}` : '') || '–', m.size || '–', run ? figure(run.step) : '–',
      m.context ? figure(m.context) : '–', m.tokenizer || '–', typeof run?.lastLoss === 'number' ? run.lastLoss.toFixed(3) : '–',
    ]
    return el('tr', { class: m.name === this.chosen ? 'chosen' : undefined },
      el('th', { scope: 'row' }, choose, chip && el('span', { class: 'chip', text: chip }), m.description ? el('p', { class: 'hint', text: m.description }) : null),
      cells.map((text, j) => el('td', { class: j > 0 && j !== 4 ? 'num' : undefined, dataset: { label: columns[j + 1] } }, text)),
      el('td', { class: 'act' }, this.action(m, `model-use-${i}`)))
  }

  /**
   * The button that goes to the view for a model.
   * @param {Model} m
   * @param {string} id
   */
  action(m, id) {
    const other = use(m), to = encodeURIComponent(m.name)
    if (other) return button(other.verb, () => this.app.go(`inside/${other.part}/${to}`), { kind: 'quiet', id, title: other.title })
    if (chats(m)) return button('Chat', () => this.app.go(`chat/${to}`), { kind: 'quiet', id, title: `Chat with ${m.name}` })
    return button('Write', () => { this.app.state.model = m.name; this.app.go('write') }, { kind: 'quiet', id, title: `Write with ${m.name}` })
  }

  /** @param {Model} m */
  choose(m) {
    this.chosen = m.name
    if (this.over === m.name) this.over = ''
    this.span.range = null
    this.rows(this.app.state.models)
    void this.follow()
  }

  /** The selected curves, of the first model and of the other. */
  watched() {
    return [this.chosen, this.over].flatMap((name) => {
      const model = this.app.state.models.find((m) => m.name === name)
      if (!model) return []
      let c = this.curves.get(name)
      if (!c) this.curves.set(name, c = new Curves(this.app.api, model))
      c.model = model
      return [c]
    })
  }

  /** Reads the curves, and reads on while a run is trained. */
  async follow() {
    clearTimeout(this.timer)
    const list = this.watched()
    try {
      await Promise.all(list.map((c) => c.read()))
      clear(this.wrong)
    } catch (error) {
      clear(this.wrong).append(problem(error, () => void this.follow()))
      return
    }
    this.draw()
    const waits = list.map((c) => c.wait()).filter(Boolean)
    if (this.shown && waits.length) this.timer = setTimeout(() => void this.tick(), Math.min(...waits))
  }

  async tick() {
    if (document.hidden) {
      this.timer = setTimeout(() => void this.tick(), 1000)
      return
    }
    await this.load(++this.ticks % 5 === 0) // there may be a newer checkpoint
  }

  /** @returns {import('../chart.js').Line[]} */
  lines() {
    return this.watched().flatMap((c, i) => {
      const style = i ? 'two' : 'one'
      return [
        { name: `${c.model.name}, loss`, style: `${style} fine`, points: c.loss },
        { name: `${c.model.name}, validation loss`, style: `${style} bold`, points: c.valLoss },
      ].filter((l) => l.points.length)
    })
  }

  draw() {
    const list = this.watched(), first = list[0], lines = this.lines()
    this.training.hidden = !first
    const points = lines.flatMap((l) => [l.points[0], l.points.at(-1)]).flatMap((p) => p ? [p[0]] : [])
    this.charts.hidden = !points.length
    this.title.textContent = first ? `Training of ${first.model.name}` : 'Training'
    this.state.hidden = !first?.training()
    this.state.classList.toggle('quiet', first?.quiet())
    this.state.textContent = first?.training() ? `${first.quiet() ? 'waiting' : 'live'}: step ${figure(first.last?.step)} of ${figure(first.model.run?.trainConfig?.iters)}` : ''
    this.facts.textContent = facts(first)
    if (!points.length) return
    this.span.all = [Math.min(...points), Math.max(...points)]
    this.lossChart.set(lines, this.log.checked)
    this.rateChart.set(list.map((c, i) => ({ name: c.model.name, style: `${i ? 'two' : 'one'} fine`, points: c.lr })))
    this.values = new Map(lines.map((l) => [l, el('b')]))
    clear(this.legend).append(...lines.map((l) => el('li', {}, key(l.style), l.name, this.values.get(l))))
    this.read()
  }

  /** Shows the values at the pointer. */
  read() {
    const step = this.span.cursor
    /** @param {import('../chart.js').Point[]} points */
    const at = (points) => {
      const v = step === null ? null : value(points, step)
      return v === null ? [] : [figure(v)]
    }
    for (const [l, node] of this.values) node.textContent = at(l.points).join('')
    this.reading.textContent = step === null ? '' : `step ${figure(step)}`
    this.rates.textContent = this.watched().flatMap((c) => at(c.lr)).join(' and ')
  }
}

/** A sample of a line. @param {string} style */
function key(style) {
  return svg('svg', { class: 'key', 'aria-hidden': 'true', viewBox: '0 0 28 10' }, svg('path', { class: `line ${style}`, d: 'M0 5H28' }))
}

/**
 * The state at the end of a run.
 * @param {Curves|undefined} c
 */
function facts(c) {
  if (!c) return ''
  if (!c.last) return `${c.model.name} has no training metrics: it was trained elsewhere, or its metrics.jsonl is missing.`
  const validation = c.valLoss.at(-1), loss = c.loss.at(-1)
  return [
    `${figure(c.last.step)} steps`, loss ? `loss ${loss[1].toFixed(3)}` : '', validation ? `validation loss ${validation[1].toFixed(3)}` : '',
    c.last.tokens_per_sec ? `${figure(Math.round(c.last.tokens_per_sec))} tokens/s` : '', c.last.elapsed_ms ? duration(c.last.elapsed_ms) : '',
  ].filter(Boolean).join(' · ')
}

/** @param {number} ms */
function duration(ms) {
  const minutes = Math.round(ms / 60000)
  return minutes < 1 ? `${Math.round(ms / 1000)} s` : minutes < 120 ? `${minutes} min` : `${(minutes / 60).toFixed(1)} h`
}
