// @ts-check
// What models do with texts, by the task that the server lists. Pure.

/** @typedef {import('./state.js').Model} Model */

/** Whether a model writes text; local models that do not stream translate. @param {Model} m */
export const writes = (m) => !m.task && (m.streaming || m.family !== 'local')

/** Whether a model was made to embed texts. @param {Model} m */
export const embeds = (m) => m.task === 'embed'

/** Whether a model scores labels of texts. @param {Model} m */
export const classifies = (m) => m.task === 'classify'

/** Whether a model scores documents for a query. Embedders do it by the cosine of their vectors. @param {Model} m */
export const ranks = (m) => m.task === 'rerank' || embeds(m)

/**
 * Whether a comparison of texts offers a model: an embedder, or any model with vectors where no
 * embedder is served.
 * @param {Model} m
 * @param {Model[]} all
 */
export const compared = (m, all) => embeds(m) || !m.task && !all.some(embeds)

/**
 * The use of a model that does not write, with the part of Inspect for it; null if it writes.
 * @param {Model} m
 */
export function use(m) {
  if (embeds(m)) return { chip: 'embeds texts', verb: 'Compare', title: `Compare texts with ${m.name}`, part: 'similarity' }
  if (m.task === 'rerank') return { chip: 'ranks documents', verb: 'Rank', title: `Rank documents with ${m.name}`, part: 'ranking' }
  if (classifies(m)) return { chip: 'classifies texts', verb: 'Classify', title: `Classify texts with ${m.name}`, part: 'classification' }
  if (!writes(m)) return { chip: 'translates', verb: 'Translate', title: `Translate with ${m.name}`, part: 'translation' }
  return null
}
