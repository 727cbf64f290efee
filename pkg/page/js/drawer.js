// @ts-check
// Settings beside the content of a view; on a narrow screen a button opens them as a sheet.
import { button, el, newId } from './dom.js'

/** The width from which there is room next to the content, as in css/settings.css. */
const roomy = '(min-width: 62rem)'

/**
 * @param {string} title
 * @param {...import('./dom.js').Child} children
 */
export function drawer(title, ...children) {
  const heading = el('h3', { id: newId('settings'), text: title })
  const done = button('Done', () => sheet.close(), { kind: 'quiet' })
  const panel = el('div', { class: 'settings' }, el('div', { class: 'settings-head' }, heading, done), el('div', { class: 'stack settings-body' }, children))
  const sheet = el('dialog', { class: 'sheet', 'aria-labelledby': heading.id, on: {
    click: (/** @type {MouseEvent} */ e) => { if (e.target === sheet) sheet.close() }, // beside the panel
    keydown: (/** @type {KeyboardEvent} */ e) => { if (e.key === 'Escape') e.stopPropagation() }, // closes the sheet, and stops no answer
  } })
  const aside = el('aside', { 'aria-labelledby': heading.id })
  const opener = button(title, () => sheet.showModal(), { id: 'settings-open' })
  opener.setAttribute('aria-haspopup', 'dialog')
  opener.classList.add('settings-open')
  const wide = matchMedia(roomy)
  const lay = () => {
    if (sheet.open) sheet.close()
    ;(wide.matches ? aside : sheet).append(panel)
    aside.hidden = !wide.matches
    opener.hidden = done.hidden = wide.matches
  }
  wide.addEventListener('change', lay)
  lay()
  return { aside, sheet, opener }
}
