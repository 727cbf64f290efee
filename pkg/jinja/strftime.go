package jinja

import (
	"strings"
	"time"
)

// strftimeNow formats Limits.Now.
func strftimeNow(r *run, a *arguments) Value {
	format := r.wantString("strftime_now", r.bind("strftime_now", a, 1, "format")[0])
	r.alloc(32 * len(format.s))
	return textValue(format.mapped(func(s string) string { return strftime(r.limits.Now, s) }))
}

// strftime is glibc's strftime in the locale C with the flags - _ 0 ^ and #, but without widths and the modifiers E
// and O. An unknown directive stays.
func strftime(t time.Time, format string) string {
	var b strings.Builder
	for {
		text, spec, found := strings.Cut(format, "%")
		b.WriteString(text)
		if !found {
			return b.String()
		}
		after := strings.TrimLeft(spec, "-_0^#")
		flags := spec[:len(spec)-len(after)]
		if after == "" {
			b.WriteString("%" + flags)
			return b.String()
		}
		s, ok := directive(t, flags, after[0])
		if !ok {
			s = "%" + flags + after[:1]
		}
		b.WriteString(s)
		format = after[1:]
	}
}

// directive formats one directive.
func directive(t time.Time, flags string, c byte) (string, bool) {
	if n, width, pad, ok := numberOf(t, c); ok {
		return padded(n, width, pad, flags), true
	}
	switch c {
	case 'n':
		return "\n", true
	case 't':
		return "\t", true
	case '%':
		return "%", true
	case 'Z', 'z':
		return "", true // Python formats a time without a zone
	case 'f':
		return strings.TrimPrefix(t.Format(".000000"), "."), flags == "" // Python's own
	}
	layout, ok := map[byte]string{
		'a': "Mon", 'A': "Monday", 'b': "Jan", 'h': "Jan", 'B': "January", 'c': "Mon Jan _2 15:04:05 2006", 'D': "01/02/06",
		'F': "2006-01-02", 'p': "PM", 'P': "pm", 'r': "03:04:05 PM", 'R': "15:04", 'T': "15:04:05", 'x': "01/02/06", 'X': "15:04:05",
	}[c]
	s, swap := t.Format(layout), strings.Contains(flags, "#")
	switch {
	case c == 'P', c == 'p' && swap:
		s = strings.ToLower(s)
	case strings.Contains(flags, "^"), swap && strings.IndexByte("aAbBh", c) >= 0:
		s = strings.ToUpper(s)
	}
	return s, ok
}

// numberOf returns the number of a directive, its width and what pads it.
func numberOf(t time.Time, c byte) (n, width int, pad byte, ok bool) {
	day, half := int(t.Weekday()), (t.Hour()+11)%12+1
	year, week := t.ISOWeek()
	switch c {
	case 'd':
		return t.Day(), 2, '0', true
	case 'e':
		return t.Day(), 2, ' ', true
	case 'H':
		return t.Hour(), 2, '0', true
	case 'k':
		return t.Hour(), 2, ' ', true
	case 'I':
		return half, 2, '0', true
	case 'l':
		return half, 2, ' ', true
	case 'j':
		return t.YearDay(), 3, '0', true
	case 'm':
		return int(t.Month()), 2, '0', true
	case 'M':
		return t.Minute(), 2, '0', true
	case 'S':
		return t.Second(), 2, '0', true
	case 'y':
		return t.Year() % 100, 2, '0', true
	case 'Y':
		return t.Year(), 4, '0', true
	case 'C':
		return t.Year() / 100, 2, '0', true
	case 'g':
		return year % 100, 2, '0', true
	case 'G':
		return year, 1, '0', true
	case 'V':
		return week, 2, '0', true
	case 'U':
		return (t.YearDay() + 6 - day) / 7, 2, '0', true
	case 'W':
		return (t.YearDay() + 6 - (day+6)%7) / 7, 2, '0', true
	case 'u':
		return (day+6)%7 + 1, 1, '0', true
	case 'w':
		return day, 1, '0', true
	case 's':
		return int(t.Unix()), 1, '0', true
	}
	return 0, 0, 0, false
}

// padded prints a number. The last of the flags - _ 0 wins.
func padded(n, width int, pad byte, flags string) string {
	switch flags = strings.Trim(flags, "^#"); {
	case strings.HasSuffix(flags, "-"):
		width = 0
	case strings.HasSuffix(flags, "_"):
		pad = ' '
	case strings.HasSuffix(flags, "0"):
		pad = '0'
	}
	s := itoa(n)
	return strings.Repeat(string(pad), max(width-len(s), 0)) + s
}
