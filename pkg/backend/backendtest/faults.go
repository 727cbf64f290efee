package backendtest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"glossa/pkg/backend/remote"
	"glossa/pkg/llm"
)

const slowDown = `{"message": "slow down"}`

// retries checks that retries have their own budget, whatever the SDK's is.
func (s *Suite) retries(t *testing.T) {
	for _, stream := range []bool{false, true} {
		service, b := s.start(t, func(i int, r *Request, w *Reply) {
			switch i {
			case 0:
				w.Fail(429, "ThrottlingException", slowDown)
			case 1:
				w.Fail(503, "", `<html>`)
			default:
				says("one")(i, r, w)
			}
		})
		rows, _, err := collect(t.Context(), b, ask("p", stream))
		if err != nil || rows[0].Text != "one" || len(service.Requests()) != 3 {
			t.Errorf("throttled, then fine: %v %v after %d", rows, err, len(service.Requests()))
		}
		always := func(after string) func(int, *Request, *Reply) {
			return func(i int, r *Request, w *Reply) {
				w.Header().Set("Retry-After", after)
				w.Fail(429, "ThrottlingException", slowDown)
			}
		}
		service, b = s.start(t, always("0"))
		_, _, err = collect(t.Context(), b, ask("p", stream))
		if e := llm.AsError(err); e.Code != llm.Overloaded || e.RetryAfter != time.Second || len(service.Requests()) != 3 {
			t.Errorf("always throttled: %+v after %d", e, len(service.Requests()))
		}
		for _, seconds := range []int{4, 30} { // longer than the deadline, and than the budget of all pauses
			service, b = s.start(t, always(strconv.Itoa(seconds)))
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			if seconds == 30 {
				ctx = t.Context()
			}
			_, _, err = collect(ctx, b, ask("p", stream))
			cancel()
			if e := llm.AsError(err); e.Code != llm.Overloaded || e.RetryAfter != time.Duration(seconds)*time.Second || len(service.Requests()) != 1 {
				t.Errorf("told to wait: %+v after %d", e, len(service.Requests()))
			}
		}
	}
}

// faults checks the codes of faults.
func (s *Suite) faults(t *testing.T) {
	const says = `{"message": "it says so: arn:aws:iam::123456789012:role/x has no key AKIAIOSFODNN7EXAMPLE"}`
	for _, test := range []struct {
		name   string
		status int
		code   llm.Code
		calls  int // 1: not retried
	}{
		{"AccessDeniedException", 403, llm.Upstream, 1},
		{"InvalidSignatureException", 403, llm.Upstream, 1},
		{"ServiceQuotaExceededException", 400, llm.Overloaded, 1},
		{"ModelNotReadyException", 429, llm.Overloaded, 3},
		{"ModelTimeoutException", 408, llm.Timeout, 1},
		{"ResourceNotFoundException", 404, llm.NotFound, 1},
		{"InternalServerException", 500, llm.Upstream, 3},
		{"InternalFailure", 500, llm.Upstream, 3},
		{"ServiceUnavailableException", 503, llm.Upstream, 3},
		{"ModelErrorException", 424, llm.Upstream, 1},
		{"ModelError", 424, llm.Upstream, 1},
		{"", 504, llm.Timeout, 1},
		{s.Refused, 400, llm.Invalid, 1},
	} {
		service, b := s.start(t, func(_ int, _ *Request, w *Reply) { w.Fail(test.status, test.name, says) })
		for _, stream := range []bool{false, true} {
			before := len(service.Requests())
			_, _, err := collect(t.Context(), b, ask("a prompt", stream))
			e := llm.AsError(err)
			if calls := len(service.Requests()) - before; e.Code != test.code || calls != test.calls {
				t.Errorf("%s: %+v after %d calls", test.name, e, calls)
			}
			told := strings.Contains(e.Message, "it says so: ... has no key ...")
			if want := test.code != llm.Upstream && test.code != llm.Timeout || test.name == "AccessDeniedException"; told != want {
				t.Errorf("%s: %q", test.name, e.Message)
			}
			if log := e.Error(); !strings.Contains(log, fmt.Sprintf("status %d, request request-1", test.status)) || strings.Contains(log, "123456789012") ||
				strings.Contains(log, "AKIA") || !strings.Contains(log, test.name) {
				t.Errorf("%s: %s", test.name, log)
			}
		}
	}
	_, b := s.start(t, func(_ int, _ *Request, w *Reply) { s.Unknown(w) })
	if _, _, err := collect(t.Context(), b, ask("p", true)); llm.AsError(err).Code != llm.NotFound {
		t.Errorf("unknown model: %v", err)
	}
	gone := s.Open("http://127.0.0.1:1", remote.Model{Schema: Parse(t, record), Retry: Quick()})
	if _, _, err := collect(t.Context(), gone, ask("p", false)); llm.AsError(err).Code != llm.Upstream {
		t.Errorf("nobody there: %v", err)
	}
	_, b = s.start(t, func(_ int, _ *Request, w *Reply) { w.Whole(`{"text": `) })
	if _, _, err := collect(t.Context(), b, ask("p", false)); llm.AsError(err).Code != llm.Upstream {
		t.Errorf("no JSON: %v", err)
	}
}

