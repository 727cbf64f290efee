// The parts of Chat that need no browser: the tree of turns, its stored forms, storage, and
// Markdown.
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { fileName, markdown, pack, parsed, read, unpack, write } from '../../pkg/page/js/chat/format.js'
import { chats, note, offered } from '../../pkg/page/js/chat/models.js'
import { compared, embeds, ranks, use } from '../../pkg/page/js/tasks.js'
import { Store } from '../../pkg/page/js/chat/store.js'
import { split } from '../../pkg/page/js/chat/thinking.js'
import { add, alternatives, branch, choose, contains, messages, newConversation, title } from '../../pkg/page/js/chat/tree.js'
import { blocks } from '../../pkg/page/js/markdown/blocks.js'
import { inline, plain } from '../../pkg/page/js/markdown/inline.js'

// talk returns a conversation of questions, each with its answers.
function talk(...turns) {
  const c = newConversation('')
  let parent = ''
  for (const [question, ...answers] of turns) {
    parent = add(c, parent, 'user', question).id
    let last
    for (const text of answers) last = add(c, parent, 'assistant', text)
    parent = last?.id ?? parent
  }
  return c
}
const texts = (c) => branch(c).map((t) => t.text)

suite('conversations', () => {
  test('a tree of alternatives', () => {
    const c = talk(['a', 'A1', 'A2'], ['b', 'B'])
    assert.deepEqual(texts(c), ['a', 'A2', 'b', 'B'])
    const [a1, a2] = alternatives(c, branch(c)[1])
    choose(c, a1)
    assert.deepEqual(texts(c), ['a', 'A1'])
    choose(c, a2)
    assert.deepEqual([texts(c), c.picked], [['a', 'A2', 'b', 'B'], {}])
    add(c, '', 'user', 'other')
    assert.deepEqual(texts(c), ['other'])
    choose(c, c.turns[0])
    assert.deepEqual(texts(c), ['a', 'A2', 'b', 'B'])
  })

  test('messages of a request', () => {
    const c = talk(['a', ''], ['b'])
    assert.deepEqual(messages(c, branch(c).at(-1).id), [{ role: 'user', content: 'a' }, { role: 'user', content: 'b' }]) // an empty answer is none
    c.system = 'S'
    c.turns[1].text = '<think>x</think>A'
    assert.deepEqual(messages(c, branch(c).at(-1).id), [
      { role: 'system', content: 'S' }, { role: 'user', content: 'a' }, { role: 'assistant', content: 'A' }, { role: 'user', content: 'b' }])
    assert.deepEqual(split('<think>\nunfinished'), { thought: 'unfinished', answer: '' })
    assert.deepEqual(split('a <think>b</think>'), { thought: '', answer: 'a <think>b</think>' })
  })

  test('titles, search and names of files', () => {
    const c = talk(['  One two three four five six seven eight nine', 'Ünïcode'])
    assert.equal(title(c), 'One two three four five six seven eight…')
    assert.equal(title(newConversation('')), 'New chat')
    assert.ok(contains(c, 'ÜNÏ') && contains(c, 'nine') && !contains(c, 'ten'))
    assert.deepEqual([fileName('Straße: a/b?'), fileName('…'), fileName('../../x')], ['stra-e-a-b', 'chat', 'x'])
  })

  test('stored and read again; what is damaged is dropped', () => {
    const c = talk(['a', 'A1', 'A2'])
    choose(c, c.turns[1])
    Object.assign(c.turns[1], { model: 'm', end: 'stop', tokens: 3, rate: 2.5, first: 9 })
    assert.deepEqual(unpack(parsed(pack(c))), c)
    for (const bad of [null, 1, 'x', [], {}, { v: 2 }, { v: 1, id: '../x', turns: [] }, { v: 1, id: 'x', turns: {} }, { v: 1, id: '__proto__', turns: [] }]) assert.equal(unpack(bad), null)
    const turn = { id: 'a', parent: '', role: 'user', text: 't', at: 1 }
    const hostile = { v: 1, id: 'x', title: 7, created: 'x', updated: Infinity, system: [], picked: { '': 'b', a: 'none' }, turns: [
      turn, turn, { ...turn, id: 'b', role: 'system' }, { ...turn, id: 'c', parent: 'c' }, { ...turn, id: 'd', parent: 'none' }, null, { ...turn, id: '__proto__' }, { ...turn, id: 'e', text: {} }] }
    assert.deepEqual(unpack(hostile), { id: 'x', title: '', created: 0, updated: 0, system: '', tools: '', picked: {}, turns: [turn] })
    assert.equal(unpack(parsed('{"v":1,"id":"x","turns":[],"__proto__":{"polluted":1}}')).polluted, undefined)
  })

  test('exported and imported', () => {
    const c = talk(['a', 'A'])
    const { conversations, skipped } = read(write([c]), () => false)
    assert.deepEqual([conversations, skipped], [[c], 0])
    const [copy] = read(write([c]), (id) => id === c.id).conversations
    assert.notEqual(copy.id, c.id)
    assert.deepEqual(copy.turns, c.turns)
    const file = JSON.parse(write([c, c]))
    file.conversations.push(7)
    const two = read(JSON.stringify(file), () => false)
    assert.deepEqual([new Set(two.conversations.map((x) => x.id)).size, two.skipped], [2, 1])
    for (const [text, why] of [['', /holds no/], ['{"kind":"other","v":1}', /holds no/], ['{"kind":"glossa-conversations","v":2,"conversations":[]}', /newer/]]) {
      assert.throws(() => read(text, () => false), why)
    }
    c.system = 'S'
    assert.equal(markdown(c), '# a\n\n## System\n\nS\n\n## You\n\na\n\n## Answer\n\nA\n')
  })
})

