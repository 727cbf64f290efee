// @ts-check
// The images of the next message: chosen, dropped or pasted, shown small, and removed again.
import { button, clear, el, svg } from '../dom.js'
import { limits, readImage, rules } from './images.js'
import { thumbnail } from './pictures.js'

/** @typedef {import('./images.js').Picture} Picture */

/**
 * @typedef {object} Hooks
 * @property {() => number} had the images that the conversation has
 * @property {() => void} changed there are other images, or one is being read
 * @property {() => void} done the keyboard's focus belongs to the message
 */

export class Attachments {
  /** @type {Picture[]} */
  list = []
  #on = false
  #jobs = 0 // lists of files that are being read, one after the other
  #last = Promise.resolve()

  /** @param {Hooks} hooks */
  constructor(hooks) {
    this.hooks = hooks
    this.file = el('input', { type: 'file', id: 'chat-images', accept: 'image/png,image/jpeg', multiple: true, hidden: true, 'aria-label': 'Images', on: { change: () => this.#chosen() } })
    this.add = el('button', { type: 'button', class: 'quiet add-image', id: 'chat-add-image', title: rules, on: { click: () => this.file.click() } }, icon(), el('span', { text: 'Add image' }))
    this.items = el('ul', { class: 'pictures', 'aria-label': 'Images of the message' })
    this.hint = el('p', { class: 'hint', text: rules })
    this.said = el('p', { class: 'hint', id: 'chat-images-said', role: 'status' })
    this.element = el('div', { class: 'attachments' }, this.items, this.hint, this.said, this.file)
    this.add.hidden = this.items.hidden = this.hint.hidden = true
  }

  /** @param {boolean} on whether the model reads images; without it those that wait are removed */
  set(on) {
    this.#on = on
    this.add.hidden = !on
    if (on || !this.list.length) return
    this.clear()
    this.#say('The images of the message were removed: this model reads text only.', true)
  }

  /** Removes all images. */
  clear() {
    this.list = []
    this.#say('')
    this.#draw()
  }

  /** Takes the images that are dropped on an element. @param {HTMLElement} target */
  dropOn(target) {
    const over = (/** @type {boolean} */ on) => target.classList.toggle('dropping', on)
    const takes = (/** @type {DragEvent} */ e) => this.#on && e.dataTransfer?.types.includes('Files')
    target.addEventListener('dragover', (e) => {
      if (!takes(e)) return
      e.preventDefault()
      over(true)
    })
    target.addEventListener('dragleave', (e) => { if (!target.contains(/** @type {Node|null} */ (e.relatedTarget))) over(false) })
    target.addEventListener('drop', (e) => {
      over(false)
      if (!takes(e)) return
      e.preventDefault()
      this.#take([...e.dataTransfer?.files ?? []])
    })
  }

  /** Takes the images that are pasted into a field. Text comes first: office programs copy a picture of it too. @param {HTMLElement} field */
  pasteIn(field) {
    field.addEventListener('paste', (e) => {
      const files = [...e.clipboardData?.files ?? []]
      if (!this.#on || !files.length || e.clipboardData?.getData('text/plain')) return
      e.preventDefault()
      this.#take(files)
    })
  }

  #chosen() {
    const files = [...this.file.files ?? []]
    this.file.value = ''
    this.#take(files)
  }

  /** Whether files are being read. */
  get reading() {
    return this.#jobs > 0
  }

  /** @param {File[]} files */
  #take(files) {
    this.#jobs++
    this.hooks.changed()
    this.#last = this.#last.then(() => this.#read(files))
  }

  /** @param {File[]} files */
  async #read(files) {
    const faults = [], added = []
    for (const file of files) {
      try {
        if (this.hooks.had() + this.list.length >= limits.images) throw new Error(`A conversation has room for ${limits.images} images: ${file.name} was not added.`)
        const picture = await readImage(file)
        this.list.push(picture)
        added.push(picture.size ? `${picture.name}, scaled down to ${picture.size}` : picture.name)
      } catch (error) {
        faults.push(error instanceof Error ? error.message : String(error))
      }
    }
    this.#jobs--
    this.#say([...faults, ...added.length ? [`Added ${added.join('; ')}.`] : []].join(' '), faults.length > 0)
    this.#draw()
    this.set(this.#on) // the model may be another one by now
    if (added.length) this.hooks.done()
  }

  /** @param {number} at */
  #remove(at) {
    const [gone] = this.list.splice(at, 1)
    this.#say(`Removed ${gone?.name}.`)
    this.#draw()
    const buttons = this.items.querySelectorAll('button')
    if (buttons.length) buttons[Math.min(at, buttons.length - 1)]?.focus()
    else this.hooks.done()
  }

  #draw() {
    clear(this.items).append(...this.list.map((picture, i) => {
      const remove = button('✕', () => this.#remove(i), { title: 'Remove' })
      remove.setAttribute('aria-label', `Remove ${picture.name}`)
      return el('li', {}, thumbnail(picture.name, picture.url), remove)
    }))
    this.items.hidden = this.hint.hidden = !this.list.length
    this.hooks.changed()
  }

  /** @param {string} text @param {boolean} [bad] */
  #say(text, bad = false) {
    this.said.className = bad ? 'hint bad' : 'hint'
    this.said.textContent = text
  }
}

function icon() {
  return svg('svg', { viewBox: '0 0 20 20', class: 'icon', 'aria-hidden': 'true' },
    svg('rect', { x: 2.5, y: 3.5, width: 15, height: 13, rx: 2 }), svg('circle', { cx: 7, cy: 8, r: 1.5 }), svg('path', { d: 'M3 15l4.5-4 3 2.5L14 9l3.5 4' }))
}
