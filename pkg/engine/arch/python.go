package arch

import (
	"fmt"
	"regexp"
)

// pythonNumbers matches strings, and the numbers that Python's json writes and JSON lacks.
var pythonNumbers = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|-?Infinity|NaN`)

// standard returns what Python's json wrote as JSON: numbers that JSON lacks become strings.
func standard(raw []byte) []byte {
	return pythonNumbers.ReplaceAllFunc(raw, func(found []byte) []byte {
		if found[0] == '"' {
			return found
		}
		return fmt.Appendf(nil, "%q", found)
	})
}