// shelf is a Storage that holds so many characters.
function shelf(room = Infinity) {
  const map = new Map()
  return {
    map, get length() { return map.size }, key: (i) => [...map.keys()][i] ?? null, getItem: (k) => map.get(k) ?? null, removeItem: (k) => map.delete(k),
    setItem(k, v) {
      const others = [...map].reduce((n, [key, value]) => n + (key === k ? 0 : value.length), 0)
      if (others + v.length > room) throw Object.assign(new Error('full'), { name: 'QuotaExceededError' })
      map.set(k, v)
    },
  }
}

suite('storage', () => {
  const at = (c, updated) => Object.assign(c, { updated })

  test('each conversation is an entry, the latest first', () => {
    const s = shelf()
    const store = new Store(s), old = at(talk(['old']), 1), late = at(talk(['late']), 2)
    store.save(old)
    store.save(late)
    s.setItem('other', 'x')
    assert.deepEqual(new Store(s).list(), [late, old])
    store.remove(old.id)
    assert.deepEqual([...s.map.keys()], [`glossa-chat-${late.id}`, 'other'])
  })

  test('the oldest make room, and the user hears of it', () => {
    const s = shelf(3000)
    const store = new Store(s), text = 'x'.repeat(700)
    const all = [1, 2, 3, 4].map((n) => at(talk([text]), n))
    for (const c of all) store.save(c)
    assert.deepEqual(store.list().map((c) => c.updated), [4, 3, 2])
    assert.match(store.warning, /oldest conversations were deleted/)
    store.save(at(talk(['y'.repeat(4000)]), 9))
    assert.match(store.warning, /too large/)
    const many = new Store(shelf())
    for (let n = 1; n <= 205; n++) many.save(at(talk(['a']), n))
    assert.deepEqual([many.list().length, many.list().at(-1).updated], [200, 6])
  })

  test('off: in memory alone', () => {
    for (const broken of [null, { ...shelf(), get length() { throw new Error('denied') } }, { ...shelf(), length: 0, setItem() { throw new Error('denied') } }]) {
      const store = new Store(broken), c = talk(['a'])
      store.save(c)
      assert.deepEqual(store.list(), [c])
      assert.match(store.warning, /stores nothing/)
      store.remove(c.id)
      assert.deepEqual(store.list(), [])
    }
  })
})

