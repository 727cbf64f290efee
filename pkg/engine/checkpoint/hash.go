package checkpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// ConfigHash returns Alpha's hash of a configuration, 8 hexadecimal digits: 32-bit FNV-1a
// over the UTF-16 code units of JSON.stringify(v, keys), where keys are the sorted keys
// of v itself. That list also filters nested objects: only keys that v has too are
// hashed. v is anything that marshals to a JSON object, including raw JSON; otherwise the
// hash is empty.
func ConfigHash(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var object map[string]any
	if err := d.Decode(&object); err != nil || object == nil {
		return ""
	}
	keys := make([]string, 0, len(object))
	for k := range object {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, compareUTF16)
	text, err := appendJS(nil, object, keys)
	if err != nil {
		return ""
	}
	hash := uint32(2166136261)
	for _, unit := range utf16.Encode([]rune(string(text))) {
		hash = (hash ^ uint32(unit)) * 16777619
	}
	return fmt.Sprintf("%08x", hash)
}

// compareUTF16 orders strings by UTF-16 code units, as JavaScript's sort does. It differs
// from byte order only between runes beyond U+FFFF and those from U+E000 to U+FFFF.
func compareUTF16(a, b string) int {
	return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
}

// appendJS appends v as JSON.stringify prints it with a list of keys.
func appendJS(b []byte, v any, keys []string) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...), nil
	case bool:
		return strconv.AppendBool(b, v), nil
	case string:
		return appendJSString(b, v), nil
	case json.Number:
		f, err := v.Float64()
		if err != nil {
			return append(b, "null"...), nil // infinite
		}
		return appendJSNumber(b, f), nil
	case []any:
		return appendJSArray(b, v, keys)
	case map[string]any:
		return appendJSObject(b, v, keys)
	}
	return nil, errors.New("not a JSON value")
}

func appendJSArray(b []byte, list []any, keys []string) (_ []byte, err error) {
	b = append(b, '[')
	for i, e := range list {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = appendJS(b, e, keys); err != nil {
			return nil, err
		}
	}
	return append(b, ']'), nil
}

func appendJSObject(b []byte, object map[string]any, keys []string) (_ []byte, err error) {
	b = append(b, '{')
	first := true
	for _, k := range keys {
		e, ok := object[k]
		if !ok {
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = append(appendJSString(b, k), ':')
		if b, err = appendJS(b, e, keys); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

// appendJSString quotes s with the escapes of ECMA-262, QuoteJSONString.
func appendJSString(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	for _, r := range s {
		switch r {
		case '"', '\\':
			b = append(b, '\\', byte(r))
		case '\b':
			b = append(b, `\b`...)
		case '\t':
			b = append(b, `\t`...)
		case '\n':
			b = append(b, `\n`...)
		case '\f':
			b = append(b, `\f`...)
		case '\r':
			b = append(b, `\r`...)
		default:
			if r < ' ' {
				b = append(b, '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
				continue
			}
			b = utf8.AppendRune(b, r)
		}
	}
	return append(b, '"')
}
