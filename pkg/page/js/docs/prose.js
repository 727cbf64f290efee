// @ts-check
// Descriptions with their code and links. They are plain text: paths of operations become
// links, names with underscores and JSON become code.
import { el } from '../dom.js'

/** The anchors of operations by path. @typedef {Map<string, string>} Links */

/**
 * @param {string} text @param {Links} links
 * @returns {(string|Node)[]}
 */
export function prose(text, links) {
  const pattern = /(?<path>(?<![\w/])\/[a-z][\w.{}/-]*[\w}])|(?<code>\b[a-z]+(?:[._][a-z0-9]+)*_[a-z0-9]+(?:\.[a-z_]+)*\b|\bdata: \[DONE\]|\bX-[A-Z][\w-]+|"[^"\s]+")/g
  /** @type {(string|Node)[]} */
  const nodes = []
  let at = 0
  for (const match of text.matchAll(pattern)) {
    nodes.push(text.slice(at, match.index))
    const code = el('code', { text: match[0] })
    const to = links.get(match[0])
    nodes.push(to ? el('a', { href: `#${to}` }, code) : code)
    at = match.index + match[0].length
  }
  nodes.push(text.slice(at))
  return nodes
}
