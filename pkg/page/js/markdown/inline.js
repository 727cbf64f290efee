// @ts-check
// The inside of a block of Markdown: emphasis, code, links. HTML is text, apart from line
// breaks. Every search is bounded, so that time grows with the length of any text. Pure.
// Source: CommonMark 0.31, 6 and its appendix on nested emphasis; GitHub Flavored Markdown
// 0.29, 6.5 and 6.9.

/**
 * @typedef {{kind: 'text', text: string} | {kind: 'code', text: string} | {kind: 'break'}
 *   | {kind: 'em'|'strong'|'del', inside: Inline[]}
 *   | {kind: 'link', href: string, inside: Inline[]}
 *   | {kind: 'image', href: string, text: string}} Inline
 */

/**
 * A piece of the flat text: finished, or a run of delimiters, or a bracket.
 * @typedef {object} Piece
 * @property {Inline|null} done
 * @property {string} text of a run or a bracket: what is left of it
 * @property {boolean} opens
 * @property {boolean} closes
 * @property {number} size of the run, as it was written
 * @property {('em'|'strong'|'del')[]} ends the emphases that end before the text
 * @property {('em'|'strong'|'del')[]} starts the emphases that start after the text, inner ones first
 * @property {Piece|null} before the run before it that is not matched yet
 * @property {Piece|null} after
 */

const maxDepth = 24 // of emphasis
const maxAddress = 2048 // characters
const maxTitle = 512 // characters
const brackets = 64 // open at a time; older ones are text

