// @ts-check
// Programs with their strings, words and numbers marked.
import { el } from './dom.js'

/** @type {Record<string, RegExp>} */
const words = {
  curl: /\bcurl\b|(?<=\s)-[A-Za-z]+\b/,
  Python: /\b(?:import|from|as|with|for|in|if|and|print|None|True|False)\b/,
  JavaScript: /\b(?:import|from|const|await|new|for|of|if|throw|null|true|false)\b/,
  Go: /\b(?:package|import|const|func|if|nil|defer)\b/,
}

/** @type {Record<string, RegExp>} */
const strings = {
  curl: /'(?:[^']|'\\'')*'|"[^"]*"/,
  Python: /f?"(?:\\.|[^"\\])*"/,
  JavaScript: /"(?:\\.|[^"\\])*"|'[^']*'|`[^`]*`/,
  Go: /`[^`]*`|"(?:\\.|[^"\\])*"/,
}

/**
 * @param {string} code
 * @param {string} language
 * @returns {(Node|string)[]}
 */
export function highlight(code, language) {
  const string = strings[language], word = words[language]
  if (!string || !word) return [code]
  const parts = new RegExp(`(?<string>${string.source})|(?<word>${word.source})|(?<number>\\b\\d+(?:\\.\\d+)?\\b)`, 'g')
  const out = []
  let from = 0
  for (const match of code.matchAll(parts)) {
    const kind = Object.entries(match.groups ?? {}).find(([, text]) => text !== undefined)?.[0]
    out.push(code.slice(from, match.index), el('span', { class: `code-${kind}`, text: match[0] }))
    from = match.index + match[0].length
  }
  return [...out, code.slice(from)]
}
