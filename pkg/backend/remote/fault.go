package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"glossa/pkg/backend/awsrest"
	"glossa/pkg/llm"
)

// A Fault is a failed call. Its text has the provider's name of the error and numbers,
// but nothing of the request or the answer.
type Fault struct {
	Op         string // "bedrock InvokeModel"
	Name       string // the provider's name: ThrottlingException; "" if there was no answer
	Status     int    // of HTTP; 0: none
	RequestID  string
	RetryAfter time.Duration
	Code       llm.Code

	retryable bool   // a retry may succeed
	message   string // the provider's message; it may repeat parts of the request
	cause     string // if there was no answer
}

func (f *Fault) Error() string {
	s := f.Op + ": " + f.Name + f.cause
	if f.Status != 0 {
		s += fmt.Sprintf(", status %d", f.Status)
	}
	if f.RequestID != "" {
		s += ", request " + f.RequestID
	}
	return s
}

// modelFailed reports whether name is that of an error of the model's own server, in
// Bedrock, SageMaker or their streams. The error contains that server's answer.
func modelFailed(name string) bool {
	switch name {
	case "modelerrorexception", "modelerror", "modelstreamerrorexception", "modelstreamerror":
		return true
	}
	return false
}

// NewFault converts the error of a failed call of op to an error of an [Endpoint].
func NewFault(op string, err error) error {
	e, ok := errors.AsType[*awsrest.Error](err)
	if !ok {
		return err // an error of the credentials
	}
	f := &Fault{Op: op, Name: e.Name, Code: llm.Upstream, Status: e.Status, RequestID: e.Header.Get("X-Amzn-Requestid"), message: e.Message}
	f.RetryAfter = retryAfter(e.Header)
	if e.MidStream {
		f.Status = 0 // the HTTP status was 200
	}
	name := strings.ToLower(e.Name)
	switch {
	case e.Name == "" && e.Err != nil:
		f.cause, f.retryable = causeOf(e.Err, e.Status != 0)
		return f
	case e.Name == "":
		name = "unknown"
	}
	f.Code, f.retryable = classify(name, f.Status)
	if modelFailed(name) {
		f.adopt(e.Body)
	}
	return f
}

// Refused returns the fault of an answer of a model's own server that is an error. message is
// the server's, "" if it may hold a secret.
func Refused(op string, status int, header http.Header, message string) *Fault {
	f := &Fault{Op: op, Status: status, RequestID: header.Get("X-Request-Id"), RetryAfter: retryAfter(header), message: message}
	f.Code, f.retryable = classify("", status)
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		f.Name = accessDenied
	case status == http.StatusNotFound:
		f.Code = llm.NotFound
	case status >= 500 && f.Code == llm.Upstream:
		f.retryable = true
	}
	if f.Name == "" {
		f.Name = http.StatusText(status)
	}
	return f
}

// Broken returns the fault of a call without a readable answer; answered says that there was
// one. err must not quote it.
func Broken(op string, err error, answered bool) *Fault {
	f := &Fault{Op: op, Code: llm.Upstream}
	f.cause = err.Error()
	_, network := errors.AsType[*url.Error](err)
	f.retryable = network && !answered
	return f
}

// adopt takes status and message from the error of the model's own server, which the provider
// forwards.
func (f *Fault) adopt(body []byte) {
	var own struct {
		OriginalStatusCode *int
		OriginalMessage    *string
	}
	_ = json.Unmarshal(body, &own) // a body of another shape has neither
	if own.OriginalStatusCode != nil {
		f.Code, f.retryable = classify("", *own.OriginalStatusCode)
	}
	if own.OriginalMessage != nil {
		f.message = *own.OriginalMessage
	}
}

// MessageContains reports whether the provider's message contains a phrase.
func (f *Fault) MessageContains(phrase string) bool { return strings.Contains(f.message, phrase) }

// causeOf describes an error without an answer from the provider, and reports whether
// it came from the network. If the answer was unreadable, the error is not quoted: it
// could contain parts of it.
func causeOf(err error, answered bool) (text string, network bool) {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Error(), true
	}
	if answered {
		return "the answer cannot be read", false
	}
	return err.Error(), false
}

