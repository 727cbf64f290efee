// @ts-check
// The state that the views share: the models of the server, from its public lists.
import { settings, textOf } from './settings.js'

/** @typedef {import('./api.js').Api} Api */

/**
 * @typedef {object} Run the entry of /api/models for a model trained by Alpha
 * @property {string} id
 * @property {number} step
 * @property {number|null} lastLoss
 * @property {number} mtime milliseconds since 1970
 * @property {Record<string, any>} modelConfig
 * @property {Record<string, any>|null} trainConfig
 * @property {string} domain
 */

/**
 * @typedef {object} Model
 * @property {string} name
 * @property {string} family local, bedrock, sagemaker; '' if the server did not say
 * @property {''|'embed'|'rerank'|'classify'} task what it does that does not write; '': it writes or translates, or the server did not say
 * @property {string[]} labels of a classifier, in the order of its scores
 * @property {string} type the provider's word; ''
 * @property {boolean} streaming
 * @property {boolean} images whether it reads images in chats, as far as the server says
 * @property {string} description
 * @property {number} context tokens; 0: unknown
 * @property {string} size its number of parameters, such as 1.3M; '': unknown
 * @property {string} tokenizer bpe, char, word; '': unknown
 * @property {Run|null} run
 */

/**
 * @typedef {object} State
 * @property {Model[]} models
 * @property {string} model the name of the last choice
 * @property {number|null} codeOf id of the request in the view code; null: the last
 */

/**
 * @typedef {object} Mounted
 * @property {() => void} [show]
 * @property {() => void} [hide]
 * @property {() => void} [close] the view is not used any more
 */

/**
 * @typedef {object} App
 * @property {Api} api
 * @property {State} state
 * @property {Map<string, string>} images data URLs of the images in chats, by id: they are kept until the page is reloaded
 * @property {(again?: boolean) => Promise<Model[]>} models
 * @property {() => Promise<any>} openapi the server's description of itself
 * @property {(view: string) => void} go shows a view, and in it what follows a slash
 * @property {(id?: number) => void} code shows a request as code
 */

/** @returns {State} */
export function newState() {
  return { models: [], model: textOf(settings('page').model), codeOf: null }
}

/**
 * The models in the server's own order. The first list is required; the others add
 * properties if this address has them.
 * @param {Api} api
 * @returns {Promise<Model[]>}
 */
export async function loadModels(api) {
  const options = { background: true }
  /** @param {string} path */
  const optional = (path) => api.json('GET', path, undefined, options).catch(() => null)
  const [list, runs, kinds, details, tags] = await Promise.all([
    api.json('GET', '/v1/models', undefined, options),
    optional('/api/models'), optional('/list_models'), optional('/models_available'), optional('/api/tags'),
  ])
  /** @type {any[]} */
  const data = list?.data ?? []
  return data.map(({ id: name, task = '', labels = [] }) => {
    /** @type {Run|null} */
    const run = find(runs, (r) => r.name === name)
    const kind = find(kinds?.models, (k) => k.model_name === name)
    const detail = find(details, (d) => d.name === name)
    const tag = find(tags?.models, (m) => m.name === `${name}:latest`)
    return {
      name, task, labels, family: kind?.model_family ?? (run ? 'local' : ''), type: kind?.model_type ?? '', streaming: kind?.streaming ?? true, images: detail?.image_support === true,
      description: detail?.description ?? '', context: run?.modelConfig?.blockSize ?? detail?.max_context_size ?? 0,
      size: tag?.details?.parameter_size ?? '', tokenizer: run?.trainConfig?.tokenizer ?? '', run,
    }
  })
}

/**
 * @param {any} list
 * @param {(v: any) => boolean} is
 */
function find(list, is) {
  return Array.isArray(list) ? list.find(is) ?? null : null
}

/** The parts of the address after its view, such as #inside/similarity/NAME. */
export const address = () => location.hash.split('/').slice(1).map(decoded)

/** @param {string} text of an address */
function decoded(text) {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