/** @type {Record<string, string>} */
const entities = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: '\u00a0', copy: '©', reg: '®', trade: '™', hellip: '…', mdash: '—', ndash: '–', times: '×', deg: '°', rarr: '→', larr: '←' }
const special = /[\\`*_~[\]!<&\n]|https?:\/\//g
const punctuation = /[\p{P}\p{S}]/u

/**
 * @param {string} text
 * @returns {Inline[]}
 */
export function inline(text) {
  return tree(new Scanner(text).scan())
}

class Scanner {
  /** @type {Piece[]} */
  pieces = []
  /** The open brackets. @type {{at: number, image: boolean, top: Piece|null}[]} */
  open = []
  /** The latest run of delimiters. @type {Piece|null} */
  top = null

  /** @param {string} text */
  constructor(text) {
    this.text = text
    this.at = 0
    this.ticks = tickRuns(text)
  }

  scan() {
    const { text } = this
    while (this.at < text.length) {
      special.lastIndex = this.at
      const found = special.exec(text), to = found?.index ?? text.length
      if (to > this.at) this.say(text.slice(this.at, to))
      this.at = to
      if (found) this.step(found[0])
    }
    this.emphasize(null)
    return this.pieces
  }

  /** @param {string} sign */
  step(sign) {
    switch (sign) {
      case '\\': return this.escape()
      case '`': return this.code()
      case '*': case '_': case '~': return this.run(sign)
      case '[': return this.bracket(false)
      case '!': return this.text[this.at + 1] === '[' ? this.bracket(true) : this.take(1)
      case ']': return this.close()
      case '<': return this.angle()
      case '&': return this.entity()
      case '\n': return this.line()
    }
    return this.address()
  }

  /** @param {string} text */
  say(text) {
    const last = this.pieces.at(-1)?.done
    if (last?.kind === 'text') last.text += text
    else this.add({ kind: 'text', text })
  }

  /** @param {Inline} done */
  add(done) {
    this.pieces.push(piece(done, ''))
  }

  /** Takes characters as text. @param {number} n */
  take(n) {
    this.say(this.text.slice(this.at, this.at + n))
    this.at += n
  }

  escape() {
    const next = this.text[this.at + 1] ?? ''
    if (next === '\n') {
      this.add({ kind: 'break' })
      this.at += 2
    } else if (/[!-/:-@[-`{-~]/.test(next)) {
      this.say(next)
      this.at += 2
    } else this.take(1)
  }

  code() {
    const run = this.ticks.get(this.at)
    if (!run) return this.take(1) // within a run that has been read
    if (run.next < 0) return this.take(run.size)
    let inside = this.text.slice(this.at + run.size, run.next).replaceAll('\n', ' ')
    if (inside.startsWith(' ') && inside.endsWith(' ') && inside.trim()) inside = inside.slice(1, -1)
    this.add({ kind: 'code', text: inside })
    this.at = run.next + run.size
  }

  /** A run of delimiters. @param {string} sign */
  run(sign) {
    let to = this.at
    while (this.text[to] === sign) to++
    const size = to - this.at
    if (sign === '~' && size !== 2) return this.take(size)
    const before = this.text.slice(Math.max(0, this.at - 2), this.at).match(/.$/su)?.[0] ?? ' '
    const after = String.fromCodePoint(this.text.codePointAt(to) ?? 32)
    const space = [/\s/.test(before), /\s/.test(after)], marks = [punctuation.test(before), punctuation.test(after)]
    const left = !space[1] && (!marks[1] || space[0] || marks[0]), right = !space[0] && (!marks[0] || space[1] || marks[1])
    const run = piece(null, this.text.slice(this.at, to))
    run.size = size
    run.opens = sign === '_' ? left && (!right || marks[0] === true) : left
    run.closes = sign === '_' ? right && (!left || marks[1] === true) : right
    run.before = this.top
    if (this.top) this.top.after = run
    this.top = run
    this.pieces.push(run)
    this.at = to
  }

  /** @param {boolean} image */
  bracket(image) {
    if (this.open.length === brackets) this.open.shift()
    this.open.push({ at: this.pieces.length, image, top: this.top })
    this.pieces.push(piece(null, image ? '![' : '['))
    this.at += image ? 2 : 1
  }

  close() {
    const open = this.open.pop()
    const target = open ? destination(this.text, this.at + 1) : null
    if (!open || !target) return this.take(1)
    this.emphasize(open.top)
    const inside = tree(this.pieces.splice(open.at).slice(1))
    this.add(open.image ? { kind: 'image', href: target.href, text: plain(inside) } : { kind: 'link', href: target.href, inside: unlinked(inside) })
    this.at = target.to
  }

  angle() {
    const found = /<(?:(https?:\/\/[^\s<>]{1,2048}|mailto:[^\s<>]{1,512})|(br ?\/?))>/iy
    found.lastIndex = this.at
    const match = found.exec(this.text)
    if (!match) return this.take(1)
    if (match[1]) this.add({ kind: 'link', href: match[1], inside: [{ kind: 'text', text: match[1] }] })
    else this.add({ kind: 'break' })
    this.at += match[0].length
  }

  entity() {
    const found = /&(?:#(\d{1,7})|#[xX]([\da-fA-F]{1,6})|([a-z]{2,6}));/y
    found.lastIndex = this.at
    const match = found.exec(this.text)
    const point = match?.[1] ? parseInt(match[1], 10) : match?.[2] ? parseInt(match[2], 16) : -1
    const is = match?.[3] ? Object.hasOwn(entities, match[3]) ? entities[match[3]] : '' : point > 0 && point <= 0x10ffff ? String.fromCodePoint(point) : ''
    if (!match || !is) return this.take(1)
    this.say(is)
    this.at += match[0].length
  }

  /** A line feed: models write lines, as of poems, without the two blanks of CommonMark. */
  line() {
    const last = this.pieces.at(-1)?.done
    if (last?.kind === 'text') last.text = last.text.trimEnd()
    this.add({ kind: 'break' })
    this.at++
  }

  /** An address in the text. */
  address() {
    const before = this.text[this.at - 1]
    const found = /https?:\/\/[^\s<>"`]{1,2048}/y
    found.lastIndex = this.at
    const match = found.exec(this.text)?.[0] ?? ''
    const href = match.slice(0, ending(match))
    if (before && /\w/.test(before) || href.length <= 'https://'.length) return this.take(4)
    this.add({ kind: 'link', href, inside: [{ kind: 'text', text: href }] })
    this.at += href.length
  }

  /**
   * Matches the runs of delimiters after bottom.
   * @param {Piece|null} bottom
   */
  emphasize(bottom) {
    /** The lowest run that may still open, by sign, size modulo 3, and opening. @type {Map<string, Piece|null>} */
    const floor = new Map()
    let closer = this.top
    while (closer && closer.before !== bottom) closer = closer.before
    while (closer) {
      if (!closer.closes || !closer.text) {
        closer = closer.after
        continue
      }
      const key = `${closer.text[0]}${closer.opens}${closer.size % 3}`, least = floor.has(key) ? floor.get(key) : bottom
      let opener = closer.before
      while (opener && opener !== bottom && opener !== least && !pairs(opener, closer)) opener = opener.before
      if (!opener || opener === bottom || opener === least) {
        floor.set(key, closer.before)
        const { after } = closer
        if (!closer.opens) this.drop(closer)
        closer = after
        continue
      }
      const n = opener.text.length > 1 && closer.text.length > 1 ? 2 : 1
      const kind = opener.text[0] === '~' ? 'del' : n === 2 ? 'strong' : 'em'
      opener.starts.push(kind)
      closer.ends.push(kind)
      opener.text = opener.text.slice(n)
      closer.text = closer.text.slice(n)
      opener.after = closer // those between are text
      closer.before = opener
      if (!opener.text) this.drop(opener)
      if (!closer.text) {
        const { after } = closer
        this.drop(closer)
        closer = after
      }
    }
    this.top = bottom
    if (bottom) bottom.after = null
  }

  /** Takes a run out of the list. @param {Piece} run */
  drop(run) {
    if (run.before) run.before.after = run.after
    if (run.after) run.after.before = run.before
    if (this.top === run) this.top = run.before
  }
}

/** @param {Inline|null} done @param {string} text @returns {Piece} */
const piece = (done, text) => ({ done, text, opens: false, closes: false, size: 0, ends: [], starts: [], before: null, after: null })

/** @param {Piece} opener @param {Piece} closer */
function pairs(opener, closer) {
  if (!opener.opens || opener.text[0] !== closer.text[0]) return false
  const both = opener.closes || closer.opens // CommonMark's rule of three
  return !both || (opener.size + closer.size) % 3 !== 0 || opener.size % 3 === 0 && closer.size % 3 === 0
}

/**
 * The runs of backticks by position, each with the position of the next of its size.
 * @param {string} text
 * @returns {Map<number, {size: number, next: number}>}
 */
function tickRuns(text) {
  /** @type {Map<number, number>} */
  const latest = new Map()
  /** @type {Map<number, {size: number, next: number}>} */
  const runs = new Map()
  for (const { 0: run, index } of [...text.matchAll(/`+/g)].reverse()) {
    runs.set(index, { size: run.length, next: latest.get(run.length) ?? -1 })
    latest.set(run.length, index)
  }
  return runs
}

/**
 * The address in parentheses after a bracket, and the end of both.
 * @param {string} text
 * @param {number} at
 */
function destination(text, at) {
  if (text[at] !== '(') return null
  let from = at + 1, to
  while (text[from] === ' ') from++
  if (text[from] === '<') {
    const end = text.slice(from, from + maxAddress).search(/[>\n]/)
    if (end < 0 || text[from + end] !== '>') return null
    to = from + end + 1
  } else {
    let depth = 0
    for (to = from; to < text.length && to - from < maxAddress && !/\s/.test(text[to] ?? ''); to++) {
      if (text[to] === '(' && ++depth > 8) return null
      if (text[to] === ')' && depth-- === 0) break
    }
  }
  const href = text[from] === '<' ? text.slice(from + 1, to - 1) : text.slice(from, to)
  const rest = /[ \n]*(?:"[^"]{0,512}"|'[^']{0,512}')? *\)/y
  rest.lastIndex = to
  const match = text.length - to > maxTitle * 2 ? rest.exec(text.slice(0, to + maxTitle * 2)) : rest.exec(text)
  return match ? { href, to: to + match[0].length } : null
}

/** The length of an address without the punctuation of the sentence around it. @param {string} text */
function ending(text) {
  let to = text.length
  let unmatched = [...text].reduce((n, c) => n + (c === ')' ? 1 : c === '(' ? -1 : 0), 0)
  for (; to > 0; to--) {
    const last = text[to - 1] ?? ''
    if (last === ')') {
      if (unmatched-- <= 0) break
    } else if (!'.,:;!?*_~\'"]}'.includes(last)) break
  }
  return to
}

/**
 * The pieces as a tree. Emphasis beyond the greatest depth is left out.
 * @param {Piece[]} pieces
 * @returns {Inline[]}
 */
function tree(pieces) {
  /** @type {Inline[]} */
  const root = []
  const stack = [root]
  let beyond = 0 // levels that are left out
  for (const p of pieces) {
    for (let i = 0; i < p.ends.length; i++) {
      if (beyond) beyond--
      else if (stack.length > 1) stack.pop()
    }
    if (p.done) stack.at(-1)?.push(p.done)
    else if (p.text) stack.at(-1)?.push({ kind: 'text', text: p.text })
    for (const kind of p.starts.toReversed()) {
      if (stack.length > maxDepth) {
        beyond++
        continue
      }
      /** @type {Inline[]} */
      const inside = []
      stack.at(-1)?.push({ kind, inside })
      stack.push(inside)
    }
  }
  return root
}

/** @param {Inline[]} list @returns {string} */
export function plain(list) {
  return list.map((i) => i.kind === 'break' ? ' ' : 'inside' in i ? plain(i.inside) : i.text).join('')
}

/** A link contains no links. @param {Inline[]} list @returns {Inline[]} */
function unlinked(list) {
  return list.flatMap((i) => i.kind === 'link' ? i.inside : i.kind === 'image' ? [{ kind: 'text', text: i.text }]
    : 'inside' in i ? [{ ...i, inside: unlinked(i.inside) }] : [i])
}
