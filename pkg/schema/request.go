package schema

import "slices"

// Request returns the request for the canonical keys in body: a copy of the defaults
// with the value of each mapped key at its path. Like upstream, it changes only
// existing members, null overwrites, and keys without a place are omitted;
// [Schema.Unmapped] lists those. With omit_null in the record, null defaults are
// omitted unless their key is in body.
//
// Values are copied. The caller may change the result, which encodes as JSON.
func (s *Schema) Request(body map[string]any) map[string]any {
	out := plain(s.base).(map[string]any)
	for _, slot := range s.slots {
		if v, ok := body[slot.name]; ok {
			s.put(slot, out, v)
		}
	}
	return out
}

// Set returns a function that sets one canonical key in body, which [Schema.Request]
// made, and reports whether the record maps it. It is an argument for
// [llm.Params.Apply].
func (s *Schema) Set(body map[string]any) func(name string, value any) bool {
	return func(name string, value any) bool {
		slot := s.slot(name)
		return slot != nil && slot.exists && s.put(*slot, body, value)
	}
}

// put puts a copy of v in the places of a slot.
func (s *Schema) put(at slot, body map[string]any, v any) bool {
	if at.create {
		at.path.graft(s.defaults, body)
	}
	if s.form != nil {
		v = s.form.put(at.name, v)
	}
	return at.path.set(body, plain(v))
}

// Takes reports whether the record maps a key.
func (s *Schema) Takes(name string) bool {
	slot := s.slot(name)
	return slot != nil && slot.exists || s.reasoner.says(name)
}

// Silent reports whether the record maps a key with null as default, which leaves its
// value to the model.
func (s *Schema) Silent(name string) bool {
	slot := s.slot(name)
	return slot != nil && slot.silent
}

// Unmapped lists the keys of body that are not part of the request.
func (s *Schema) Unmapped(body map[string]any) (names []string) {
	for name := range body {
		if !s.Takes(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (s *Schema) slot(name string) *slot {
	i := slices.IndexFunc(s.slots, func(s slot) bool { return s.name == name })
	if i < 0 {
		return nil
	}
	return &s.slots[i]
}

// definite reports whether p leads to at most one place.
func (p path) definite() bool {
	return !slices.ContainsFunc(p, func(s step) bool { return s.kind != member && s.kind != element })
}
