// @ts-check
// Help for a control: a question mark next to its label opens a tooltip. Hover, focus, click and
// touch open it, it stays while the pointer is on it, and Escape closes it alone.
// Source: WCAG 2.2, success criterion 1.4.13.
import { el, newId } from './dom.js'

const patience = 300 // ms that the pointer may take from the mark to the tooltip
const gap = 6 // pixels between both
const margin = 8 // pixels to the window's edges

/** The open tooltip: there is one at most. @type {(() => void)|null} */
let closeOpen = null

/**
 * @typedef {object} Tip
 * @property {HTMLButtonElement} mark
 * @property {HTMLElement} box
 * @property {(text: string) => void} set
 */

/**
 * Describes a control. The text is its accessible description, open or not.
 * @param {HTMLElement} control
 * @param {string} name of the control
 * @param {string} [text]
 * @returns {Tip}
 */
export function tip(control, name, text = '') {
  const box = el('div', { role: 'tooltip', id: newId('tip'), class: 'tip-box', popover: 'manual', text })
  /** @type {number|undefined} */
  let closing
  const close = () => {
    clearTimeout(closing)
    if (closeOpen !== close) return
    closeOpen = null
    if (box.isConnected) box.hidePopover()
    mark.setAttribute('aria-expanded', 'false')
    removeEventListener('keydown', escape, true)
    removeEventListener('scroll', scrolled, true)
    removeEventListener('resize', close)
    removeEventListener('pointerdown', outside, true)
  }
  const open = () => {
    clearTimeout(closing)
    if (closeOpen === close || !box.textContent) return
    closeOpen?.()
    closeOpen = close
    box.showPopover()
    place(box, mark)
    mark.setAttribute('aria-expanded', 'true')
    addEventListener('keydown', escape, true)
    addEventListener('scroll', scrolled, true)
    addEventListener('resize', close)
    addEventListener('pointerdown', outside, true)
  }
  const later = () => { closing = setTimeout(close, patience) }
  const escape = (/** @type {KeyboardEvent} */ e) => {
    if (e.key !== 'Escape') return
    e.stopPropagation() // the view or the sheet around it stays as it is
    e.preventDefault()
    close()
  }
  const scrolled = (/** @type {Event} */ e) => { if (!(e.target instanceof Element && box.contains(e.target))) close() }
  const outside = (/** @type {PointerEvent} */ e) => { if (e.target instanceof Node && !box.contains(e.target) && !mark.contains(e.target)) close() }
  const mouse = (/** @type {() => void} */ f) => (/** @type {PointerEvent} */ e) => { if (e.pointerType === 'mouse') f() }
  const mark = el('button', { type: 'button', class: 'tip', 'aria-label': `Help: ${name}`, 'aria-expanded': 'false', 'aria-describedby': box.id, on: {
    pointerenter: mouse(open), pointerleave: mouse(later),
    focus: () => { if (mark.matches(':focus-visible')) open() }, blur: later,
    click: (/** @type {PointerEvent} */ e) => e.pointerType !== 'mouse' && closeOpen === close ? close() : open(),
  } }, el('span', { 'aria-hidden': 'true', text: '?' }))
  box.addEventListener('pointerenter', () => clearTimeout(closing))
  box.addEventListener('pointerleave', mouse(later))
  control.setAttribute('aria-describedby', [control.getAttribute('aria-describedby'), box.id].filter(Boolean).join(' '))
  return { mark, box, set(next) { box.textContent = next } }
}

/**
 * A control with its label, and help that a mark next to the label opens.
 * @param {string} label
 * @param {HTMLElement} control
 * @param {string} [text]
 */
export function helped(label, control, text) {
  control.id ||= newId('field')
  const help = tip(control, label, text)
  const element = el('div', { class: 'field' }, el('div', { class: 'labelled' }, el('label', { for: control.id, text: label }), help.mark, help.box), control)
  return { element, help }
}

/**
 * Puts a box to the left of the mark's field, where it covers no other mark, or else under or
 * over the mark.
 * @param {HTMLElement} box
 * @param {HTMLElement} mark
 */
function place(box, mark) {
  const at = mark.getBoundingClientRect(), { width, height } = box.getBoundingClientRect()
  const left = (mark.closest('.field') ?? mark).getBoundingClientRect().left - gap - width
  const below = at.bottom + gap, above = at.top - gap - height
  const under = below + height > innerHeight && above > 0 ? above : below
  const most = document.documentElement.clientWidth - width - margin
  box.style.left = `${left >= margin ? left : Math.max(margin, Math.min(at.left - 2 * gap, most))}px`
  box.style.top = `${left >= margin ? Math.max(margin, Math.min(at.top - gap, innerHeight - height - margin)) : under}px`
}
