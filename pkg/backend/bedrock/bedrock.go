// Package bedrock calls models on Amazon Bedrock by InvokeModel and Converse, and by the
// streaming forms of both. It knows their calls and errors; records and
// pkg/backend/remote define the bodies. It makes no clients.
//
// Source: Amazon Bedrock API Reference, InvokeModel, InvokeModelWithResponseStream,
// Converse, ConverseStream.
package bedrock

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"strconv"
	"strings"

	"glossa/pkg/backend/awsrest"
	"glossa/pkg/backend/remote"
	"glossa/pkg/llm"
)

// A Target is a model.
type Target struct {
	ID        string // a model id, with or without a geography prefix (us., eu., apac., global.), or the ARN of an inference profile
	Guardrail Guardrail
}

// A Guardrail is one of the account's guardrails, which Bedrock applies to requests and
// answers. The zero value is none.
type Guardrail struct {
	ID      string `json:"guardrailIdentifier"` // or its ARN
	Version string `json:"guardrailVersion"`    // a number or DRAFT
	// Trace is enabled or enabled_full: answers say what the guardrail found; "": they do not.
	Trace string `json:"trace,omitempty"`
}

// New returns the backend of the model t.
func New(client *awsrest.Client, t Target, m remote.Model) *remote.Backend {
	accept := []string{"application/json"}
	header := func(name string) http.Header {
		h := http.Header{name: accept}
		if t.Guardrail.ID != "" {
			h["X-Amzn-Bedrock-Guardrailidentifier"] = []string{t.Guardrail.ID}
			h["X-Amzn-Bedrock-Guardrailversion"] = []string{t.Guardrail.Version}
		}
		if t.Guardrail.Trace != "" {
			h["X-Amzn-Bedrock-Trace"] = []string{strings.ToUpper(t.Guardrail.Trace)}
		}
		return h
	}
	m.Schema = m.Schema.For(t.ID)
	return remote.New(&endpoint{
		whole:          client.Operation(header("Accept"), "model", t.ID, "invoke"),
		stream:         client.Operation(header("X-Amzn-Bedrock-Accept"), "model", t.ID, "invoke-with-response-stream"),
		converse:       client.Operation(http.Header{"Accept": accept}, "model", t.ID, "converse"),
		converseStream: client.Operation(nil, "model", t.ID, "converse-stream"),
		guardrail:      t.Guardrail,
	}, m)
}

type endpoint struct {
	whole, stream, converse, converseStream *awsrest.Operation
	guardrail                               Guardrail
}

// Call implements [remote.Endpoint].
func (e *endpoint) Call(ctx context.Context, api remote.API, body []byte) (remote.Payload, error) {
	op, to := "bedrock InvokeModel", e.whole
	if api == remote.Converse {
		op, to, body = "bedrock Converse", e.converse, e.guarded(body)
	}
	a, err := to.Post(ctx, body)
	if err != nil {
		return remote.Payload{}, fault(op, err)
	}
	answer, err := a.Whole()
	if err != nil {
		return remote.Payload{}, fault(op, err)
	}
	return remote.Payload{Body: answer, Filtered: intervened(answer), Usage: llm.Usage{
		Input: tokens(a.Header, "X-Amzn-Bedrock-Input-Token-Count"), Output: tokens(a.Header, "X-Amzn-Bedrock-Output-Token-Count"),
	}}, nil
}

// guarded returns the body of a Converse with the guardrail, which has no headers there.
func (e *endpoint) guarded(body []byte) []byte {
	if e.guardrail.ID == "" {
		return body
	}
	config, _ := json.Marshal(e.guardrail) // texts only
	out := append([]byte(`{"guardrailConfig":`), config...)
	return append(append(out, ','), body[1:]...) // a request has members
}

