package schema

import "slices"

// Request makes a request of the canonical keys in body: a copy of the defaults in
// which the value of each key that the record maps stands where its path leads. As
// upstream does, it changes only what is there already, null overwrites, and a key
// that has no place is left out; [Schema.Unmapped] lists those. With omit_null in the
// record, defaults that are null are left out unless their key is in body.
//
// Values are copied. The result may be changed, and encodes as JSON.
func (s *Schema) Request(body map[string]any) map[string]any {
	out := plain(s.base).(map[string]any)
	for _, slot := range s.slots {
		if v, ok := body[slot.name]; ok {
			s.put(slot, out, v)
		}
	}
	return out
}

// Set returns a function that puts the value of one canonical key into body, which
// [Schema.Request] made, and tells whether the record has a place for it. It is what
// [llm.Params.Apply] needs.
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
	return at.path.set(body, plain(v))
}

// Takes tells whether the record has a place for a key.
func (s *Schema) Takes(name string) bool {
	slot := s.slot(name)
	return slot != nil && slot.exists
}

// Silent tells whether the record has a place for a key and leaves its value, null, to
// the model.
func (s *Schema) Silent(name string) bool {
	slot := s.slot(name)
	return slot != nil && slot.silent
}

// Unmapped lists the keys of body that no part of the request carries.
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

// definite tells whether p leads to one place at most.
func (p path) definite() bool {
	return !slices.ContainsFunc(p, func(s step) bool { return s.kind != member && s.kind != element })
}