// inside checks that nothing is retried within a stream, and that no end is made up.
func (s *Suite) inside(t *testing.T) {
	for name, test := range map[string]struct {
		end  func(w *Reply)
		code llm.Code
	}{
		"throttled":       {func(w *Reply) { w.Exception(s.Throttled, slowDown) }, llm.Overloaded},
		"model":           {func(w *Reply) { w.Exception("modelStreamErrorException", slowDown) }, llm.Upstream},
		"model too":       {func(w *Reply) { w.Exception("ModelStreamError", slowDown) }, llm.Upstream},
		"server":          {func(w *Reply) { w.Exception("internalServerException", slowDown) }, llm.Upstream},
		"server too":      {func(w *Reply) { w.Exception("InternalStreamFailure", slowDown) }, llm.Upstream},
		"broken":          {func(w *Reply) { w.Break() }, llm.Upstream},
		"garbage":         {func(w *Reply) { fmt.Fprint(w, "what is this, it is not a frame at all") }, llm.Upstream},
		"no JSON":         {func(w *Reply) { w.Event(`{"text": `); w.Event("") }, llm.Upstream},
		"the container's": {func(w *Reply) { w.Event(`data:{"error": "out of memory", "error_type": "generation"}`) }, llm.Upstream},
		"the word error":  {func(w *Reply) { w.Event(`{"text": "", "why": "error"}`) }, llm.Upstream},
		"no text":         {func(w *Reply) { w.Event(`{"text": 1}`) }, llm.Upstream},
	} {
		service, b := s.start(t, func(_ int, _ *Request, w *Reply) {
			w.Event(`{"text": "one "}`)
			w.Event(`{"text": "two"}`)
			test.end(w)
		})
		var text string
		var failed error
		for c, err := range b.Generate(t.Context(), ask("p", true)) {
			if text += c.Text; err != nil {
				failed = err
			}
		}
		if code, _ := codeOf(failed); code != test.code || text != "one two" || strings.Contains(failed.Error(), "status") || len(service.Requests()) != 1 {
			t.Errorf("%s: %q, then %v, after %d requests", name, text, failed, len(service.Requests()))
		}
	}
}

// silence checks that errors contain neither requests nor answers.
func (s *Suite) silence(t *testing.T) {
	const prompt, word = "The launch code of the rocket is swordfish", "xylophone"
	for name, answer := range map[string]func(w *Reply){
		"repeated": func(w *Reply) { w.Fail(400, s.Refused, `{"message": "I do not like `+prompt+`"}`) },
		"in part":  func(w *Reply) { w.Fail(400, s.Refused, `{"message": "there is 'code of the rocket is swordfish'"}`) },
		"container": func(w *Reply) {
			w.Fail(424, "ModelError", `{"Message": "`+prompt+`", "OriginalStatusCode": 400, "OriginalMessage": "`+prompt+`"}`)
		},
		"not JSON":    func(w *Reply) { w.Whole(word) },
		"number":      func(w *Reply) { w.Whole(`{"text": "` + word + `", "read": ` + word + `}`) },
		"not a frame": func(w *Reply) { fmt.Fprint(w, word, word) },
		"error inside": func(w *Reply) {
			w.Event(`{"text": "` + word + `"}`)
			w.Exception("modelStreamErrorException", `{"message": "`+word+`", "originalMessage": "`+word+`"}`)
		},
		"error":  func(w *Reply) { w.Event(`{"error": "` + word + `"}`) },
		"fields": func(w *Reply) { w.Exception("throttlingException", `{"message": 5, "`+word+`"`) },
	} {
		_, b := s.start(t, func(_ int, r *Request, w *Reply) { answer(w) })
		failed := false
		for _, stream := range []bool{false, true} {
			_, _, err := collect(t.Context(), b, ask(prompt, stream))
			if err == nil {
				continue // an event can be an answer to the other call
			}
			failed = true
			if text := err.Error(); strings.Contains(text, word) || strings.Contains(text, "swordfish") || strings.Contains(text, "launch") {
				t.Errorf("%s: %s", name, text)
			}
			for e := err; e != nil; e = errors.Unwrap(e) {
				if strings.Contains(fmt.Sprintf("%v", e), word) {
					t.Errorf("%s: %v", name, e)
				}
			}
		}
		if !failed {
			t.Errorf("%s is not an error", name)
		}
	}
}
