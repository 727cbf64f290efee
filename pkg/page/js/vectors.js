// @ts-check
// Similarities of vectors. Pure functions.

/**
 * The cosine of the angle between two vectors: 1 for the same direction, 0 for none.
 * @param {number[]} a @param {number[]} b of the same length
 */
export function cosine(a, b) {
  let [dot, aa, bb] = [0, 0, 0]
  a.forEach((x, i) => {
    dot += x * b[i]
    aa += x * x
    bb += b[i] * b[i]
  })
  return aa && bb ? dot / Math.sqrt(aa * bb) : 0
}

/** @param {number[][]} vectors @returns {number[][]} the cosine of each with each */
export const similarities = (vectors) => vectors.map((a) => vectors.map((b) => cosine(a, b)))

/** The index of the vector that is most similar to vector i; i if it is alone. @param {number[][]} matrix of similarities @param {number} i */
export function nearest(matrix, i) {
  const row = matrix[i] ?? []
  return row.reduce((best, value, j) => j !== i && (best === i || value > row[best]) ? j : best, i)
}

/**
 * The most and the least similar pair of vectors; null without a pair.
 * @param {number[][]} matrix of similarities
 */
export function extremes(matrix) {
  const pairs = matrix.flatMap((row, i) => row.slice(0, i).map((value, j) => ({ value, pair: [j, i] })))
  if (pairs.length === 0) return null
  pairs.sort((p, q) => q.value - p.value)
  return { most: pairs[0], least: pairs[pairs.length - 1] }
}
