package arch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
)

// A config reads the members of a JSON object. A null member counts as absent. Names are
// alternatives in one string: "n_positions n_ctx" is the first of the two that is
// present. After an error it returns only defaults.
type config struct {
	fields map[string]json.RawMessage
	within string // "rope_scaling.", for errors
	err    *error // the first, shared with the objects within

	scheme *scheme // that encodes the weights; nil: each is a tensor
}

// parseConfig reads an object.
func parseConfig(raw []byte) (*config, error) {
	c := &config{err: new(error)}
	if err := json.Unmarshal(standard(raw), &c.fields); err != nil {
		return nil, err
	}
	if c.fields == nil {
		return nil, errors.New("null where an object was expected")
	}
	return c, nil
}

// reject records the first error.
func (c *config) reject(name, format string, args ...any) {
	if *c.err == nil {
		*c.err = fmt.Errorf("%s%s: %s", c.within, name, fmt.Sprintf(format, args...))
	}
}

// find returns the first present member of names.
func (c *config) find(names string) (name string, raw json.RawMessage) {
	for name := range strings.FieldsSeq(names) {
		if raw, ok := c.fields[name]; ok && !bytes.Equal(raw, []byte("null")) {
			return name, raw
		}
	}
	return names, nil
}

// has reports whether one of the members is present.
func (c *config) has(names string) bool {
	_, raw := c.find(names)
	return raw != nil
}

// read decodes a member into a value of T; ok is false if there is none.
func read[T any](c *config, names, want string) (name string, v T, ok bool) {
	name, raw := c.find(names)
	if raw == nil || *c.err != nil {
		return name, v, false
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		c.reject(name, "%.60s is not a valid %s", raw, want)
		return name, v, false
	}
	return name, v, true
}

// integer returns a number from low to high.
func (c *config) integer(names string, absent, low, high int) int {
	name, v, ok := read[int](c, names, "integer")
	if !ok {
		return absent
	}
	if v < low || v > high {
		c.reject(name, "%d is not in %d..%d", v, low, high)
		return absent
	}
	return v
}

// number returns a finite number from low to high.
func (c *config) number(names string, absent, low, high float64) float64 {
	name, v, ok := read[float64](c, names, "number")
	if !ok {
		return absent
	}
	if !(v >= low && v <= high) || math.IsInf(v, 0) {
		c.reject(name, "%v is not in %v..%v", v, low, high)
		return absent
	}
	return v
}

func (c *config) flag(names string, absent bool) bool {
	if _, v, ok := read[bool](c, names, "boolean"); ok {
		return v
	}
	return absent
}

func (c *config) text(names, absent string) string {
	if _, v, ok := read[string](c, names, "string"); ok {
		return v
	}
	return absent
}

// object returns a member that is an object; nil if it is absent.
func (c *config) object(names string) *config {
	name, fields, ok := read[map[string]json.RawMessage](c, names, "object")
	if !ok {
		return nil
	}
	return &config{fields: fields, within: c.within + name + ".", err: c.err}
}

// inner returns a member that describes the model of text, with what only c says of all. After an error
// it returns c.
func (c *config) inner(name string) *config {
	inner := c.object(name)
	if inner == nil {
		c.reject(name, "missing")
		return c
	}
	for _, name := range []string{"eos_token_id", "bos_token_id", "pad_token_id", "quantization_config", "quantization", "dtype", "torch_dtype", "tie_word_embeddings"} {
		if !inner.has(name) && c.has(name) {
			inner.fields[name] = c.fields[name]
		}
	}
	return inner
}

// ids returns the tokens in a member, one or a list, each below vocab; nil if it is
// absent.
func (c *config) ids(names string, vocab int) []int {
	name, raw := c.find(names)
	if raw == nil || *c.err != nil {
		return nil
	}
	var list []int
	if raw[0] != '[' {
		list = make([]int, 1)
		if err := json.Unmarshal(raw, &list[0]); err != nil {
			c.reject(name, "%.60s is not a token", raw)
			return nil
		}
	} else if err := json.Unmarshal(raw, &list); err != nil || len(list) > maxEnds {
		c.reject(name, "%.60s is not a list of at most %d tokens", raw, maxEnds)
		return nil
	}
	for _, id := range list {
		if id < 0 || id >= vocab {
			c.reject(name, "token %d is not below vocab_size, %d", id, vocab)
			return nil
		}
	}
	return list
}

// id returns the token in a member, the first one of a list.
func (c *config) id(names string, absent, vocab int) int {
	if list := c.ids(names, vocab); len(list) > 0 {
		return list[0]
	}
	return absent
}

// A requiredValue is a member that would change the results if it had another value.
type requiredValue struct {
	name string
	want string // as JSON; absent and null are equivalent
}

// require rejects members with another value than the supported one.
func (c *config) require(list []requiredValue) {
	for _, f := range list {
		_, got, ok := read[any](c, f.name, "value")
		if !ok {
			continue
		}
		if text, err := json.Marshal(got); err != nil || string(text) != f.want {
			c.reject(f.name, "%.60s is not supported, only %s", text, f.want)
		}
	}
}
