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

// A Fault is a call that failed. Its text has the provider's name for it and numbers,
// and nothing of what was sent or answered.
type Fault struct {
	Op         string // "bedrock InvokeModel"
	Name       string // the provider's: ThrottlingException; "" if there was no answer
	Status     int    // of HTTP; 0: none
	RequestID  string
	RetryAfter time.Duration
	Code       llm.Code

	again    bool   // it may go better the next time
	sentence string // the provider's; it may repeat what was sent
	cause    string // where there was no answer
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

// modelFailed are the names of the error of a model's own server: of Bedrock, of
// SageMaker, and of their streams. What that server said is in the error.
func modelFailed(name string) bool {
	switch name {
	case "modelerrorexception", "modelerror", "modelstreamerrorexception", "modelstreamerror":
		return true
	}
	return false
}

// NewFault returns the error that a failed call of op is, as an error of the kinds that
// an [Endpoint] has.
func NewFault(op string, err error) error {
	e, ok := errors.AsType[*awsrest.Error](err)
	if !ok {
		return err // of the credentials
	}
	f := &Fault{Op: op, Name: e.Name, Code: llm.Upstream, Status: e.Status, RequestID: e.Header.Get("X-Amzn-Requestid"), sentence: e.Message}
	f.RetryAfter = retryAfter(e.Header)
	if e.Inside {
		f.Status = 0 // it was 200
	}
	name := strings.ToLower(e.Name)
	switch {
	case e.Name == "" && e.Err != nil:
		f.cause, f.again = causeOf(e.Err, e.Status != 0)
		return f
	case e.Name == "":
		name = "unknown"
	}
	f.Code, f.again = classify(name, f.Status)
	if modelFailed(name) {
		f.passOn(e.Body)
	}
	return f
}

// passOn takes over what the model's own server said, which the provider passes on.
func (f *Fault) passOn(body []byte) {
	var own struct {
		OriginalStatusCode *int
		OriginalMessage    *string
	}
	_ = json.Unmarshal(body, &own) // a body of another form tells neither
	if own.OriginalStatusCode != nil {
		f.Code, f.again = classify("", *own.OriginalStatusCode)
	}
	if own.OriginalMessage != nil {
		f.sentence = *own.OriginalMessage
	}
}

// Says tells whether the provider's own sentence has a phrase.
func (f *Fault) Says(phrase string) bool { return strings.Contains(f.sentence, phrase) }

// causeOf describes an error that is no answer of the provider, and tells whether it
// came from the network. Those of an answer that cannot be read could spell it.
func causeOf(err error, answered bool) (text string, network bool) {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Error(), true
	}
	if answered {
		return "the answer cannot be read", false
	}
	return err.Error(), false
}

// classify finds the code of a provider's name, in small letters, and a status, and
// tells whether the call is worth another try.
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
		if name == "" { // of a container: AWS has names for what the caller can mend
			return llm.Invalid, false
		}
	}
	return llm.Upstream, status >= 500 && name != ""
}

// retryAfter reads the header of that name: seconds, or a date.
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

// pause is what clients of a provider that has no room are told to wait.
const pause = time.Second

// problem returns the error for the client: with the provider's sentence where it is
// about the request or the account, and repeats none of texts. Without texts there is
// no sentence.
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
	if f.Code == llm.Overloaded && f.again && f.RetryAfter == 0 {
		e.RetryAfter = pause // providers rarely say
	}
	tells := true
	switch denied := strings.EqualFold(f.Name, "AccessDeniedException"); {
	case denied:
		e.Message = "the provider denies access to the model"
	case f.Code == llm.Overloaded:
		e.Message = "the remote model has no room now"
	case f.Code == llm.Invalid:
		e.Message = "the remote model refuses the request"
	case f.Code == llm.NotFound:
		e.Message = "the provider has no such model"
	case f.Code == llm.Timeout:
		e.Message, tells = "the remote model took too long", false
	case f.Name == "":
		e.Message, tells = "the remote model cannot be reached, or its answer broke off", false
	default:
		e.Message, tells = "the remote model failed", false
	}
	if s := presentable(f.sentence); tells && texts != nil && s != "" && !repeats(f.sentence, texts) {
		e.Message += ": " + s
	}
	return e
}

var secrets = regexp.MustCompile(`arn:[^\s"']+|[a-z][a-z0-9+.-]*://[^\s"']+|\b\d{12}\b|\bA[A-Z]{2}A[A-Z0-9]{12,}\b`)

// presentable returns a provider's sentence without names of resources, addresses,
// accounts and keys, as one line that is not long.
func presentable(s string) string {
	s = strings.Join(strings.Fields(secrets.ReplaceAllString(s, "...")), " ")
	if runes := []rune(s); len(runes) > 300 {
		s = string(runes[:300]) + "..."
	}
	return strings.ToValidUTF8(s, "")
}

// repeats tells whether a sentence may have a part of one of the texts in it: a whole
// one, or more than 2*part bytes in a row. What is escaped cannot be told.
func repeats(sentence string, texts []string) bool {
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
