// @ts-check
// Files as images that a message can hold: data URLs within the server's limits.

/** The limits of the server for each request. Tests compare them with pkg/openaiapi. */
export const limits = { images: 20, bytes: 3_750_000 }

const longest = 2048 // pixels of the longer edge of an image that was too large
const quality = 0.85 // of its JPEG, which has less than 3 MB, even of noise

/** How files may be, for users. */
export const rules = `PNG or JPEG, at most ${limits.images} images. Those above ${limits.bytes / 1e6} MB are scaled down to ${longest} pixels.`

/**
 * An image to send.
 * @typedef {object} Picture
 * @property {string} name of the file
 * @property {string} url a data URL
 * @property {string} size the new size if it was scaled down, such as 2048 × 1536; ''
 */

/**
 * Reads a file, and scales it down if it is too large. Throws a sentence for users.
 * @param {File} file
 * @returns {Promise<Picture>}
 */
export async function readImage(file) {
  const type = kind(new Uint8Array(await file.slice(0, 8).arrayBuffer()))
  if (!type) throw new Error(`${file.name} is not a PNG or JPEG image.`)
  const large = file.size > limits.bytes
  const bitmap = await createImageBitmap(file).catch(() => null) // turned as its EXIF says
  if (!bitmap) throw new Error(large ? `${file.name} has more than ${limits.bytes.toLocaleString('en')} bytes and cannot be scaled down.` : `${file.name} cannot be read as an image.`)
  const picture = large ? scaled(bitmap) : { url: await dataURL(new Blob([file], { type })), size: '' }
  bitmap.close()
  return { name: file.name, ...picture }
}

/**
 * The media type of an image by its first bytes; '' if it is neither PNG nor JPEG.
 * @param {Uint8Array} head
 */
export function kind(head) {
  const is = (/** @type {number[]} */ ...bytes) => bytes.every((b, i) => head[i] === b)
  return is(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a) ? 'image/png' : is(0xff, 0xd8, 0xff) ? 'image/jpeg' : ''
}

/** @param {ImageBitmap} bitmap */
function scaled(bitmap) {
  const by = Math.min(1, longest / Math.max(bitmap.width, bitmap.height))
  const canvas = document.createElement('canvas')
  canvas.width = Math.max(1, Math.round(bitmap.width * by))
  canvas.height = Math.max(1, Math.round(bitmap.height * by))
  const to = /** @type {CanvasRenderingContext2D} */ (canvas.getContext('2d'))
  to.fillStyle = '#fff' // models see transparency as white
  to.fillRect(0, 0, canvas.width, canvas.height)
  to.imageSmoothingQuality = 'high'
  to.drawImage(bitmap, 0, 0, canvas.width, canvas.height)
  return { url: canvas.toDataURL('image/jpeg', quality), size: `${canvas.width} × ${canvas.height}` }
}

/** @param {Blob} blob @returns {Promise<string>} */
function dataURL(blob) {
  return new Promise((done, failed) => {
    const reader = new FileReader()
    reader.onload = () => done(/** @type {string} */ (reader.result))
    reader.onerror = () => failed(reader.error)
    reader.readAsDataURL(blob)
  })
}
