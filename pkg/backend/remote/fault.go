package remote

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/aws/smithy-go"

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

// A Container is what a provider passes on from the model's own server.
type Container struct {
	Status  *int32
	Message *string
}

// NewFault returns the fault that err, of the provider's client, is. w is the wire of
// the call; inside tells that the answer had begun. A model that failed has an answer
// of its own in c.
func NewFault(op string, err error, w *Wire, inside bool, c Container) *Fault {
	f := &Fault{Op: op, Code: llm.Upstream, Status: w.Status, RequestID: w.Header.Get("X-Amzn-Requestid"), RetryAfter: retryAfter(w)}
	if inside {
		f.Status = 0 // it was 200
	}
	api, ok := errors.AsType[smithy.APIError](err)
	if !ok {
		f.cause, f.again = causeOf(err, w.Status != 0)
		if w.Status >= 400 {
			f.Code, f.again = classify("unknown", w.Status)
		}
		return f
	}
	f.Name, f.sentence = api.ErrorCode(), api.ErrorMessage()
	f.Code, f.again = classify(strings.ToLower(f.Name), f.Status)
	if c.Status != nil {
		f.Code, f.again = classify("", int(*c.Status))
	}
	if c.Message != nil {
		f.sentence = *c.Message
	}
	return f
}

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
	case "modelerrorexception", "modelerror", "modelstreamerrorexception", "modelstreamerror":
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
