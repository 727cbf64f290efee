package emf

import (
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"
)

// text appends a member with a string value, unless that is "".
func text(b []byte, key, s string) []byte {
	if s == "" {
		return b
	}
	return quote(member(b, key), s)
}

// list appends a member with an array of strings, unless that is empty.
func list(b []byte, key string, values []string) []byte {
	for i, s := range values {
		if i == 0 {
			b = append(member(b, key), '[')
		} else {
			b = append(b, ',')
		}
		b = quote(b, s)
	}
	if len(values) > 0 {
		b = append(b, ']')
	}
	return b
}

// number appends a member with a number.
func number(b []byte, key string, n int64) []byte { return integer(member(b, key), n) }

func member(b []byte, key string) []byte {
	b = append(b, ',', '"')
	b = append(b, key...)
	return append(b, '"', ':')
}

func integer(b []byte, n int64) []byte { return strconv.AppendInt(b, n, 10) }

// quote appends a string. Invalid UTF-8 becomes U+FFFD.
func quote(b []byte, s string) []byte {
	const digits = "0123456789abcdef"
	b = append(b, '"')
	from := 0 // start of the bytes not yet appended
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		n := 1
		if c >= utf8.RuneSelf {
			var r rune
			if r, n = utf8.DecodeRuneInString(s[i:]); r != utf8.RuneError || n > 1 {
				i += n
				continue
			}
		}
		b = append(b, s[from:i]...)
		switch {
		case c >= utf8.RuneSelf:
			b = append(b, "\ufffd"...)
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		default:
			b = append(b, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
		}
		i += n
		from = i
	}
	return append(append(b, s[from:]...), '"')
}

// CheckNamespace returns an error if a namespace of metrics is invalid: it has at most
// 255 letters, digits, spaces and characters of .-_/#: and is not one of AWS's own
// (CloudWatch User Guide, "Namespaces"; API Reference, PutMetricData). "" is
// [DefaultNamespace].
func CheckNamespace(s string) error {
	for _, c := range []byte(s) {
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !letter && strings.IndexByte(".-_/#: ", c) < 0 {
			return errors.New("a namespace may contain only letters, digits, the marks . - _ / # : and spaces")
		}
	}
	switch {
	case len(s) > 255:
		return errors.New("a namespace must have at most 255 characters")
	case strings.HasPrefix(s, "AWS/"), strings.HasPrefix(s, ":"):
		return errors.New("a namespace must not begin with AWS/ or a colon")
	case s != "" && strings.TrimSpace(s) == "":
		return errors.New("a namespace must not be blank")
	}
	return nil
}
