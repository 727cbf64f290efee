package textsynth

import (
	"strings"

	"glossa/pkg/wire"
)

// Parameters tells what becomes of each key of each request, named "route key".
// All are honoured; a key that is not here is refused.
func Parameters() []wire.Parameter {
	list := []wire.Parameter{
		{Name: "completions prompt", Note: "a string, or 1 to 64 of them"},
		{Name: "completions max_tokens", Note: "0 or more; default 100. The end of the context ends a text too"},
		{Name: "completions stream", Note: "default false"},
		{Name: "completions stop", Note: "a string or up to 5, none empty"},
		{Name: "completions n", Note: "1 to 16; default 1"},
		{Name: "completions temperature", Note: "0 (greedy) or more; default 1"},
		{Name: "completions top_k", Note: "1 to 1000; default 40"},
		{Name: "completions top_p", Note: "0 (the likeliest token alone) to 1 (off); default 0.9"},
		{Name: "completions typical_p", Note: "0 to 1 (off); default 1. Below 1 it takes the place of top_p"},
		{Name: "completions logit_bias", Note: "token ids to biases of -100 to 100"},
		{Name: "completions presence_penalty", Note: "-2 to 2; default 0"},
		{Name: "completions frequency_penalty", Note: "-2 to 2; default 0"},
		{Name: "completions repetition_penalty", Note: "above 0; default 1"},
		{Name: "completions seed", Note: "0 (random, the default) to 2147483647"},
		{Name: "completions schema", Note: "a JSON Schema. The text parses and keeps it wherever max_tokens ends it; fewer than the shortest text needs are refused"},
		{Name: "completions grammar", Note: "a grammar in GBNF, without schema only; the same is true of it"},
		{Name: "logprob context", Note: "a string; empty: the model's end-of-text token"},
		{Name: "logprob continuation", Note: "a string, not empty"},
		{Name: "translate text", Note: "1 to 64 strings"},
		{Name: "translate source_lang", Note: "one of the 99 language codes, or auto"},
		{Name: "translate target_lang", Note: "one of the 99 language codes"},
		{Name: "translate num_beams", Note: "1 to 5; default 4"},
		{Name: "translate split_sentences", Note: "default true"},
		{Name: "tokenize text", Note: "a string"},
		{Name: "tokenize token_content_type", Note: "none (the default), or base64 for the bytes of each token"},
	}
	for i := range list {
		list[i].Disposition = wire.Honoured
		switch route, name, _ := strings.Cut(list[i].Name, " "); {
		case route != "completions":
			list[i].Remote = wire.NotRemote
		case name == "n":
			list[i].Remote = wire.ByGlossa
		case name == "schema" || name == "grammar":
			list[i].Remote = wire.Checked
		case name != "prompt" && name != "stream":
			list[i].Remote = wire.ByRecord
		}
	}
	return list
}
