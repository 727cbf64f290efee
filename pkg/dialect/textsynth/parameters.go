package textsynth

import "glossa/pkg/httpx"

// Parameters tells what becomes of each key of each request, named "route key".
// Nothing is refused and nothing is without effect; a key that is not here is
// refused.
func Parameters() []httpx.Parameter {
	list := []httpx.Parameter{
		{Name: "logprob context", Note: "a string; empty: the model's end-of-text token"},
		{Name: "logprob continuation", Note: "a string, not empty"},
		{Name: "translate text", Note: "1 to 64 strings"},
		{Name: "translate source_lang", Note: "one of the 99 language codes, or auto"},
		{Name: "translate target_lang", Note: "one of the 99 language codes"},
		{Name: "translate num_beams", Note: "1 to 5; default 4"},
		{Name: "translate split_sentences", Note: "default true"},
	}
	for i := range list {
		list[i].Disposition = httpx.Honoured
	}
	return list
}
