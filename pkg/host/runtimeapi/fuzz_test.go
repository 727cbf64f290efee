package runtimeapi

import (
	"bufio"
	"bytes"
	"errors"
	"strings"
	"testing"
)

// FuzzPrelude checks that any bytes give a prelude that a server can send, with the rest left to read, or a
// clear error.
func FuzzPrelude(f *testing.F) {
	nul := strings.Repeat("\x00", 8)
	f.Add([]byte(`{"statusCode":201,"headers":{"A":"b"},"multiValueHeaders":{"a":["c","d"]},"cookies":["e=f"]}` + nul + "rest"))
	f.Add([]byte("{}" + nul))
	f.Add([]byte(nul + nul))
	f.Add([]byte(`{"statusCode":-1}` + nul))
	f.Fuzz(func(t *testing.T, in []byte) {
		r := bufio.NewReader(bytes.NewReader(in))
		p, err := readPrelude(r)
		if err != nil {
			if _, ok := errors.AsType[*FunctionError](err); !ok || p != nil {
				t.Fatalf("%v with error %v of type %T", p, err, err)
			}
			return
		}
		head, want, _ := bytes.Cut(in, []byte(nul))
		rest := make([]byte, len(in))
		n, _ := r.Read(rest)
		if p.StatusCode < 200 || p.StatusCode > 999 || !bytes.Equal(rest[:n], want[:n]) || n == 0 && len(want) > 0 {
			t.Fatalf("%q: prelude %+v, rest %q", head, p, rest[:n])
		}
		p.Header()
	})
}

// FuzzAnswer checks that any payload of a buffered function gives an answer that a server can send,
// or an error.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte(`{"statusCode":200,"multiValueHeaders":{"A":["b"]},"body":"aGk=","isBase64Encoded":true}`))
	f.Add([]byte(`{"statusCode":404,"headers":{"A":"b"},"cookies":["c=d"],"body":"x"}`))
	f.Add([]byte(`[1]`))
	f.Add([]byte(`{"statusCode":"x"}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		for _, decode := range []func([]byte) (*answer, error){decodeV1, decodeV2} {
			a, err := decode(in)
			if (a == nil) == (err == nil) {
				t.Fatalf("answer %v with error %v", a, err)
			}
			if a != nil && (a.status < 200 || a.status > 999) {
				t.Fatalf("status %d", a.status)
			}
		}
	})
}
