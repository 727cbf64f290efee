// @ts-check
// The server's description of a request. Pure.

/**
 * The schema of a path's body: of several dialects that share the path, OpenAI's.
 * @param {any} path
 */
export function bodyOf(path) {
  const schema = path?.post?.requestBody?.content?.['application/json']?.schema
  return (schema?.anyOf ?? [schema]).find((/** @type {any} */ one) => one?.properties?.temperature)
}
