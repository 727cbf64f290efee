package remote

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"
)

// appendJSON appends v as [json.Marshal] writes it, byte for byte. It writes the common
// types itself, without reflection, in a third of the time; it leaves the rest to
// json.Marshal.
func appendJSON(b []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...), nil
	case bool:
		return strconv.AppendBool(b, v), nil
	case int:
		return strconv.AppendInt(b, int64(v), 10), nil
	case int64:
		return strconv.AppendInt(b, v, 10), nil
	case float64:
		if a := math.Abs(v); v == 0 || a >= 1e-6 && a < 1e21 { // others have exponents
			return strconv.AppendFloat(b, v, 'f', -1, 64), nil
		}
	case string:
		if out, ok := appendText(b, v); ok {
			return out, nil
		}
	case []any:
		if v != nil {
			return appendList(b, v)
		}
	case map[string]any:
		if v != nil {
			return appendObject(b, v)
		}
	}
	out, err := json.Marshal(v)
	return append(b, out...), err
}

func appendList(b []byte, list []any) (_ []byte, err error) {
	b = append(b, '[')
	for i, v := range list {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = appendJSON(b, v); err != nil {
			return nil, err
		}
	}
	return append(b, ']'), nil
}

func appendObject(b []byte, m map[string]any) (_ []byte, err error) {
	var few [16]string
	names := slices.AppendSeq(few[:0], maps.Keys(m))
	slices.Sort(names)
	b = append(b, '{')
	for i, name := range names {
		if i > 0 {
			b = append(b, ',')
		}
		if out, ok := appendText(b, name); ok {
			b = out
		} else if b, err = appendJSON(b, name); err != nil {
			return nil, err
		}
		if b, err = appendJSON(append(b, ':'), m[name]); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

// appendText appends a string, unless it has rare characters that need escapes.
func appendText(b []byte, s string) (_ []byte, ok bool) {
	b = append(b, '"')
	from := 0 // start of the bytes not yet appended
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '"' || c == '\\':
		case c == '\n':
			c = 'n'
		case c == '\t':
			c = 't'
		case c < ' ' || c == '<' || c == '>' || c == '&':
			return nil, false
		case c >= utf8.RuneSelf:
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError || r == '\u2028' || r == '\u2029' {
				return nil, false
			}
			i += n - 1
			continue
		default:
			continue
		}
		b = append(append(b, s[from:i]...), '\\', c)
		from = i + 1
	}
	return append(append(b, s[from:]...), '"'), true
}
