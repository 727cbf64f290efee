package schema

// prune deletes the members of v that are null or contain nothing else, and reports
// whether v is such a value itself. Lists keep their elements, because paths use their
// indices.
func prune(v any) (gone bool) {
	switch v := v.(type) {
	case nil:
		return true
	case map[string]any:
		had := len(v)
		for name, value := range v {
			if prune(value) {
				delete(v, name)
			}
		}
		return had > 0 && len(v) == 0
	case []any:
		gone = len(v) > 0
		for _, value := range v {
			gone = prune(value) && gone
		}
	}
	return gone
}

// graft restores in body what [prune] removed from defaults along p, which is
// definite, so that p leads to a place.
func (p path) graft(defaults, body any) {
	for _, s := range p {
		switch in := body.(type) {
		case map[string]any:
			from, _ := defaults.(map[string]any)
			v, ok := from[s.name]
			if s.kind != member || !ok {
				return
			}
			if _, ok := in[s.name]; !ok {
				in[s.name] = plain(v)
				prune(in[s.name])
			}
			defaults, body = v, in[s.name]
		case []any:
			from, _ := defaults.([]any)
			if s.kind != element || s.index < 0 || s.index >= min(len(from), len(in)) {
				return
			}
			defaults, body = from[s.index], in[s.index]
		default:
			return
		}
	}
}
