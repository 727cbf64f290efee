package schema

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"glossa/pkg/llm"
	"glossa/pkg/spelling"
)

// A Key is a canonical key: a name that callers of this project send and read. Records
// may map other keys, whose meaning is up to the caller and the model.
type Key struct {
	Name     string
	Sent     bool // in a request; else in an answer
	Meaning  string
	Synonyms []string // providers' names, which records should not use
}

// Keys returns the canonical keys: those of [llm.Params], and those of API layer.
func Keys() []Key { return append(requestKeys(), answerKeys()...) }

func requestKeys() []Key {
	return []Key{
		{"prompt", true, "the text to continue", []string{"inputs", "input_text"}},
		{"messages", true, "the chat, in the model's own format", nil},
		{"system", true, "the text of a chat's system messages", []string{"system_prompt", "preamble"}},
		{"stream", true, "true if the call is streamed", nil},
		{"n", true, "the number of completions", []string{"num_generations", "num_results"}},

		{"max_new_tokens", true, "the maximum number of tokens", []string{"max_tokens", "max_gen_len", "max_tokens_to_sample", "max_token_count"}},
		{"stop", true, "strings that end the text", []string{"stop_sequences"}},
		{"seed", true, "the same seed gives the same text", []string{"random_seed"}},
		{"best_of", true, "generates this number of texts and returns the best", nil},
		{"truncate", true, "keeps only this number of tokens at the end of the prompt; for embeddings and ranking, what happens to longer texts, in the model's own words", nil},
		{"return_full_text", true, "whether the text begins with the prompt", []string{"return_prompt"}},
		{"tokens", true, "whether to return tokens", nil},
		{"logprobs", true, "returns log-probabilities, with this number of the likeliest tokens", []string{"top_logprobs"}},
		{"temperature", true, "0 is greedy", nil},
		{"top_k", true, "samples from this number of the likeliest tokens; 0: all", []string{"k"}},
		{"top_p", true, "samples from the likeliest tokens up to this probability; 1: all", []string{"p"}},
		{"typical_p", true, "samples from the most typical tokens up to this probability; 1: all", nil},
		{"logit_bias", true, "added to logits, by token id", nil},
		{"repetition_penalty", true, "divides logits of tokens that occurred; 1: off", nil},
		{"presence_penalty", true, "subtracted from logits of tokens that occurred; 0: off", nil},
		{"frequency_penalty", true, "subtracted for each occurrence of a token; 0: off", []string{"count_penalty"}},
		{"repetition_penalties_include_prompt", true, "whether tokens of the prompt count as occurrences", nil},
		{"use_multiplicative_presence_penalty", true, "whether penalties multiply", nil},
		{"use_multiplicative_frequency_penalty", true, "whether the frequency penalty multiplies", nil},
		{"schema", true, "a JSON Schema that the text follows", []string{"json_schema", "guided_json"}},
		{"grammar", true, "a grammar in GBNF that the text follows", []string{"guided_grammar"}},
		{"tools", true, "functions that a chat may call, in OpenAI's form", nil},
		{"tool_choice", true, "which functions to call, in OpenAI's form", nil},
		{"must_call", true, "whether the answer must be a call", nil},
		{"one_call", true, "whether the answer has at most one call", nil},
		{"thinking", true, "whether the model reasons before its answer", []string{"enable_thinking"}},
		{"reasoning_effort", true, "how much the model reasons: minimal, low, medium, high, xhigh", nil},
		{"max_thinking_tokens", true, "the maximum number of tokens of reasoning", []string{"budget_tokens", "thinking_budget"}},
		{"chat_template_kwargs", true, "variables of the model's chat template, an object", nil},
		{"continue_final_message", true, "whether the answer continues the last message", nil},

		{"input", true, "the texts to embed: a list, or one text", nil},
		{"input_type", true, "what the vectors are for, in the model's own words", nil},
		{"dimensions", true, "the number of values of a vector", []string{"output_dimension"}},
		{"normalize", true, "whether vectors have length 1", nil},
		{"prompt_name", true, "the name of the model's text before each input", nil},
		{"query", true, "the text for which documents are ranked", nil},
		{"documents", true, "the texts to rank, a list", nil},
		{"raw_scores", true, "whether scores are logits", nil},
		{"max_tokens_per_doc", true, "the model reads at most this number of tokens of a document", nil},

		{"do_sample", true, "of TGI, for /invoke", nil},
		{"details", true, "of TGI, for /invoke", nil},
		{"decoder_input_details", true, "of TGI, for /invoke", nil},
		{"watermark", true, "of TGI, for /invoke", nil},
	}
}

