// @ts-check
// Values that the browser keeps for this page. Never the key.

/** @param {string} name @returns {any} null: there is none */
export function stored(name) {
  try {
    return JSON.parse(localStorage.getItem(name) ?? 'null')
  } catch {
    return null // storage is off, or holds something else
  }
}

/** @param {string} name @param {any} value a JSON value */
export function store(name, value) {
  try {
    localStorage.setItem(name, JSON.stringify(value))
  } catch {
    // then it lasts as long as the page
  }
}
