package alephalpha

import (
	"slices"

	"glossa/pkg/wire"
)

// Dispositions, short.
const (
	served   = wire.Honoured
	declined = wire.Refused
	noEffect = wire.NoEffect
)

// Parameters tells what becomes of each key of each request, named "route key"; keys
// inside of prompt items are written with a dot. A key that is not here is refused.
func Parameters() []wire.Parameter {
	target := []wire.Parameter{
		{Name: "model", Disposition: served, Note: "a name, an alias or family/name"},
		{Name: "hosting", Disposition: served, Note: "cloud or another that /models_available lists for the model; default: any"},
		{Name: "tags", Disposition: noEffect, Note: "labels the caller"},
	}
	attention := []wire.Parameter{
		{Name: "contextual_control_threshold", Disposition: noEffect, Note: "there are no controls"},
		{Name: "control_log_additive", Disposition: noEffect, Note: "there are no controls"},
	}
	list := []wire.Parameter{
		{Name: "prompt.type", Disposition: served, Note: "of an item: text or token_ids; image is refused"},
		{Name: "prompt.data", Disposition: served, Note: "of an item: a string or token ids"},
		{Name: "prompt.controls", Disposition: declined, Note: "attention cannot be manipulated", Neutral: []string{`[]`}},
	}
	for _, route := range []struct {
		path string
		keys [][]wire.Parameter
	}{
		{"/complete", [][]wire.Parameter{target, completeKeys(), samplingKeys(), attention, refusedKeys()}},
		{"/embed", [][]wire.Parameter{target, embedKeys(), attention}},
		{"/evaluate", [][]wire.Parameter{target, evaluateKeys(), attention}},
		{"/tokenize", [][]wire.Parameter{target, tokenizeKeys()}},
		{"/detokenize", [][]wire.Parameter{target, {{Name: "token_ids", Disposition: served, Note: "a list, perhaps empty"}}}},
		{"/explain", [][]wire.Parameter{target, explainKeys()}},
		{"/translate", [][]wire.Parameter{target, {
			{Name: "source", Disposition: served, Note: "a text; its language is detected"},
			{Name: "target_language", Disposition: served, Note: "an ISO 639 code, of those that the model has"},
		}}},
		{"/users/me/token, /get_token", [][]wire.Parameter{{
			{Name: "email", Disposition: served, Note: "a string"}, {Name: "password", Disposition: served, Note: "a string"},
		}}},
		{"/*", [][]wire.Parameter{{{Name: "?nice", Disposition: noEffect, Note: "requests are served first in, first out"}}}},
	} {
		for _, p := range slices.Concat(route.keys...) {
			if p.Disposition == served {
				p.Remote = remotely(route.path, p.Name)
			}
			p.Name = route.path + " " + p.Name
			list = append(list, p)
		}
	}
	return list
}

// remotely is what becomes of a key that is served where a remote model answers: it
// completes texts.
func remotely(path, name string) string {
	switch path {
	case "/embed", "/evaluate", "/tokenize", "/detokenize", "/explain", "/translate":
		return wire.NotRemote
	case "/complete":
	default:
		return ""
	}
	switch name {
	case "model", "hosting", "stream":
		return ""
	case "prompt":
		return "texts; token_ids are refused"
	case "n", "echo":
		return wire.ByGlossa
	case "log_probs", "tokens":
		return wire.NotRemote
	}
	return wire.ByRecord
}

func completeKeys() []wire.Parameter {
	return []wire.Parameter{
		{Name: "prompt", Disposition: served, Note: "a string, perhaps empty, or a list of items; one that does not fit the context is refused"},
		{Name: "maximum_tokens", Disposition: served, Note: "0 or more; default: to the end of the context"},
		{Name: "n", Disposition: served, Note: "1 to 256; default 1"},
		{Name: "best_of", Disposition: served, Note: "more than n; those with the highest mean log-probability are returned"},
		{Name: "stop_sequences", Disposition: served, Note: "strings, none empty"},
		{Name: "log_probs", Disposition: served, Note: "0 (the tokens' own) or with so many of the likeliest; default none. They are the model's, before bias, penalties and temperature"},
		{Name: "tokens", Disposition: served, Note: "default false"},
		{Name: "echo", Disposition: served, Note: "default false"},
		{Name: "stream", Disposition: served, Note: "default false"},
		{Name: "disable_optimizations", Disposition: noEffect, Note: "prompts and completions are left as they are"},
	}
}

