// @ts-check
// Markdown as elements, while it streams: blocks that did not change keep their elements.
// Text stays text: no HTML is read, no image is loaded, and links lead to the web or to mail.
import { copyButton, el } from '../dom.js'
import { blocks } from './blocks.js'
import { inline, plain } from './inline.js'

/** @typedef {import('./blocks.js').Block} Block */
/** @typedef {import('./inline.js').Inline} Inline */

const maxChars = 200_000 // longer answers are shown as plain text
const above = 3 // level of the heading over an answer

export class Markdown {
  /** The blocks that are shown. @type {{key: string, node: HTMLElement}[]} */
  #shown = []

  constructor() {
    this.element = el('div', { class: 'markdown' })
  }

  /** @param {string} text */
  set(text) {
    const list = text.length > maxChars ? [] : blocks(text)
    let level = above, i = 0
    for (const { block, source } of list) {
      if (block.kind === 'heading') level = Math.min(level + 1, above + block.depth, 6) // no level is left out
      const key = `${block.kind} ${level} ${source}`, was = this.#shown[i]
      if (was?.key !== key && !(was && grow(was.node, block))) {
        const node = element(block, level)
        if (was) was.node.replaceWith(node)
        else this.element.append(node)
        this.#shown[i] = { key, node }
      } else if (was) was.key = key
      i++
    }
    for (const { node } of this.#shown.splice(i)) node.remove()
    if (text.length > maxChars) this.#shown = [{ key: '', node: this.element.appendChild(el('p', { class: 'plain', text })) }]
  }
}

/**
 * Lets a block of code grow in place, so that its button keeps the focus. Returns whether it is one.
 * @param {HTMLElement} node
 * @param {Block} block
 */
function grow(node, block) {
  const code = node.querySelector(':scope > pre > code')
  if (block.kind !== 'code' || !code || node.dataset.language !== block.language) return false
  code.textContent = trimmed(block.text)
  return true
}

/**
 * @param {Block} block
 * @param {number} level of headings
 * @returns {HTMLElement}
 */
function element(block, level) {
  switch (block.kind) {
    case 'heading': return el(/** @type {'h4'} */ (`h${level}`), {}, inlines(inline(block.text)))
    case 'code': return code(block)
    case 'quote': return el('blockquote', {}, block.blocks.map(nested))
    case 'list': return list(block)
    case 'table': return table(block)
    case 'rule': return el('hr')
    case 'paragraph': return el('p', {}, inlines(inline(block.text)))
  }
}

/** A block in a container; its headings are paragraphs. @param {Block} block */
const nested = (block) => block.kind === 'heading' ? el('p', {}, el('strong', {}, inlines(inline(block.text)))) : element(block, above)

/** The line feed before the end of a stream is not shown. @param {string} text */
const trimmed = (text) => text.replace(/\n$/, '')

/** @param {{language: string, text: string}} block */
function code({ language, text }) {
  const inside = el('code', { text: trimmed(text) })
  return el('div', { class: 'code-block', dataset: { language } },
    el('div', { class: 'code-head' }, el('span', { text: language.slice(0, 40) }), copyButton(() => inside.textContent ?? '', 'Copy code')),
    el('pre', { tabindex: 0, role: 'group', 'aria-label': language ? `Code: ${language.slice(0, 40)}` : 'Code' }, inside))
}

/** @param {Extract<Block, {kind: 'list'}>} block */
function list({ ordered, start, tight, items }) {
  const children = items.map(({ blocks: inside, done }) => el('li', { class: done === null ? undefined : 'task' },
    done === null ? null : el('span', { class: 'box', role: 'img', 'aria-label': done ? 'Done:' : 'To do:', text: done ? '☑' : '☐' }),
    inside.map((b) => tight && b.kind === 'paragraph' ? inlines(inline(b.text)) : nested(b))))
  return ordered ? el('ol', { start: start === 1 ? undefined : start }, children) : el('ul', {}, children)
}

/** @param {Extract<Block, {kind: 'table'}>} block */
function table({ align, head, rows }) {
  /** @param {'th'|'td'} tag @param {string} text @param {number} i */
  const cell = (tag, text, i) => el(tag, { class: align[i] ? `to-${align[i]}` : undefined, scope: tag === 'th' ? 'col' : undefined }, inlines(inline(text)))
  return el('div', { class: 'wide', tabindex: 0, role: 'group', 'aria-label': 'Table' }, el('table', {},
    el('thead', {}, el('tr', {}, head.map((text, i) => cell(text ? 'th' : 'td', text, i)))),
    el('tbody', {}, rows.map((row) => el('tr', {}, row.map((text, i) => cell('td', text, i)))))))
}

/** @param {Inline[]} list @returns {(Node|string)[]} */
function inlines(list) {
  return list.map((i) => {
    switch (i.kind) {
      case 'text': return i.text
      case 'code': return el('code', { text: i.text })
      case 'break': return el('br')
      case 'link': return link(i.href, inlines(i.inside), plain(i.inside))
      case 'image': return link(i.href, [`Image: ${i.text || 'without a description'}`], '')
    }
    return el(i.kind, {}, inlines(i.inside))
  })
}

/**
 * @param {string} href
 * @param {(Node|string)[]} inside
 * @param {string} text
 */
function link(href, inside, text) {
  const to = safe(href)
  if (!to) return el('span', {}, inside)
  return el('a', { href: to, target: '_blank', rel: 'noopener noreferrer nofollow', title: text === href ? undefined : to }, inside)
}

/**
 * An address that a click may open; '' if it is none.
 * @param {string} href
 */
export function safe(href) {
  if (!URL.canParse(href)) return ''
  const url = new URL(href)
  return ['http:', 'https:', 'mailto:'].includes(url.protocol) ? url.href : ''
}