// classify maps a provider's error name, in lower case, and a status to a code, and
// reports whether a retry may succeed.
func classify(name string, status int) (code llm.Code, again bool) {
	switch name {
	case "throttlingexception", "toomanyrequestsexception", "modelnotreadyexception":
		return llm.Overloaded, true
	case "servicequotaexceededexception":
		return llm.Overloaded, false
	case "modeltimeoutexception":
		return llm.Timeout, false
	case "resourcenotfoundexception":
		return llm.NotFound, false
	case "validationexception", "validationerror":
		return llm.Invalid, false
	}
	if modelFailed(name) {
		return llm.Upstream, false
	}
	switch status {
	case 429:
		return llm.Overloaded, true
	case 408, 504:
		return llm.Timeout, false
	case 400, 413, 422:
		if name == "" { // from a container: AWS names the errors that the caller can fix
			return llm.Invalid, false
		}
	}
	return llm.Upstream, status >= 500 && name != ""
}

// retryAfter parses the header of that name: seconds, or a date.
func retryAfter(h http.Header) time.Duration {
	text := h.Get("Retry-After")
	if seconds, err := strconv.ParseFloat(text, 64); err == nil && seconds >= 0 && seconds < 1e6 {
		return time.Duration(seconds * float64(time.Second))
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}

// accessDenied is AWS's name of the error of a caller who may not use a model.
const accessDenied = "AccessDeniedException"

// pause is the RetryAfter of a provider at its limit.
const pause = time.Second

// problem returns the error for the client. It includes the provider's message if that
// is about the request or the account and repeats none of texts. Without texts it
// includes no message.
func problem(ctx context.Context, err error, texts []string) error {
	switch ended(ctx) {
	case llm.FinishDeadline:
		return outOfTime()
	case llm.FinishCancelled:
		return ctx.Err()
	}
	f, ok := errors.AsType[*Fault](err)
	if !ok {
		return err
	}
	e := &llm.Error{Code: f.Code, Err: f, RetryAfter: f.RetryAfter}
	if f.Code == llm.Overloaded && f.retryable && f.RetryAfter == 0 {
		e.RetryAfter = pause // providers rarely send it
	}
	tells := true
	switch denied := strings.EqualFold(f.Name, accessDenied); {
	case denied:
		e.Message = "the provider denies access to the model"
	case f.Code == llm.Overloaded:
		e.Message = "the remote model is at capacity"
	case f.Code == llm.Invalid:
		e.Message = "the remote model rejected the request"
	case f.Code == llm.NotFound:
		e.Message = "the provider has no such model"
	case f.Code == llm.Timeout:
		e.Message, tells = "the remote model timed out", false
	case f.Name == "":
		e.Message, tells = "the remote model cannot be reached, or it closed the connection", false
	default:
		e.Message, tells = "the remote model failed", false
	}
	if s := presentable(f.message); tells && texts != nil && s != "" && len(f.message) <= maxQuoted && !quotes(f.message, texts) {
		e.Message += ": " + s
	}
	return e
}

var secrets = regexp.MustCompile(`arn:[^\s"']+|[a-z][a-z0-9+.-]*://[^\s"']+|\b\d{12}\b|\bA[A-Z]{2}A[A-Z0-9]{12,}\b`)

// presentable returns a provider's message without names of resources, addresses,
// accounts and keys, on one line and shortened.
func presentable(s string) string {
	s = strings.Join(strings.Fields(secrets.ReplaceAllString(s, "...")), " ")
	if runes := []rune(s); len(runes) > 300 {
		s = string(runes[:300]) + "..."
	}
	return strings.ToValidUTF8(s, "")
}

// maxQuoted bounds the messages that are compared with the texts, in bytes: it takes time in
// proportion to both, and a longer message repeats the request.
const maxQuoted = 1000

// quotes reports whether a message may contain a part of one of the texts: a whole
// one, or more than 2*part bytes in a row. It cannot recognise escaped text.
func quotes(sentence string, texts []string) bool {
	const part = 12
	if strings.Contains(sentence, `\u`) {
		return true
	}
	for _, text := range texts {
		if strings.Contains(sentence, text) {
			return true
		}
		for i := 0; i+part <= len(sentence); i += part {
			if strings.Contains(text, sentence[i:i+part]) {
				return true
			}
		}
	}
	return false
}