func samplingKeys() []wire.Parameter {
	return []wire.Parameter{
		{Name: "temperature", Disposition: served, Note: "0 to 1; 0 is greedy, whatever top_k and top_p; default 0, and with top_k or top_p 1"},
		{Name: "top_k", Disposition: served, Note: "0 (off, the default) or more"},
		{Name: "top_p", Disposition: served, Note: "0 (off, the default) to 1"},
		{Name: "logit_bias", Disposition: served, Note: "token ids to biases"},
		{Name: "presence_penalty", Disposition: served, Note: "default 0"},
		{Name: "frequency_penalty", Disposition: served, Note: "default 0"},
		{Name: "repetition_penalties_include_prompt", Disposition: served, Note: "default false"},
		{Name: "use_multiplicative_presence_penalty", Disposition: served, Note: "default false; it is for the frequency penalty too if the next key is absent"},
		{Name: "use_multiplicative_frequency_penalty", Disposition: served, Note: "default: as the presence penalty"},
		{Name: "sequence_penalty_min_length", Disposition: noEffect, Note: "there is no sequence penalty"},
		{Name: "use_multiplicative_sequence_penalty", Disposition: noEffect, Note: "there is no sequence penalty"},
		{Name: "completion_bias_inclusion_first_token_only", Disposition: noEffect, Note: "there is no such bias"},
		{Name: "completion_bias_exclusion_first_token_only", Disposition: noEffect, Note: "there is no such bias"},
	}
}

func refusedKeys() []wire.Parameter {
	return []wire.Parameter{
		{Name: "minimum_tokens", Disposition: declined, Note: "a text may end at once", Neutral: []string{`0`}},
		{Name: "sequence_penalty", Disposition: declined, Note: "sequences are not penalised", Neutral: []string{`0`, `0.0`}},
		{Name: "penalty_bias", Disposition: declined, Note: "only the prompt and the completion are penalised", Neutral: []string{`""`}},
		{Name: "penalty_exceptions", Disposition: declined, Note: "penalties have no exceptions", Neutral: []string{`[]`}},
		{Name: "penalty_exceptions_include_stop_sequences", Disposition: declined, Note: "penalties have no exceptions", Neutral: []string{`false`}},
		{Name: "repetition_penalties_include_completion", Disposition: declined, Note: "the completion is always penalised", Neutral: []string{`true`}},
		{Name: "completion_bias_inclusion", Disposition: declined, Note: "texts are not biased, only tokens are, by logit_bias", Neutral: []string{`[]`}},
		{Name: "completion_bias_exclusion", Disposition: declined, Note: "texts are not biased, only tokens are, by logit_bias", Neutral: []string{`[]`}},
		{Name: "steering_concepts", Disposition: declined, Note: "there are no steering concepts", Neutral: []string{`[]`}},
		{Name: "raw_completion", Disposition: declined, Note: "the completion is as the model made it", Neutral: []string{`false`}},
	}
}

func embedKeys() []wire.Parameter {
	return []wire.Parameter{
		{Name: "prompt", Disposition: served, Note: "as in /complete, not empty"},
		{Name: "layers", Disposition: served, Note: "0: the embeddings, i: the output of layer i, -1: that of the last; at least one"},
		{Name: "pooling", Disposition: served, Note: "mean, max, last_token, abs_max; null: a vector for each token"},
		{Name: "tokens", Disposition: served, Note: "default false"},
		{Name: "normalize", Disposition: served, Note: "to the length 1; default false"},
		{Name: "type", Disposition: declined, Note: "a layer has one embedding"},
	}
}

func evaluateKeys() []wire.Parameter {
	return []wire.Parameter{
		{Name: "prompt", Disposition: served, Note: "as in /complete"},
		{Name: "completion_expected", Disposition: served, Note: "a string, not empty"},
	}
}

func explainKeys() []wire.Parameter {
	return []wire.Parameter{
		{Name: "prompt", Disposition: served, Note: "as in /complete, not empty"},
		{Name: "target", Disposition: served, Note: "a string, not empty"},
		{Name: "prompt_granularity", Disposition: served, Note: "its type is token, word, sentence, paragraph, or custom with a delimiter; default: the one that gives about 30 parts, and there may be 256. Token ids are explained one by one"},
		{Name: "target_granularity", Disposition: served, Note: "complete (the default), or token: an explanation of each"},
		{Name: "postprocessing", Disposition: served, Note: "none (the default), absolute or square"},
		{Name: "normalize", Disposition: served, Note: "the least score becomes 0, the greatest 1; default false"},
		{Name: "control_factor", Disposition: noEffect, Note: "0 up to 1: a part is taken out of the prompt whole, whatever the factor; 1 and above are refused"},
		{Name: "control_token_overlap", Disposition: noEffect, Note: "parts are taken out of the text, not of its tokens"},
		{Name: "control_log_additive", Disposition: noEffect, Note: "attention is not manipulated"},
		{Name: "contextual_control_threshold", Disposition: declined, Note: "only the part itself is taken out, not what is similar to it"},
	}
}

func tokenizeKeys() []wire.Parameter {
	return []wire.Parameter{
		{Name: "prompt", Disposition: served, Note: "a string"},
		{Name: "tokens", Disposition: served, Note: "whether tokens are wanted, as the vocabulary spells them"},
		{Name: "token_ids", Disposition: served, Note: "whether token ids are wanted"},
	}
}