// tokens returns the number in a header, 0 if there is none.
func tokens(h http.Header, name string) int {
	n, err := strconv.Atoi(h.Get(name))
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// Stream implements [remote.Endpoint].
func (e *endpoint) Stream(ctx context.Context, api remote.API, body []byte) (iter.Seq2[remote.Payload, error], error) {
	op, to, payload := "bedrock InvokeModelWithResponseStream", e.stream, chunk
	if api == remote.Converse {
		op, to, payload, body = "bedrock ConverseStream", e.converseStream, wrap, e.guarded(body)
	}
	a, err := to.Post(ctx, body)
	if err != nil {
		return nil, fault(op, err)
	}
	return func(yield func(remote.Payload, error) bool) {
		var room []byte
		for event, err := range a.Events() {
			ok := false
			if err == nil {
				room, ok, err = payload(room, event)
			}
			if err != nil {
				yield(remote.Payload{}, fault(op, err))
				return
			}
			if ok && !yield(remote.Payload{Body: room, Usage: metrics(room), Filtered: intervened(room)}, nil) {
				return
			}
		}
	}, nil
}

// wrap writes an event of ConverseStream as the member of its name, into the memory of
// room: the form in which Nova's events come from InvokeModelWithResponseStream.
func wrap(room []byte, event awsrest.Event) ([]byte, bool, error) {
	room = append(append(append(room[:0], `{"`...), event.Type...), `":`...)
	return append(append(room, event.Payload...), '}'), true, nil
}

// intervened reports whether the guardrail replaced the answer or the event.
func intervened(answer []byte) bool {
	var a struct {
		Action string `json:"amazon-bedrock-guardrailAction"`
	}
	return bytes.Contains(answer, []byte("amazon-bedrock-guardrailAction")) && json.Unmarshal(answer, &a) == nil && a.Action == "INTERVENED"
}

var errChunk = errors.New("an event of the stream is not a chunk")

// chunk decodes the base64 bytes in an event, into the memory of room. An event also
// has padding that hides their number from eavesdroppers. ok is false for other events.
func chunk(room []byte, e awsrest.Event) (out []byte, ok bool, err error) {
	if e.Type != "chunk" {
		return room, false, nil
	}
	out, err = decode(room, e.Payload)
	return out, true, err
}

func decode(room, event []byte) ([]byte, error) {
	text, ok := bytes.CutPrefix(event, []byte(`{"bytes":"`))
	if ok {
		// Base64 has neither quotes nor escapes other than \/.
		text, _, ok = bytes.Cut(text, []byte(`"`))
		ok = ok && bytes.IndexByte(text, '\\') < 0
	}
	if !ok {
		var e struct{ Bytes *string }
		if json.Unmarshal(event, &e) != nil || e.Bytes == nil {
			return nil, &awsrest.Error{MidStream: true, Status: http.StatusOK, Err: errChunk}
		}
		text = []byte(*e.Bytes)
	}
	out, err := base64.StdEncoding.AppendDecode(room[:0], text)
	if err != nil {
		return nil, &awsrest.Error{MidStream: true, Status: http.StatusOK, Err: errChunk}
	}
	return out, nil
}

// metrics returns the counts that Bedrock adds to the last event of a stream.
func metrics(event []byte) llm.Usage {
	var m struct {
		Metrics struct{ InputTokenCount, OutputTokenCount int } `json:"amazon-bedrock-invocationMetrics"`
	}
	if !bytes.Contains(event, []byte("amazon-bedrock-invocationMetrics")) || json.Unmarshal(event, &m) != nil {
		return llm.Usage{}
	}
	return llm.Usage{Input: max(0, m.Metrics.InputTokenCount), Output: max(0, m.Metrics.OutputTokenCount)}
}

// fault returns err as a fault. Bedrock has no error code for unknown ids; only its
// message shows them.
func fault(op string, err error) error {
	err = remote.NewFault(op, err)
	if f, ok := errors.AsType[*remote.Fault](err); ok && strings.EqualFold(f.Name, "ValidationException") && f.MessageContains("model identifier is invalid") {
		f.Code = llm.NotFound
	}
	return err
}