test('models that chat', () => {
  const base = { name: 'novels', family: 'local', streaming: true, run: {} }, translator = { name: 'phrases', family: 'local', streaming: false, run: null }
  const local = { name: 'qwen', family: 'local', streaming: true, run: null }, remote = { name: 'sage', family: 'bedrock', streaming: false, run: null }
  const all = [base, translator, local, remote]
  assert.deepEqual(all.map(chats), [false, false, true, true])
  assert.deepEqual(all.map((m) => offered(m, all)), [false, false, true, true])
  assert.deepEqual([base, translator].map((m) => offered(m, [base, translator])), [true, false])
  const embedder = { name: 'sentences', task: 'embed', family: 'local', streaming: true, run: null }, ranker = { ...embedder, name: 'ranker', task: 'rerank' }
  const classifier = { ...embedder, name: 'moods', task: 'classify' }
  for (const m of [embedder, ranker, classifier]) assert.deepEqual([chats(m), offered(m, [base, m]), offered(m, [m])], [false, false, false])
  assert.deepEqual([embedder, ranker, local].map(embeds), [true, false, false])
  assert.deepEqual([embedder, ranker, classifier, local].map(ranks), [true, true, false, false])
  assert.deepEqual([base, embedder, ranker].map((m) => compared(m, [base, embedder, ranker])), [false, true, false])
  assert.deepEqual([base, ranker].map((m) => compared(m, [base, ranker])), [true, false])
  assert.deepEqual([embedder, ranker, classifier, translator, local].map((m) => use(m)?.part), ['similarity', 'ranking', 'classification', 'translation', undefined])
  assert.equal(note([local, translator], local), '')
  assert.match(note(all, local), /^novels is a base model: it continues texts and is offered in Write\.$/)
  assert.match(note([base, { ...base, name: 'abc' }, local], local), /^novels and abc are base models: they/)
  assert.match(note(all, base), /continues your text instead of answering it/)
})

// show writes blocks and inlines as short text.
const line = (list) => list.map((i) => i.kind === 'text' ? i.text : i.kind === 'break' ? '⏎' : i.kind === 'code' ? `\`${i.text}\`` : i.kind === 'image' ? `img(${i.href}|${i.text})`
  : i.kind === 'link' ? `link(${i.href}|${line(i.inside)})` : `${i.kind}(${line(i.inside)})`).join('')
const show = (b) => {
  switch (b.kind) {
    case 'heading': return `h${b.depth}(${line(inline(b.text))})`
    case 'paragraph': return `p(${line(inline(b.text))})`
    case 'code': return `code(${b.language}|${b.text})`
    case 'quote': return `quote(${b.blocks.map(show).join('')})`
    case 'list': return `${b.ordered ? `ol${b.start}` : 'ul'}${b.tight ? '' : '~'}(${b.items.map((i) => `${i.done === null ? '' : i.done ? '[x]' : '[ ]'}${i.blocks.map(show).join('')}`).join('|')})`
    case 'table': return `table(${b.align.map((a) => a[0] ?? '-').join('')}/${[b.head, ...b.rows].map((r) => r.join(',')).join('/')})`
  }
  return b.kind
}
const md = (text) => blocks(text).map(({ block }) => show(block)).join(' ')

