// @ts-check
// Markdown as blocks: the part of CommonMark and GitHub's tables that models write. HTML is
// text. Each line is read once for each container around it, and containers nest up to a
// limit, so that time grows with the length of any text. Pure.
// Source: CommonMark 0.31, 4 and 5; GitHub Flavored Markdown 0.29, 4.10.

/**
 * @typedef {{kind: 'heading', depth: number, text: string}
 *   | {kind: 'code', language: string, text: string}
 *   | {kind: 'quote', blocks: Block[]}
 *   | {kind: 'list', ordered: boolean, start: number, tight: boolean, items: Item[]}
 *   | {kind: 'table', align: Align[], head: string[], rows: string[][]}
 *   | {kind: 'rule'}
 *   | {kind: 'paragraph', text: string}} Block
 */
/** @typedef {{blocks: Block[], done: boolean|null}} Item done: of a task; null for other items */
/** @typedef {'left'|'center'|'right'|''} Align */
/** @typedef {{at: number, width: number, ordered: boolean, mark: string, start: number, empty: boolean, text: string}} Marker at: columns before it; width: columns to the content; text: the content of its line */

const maxDepth = 12 // containers around a line
const maxColumns = 100 // of a table

/**
 * The blocks of a text, each with the lines that it came from.
 * @param {string} text
 * @returns {{block: Block, source: string}[]}
 */
export function blocks(text) {
  const lines = text.replace(/\r\n?/g, '\n').split('\n')
  return read(lines, 0).map(({ block, from, to }) => ({ block, source: lines.slice(from, to).join('\n') }))
}

/**
 * @param {string[]} lines
 * @param {number} depth
 * @returns {{block: Block, from: number, to: number}[]}
 */
function read(lines, depth) {
  const found = []
  for (let at = 0; at < lines.length;) {
    if (blank(lines[at])) {
      at++
      continue
    }
    const { block, to } = next(lines, at, depth)
    found.push({ block, from: at, to })
    at = to
  }
  return found
}

/** @typedef {{block: Block, to: number}} Read to: the line after the block */

/**
 * @param {string[]} lines
 * @param {number} at a line that is not blank
 * @param {number} depth
 * @returns {Read}
 */
function next(lines, at, depth) {
  return (indent(lines[at]) >= 4 ? indented(lines, at) : null) ?? fenced(lines, at) ?? heading(lines, at) ?? rule(lines, at) ??
    (depth < maxDepth ? quote(lines, at, depth) ?? list(lines, at, depth) : null) ?? table(lines, at) ?? paragraph(lines, at, depth)
}

/** @param {string} line */
const blank = (line) => line.trim() === ''

/** Columns of white space before a line's text. @param {string} line */
function indent(line) {
  let columns = 0
  for (const c of line) {
    if (c === ' ') columns++
    else if (c === '\t') columns += 4 - columns % 4
    else break
  }
  return columns
}

/** A line without up to so many columns of white space. @param {string} line @param {number} columns */
function strip(line, columns) {
  let at = 0, column = 0
  while (at < line.length && column < columns && (line[at] === ' ' || line[at] === '\t')) column += line[at++] === '\t' ? 4 - column % 4 : 1
  return ' '.repeat(Math.max(0, column - columns)) + line.slice(at)
}

/** @param {string[]} lines @param {number} at @returns {Read} */
function indented(lines, at) {
  let to = at
  while (to < lines.length && (indent(lines[to]) >= 4 || blank(lines[to]))) to++
  while (blank(lines[to - 1])) to--
  return { block: { kind: 'code', language: '', text: lines.slice(at, to).map((l) => strip(l, 4)).join('\n') }, to }
}

/** @param {string[]} lines @param {number} at @returns {Read|null} */
function fenced(lines, at) {
  const open = fence(lines[at])
  if (!open) return null
  let to = at + 1
  while (to < lines.length && !closes(lines[to], open)) to++
  const text = lines.slice(at + 1, to).map((l) => strip(l, open.at)).join('\n')
  return { block: { kind: 'code', language: open.info.split(/\s/)[0] ?? '', text }, to: Math.min(to + 1, lines.length) } // the fence of a stream closes later
}

