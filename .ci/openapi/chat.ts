// The smallest requests that a client may send must type-check.
import type { paths } from './document'

type Body<P extends keyof paths> = paths[P] extends { post: { requestBody: { content: { 'application/json': infer B } } } } ? B : never

export const chat: Body<'/v1/chat/completions'> = { model: 'novels', messages: [{ role: 'user', content: 'hello' }] }
export const completion: Body<'/v1/completions'> = { model: 'novels', prompt: 'Once' }
export const embedding: Body<'/v1/embeddings'> = { model: 'novels', input: 'Once' }
export const complete: Body<'/complete'> = { model: 'novels', prompt: 'Once' }
export const text: Body<'/v1/engines/{engine_id}/completions'> = { prompt: 'Once' }
export const typed: Body<'/v2/completions'> = { model_name: 'novels', prompt: 'Once' }
export const invoke: Body<'/invoke'> = { model_family: 'local', model_name: 'novels', body: { prompt: 'Once' } }
