package jsonschema

// applicator reads a keyword that applies schemas to the value itself.
func (r *reader) applicator(key string, v *value) (err error) {
	s := r.s
	switch key {
	case "allOf":
		list, err := r.subschemas(key, v)
		s.all = append(s.all, list...)
		return err
	case "anyOf", "oneOf":
		list, err := r.subschemas(key, v)
		ch := choice{of: s, keyword: key, exclusive: key == "oneOf" && len(list) > 1}
		for i := range list {
			ch.lists = append(ch.lists, list[i:i+1:i+1])
		}
		s.choices = append(s.choices, ch)
		return err
	case "not":
		t, err := r.subschema(key, v)
		s.none = append(s.none, t)
		return err
	case "if":
		return r.condition(v)
	}
	if v.kind != objectKind {
		return s.refuse(key, "it must be an object")
	}
	for i, name := range v.keys {
		if err := r.dependency(key, name, v.items[i]); err != nil {
			return err
		}
	}
	return nil
}

// condition reads if, then and else: (if and then) or (not if and else).
func (r *reader) condition(v *value) error {
	cond, err := r.subschema("if", v)
	if err != nil {
		return err
	}
	then, otherwise := []*schema{cond}, []*schema{r.c.negated(r.s.node, cond)}
	branch := func(key string, list []*schema) []*schema {
		if v := r.v.get(key); v != nil && err == nil {
			var s *schema
			s, err = r.subschema(key, v)
			list = append(list, s)
		}
		return list
	}
	then, otherwise = branch("then", then), branch("else", otherwise)
	switch {
	case err != nil:
	case len(then)+len(otherwise) > 2:
		r.s.choices = append(r.s.choices, choice{of: r.s, keyword: "if", lists: [][]*schema{then, otherwise}})
	case r.c.draft >= draft2019:
		r.s.choices = append(r.s.choices, choice{of: r.s, keyword: "if", lists: [][]*schema{then}, optional: true})
	}
	return err
}

// dependency reads the dependents of a key: other keys, or a schema.
func (r *reader) dependency(key, name string, v *value) error {
	var then *schema
	var err error
	if v.kind == arrayKind && key != "dependentSchemas" {
		then = r.c.derive(r.s.node)
		then.object = newObject()
		then.object.required, err = r.strings(key, v)
	} else if key == "dependentRequired" {
		return r.s.refuse(key, "its members must be lists of strings")
	} else {
		then, err = r.subschema(key, v)
	}
	ch := choice{of: r.s, keyword: key, lists: [][]*schema{{r.c.without(r.s.node, name)}, {then}}, silent: true}
	r.s.choices = append(r.s.choices, ch)
	if v.kind != arrayKind && err == nil && r.c.draft >= draft2019 {
		present := r.c.derive(r.s.node)
		present.object = newObject()
		present.object.required = []string{name}
		r.s.choices = append(r.s.choices, choice{of: r.s, keyword: key, lists: [][]*schema{{present, then}}, optional: true})
	}
	return err
}

// negated returns a schema that holds where s does not.
func (c *compiler) negated(from *value, s ...*schema) *schema {
	n := c.derive(from)
	n.none = s
	if len(s) > 1 {
		both := c.derive(from)
		both.all = s
		n.none = []*schema{both}
	}
	return n
}

// without returns a schema of objects without the member name.
func (c *compiler) without(from *value, name string) *schema {
	s := c.derive(from)
	s.object = newObject()
	s.object.names, s.object.properties = []string{name}, []*schema{c.nothing}
	return s
}

func (r *reader) array(key string, v *value) (err error) {
	if r.s.array == nil {
		r.s.array = newArray()
	}
	a := r.s.array
	switch key {
	case "minItems", "maxItems":
		return r.bound(key, v, &a.min, &a.max)
	case "minContains", "maxContains":
		return r.bound(key, v, &a.minMatches, &a.maxMatch)
	case "prefixItems":
		a.prefix, err = r.subschemas(key, v)
	case "items":
		if v.kind == arrayKind && r.c.draft != draft2020 {
			a.prefix, err = r.subschemas(key, v)
			break
		}
		a.items, err = r.subschema(key, v)
	case "additionalItems":
		t, err := r.subschema(key, v)
		if items := r.v.get("items"); items != nil && items.kind == arrayKind {
			a.items = t
		}
		return err
	case "contains":
		a.contains, err = r.subschema(key, v)
	case "uniqueItems":
		if v.kind != booleanKind {
			return r.s.refuse(key, "it must be true or false")
		}
		a.unique = v.yes
	case "unevaluatedItems":
		a.rest, err = r.subschema(key, v)
	}
	return err
}

// trivial reports whether v is plainly a schema that accepts everything.
func trivial(v *value) bool {
	return v.kind == booleanKind && v.yes || v.kind == objectKind && len(v.keys) == 0
}

func (r *reader) object(key string, v *value) (err error) {
	if r.s.object == nil {
		r.s.object = newObject()
	}
	o := r.s.object
	switch key {
	case "minProperties", "maxProperties":
		return r.bound(key, v, &o.min, &o.max)
	case "required":
		o.required, err = r.strings(key, v)
	case "additionalProperties":
		o.others, err = r.subschema(key, v)
	case "propertyNames":
		o.keys, err = r.subschema(key, v)
	case "unevaluatedProperties":
		o.rest, err = r.subschema(key, v)
	case "properties":
		err = r.members(key, v, func(_ string, s *schema) { o.properties = append(o.properties, s) })
		o.names, o.index = v.keys, v.index
	case "patternProperties":
		err = r.members(key, v, func(text string, s *schema) { o.patterns = append(o.patterns, pattern{text, s}) })
	}
	return err
}

// members reads an object whose members are schemas.
func (r *reader) members(key string, v *value, add func(name string, s *schema)) error {
	if v.kind != objectKind {
		return r.s.refuse(key, "it must be an object of schemas")
	}
	for i, name := range v.keys {
		if err := func() error {
			s, err := r.subschema(key, v.items[i])
			add(name, s)
			return err
		}(); err != nil {
			return err
		}
	}
	return nil
}

// finish reads the keywords whose meaning depends on other keywords.
func (r *reader) finish() error {
	s := r.s
	if n := s.number; n != nil {
		if v := r.v.get("exclusiveMinimum"); v != nil && v.kind == booleanKind {
			n.openMin = v.yes && n.min != nil
		}
		if v := r.v.get("exclusiveMaximum"); v != nil && v.kind == booleanKind {
			n.openMax = v.yes && n.max != nil
		}
	}
	// If no other schema applies to the value, this schema's own keywords determine the
	// unevaluated members and items.
	alone := s.all == nil && s.choices == nil
	if a := s.array; a != nil && a.rest != nil && alone && a.contains == nil {
		if a.items == nil {
			a.items = a.rest
		}
		a.rest = nil
	}
	if o := s.object; o != nil && o.rest != nil && alone {
		if o.others == nil {
			o.others = o.rest
		}
		o.rest = nil
	}
	return nil
}
