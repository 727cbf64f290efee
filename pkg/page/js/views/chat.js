// @ts-check
// Chat: conversations with a model, kept in the browser.
import { Alternatives } from '../alternatives.js'
import { beginnings } from '../beginnings.js'
import { button, el } from '../dom.js'
import { Composer } from '../chat/composer.js'
import { List } from '../chat/list.js'
import { calls, note, offered, sight } from '../chat/models.js'
import { Options } from '../chat/options.js'
import { Panes } from '../chat/panes.js'
import { PromptDialog } from '../chat/prompt.js'
import { examples, known, requests } from '../chat/tools.js'
import { Session } from '../chat/session.js'
import { fileName, markdown, write } from '../chat/format.js'
import { Thread } from '../chat/thread.js'
import { title } from '../chat/tree.js'
import { bodyOf } from '../described.js'
import { modelPicker } from '../picker.js'
import { keep, settings, textOf } from '../settings.js'
import { address } from '../state.js'

/** @typedef {import('../state.js').App} App */
/** @typedef {import('../chat/tree.js').Conversation} Conversation */

const suggestions = ['Explain photosynthesis to a ten-year-old', 'Compare three ways to learn a language in a table', 'Write a function that reverses a string, in Python']

/**
 * @param {HTMLElement} root
 * @param {App} app
 * @returns {import('../state.js').Mounted}
 */
export function mount(root, app) {
  const view = new Chat(app)
  root.append(view.element, view.alternatives.box)
  void view.load()
  return { show: () => view.shown(), hide: () => view.alternatives.hide(), close: () => view.close() }
}

class Chat {
  /** @type {any} */
  schema = null

  /** @param {App} app */
  constructor(app) {
    this.app = app
    this.alternatives = new Alternatives()
    const kept = settings('chat')
    this.session = new Session(app.api, app.images, {
      body: () => this.body(), changed: () => this.draw(), progress: (c, turn) => this.thread.progress(c, turn), ended: (c, turn) => this.thread.ended(c, turn),
    }, textOf(kept.system), textOf(kept.tools))
    this.picker = modelPicker(app, { label: 'Model', id: 'chat-model', alone: true, value: textOf(kept.model), accept: (m) => offered(m, app.state.models), onchange: (name) => this.chosen(name) })
    this.options = new Options({ system: (text) => this.session.setSystem(text), tools: (text) => this.session.setTools(text), look: () => this.draw() })
    this.list = new List({
      fresh: () => this.fresh(), open: (id) => this.open(id), rename: (c, name) => this.session.rename(c, name),
      remove: (c) => { this.session.remove([c]); this.list.say(`Deleted “${title(c)}”.`, true) },
      removeAll: () => { const all = this.session.list(); this.session.remove(all); this.list.say(`Deleted ${all.length} conversations.`, true) },
      undo: () => this.session.undo(), exportAll: () => save('glossa-conversations.json', 'application/json', write(this.session.list(), this.session.see)), load: (file) => void this.read(file),
    })
    this.composer = new Composer({ send: (text, images) => this.send(text, images), stop: () => this.session.stop(), images: () => this.session.pictures().kept })
    this.thread = new Thread(this.session, {
      edit: (turn, text) => { this.session.edit(turn, text); this.composer.focus() }, again: (turn) => this.session.again(turn),
      turnTo: (turn, by) => this.session.turnTo(turn, by), code: (id) => app.code(id), prompt: (id) => void this.prompt.show(id),
      reply: (turn, results) => { this.session.reply(turn, results); this.composer.focus() }, replyAgain: (turn, results) => { this.session.replyAgain(turn, results); this.composer.focus() },
      see: this.session.see,
      calls: (turn) => this.session.current.turns.find((t) => t.id === turn.parent)?.calls ?? [],
    }, this.alternatives)
    this.prompt = new PromptDialog(app.api)
    this.about = el('p', { class: 'hint about' })
    this.sight = el('p', { class: 'hint sight', role: 'status' })
    this.warning = el('p', { class: 'hint bad', role: 'status' })
    this.exporting = this.exports()
    this.around = el('div', { class: 'chat-panes' }, this.list.element,
      this.main = el('div', { class: 'chat-main' }, this.thread.element, this.about, this.sight, this.warning, this.composer.element), this.options.element)
    this.composer.attached.dropOn(this.main)
    this.panes = new Panes(this.around, [{ label: 'Chats', name: 'list', pane: this.list.element }, { label: 'Settings', name: 'options', pane: this.options.element }])
    this.element = this.layout()
    this.draw()
  }

  layout() {
    const [chats, options] = this.panes.panes.map((p) => p.toggle)
    return el('div', { class: 'chatting', on: { keydown: (/** @type {KeyboardEvent} */ e) => { if (e.key === 'Escape') this.session.stop() } } },
      el('h2', { class: 'sr', text: 'Chat' }), this.prompt.element, el('div', { class: 'chat-bar' }, chats, this.picker.element, this.exporting, options), this.around)
  }

