// @ts-check
// Panels of code: highlighted, copied, and in the language that the reader chose for all.
import { button, clear, copyButton, el } from '../dom.js'

/** @typedef {'curl'|'python'|'javascript'|'json'|'stream'|'text'} Language */

/** The parts of a text that have a colour: comments, strings, numbers, words.
 * @type {Record<string, RegExp>} */
const parts = {
  json: /(?<key>"(?:[^"\\]|\\.)*"(?=\s*:))|(?<string>"(?:[^"\\]|\\.)*")|(?<number>-?\b\d[\d.eE+-]*)|(?<word>\b(?:true|false|null)\b)/g,
  curl: /(?<string>'[^'\n{]*')|(?<key>"(?:[^"\\\n]|\\.)*"(?=\s*:))|(?<string2>"(?:[^"\\\n]|\\.)*")|(?<word>\bcurl\b|(?<=\s)--?[a-zA-Z][\w-]*)|(?<number>(?<=[\s[])-?\d[\d.]*\b)/g,
  python: /(?<comment>#.*)|(?<string>f?"(?:[^"\\\n]|\\.)*")|(?<number>(?<![\w.])-?\d[\d.]*\b)|(?<word>\b(?:import|from|for|in|if|and|print|True|False|None|with|as)\b)/g,
  javascript: /(?<comment>\/\/.*)|(?<string>'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`)|(?<number>(?<![\w.])-?\d[\d.]*\b)|(?<word>\b(?:import|from|const|await|for|of|if|throw|new|true|false|null)\b)/g,
}
parts.stream = /** @type {RegExp} */ (parts.json)

const longest = 20_000 // characters that are coloured

/**
 * @param {HTMLElement} node @param {string} text @param {Language} language
 */
export function colour(node, text, language) {
  clear(node)
  const pattern = parts[language]
  if (!pattern || text.length > longest) {
    node.textContent = text
    return
  }
  let at = 0
  for (const match of text.matchAll(pattern)) {
    const kind = Object.entries(match.groups ?? {}).find(([, value]) => value !== undefined)?.[0]
    if (match.index > at) node.append(text.slice(at, match.index))
    node.append(el('span', { class: `c-${kind?.replace('2', '')}`, text: match[0] }))
    at = match.index + match[0].length
  }
  node.append(text.slice(at))
}

/**
 * A panel of one text.
 * @param {string} title @param {string} text @param {Language} language
 * @param {string} [label] for readers of the screen; the title if absent
 */
export function panel(title, text, language, label = title) {
  const code = el('code')
  colour(code, text, language)
  return el('div', { class: 'code' },
    el('div', { class: 'code-head' }, el('span', { class: 'code-title', text: title }), copyButton(() => text)),
    el('pre', { tabindex: 0, role: 'region', 'aria-label': label }, code))
}

/** The language of all samples, which the reader chooses in any of them. */
export class Choice extends EventTarget {
  value = 'curl'

  /** @param {string} value */
  choose(value) {
    this.value = value
    this.dispatchEvent(new Event('change'))
  }
}

/**
 * Buttons of which one is pressed.
 * @param {string} label @param {{id: string, title: string}[]} options @param {() => string} value @param {(id: string) => void} choose
 */
export function toggles(label, options, value, choose) {
  const buttons = options.map(({ id, title }) => {
    const b = button(title, () => choose(id), { kind: 'quiet' })
    b.dataset.id = id
    return b
  })
  const node = el('div', { class: 'toggles', role: 'group', 'aria-label': label }, buttons)
  const show = () => buttons.forEach((b) => b.setAttribute('aria-pressed', String(b.dataset.id === value())))
  show()
  return { node, show }
}
