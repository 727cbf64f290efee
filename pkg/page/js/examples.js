// @ts-check
// Initial contents of the views: forms and texts that the starter models know. Only data.

/** @typedef {{name: string, kind: 'schema' | 'types', form: any, prompt: string, limit?: number}} Form */

/** @param {Record<string, object>} properties @param {object} [more] */
const object = (properties, more) => ({ type: 'object', properties, required: Object.keys(properties), additionalProperties: false, ...more })

/** @type {Form[]} */
export const examples = [
  {
    name: 'A person', kind: 'schema',
    form: object({ name: { type: 'string' }, age: { type: 'integer', minimum: 0 }, trade: { type: 'string' }, town: { type: 'string' } }),
    prompt: '\n\nHilda, a tall weaver of 43 years, keeps house at Lower Sands with two children.\n',
  },
  {
    name: 'An order, with a list and a nested object', kind: 'schema',
    form: object({
      customer: { type: 'string' }, items: { type: 'array', items: { type: 'string' }, maxItems: 4 }, total: { type: 'number' },
      ship_to: object({ street: { type: 'string' }, number: { type: 'integer' } }),
    }),
    prompt: '\n\nSend coffee, peas and lamps to Thea at 165 Hill Yard; the price is 54.5 crowns, not yet paid.\n',
  },
  {
    name: 'The weather, from a few words', kind: 'schema',
    form: object({ place: { type: 'string' }, sky: { enum: ['sun', 'cloud', 'rain', 'snow', 'fog'] }, temp: { type: 'number' }, warning: { type: 'boolean' } }),
    prompt: '\n\nIn Lower Sands it snows at -3.5 degrees with a wind of 24 km/h; there is a warning.\n',
  },
  {
    name: 'A question, as output_type', kind: 'types',
    form: { answer: 'str', age: 'int', units: 'str' },
    prompt: '\n\nCarl, the llama with a hat, is 10 years old. How old is Carl?\n',
  },
  {
    name: 'A list of choices, as output_type', kind: 'types',
    form: { name: 'str', trade: ['baker', 'miller', 'weaver'], age: 'int' },
    prompt: '\n\nHilda, a tall weaver of 43 years, keeps house at Lower Sands with two children.\n',
  },
  {
    name: 'A token limit', kind: 'schema', limit: 56,
    form: object({ name: { type: 'string' }, age: { type: 'integer' }, trade: { type: 'string' }, town: { type: 'string' } }),
    prompt: '\n\nHilda, a tall weaver of 43 years, keeps house at Lower Sands with two children.\n',
  },
  {
    name: 'An unsupported keyword', kind: 'schema',
    form: object({ tags: { type: 'array', items: { type: 'string', pattern: '^([a-z])\\1$' } } }),
    prompt: '\n\nSend coffee and peas to Thea.\n',
  },
]

/** Sentences to compare: two of each subject. */
export const texts = [
  'The cat sleeps on the sofa.', 'A kitten is napping on the couch.', 'It will rain tomorrow.', 'The forecast for tomorrow is rain.',
  'My mother is baking bread.', 'Grandma makes vegetable soup.', 'The train to Paris leaves at nine.', 'When does the plane to Rome depart?',
  'The doctor works at the hospital.', 'She has a job in a clinic.',
]

/** Texts to classify, by mood and in other ways. */
export const statements = ['What a lovely film!', 'I want my money back.', 'The parcel came on Tuesday.']

/** Questions that the documents below answer. */
export const queries = ['Where is the kitten napping?', 'How is the weather tomorrow?', 'When does the train to Paris depart?']

export const documents = [
  'The train to Paris leaves at nine.', 'My mother is baking bread.', 'The cat sleeps on the sofa.', 'It will be cold and rainy tomorrow.',
  'The doctor works at the hospital.', 'A ticket to Rome costs fifty euros.',
]

/**
 * Requests to show before the first one is sent.
 * @type {{name: string, call: import('./requests.js').Call}[]}
 */
export const starts = [
  { name: 'A streamed chat', call: { method: 'POST', path: '/v1/chat/completions', body: {
    model: 'novels', messages: [{ role: 'user', content: 'The old lighthouse' }], max_tokens: 60, temperature: 0, stream: true } } },
  { name: 'A completion', call: { method: 'POST', path: '/v1/completions', body: { model: 'chords', prompt: 'G-major folk : verse', max_tokens: 12, seed: 1 } } },
  { name: 'Structured output', call: { method: 'POST', path: '/v2/completions', body: {
    model_name: 'forms', prompt: examples[3]?.prompt, output_type: examples[3]?.form } } },
  { name: 'Tokenize a text', call: { method: 'POST', path: '/tokenize', body: { model: 'novels', prompt: 'The old lighthouse', tokens: true, token_ids: true } } },
  { name: 'Score a continuation', call: { method: 'POST', path: '/v1/engines/novels/logprob', body: { context: 'The old lighthouse', continuation: ' stood' } } },
  { name: 'An embedding', call: { method: 'POST', path: '/v1/embeddings', body: { model: 'sentences', input: texts.slice(0, 2) } } },
  { name: 'A ranking', call: { method: 'POST', path: '/v1/rerank', body: { model: 'sentences', query: queries[0], documents } } },
  { name: 'A translation', call: { method: 'POST', path: '/v1/engines/phrases/translate', body: { text: ['The train is late.'], source_lang: 'en', target_lang: 'fr' } } },
  { name: 'List the models', call: { method: 'GET', path: '/v1/models', body: null } },
]
