// A Chromium for the tests, and pages in it that report all their errors.
import assert from 'node:assert/strict'
import { mkdir, readFile } from 'node:fs/promises'
import { after } from 'node:test'
import { chromium } from 'playwright-core'
import { serve } from './servers.mjs'

const axe = await readFile(new URL('node_modules/axe-core/axe.min.js', import.meta.url), 'utf8')
const shots = new URL('../../.cache/web/', import.meta.url).pathname

// once starts something for all tests; what was started is stopped after them.
const stops = []
const once = (begin, stop) => {
  let begun
  return () => begun ??= begin().then((thing) => {
    stops.unshift(() => stop(thing))
    return thing
  })
}
after(async () => {
  for (const { status, reason } of await Promise.allSettled(stops.map((stop) => stop()))) if (status === 'rejected') throw reason
})

// No sandbox, since tests may run as root in a container.
export const browser = once(() => chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox', '--disable-dev-shm-usage'] }), (b) => b.close())
export const server = once(() => serve(), (s) => s.stop())

export const themes = ['light', 'dark']
export const widths = [360, 1280]

// ends calls what ends a part of a test after it, the last part first: a page is closed before the
// server that it may still be asking.
const parts = new WeakMap()
export function ends(t, end) {
  if (!parts.has(t)) {
    parts.set(t, [])
    t.after(async () => {
      const faults = []
      for (const part of parts.get(t).reverse()) await Promise.resolve().then(part).catch((fault) => faults.push(fault))
      if (faults.length) throw faults[0]
    })
  }
  parts.get(t).push(end)
}

// open opens an address in a new page, which is closed when the test ends. Then only expected
// errors may have occurred.
export async function open(t, url, { width = 1280, height = 900, theme = 'light', reducedMotion = 'no-preference', path = '', hash = '', permissions = [] } = {}) {
  const context = await (await browser()).newContext({
    viewport: { width, height }, colorScheme: theme, reducedMotion, permissions, hasTouch: width < 500 })
  const page = await context.newPage()
  page.setDefaultTimeout(120_000) // for a machine that does much else
  const faults = []
  const expected = []
  const origins = new Set([new URL(url).origin])
  page.on('console', (m) => {
    if (['error', 'warning'].includes(m.type())) faults.push(`console: ${m.text()} (${m.location().url})`)
  })
  page.on('pageerror', (e) => faults.push(`error: ${e.stack}`))
  page.on('crash', () => faults.push('the page crashed'))
  page.on('request', (r) => {
    const { protocol, origin } = new URL(r.url())
    if (protocol !== 'data:' && !origins.has(origin)) faults.push(`request to another origin: ${r.url()}`)
  })
  await page.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', (e) => console.error(`policy: ${e.violatedDirective} ${e.blockedURI} ${e.sourceFile}:${e.lineNumber}`))
  })
  ends(t, async () => {
    await context.close()
    assert.deepEqual(faults.filter((f) => !expected.some((e) => e.test(f))), [])
    for (const e of expected) assert.ok(faults.some((f) => e.test(f)), `nothing said ${e}`)
  })
  await page.goto(`${url}/${path}${hash && `#${hash}`}`)
  return Object.assign(page, {
    // expect allows a fault, which then must occur.
    expect: (pattern) => expected.push(pattern),
    allow: (origin) => origins.add(origin),
  })
}

// view shows one of the tabs.
export async function view(page, id) {
  await page.locator(`#tab-${id}`).click()
  const panel = page.locator(`#view-${id}`)
  await panel.waitFor()
  return panel
}

// picked waits until a choice of models is filled, and selects one.
export async function picked(page, id, model) {
  await page.locator(`#${id} option[value="${model}"]`).waitFor({ state: 'attached' })
  await page.locator(`#${id}`).selectOption(model)
}

// clean requires that axe finds no violations, of all rules or some, and that the page is not
// wider than the window.
export async function clean(page, what, rules) {
  if (!await page.evaluate(() => 'axe' in globalThis)) await page.evaluate(axe)
  await page.evaluate(() => document.getAnimations().forEach((a) => a.finish())) // of colours, which are judged
  const found = await page.evaluate((runOnly) => globalThis.axe.run(document, { resultTypes: ['violations'], runOnly }).then((r) => r.violations), rules)
  assert.deepEqual(found.map((v) => `${v.id}: ${v.help}: ${v.nodes.map((n) => `${n.target} ${n.failureSummary}`).join(' | ')}`), [], what)
  const [wide, room] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth])
  assert.ok(wide <= room, `${what}: ${wide} pixels wide in a window of ${room}`)
}

// shoot takes screenshots of the current view in both themes and widths, and checks each
// with axe: in the second theme only the colours.
export async function shoot(page, name) {
  await mkdir(shots, { recursive: true })
  for (const theme of themes) {
    await page.emulateMedia({ colorScheme: theme })
    for (const width of widths) {
      await page.setViewportSize({ width, height: 900 })
      await page.evaluate(() => { for (const a of document.getAnimations()) a.finish() })
      await clean(page, `${name}, ${theme}, ${width}`, theme === themes[0] ? undefined : ['color-contrast'])
      await page.evaluate(() => { document.activeElement?.blur?.(); scrollTo({ top: 0, behavior: 'instant' }) })
      await page.screenshot({ path: `${shots}${name}-${theme}-${width}.png`, fullPage: true })
    }
  }
}
