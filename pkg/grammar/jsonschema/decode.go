package jsonschema

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"glossa/pkg/grammar/automaton"
	"glossa/pkg/grammar/fault"
)

const (
	maxBytes = 1 << 20 // of a schema
	maxDepth = 200     // of nested values
)

// A value is a JSON value in its document, with its members in order.
type value struct {
	kind   kind
	yes    bool           // of a boolean
	text   string         // of a string; a number as it is written
	keys   []string       // of an object
	items  []*value       // of an array, an object
	index  map[string]int // of keys, if there are many
	parent *value
	at     int // index in the parent's items

	schema *schema // its schema, created on first use
}

type kind uint8

const (
	nullKind kind = iota
	booleanKind
	numberKind
	stringKind
	arrayKind
	objectKind
)

// few is the largest number of members that are searched linearly.
const few = 12

// get returns the member key, or nil.
func (v *value) get(key string) *value {
	if v.index != nil {
		if i, ok := v.index[key]; ok {
			return v.items[i]
		}
		return nil
	}
	for i, k := range v.keys {
		if k == key {
			return v.items[i]
		}
	}
	return nil
}

// pointer returns the JSON pointer of v (RFC 6901).
func (v *value) pointer() string {
	if v == nil {
		return ""
	}
	var tokens []string
	for ; v.parent != nil; v = v.parent {
		token := strconv.Itoa(v.at)
		if v.parent.kind == objectKind {
			token = escapeToken.Replace(v.parent.keys[v.at])
		}
		tokens = append(tokens, token)
	}
	var b strings.Builder
	for i := len(tokens) - 1; i >= 0; i-- {
		b.WriteByte('/')
		b.WriteString(tokens[i])
	}
	return b.String()
}

var escapeToken = strings.NewReplacer("~", "~0", "/", "~1")

// A decoder reads a document of valid JSON into values.
type decoder struct {
	budget *automaton.Budget

	text  string
	at    int     // the next byte
	slab  []value // values are allocated from it
	named bool    // the document may have an id or an anchor
	half  bool    // the last string has half of a surrogate pair
}

// decodeWithin decodes raw, which must be one JSON value.
func decodeWithin(budget *automaton.Budget, raw []byte) (v *value, named bool, err error) {
	if len(raw) > maxBytes {
		return nil, false, fault.New("", "", "it has %d bytes, but at most %d are allowed", len(raw), maxBytes)
	}
	if err := budget.Spend(2*len(raw), 4*len(raw)); err != nil {
		return nil, false, fault.New("", "", "%v", err)
	}
	if !json.Valid(raw) {
		return nil, false, fault.New("", "", "it is not JSON: %v", json.Unmarshal(raw, new(any)))
	}
	d := &decoder{budget: budget, text: string(raw)}
	v, err = d.value(nil, 0, 0)
	return v, d.named, err
}

// next returns the next byte that is not white space.
func (d *decoder) next() byte {
	for {
		switch c := d.text[d.at]; c {
		case ' ', '\t', '\n', '\r':
			d.at++
		default:
			return c
		}
	}
}

// value reads the value with index at in its parent.
func (d *decoder) value(parent *value, at, depth int) (*value, error) {
	if len(d.slab) == 0 {
		if err := d.budget.Spend(64*16, 64*192); err != nil {
			return nil, fault.New(parent.pointer(), "", "%v", err)
		}
		d.slab = make([]value, 64)
	}
	v := &d.slab[0]
	d.slab = d.slab[1:]
	v.parent, v.at = parent, at
	switch c := d.next(); c {
	case '{', '[':
		if depth == maxDepth {
			return nil, fault.New(parent.pointer(), "", "values are nested more than %d deep", maxDepth)
		}
		v.kind = arrayKind
		if c == '{' {
			v.kind = objectKind
		}
		d.at++
		return v, d.items(v, depth+1)
	case '"':
		v.kind, v.text = stringKind, d.quoted()
	case 'n':
		v.kind, d.at = nullKind, d.at+len("null")
	case 't':
		v.kind, v.yes, d.at = booleanKind, true, d.at+len("true")
	case 'f':
		v.kind, d.at = booleanKind, d.at+len("false")
	default:
		begin := d.at
		for d.at < len(d.text) && strings.IndexByte("+-.0123456789Ee", d.text[d.at]) >= 0 {
			d.at++
		}
		v.kind, v.text = numberKind, d.text[begin:d.at]
	}
	return v, nil
}

// quoted reads a string.
func (d *decoder) quoted() (s string) {
	begin, plain := d.at, true
	for d.at++; d.text[d.at] != '"'; d.at++ {
		if d.text[d.at] == '\\' {
			plain = false
			d.at++
		}
	}
	d.at++
	d.half = !plain && unpaired(d.text[begin:d.at])
	if s = d.text[begin+1 : d.at-1]; !plain || !utf8.ValidString(s) {
		_ = json.Unmarshal([]byte(d.text[begin:d.at]), &s)
	}
	return s
}

// unpaired reports whether a quoted string escapes half of a surrogate pair, which is not a
// character.
func unpaired(quoted string) bool {
	unit := func(at int) rune {
		n, _ := strconv.ParseUint(quoted[at:at+4], 16, 16)
		return rune(n)
	}
	for i := 0; i < len(quoted); i++ {
		if quoted[i] != '\\' {
			continue
		}
		if i++; quoted[i] != 'u' {
			continue
		}
		first := unit(i + 1)
		if i += 4; !utf16.IsSurrogate(first) {
			continue
		}
		if !strings.HasPrefix(quoted[i+1:], `\u`) || utf16.DecodeRune(first, unit(i+3)) == utf8.RuneError {
			return true
		}
		i += 6
	}
	return false
}

// items reads the elements or members of an array or an object, and its end.
func (d *decoder) items(v *value, depth int) error {
	for {
		switch d.next() {
		case ']', '}':
			d.at++
			return nil
		case ',':
			d.at++
			d.next()
		}
		key := ""
		if v.kind == objectKind {
			if key = d.quoted(); d.half {
				return fault.New(v.pointer(), "", "a key has half of a surrogate pair, which is not a character")
			}
			if err := v.name(key); err != nil {
				return err
			}
			d.next()
			d.at++ // the colon
		}
		item, err := d.value(v, len(v.items), depth)
		if err != nil {
			return err
		}
		v.items = append(v.items, item)
		if item.kind == stringKind {
			if d.half && !annotation(v, key) {
				return fault.New(item.pointer(), "", "the string has half of a surrogate pair, which is not a character")
			}
			d.named = d.named || key == "$id" || key == "id" || key == "$anchor" || key == "$dynamicAnchor" || key == "$recursiveAnchor"
		}
	}
}

// annotation reports whether the member key of v is a text for readers of the schema, and not
// part of a constant.
func annotation(v *value, key string) bool {
	for at := v; at.parent != nil; at = at.parent {
		if p := at.parent; p.kind == objectKind && (p.keys[at.at] == "const" || p.keys[at.at] == "enum") {
			return false
		}
	}
	return key == "title" || key == "description" || key == "$comment"
}

// name adds a key.
func (v *value) name(key string) error {
	if v.get(key) != nil {
		return fault.New(v.pointer(), key, "the key is duplicated")
	}
	v.keys = append(v.keys, key)
	switch {
	case v.index != nil:
		v.index[key] = len(v.keys) - 1
	case len(v.keys) > few:
		v.index = make(map[string]int, 4*few)
		for i, k := range v.keys {
			v.index[k] = i
		}
	}
	return nil
}