  exports() {
    const name = () => fileName(title(this.session.current))
    const menu = el('details', { class: 'menu', on: { focusout: (/** @type {FocusEvent} */ e) => { if (e.relatedTarget && !menu.contains(/** @type {Node} */ (e.relatedTarget))) menu.open = false },
      keydown: (/** @type {KeyboardEvent} */ e) => { if (e.key === 'Escape') menu.open = false } } },
    el('summary', { text: 'Export' }), el('div', { class: 'menu-box' },
      button('Markdown', () => { menu.open = false; save(`${name()}.md`, 'text/markdown', markdown(this.session.current)) }, { kind: 'quiet' }),
      button('JSON', () => { menu.open = false; save(`${name()}.json`, 'application/json', write([this.session.current], this.session.see)) }, { kind: 'quiet' })))
    return menu
  }

  /** Reads the lists of the server. */
  async load() {
    try {
      await this.picker.load()
    } catch {
      return // the frame says so, and mounts this anew when there is a list
    }
    this.schema = bodyOf((await this.app.openapi().catch(() => null))?.paths?.['/v1/chat/completions'])
    this.chosen(this.picker.value())
    this.draw()
  }

  /** Takes a model. @param {string} name */
  chosen(name) {
    const model = this.picker.model()
    this.options.limit(this.schema, model?.context ?? 0)
    if (name && name !== settings('chat').model) keep('chat', { model: name })
    this.draw()
  }

  shown() { // the address may name a model: #chat/NAME
    const [name] = address()
    if (name) void this.picker.want(name).catch(() => {}) // the frame says that the server does not answer
    this.thread.toEnd()
    if (this.panes.wide && document.activeElement === document.body) this.composer.focus() // no other element loses it
  }

  close() {
    this.session.close()
  }

  /** Everything of a request except the messages. */
  body() {
    const model = this.picker.model()
    return { model: this.picker.value(), params: this.options.controls.values(), shaded: this.options.look().shaded && (!model?.family || model.family === 'local'), base: Boolean(model?.run), images: model?.images === true }
  }

  /** Sends a message if there is a model for it. @param {string} text @param {import('../chat/images.js').Picture[]} [images] */
  send(text, images = []) {
    if (!this.picker.value()) return false
    this.thread.follow()
    this.session.send(text, images)
    return true
  }

  fresh() {
    this.session.fresh()
    this.panes.uncover()
    this.composer.focus()
  }

  /** @param {string} id */
  open(id) {
    this.session.open(id)
    const last = this.session.lastModel()
    if (last && last !== this.picker.value() && this.app.state.models.some((m) => m.name === last && offered(m, this.app.state.models))) this.picker.set(last)
    this.panes.uncover()
    this.thread.follow()
  }

  draw() {
    if (!this.element) return
    const { session } = this, { current } = session
    this.list.draw(session.list(), current.id)
    if (this.options.system.value !== current.system) this.options.system.value = current.system
    this.options.showTools(current.tools)
    this.thread.draw(current, this.options.look(), () => this.empty())
    this.composer.set(session.running !== null)
    this.exporting.hidden = current.turns.length === 0
    const model = this.picker.model()
    this.about.textContent = note(this.app.state.models, model)
    this.about.hidden = current.turns.length > 0 && !model?.run
    this.composer.attached.set(model?.images === true)
    this.sight.textContent = sight(model, session.pictures())
    this.warning.textContent = session.store.warning
    this.warning.hidden = !session.store.warning
  }

  /** What an empty conversation shows. */
  empty() {
    const model = this.picker.model()
    const { tools } = this.session.current, bare = !known(tools).length, caller = model !== null && bare && calls(model)
    const tries = !model ? [] : model.run ? beginnings(model) : caller || tools === examples ? requests : bare ? suggestions : []
    /** @param {string} text */
    const ask = (text) => {
      if (caller) this.session.declare(examples)
      this.send(text)
    }
    return el('div', { class: 'chat-empty' },
      el('p', { class: 'greeting', text: model ? `Chat with ${model.name}` : this.app.state.models.length ? 'No model here can chat' : 'Chat' }),
      model?.run ? el('p', { class: 'muted', text: 'No model of this server was trained to chat. This one continues what you write.' }) : null,
      caller ? el('p', { class: 'muted', text: 'This small model was trained to call functions, and for little else. These requests come with three, which the page computes.' }) : null,
      model || !this.app.state.models.length ? null : el('p', { class: 'muted', text: 'The models of this server continue or translate texts.' }),
      el('div', { class: 'tries' }, tries.map((text) => button(text, () => ask(text)))),
      model?.run ? button('Open Write', () => this.app.go('write'), { kind: 'quiet' }) : null)
  }

  /** @param {File} file */
  async read(file) {
    try {
      const { added, skipped } = this.session.import(await file.text())
      this.list.say(`Imported ${added} ${added === 1 ? 'conversation' : 'conversations'}${skipped ? `, skipped ${skipped} that could not be read` : ''}.`)
    } catch (error) {
      this.list.say(error instanceof Error ? error.message : String(error))
    }
  }
}

/**
 * Offers a text as a file.
 * @param {string} name
 * @param {string} type
 * @param {string} text
 */
function save(name, type, text) {
  const url = URL.createObjectURL(new Blob([text], { type }))
  el('a', { href: url, download: name }).click()
  setTimeout(() => URL.revokeObjectURL(url), 60_000)
}
