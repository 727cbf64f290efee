package awsrest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// An Error is a failed call. Of request and answer, its text contains only the error's
// name.
type Error struct {
	Name      string // from the service: ThrottlingException; "" if it sent none
	Message   string // from the service; it may repeat parts of the request
	Status    int    // of HTTP; 0: no answer
	Header    http.Header
	Body      []byte // the error's JSON, if any, with further details
	MidStream bool   // the error came after the answer had begun
	Err       error  // why there was no answer, or why it broke off
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

// Unwrap returns the reason why there was no answer.
func (e *Error) Unwrap() error { return e.Err }

// maxError bounds the part of an error's body that is read, in bytes.
const maxError = 1 << 20

// refused returns the error in an answer. Its name is in a header, else in the body, with
// an optional namespace before and an address behind. Source: Smithy, AWS restJson1
// protocol, "Operation error serialization".
func refused(res *http.Response) *Error {
	e := &Error{Status: res.StatusCode, Header: res.Header}
	e.Body, _ = io.ReadAll(io.LimitReader(res.Body, maxError)) // a partial body is better than none
	var doc struct {
		Code any    `json:"code"`
		Type string `json:"__type"`
	}
	_ = json.Unmarshal(e.Body, &doc)
	code, _ := doc.Code.(string)
	for _, name := range []string{res.Header.Get("X-Amzn-Errortype"), code, doc.Type} {
		if e.Name == "" {
			e.Name = baseName(name)
		}
	}
	e.Message = messageOf(e.Body)
	return e
}

// baseName returns the name of an error without namespace and address.
func baseName(name string) string {
	name, _, _ = strings.Cut(name, ":")
	if _, after, ok := strings.Cut(name, "#"); ok {
		name = after
	}
	return strings.TrimSpace(name)
}

// messageOf returns the message of an error; member names match in any case.
func messageOf(body []byte) string {
	var doc struct {
		Message string `json:"message"`
	}
	_ = json.Unmarshal(body, &doc) // a body that is not JSON has no message
	return doc.Message
}