/** @param {string} line */
function fence(line) {
  const found = /^ {0,3}(`{3,}|~{3,})/.exec(line)
  if (!found?.[1]) return null
  const info = line.slice(found[0].length).trim()
  if (found[1][0] === '`' && info.includes('`')) return null
  return { at: indent(line), mark: found[1], info }
}

/** @param {string} line @param {{mark: string}} open */
function closes(line, open) {
  const text = line.trim()
  return indent(line) < 4 && text.length >= open.mark.length && [...text].every((c) => c === open.mark[0])
}

/** @param {string[]} lines @param {number} at @returns {Read|null} */
function heading(lines, at) {
  const found = /^ {0,3}(#{1,6})(?=[ \t]|$)/.exec(lines[at])
  if (!found?.[1]) return null
  const text = lines[at].slice(found[0].length).trim()
  let end = text.length
  while (end > 0 && text[end - 1] === '#') end--
  const closed = end === 0 || text[end - 1] === ' ' || text[end - 1] === '\t'
  return { block: { kind: 'heading', depth: found[1].length, text: closed ? text.slice(0, end).trim() : text }, to: at + 1 }
}

/** @param {string[]} lines @param {number} at @returns {Read|null} */
function rule(lines, at) {
  return isRule(lines[at]) ? { block: { kind: 'rule' }, to: at + 1 } : null
}

/** @param {string} line */
function isRule(line) {
  if (indent(line) >= 4) return false
  const marks = line.replace(/[ \t]/g, '')
  return marks.length >= 3 && '*-_'.includes(marks[0] ?? ' ') && [...marks].every((c) => c === marks[0])
}

/** @param {string[]} lines @param {number} at @param {number} depth @returns {Read|null} */
function quote(lines, at, depth) {
  const quoted = (/** @type {string} */ line) => /^ {0,3}>/.test(line)
  if (!quoted(lines[at])) return null
  const inner = []
  let to = at
  for (; to < lines.length && !blank(lines[to]); to++) {
    if (quoted(lines[to])) inner.push(lines[to].replace(/^ {0,3}> ?/, ''))
    else if (continues(lines[to], inner.at(-1) ?? '')) inner.push(lines[to])
    else break
  }
  return { block: { kind: 'quote', blocks: read(inner, depth + 1).map((b) => b.block) }, to }
}

/**
 * Whether a line goes on with the paragraph of the line before, without its container's mark.
 * @param {string} line
 * @param {string} before
 */
function continues(line, before) {
  return !blank(before) && !fence(before) && !blank(line) && !interrupts(line)
}

/** Whether a line ends a paragraph before it. @param {string} line */
function interrupts(line) {
  if (indent(line) >= 4) return false
  const mark = marker(line)
  return fence(line) !== null || isRule(line) || /^ {0,3}(#{1,6}([ \t]|$)|>)/.test(line) || mark !== null && !mark.empty && (!mark.ordered || mark.start === 1)
}

/** @param {string} line @returns {Marker|null} */
function marker(line) {
  const found = /^( *)([-*+]|\d{1,9}[.)])(?=[ \t]|$)/.exec(line)
  if (!found || isRule(line)) return null
  const sign = found[2] ?? '', at = indent(line), rest = line.slice(found[0].length)
  const empty = blank(rest), ordered = sign.length > 1
  const gap = !empty && indent(rest) <= 4 ? indent(rest) : 1 // more is code
  return { at, width: at + sign.length + gap, ordered, mark: sign.at(-1) ?? '', start: parseInt(sign, 10) || 0, empty, text: strip(rest, gap) }
}

/** @param {string[]} lines @param {number} at @param {number} depth @returns {Read|null} */
function list(lines, at, depth) {
  const first = marker(lines[at])
  if (!first) return null
  /** @type {Item[]} */
  const items = []
  let to = at, tight = true
  for (;;) {
    const mark = to < lines.length ? marker(lines[to]) : null
    if (!mark || mark.mark !== first.mark || mark.ordered !== first.ordered || mark.at >= first.at + 4) break
    const { inner, end } = item(lines, to, mark)
    const found = read(inner, depth + 1)
    if (found.some(({ to: last }, i) => i + 1 < found.length && blank(inner[last] ?? 'x'))) tight = false
    items.push(task(found.map((b) => b.block)))
    to = end
    while (to < lines.length && blank(lines[to])) to++
    const after = to < lines.length ? marker(lines[to]) : null
    const more = after !== null && after.mark === first.mark && after.ordered === first.ordered && after.at < first.at + 4
    if (!more) {
      to = end
      break
    }
    if (to > end) tight = false
  }
  return { block: { kind: 'list', ordered: first.ordered, start: first.start, tight, items }, to }
}

/**
 * The lines of an item without its marker and indentation. Models indent a nested list by two
 * columns even under a wider number: the item contains it all the same.
 * @param {string[]} lines
 * @param {number} at
 * @param {Marker} mark
 */
function item(lines, at, mark) {
  const least = Math.min(mark.width, mark.at + 2)
  const inner = [mark.text]
  let end = at + 1, open = 0 // blank lines that may yet belong to the item
  for (let to = at + 1; to < lines.length; to++) {
    const line = lines[to]
    if (blank(line)) {
      inner.push('')
      if (++open > 1 && mark.empty && inner.length === 2) break
      continue
    }
    if (indent(line) >= least) inner.push(strip(line, Math.min(indent(line), mark.width)))
    else if (open === 0 && marker(line) === null && continues(line, inner.at(-1) ?? '')) inner.push(line.trimStart())
    else break
    open = 0
    end = to + 1
  }
  inner.length = end - at
  return { inner, end }
}

/** @param {Block[]} found @returns {Item} */
function task(found) {
  const [first] = found
  const box = first?.kind === 'paragraph' ? /^\[([ xX])\] /.exec(first.text) : null
  if (!box || first?.kind !== 'paragraph') return { blocks: found, done: null }
  return { blocks: [{ kind: 'paragraph', text: first.text.slice(box[0].length) }, ...found.slice(1)], done: box[1] !== ' ' }
}

/** @param {string[]} lines @param {number} at @returns {Read|null} */
function table(lines, at) {
  const under = lines[at + 1]
  if (under === undefined || !lines[at].includes('|') || !/^[ \t|:-]+$/.test(under) || !under.includes('-')) return null
  const head = cells(lines[at]), signs = cells(under)
  if (head.length !== signs.length || head.length > maxColumns || !signs.every((s) => /^:?-+:?$/.test(s))) return null
  let to = at + 2
  /** @type {string[][]} */
  const rows = []
  for (; to < lines.length && !blank(lines[to]) && !interrupts(lines[to]); to++) {
    const row = cells(lines[to])
    rows.push(head.map((_, i) => row[i] ?? ''))
  }
  const align = signs.map((s) => /** @type {Align} */ (s.endsWith(':') ? s.startsWith(':') ? 'center' : 'right' : s.startsWith(':') ? 'left' : ''))
  return { block: { kind: 'table', align, head, rows }, to }
}

/** The cells of a row; \| is a bar within one. @param {string} line */
function cells(line) {
  const text = line.trim()
  const list = []
  let cell = ''
  for (let i = text.startsWith('|') ? 1 : 0; i < text.length; i++) {
    if (text[i] === '\\' && text[i + 1] === '|') {
      cell += '|'
      i++
    } else if (text[i] === '|') {
      list.push(cell.trim())
      cell = ''
    } else cell += text[i]
  }
  if (cell.trim() || !text.endsWith('|')) list.push(cell.trim())
  return list
}

/** @param {string[]} lines @param {number} at @param {number} depth @returns {Read} */
function paragraph(lines, at, depth) {
  const own = [lines[at].trimStart()]
  let to = at + 1
  for (; to < lines.length && !blank(lines[to]); to++) {
    const line = lines[to], under = /^ {0,3}(=+|-{3,})[ \t]*$/.exec(line)
    if (under?.[1]) return { block: { kind: 'heading', depth: under[1][0] === '=' ? 1 : 2, text: own.join('\n').trim() }, to: to + 1 }
    if (depth < maxDepth && interrupts(line) || table(lines, to)) break
    own.push(line.trimStart())
  }
  return { block: { kind: 'paragraph', text: own.join('\n').trimEnd() }, to }
}
