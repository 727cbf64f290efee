// @ts-check
// Vectors as points of a plane: principal components, exactly. Pure.

/** @typedef {{x: number, y: number}} Point */

const sweeps = 60 // bounds the solver; it converges quadratically within ten

/**
 * Eigenvalues, the largest first, and eigenvectors of a symmetric matrix, by cyclic Jacobi rotations.
 * Source: Golub and Van Loan, Matrix Computations, 4th edition, section 8.5.
 * @param {number[][]} matrix
 */
export function eigen(matrix) {
  const n = matrix.length, a = matrix.map((row) => [...row])
  const v = a.map((_, i) => a.map((_, j) => i === j ? 1 : 0)) // v[i][k]: entry i of vector k
  const size = Math.hypot(...a.flat())
  for (let sweep = 0; sweep < sweeps && off(a) > 1e-15 * size; sweep++) {
    for (let p = 0; p < n; p++) for (let q = p + 1; q < n; q++) rotate(a, v, p, q)
  }
  const order = a.map((_, k) => k).sort((k, l) => a[l][l] - a[k][k] || k - l)
  return { values: order.map((k) => a[k][k]), vectors: order.map((k) => v.map((row) => row[k])) }
}

/** The norm of the entries off the diagonal. @param {number[][]} a */
const off = (a) => Math.hypot(...a.flatMap((row, i) => row.filter((_, j) => j !== i)))

/**
 * Makes a[p][q] zero by a rotation of two coordinates.
 * @param {number[][]} a @param {number[][]} v @param {number} p @param {number} q
 */
function rotate(a, v, p, q) {
  if (a[p][q] === 0) return
  const tau = (a[q][q] - a[p][p]) / (2 * a[p][q])
  const t = (tau < 0 ? -1 : 1) / (Math.abs(tau) + Math.hypot(1, tau)) // the smaller root of t² + 2τt − 1
  const c = 1 / Math.hypot(1, t), s = t * c
  for (const rows of [a, v]) {
    for (const row of rows) [row[p], row[q]] = [c * row[p] - s * row[q], s * row[p] + c * row[q]]
  }
  const [rp, rq] = [a[p], a[q]]
  a[p] = rp.map((x, k) => c * x - s * rq[k])
  a[q] = rp.map((x, k) => s * x + c * rq[k])
  a[p][q] = a[q][p] = 0
}

/**
 * The first two principal components of the directions of vectors, and the share of the variance
 * that they keep. A component's largest coordinate is positive, so that a map never mirrors itself.
 * @param {number[][]} vectors of the same length
 * @returns {{points: Point[], share: number}}
 */
export function plane(vectors) {
  const units = vectors.map((v) => {
    const norm = Math.hypot(...v)
    return norm ? v.map((x) => x / norm) : v
  })
  const mean = (units[0] ?? []).map((_, i) => units.reduce((sum, u) => sum + u[i], 0) / units.length)
  const centred = units.map((u) => u.map((x, i) => x - mean[i]))
  // Of n vectors the n×n matrix of products has the nonzero eigenvalues of the covariance.
  const { values, vectors: axes } = eigen(centred.map((a) => centred.map((b) => a.reduce((sum, x, i) => sum + x * b[i], 0))))
  const total = values.reduce((sum, x) => sum + Math.max(x, 0), 0)
  const real = values.map((x) => total > units.length * 1e-24 ? Math.max(x, 0) : 0) // equal vectors differ by rounding
  const [xs, ys] = [0, 1].map((k) => upright(axes[k] ?? []).map((x) => x * Math.sqrt(real[k] ?? 0)))
  return {
    points: units.map((_, i) => ({ x: xs[i] ?? 0, y: ys[i] ?? 0 })),
    share: real[0] ? (real[0] + (real[1] ?? 0)) / real.reduce((a, b) => a + b) : 1,
  }
}

/** A vector or its opposite: the one whose first largest entry is positive. @param {number[]} v */
function upright(v) {
  const most = Math.max(...v.map(Math.abs))
  const first = v.find((x) => Math.abs(x) > most * (1 - 1e-6)) ?? 0
  return first < 0 ? v.map((x) => -x) : v
}
