package remote

import (
	"glossa/pkg/llm"
	"glossa/pkg/schema"
)

// sampler returns the function that sets parameters in body.
//
// TGI, and therefore LMI, has do_sample. If it is not set, they decode greedily, unless a
// temperature other than 1, top_k, top_p or typical_p makes them sample regardless. They
// reject the neutral values of these, and a temperature of 0. So sampler sets do_sample
// to what the request means, and leaves neutral values out. Source: TGI,
// router/src/validation.rs and server/text_generation_server/utils/tokens.py.
func sampler(s *schema.Schema, p *llm.Params, body map[string]any) func(name string, v any) bool {
	const flag = "do_sample"
	set := s.Set(body)
	if !s.Takes(flag) {
		return set
	}
	greedy := p.Temperature != nil && *p.Temperature == 0
	switch {
	case greedy:
		set(flag, false)
	case p.Temperature != nil, p.TopK != nil && *p.TopK != 0, p.TopP != nil && *p.TopP != 1, p.TypicalP != nil && *p.TypicalP != 1:
		set(flag, true)
	}
	return func(name string, v any) bool {
		if s.Takes(name) && off(name, v, greedy) {
			return s.Silent(name) || set(name, nil)
		}
		return set(name, v)
	}
}

// off reports whether a sampling parameter is to have no effect.
func off(name string, v any, greedy bool) bool {
	switch name {
	case "temperature":
		return greedy
	case "top_k":
		return greedy || v == 0
	case "top_p", "typical_p":
		return greedy || v == 1.0
	}
	return false
}
