// @ts-check
// The switch between light and dark. Without a choice the page follows the system.

const key = 'glossa-theme'

/** @param {HTMLButtonElement} button */
export function theme(button) {
  const dark = matchMedia('(prefers-color-scheme: dark)')
  const root = document.documentElement
  const now = () => root.dataset.theme ?? (dark.matches ? 'dark' : 'light')
  const label = () => {
    const other = now() === 'dark' ? 'light' : 'dark'
    button.textContent = other === 'dark' ? 'Dark' : 'Light'
    button.setAttribute('aria-label', `Switch to ${other} colours`)
  }
  const had = stored()
  if (had) root.dataset.theme = had
  button.addEventListener('click', () => {
    root.dataset.theme = now() === 'dark' ? 'light' : 'dark'
    store(root.dataset.theme)
    label()
  })
  dark.addEventListener('change', label)
  label()
}

function stored() {
  try {
    const value = localStorage.getItem(key)
    return value === 'light' || value === 'dark' ? value : ''
  } catch {
    return '' // storage is off
  }
}

/** @param {string} value */
function store(value) {
  try {
    localStorage.setItem(key, value)
  } catch {
    // then it lasts as long as the page
  }
}