func answerKeys() []Key {
	return []Key{
		{"generated_text", false, "the text, or its next piece", []string{"completion", "output_text"}},
		{"reasoning", false, "what the model thought before the text, or its next piece", []string{"reasoning_content"}},
		{"finish_reason", false, "why the text ended, in the provider's own words", []string{"stop_reason", "finish", "completion_reason"}},
		{"input_tokens", false, "tokens of the prompt", []string{"prompt_tokens"}},
		{"cached_tokens", false, "how many of input_tokens the provider read from its cache", []string{"cached_input_tokens"}},
		{"output_tokens", false, "tokens of the text", []string{"completion_tokens"}},
		{"reasoning_tokens", false, "how many of output_tokens are reasoning", nil},
		{"generated_tokens", false, "the same as output_tokens", nil},
		{"tool_calls", false, "calls, in OpenAI's form", nil},
		{"embedding", false, "the vector of the one text of a call", nil},
		{"embeddings", false, "the vectors of the texts, a list", nil},
		{"results", false, "a list of objects with index and relevance_score (or score), one for each document", nil},
		{"text", false, "the token's text", nil},
		{"id", false, "the token's id", nil},
		{"special", false, "whether the token is a special one", nil},
	}
}

// Finish returns the reason for a provider's finish word, in any case. Unknown words,
// and "stop", which most providers use for both, are [llm.FinishEOS].
func Finish(word string) llm.Finish {
	switch strings.ToLower(word) {
	case "stop_sequence", "stop_criteria_met", "stop_sequence_reached":
		return llm.FinishStop
	case "length", "max_tokens", "max_length":
		return llm.FinishLength
	case "model_context_window_exceeded", "model_length", "error_limit":
		return llm.FinishContext
	case "content_filter", "content_filtered", "guardrail_intervened", "refusal", "error_toxic", "safety":
		return llm.FinishFiltered
	}
	return llm.FinishEOS
}

// nearKey returns the canonical key that name probably means, "" if it is one itself
// or similar to none.
func nearKey(name string) (near string) {
	keys := Keys()
	if slices.ContainsFunc(keys, func(k Key) bool { return k.Name == name }) { // the common case: the rest is slow
		return ""
	}
	for _, k := range keys {
		if slices.ContainsFunc(k.Synonyms, func(s string) bool { return squeeze(s) == squeeze(name) }) {
			return k.Name
		}
		off := spelling.Distance(name, k.Name)
		if squeeze(name) == squeeze(k.Name) || len(k.Name) >= 4 && off == 1 || len(k.Name) >= 9 && off == 2 {
			near = k.Name
		}
	}
	return near
}

// squeeze normalises maxNewTokens and max_new_tokens to the same string.
func squeeze(name string) string {
	return strings.ToLower(strings.ReplaceAll(strings.ReplaceAll(name, "_", ""), "-", ""))
}

// paramNames returns the parameters by their squeezed names and synonyms.
func paramNames() map[string]string {
	names := map[string]string{}
	for _, k := range Keys() {
		if k.Sent {
			names[squeeze(k.Name)] = k.Name
			for _, s := range k.Synonyms {
				names[squeeze(s)] = k.Name
			}
		}
	}
	return names
}

// effective reports whether v differs from the parameter's value without effect, if it
// has one; see the tags of [llm.Params].
func effective(param string, v any) bool {
	for f := range reflect.TypeFor[llm.Params]().Fields() {
		name, neutral, _ := strings.Cut(f.Tag.Get("llm"), ",")
		if name != param {
			continue
		}
		switch v := v.(type) {
		case bool:
			return v && f.Type.Elem().Kind() == reflect.Bool
		case []any:
			return len(v) > 0 && f.Type.Kind() == reflect.Slice
		case json.Number:
			x, err := v.Float64()
			return err == nil && neutral != "" && fmt.Sprint(x) != neutral
		}
	}
	return false
}