suite('Markdown', () => {
  for (const [text, want] of [
    ['# A #\n## B\n#C\n\n####### D', 'h1(A) h2(B) p(#C) p(####### D)'],
    ['A\n===\nB\n---\nC\n- d', 'h1(A) h2(B) p(C) ul(p(d))'],
    ['a\nb\n\nc', 'p(a⏎b) p(c)'],
    ['***\n- - -\n__', 'rule rule p(__)'],
    ['```js\na\n\n<b>\n```\nz', 'code(js|a\n\n<b>) p(z)'],
    ['```\nopen', 'code(|open)'],
    ['~~~ a b\n```\n~~~', 'code(a|```)'],
    ['    x\n\n    y\nz', 'code(|x\n\ny) p(z)'],
    ['> a\nb\n> > c\n\nd', 'quote(p(a⏎b)quote(p(c))) p(d)'],
    ['- a\n- b\n\n  c\n- d', 'ul~(p(a)|p(b)p(c)|p(d))'],
    ['1. a\n  - b\n2. c', 'ol1(p(a)ul(p(b))|p(c))'],
    ['3) a\n4) b\n5. c', 'ol3(p(a)|p(b)) ol5(p(c))'],
    ['- [ ] a\n- [x] b', 'ul([ ]p(a)|[x]p(b))'],
    ['- ```\n  x\n  ```\n- y', 'ul(code(|x)|p(y))'],
    ['text 1986. more\n1986. no list', 'p(text 1986. more⏎1986. no list)'],
    ['|a|b|\n|:-|:-:|\n|1|2|3|\n|\\||\nz', 'table(lc/a,b/1,2/|,/z,)'],
    ['a | b\n--- | ---:\n1 | 2\n\nz', 'table(-r/a,b/1,2) p(z)'],
    ['a | b\nno table', 'p(a | b⏎no table)'],
    ['<script>x</script>\n\n<b>y', 'p(<script>x</script>) p(<b>y)'],
    ['a\r\nb\rc', 'p(a⏎b⏎c)'],
    ['', ''],
  ]) test(`blocks of ${JSON.stringify(text)}`, () => assert.equal(md(text), want))

  for (const [text, want] of [
    ['*a* _b_ **c** __d__ ~~e~~ ***f***', 'em(a) em(b) strong(c) strong(d) del(e) em(strong(f))'],
    ['snake_case_name 2*3*4 a * b', 'snake_case_name 2em(3)4 a * b'],
    ['**a *b** c*', 'em(em(a em(b)) c)'],
    ['*a **b** c*', 'em(a strong(b) c)'],
    ['**open', '**open'],
    ['`a` ``b ` c`` `open', '`a` `b ` c` `open'],
    ['\\*a\\* \\q', '*a* \\q'],
    ['&lt;b&gt; &#65;&#x42; &nope; &amp', '<b> AB &nope; &amp'],
    ['a<br>b<br/>c<BR />d', 'a⏎b⏎c⏎d'],
    ['[a *b*](https://x.y "t") [c](<d e>) [f]', 'link(https://x.y|a em(b)) link(d e|c) [f]'],
    ['[a](javascript:x)', 'link(javascript:x|a)'],
    ['[a [b](c) d](e)', 'link(e|a b d)'],
    ['![a *b*](c)', 'img(c|a b)'],
    ['<https://a.b> <x@y> <b>', 'link(https://a.b|https://a.b) <x@y> <b>'],
    ['see https://a.b/c_(d). (https://e.f), xhttps://no', 'see link(https://a.b/c_(d)|https://a.b/c_(d)). (link(https://e.f|https://e.f)), xhttps://no'],
    ['*[a*](b)', '*link(b|a*)'],
    ['日本**語**です', '日本strong(語)です'],
  ]) test(`the inside of ${JSON.stringify(text)}`, () => assert.equal(line(inline(text)), want))

  test('a text that grows keeps its first blocks', () => {
    const text = '# T\n\na **b** c\n\n- d\n  - e\n\n```js\nf\n```\n\n|g|h|\n|-|-|\n|1|2|\n'
    for (let n = 1; n <= text.length; n++) {
      const part = blocks(text.slice(0, n)), whole = blocks(text)
      for (const [i, { source }] of part.slice(0, -1).entries()) assert.equal(source, whole[i].source.slice(0, source.length))
      for (const { block } of part) show(block)
    }
  })

  // Time that grew with the square of these texts would exceed the limit of the test run.
  const n = 30_000, many = (s, times = n) => s.repeat(times)
  for (const [name, text] of Object.entries({
    stars: many('*a **a '), unders: many('_a_'), tildes: many('~~a'), brackets: many('['), links: many('[a]('), nested: many('[') + many('](a)'), images: many('!['),
    titles: many('[a](b "'), angles: many('<a '), comments: many('<!--'), ticks: Array.from({ length: 1500 }, (_, i) => '`'.repeat(i)).join(' '), slashes: many('\\'),
    entities: many('&#'), addresses: many('http://a)'), parens: `http://a${many(')')}`, quotes: many('>'), quoted: many('> - '), lists: Array.from({ length: 600 }, (_, i) => `${' '.repeat(i * 2)}- a`).join('\n'),
    items: many('- a\n\n'), ordered: many('1. '), table: `${many('|')}\n${many('|-')}`, heads: `${many('a|b\n')}--`, hashes: many('#'), blanks: `- a\n${many('\n')}b`, fences: many('```\n'), lazy: many('> a\nb\n'), returns: many('\r'),
  })) {
    test(`${name}, thirty thousand times`, () => {
      const walk = (b) => {
        if (b.kind === 'paragraph' || b.kind === 'heading') plain(inline(b.text))
        if (b.kind === 'table') for (const cell of b.head) plain(inline(cell))
        for (const inner of b.blocks ?? b.items?.flatMap((i) => i.blocks) ?? []) walk(inner)
      }
      for (const { block } of blocks(text)) walk(block)
    })
  }
})
