package awsrest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// An Error is a call that failed. Its text has nothing of what was sent or answered but
// the error's own name.
type Error struct {
	Name    string // the service's: ThrottlingException; "" if it gave none
	Message string // the service's; it may repeat what was sent
	Status  int    // of HTTP; 0: no answer
	Header  http.Header
	Body    []byte // JSON, if it is some, with what is told beside the message
	Inside  bool   // the answer had begun
	Err     error  // why there was no answer, or it broke off
}

func (e *Error) Error() string {
	switch {
	case e.Name != "":
		return e.Name
	case e.Status == 0 && e.Err != nil:
		return e.Err.Error()
	case e.Err != nil:
		return "the answer cannot be read"
	}
	return fmt.Sprintf("status %d", e.Status)
}

// Unwrap returns why there was no answer.
func (e *Error) Unwrap() error { return e.Err }

// maxError bounds what is read of an error, bytes.
const maxError = 1 << 20

// refused returns the error of an answer that is one. Its name is in a header, else in the
// body, and may have a namespace before it and an address behind it. Source: Smithy, AWS
// restJson1 protocol, "Operation error serialization".
func refused(res *http.Response) *Error {
	e := &Error{Status: res.StatusCode, Header: res.Header}
	e.Body, _ = io.ReadAll(io.LimitReader(res.Body, maxError)) // what can be had of it
	var said struct {
		Code any    `json:"code"`
		Type string `json:"__type"`
	}
	_ = json.Unmarshal(e.Body, &said)
	code, _ := said.Code.(string)
	for _, name := range []string{res.Header.Get("X-Amzn-Errortype"), code, said.Type} {
		if e.Name == "" {
			e.Name = plain(name)
		}
	}
	e.Message = sentence(e.Body)
	return e
}

// plain returns the name of an error without its namespace and its address.
func plain(name string) string {
	name, _, _ = strings.Cut(name, ":")
	if _, after, ok := strings.Cut(name, "#"); ok {
		name = after
	}
	return strings.TrimSpace(name)
}

// sentence returns the message of an error; names of members are matched in any case.
func sentence(body []byte) string {
	var said struct {
		Message string `json:"message"`
	}
	_ = json.Unmarshal(body, &said) // a body that is no JSON says nothing
	return said.Message
}
