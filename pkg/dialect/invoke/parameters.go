package invoke

import (
	"strings"

	"glossa/pkg/wire"
)

// Parameters tells what becomes of each key of a request, and of each key of body that
// a model in the process takes: a remote model takes those that its record maps. A key
// that is not here is refused.
func Parameters() []wire.Parameter {
	honoured := func(name, note string) wire.Parameter {
		return wire.Parameter{Name: name, Disposition: wire.Honoured, Note: note}
	}
	list := []wire.Parameter{
		honoured("model_family", "local, bedrock or sagemaker, as /list_models has it"),
		honoured("model_name", "a name or an alias in that family"),
		honoured("body", "an object of canonical keys; null is passed on to a remote model, and is not sent to one in the process"),
		honoured("ignore_unmapped", "true: keys of body that the model has no place for are left out; false: they are refused, unless their value is null, false or empty. Default: as the model's record says, else GLOSSA_IGNORE_UNMAPPED, else false. The header X-Glossa-Ignored names what was left out"),
		honoured("empty_lines", "of /invoke_stream, true: an event of a remote model from which the record reads no key is a line {}; default: GLOSSA_EMPTY_LINES, else false"),
		honoured("body.prompt", "a text to be continued"),
		honoured("body.inputs", "prompt under the name that TGI has for it"),
		honoured("body.messages", "a chat instead of a prompt: role (system, user, assistant or tool) and content, a string or parts of type text"),
		honoured("body.system", "comes before the messages, or before the prompt, which then is a chat's"),
		honoured("body.stream", "false in /invoke; /invoke_stream sets it, where a record has a place for it"),
		honoured("body.max_new_tokens", "0 or more; default: to the end of the context"),
		honoured("body.stop", "an array of strings, none empty"),
		honoured("body.seed", "a 64-bit integer; default random"),
		honoured("body.best_of", "so many are made and the likeliest given; default 1"),
		honoured("body.truncate", "keep so many tokens of the prompt, the last ones; 0: as many as fit; default: a prompt that does not fit is refused"),
		honoured("body.return_full_text", "the text begins with the prompt; default false"),
		honoured("body.tokens", "tokens are told; default false"),
		honoured("body.logprobs", "tokens are told with their log-probabilities and so many of the likeliest in their places"),
		honoured("body.temperature", "0 (greedy) or more; default 0, or 1 with top_k, top_p or typical_p"),
		honoured("body.top_k", "0 (off) or more; default 0"),
		honoured("body.top_p", "0 (off) to 1 (off); default 1"),
		honoured("body.typical_p", "0 (off) to 1 (off); default 1. Between them 1 it takes the place of top_p"),
		honoured("body.logit_bias", "token ids to biases"),
		honoured("body.repetition_penalty", "0 or more; 0 and 1 are off; default 1"),
		honoured("body.presence_penalty", "default 0"),
		honoured("body.frequency_penalty", "default 0"),
		honoured("body.repetition_penalties_include_prompt", "default false"),
		honoured("body.use_multiplicative_presence_penalty", "default false"),
		honoured("body.use_multiplicative_frequency_penalty", "default as the former"),
		honoured("body.schema", "a JSON Schema that the text is held to"),
		honoured("body.grammar", "GBNF that the text is held to; not with schema"),
		honoured("body.tools", "functions that a chat may call, in OpenAI's form"),
		honoured("body.must_call", "the answer is a call; default false"),
		honoured("body.one_call", "the answer has one call at most; default false"),
	}
	for i := range list {
		if strings.HasPrefix(list[i].Name, "body.") {
			list[i].Remote = wire.ByRecord
		}
	}
	return list
}
