// @ts-check
// The images of messages on the page.
import { el } from '../dom.js'

/** @typedef {import('./tree.js').Image} Image */

/** @param {string} name @param {string} url */
export const thumbnail = (name, url) => el('img', { src: url, alt: name, title: name })

/**
 * The images of a sent message. Those of an earlier visit are names only.
 * @param {Image[]} images
 * @param {(id: string) => string} see the data URL of an image, or ''
 */
export function pictureList(images, see) {
  return el('ul', { class: 'pictures', 'aria-label': 'Images' }, images.map(({ id, name }) => {
    const url = see(id)
    return el('li', {}, url ? thumbnail(name, url) : el('span', { class: 'gone', text: `${name}, not kept` }))
  }))
}
