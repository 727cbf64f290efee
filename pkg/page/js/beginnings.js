// @ts-check
// Example beginnings of texts, by the training domain of a model.

/** @type {Record<string, string[]>} */
const byDomain = {
  novels: ['The old lighthouse stood', 'One pale afternoon', 'Nobody in the village knew why'],
  abc: ['X:1\nT:The Kettle\nM:3/4\nL:1/8\nK:G\n', 'X:1\nT:Morning Reel\nM:4/4\nL:1/8\nK:D\n', 'X:1\nT:'],
  chords: ['C-major pop : chorus', 'G-major folk : verse', 'A-minor jazz :'],
  forms: [
    '\n\nHilda, a tall weaver of 43 years, keeps house at Lower Sands with two children.\n',
    '\n\nIn Lower Sands it snows at -3.5 degrees with a wind of 24 km/h; there is a warning.\n',
  ],
}
const any = ['Once upon a time', 'The capital of France is', 'Three reasons to walk to work:\n1.']

/**
 * @param {import('./state.js').Model} model
 * @returns {string[]}
 */
export function beginnings(model) {
  return byDomain[model.run?.domain ?? ''] ?? byDomain[model.name] ?? any
}
