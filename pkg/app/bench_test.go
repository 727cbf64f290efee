package app

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"
	"github.com/aws/smithy-go/transport/http/protocol/restjson1"

	"glossa/pkg/account"
	"glossa/pkg/backend/backendtest"
)

// canned is a client with the answer of Amazon Bedrock to any request, so that the
// benchmark measures neither net/http nor a socket.
type canned struct{ whole, stream []byte }

func (c canned) Do(r *http.Request) (*http.Response, error) {
	// The SDK closes the body right after sending; WriteTo fails then.
	if _, err := io.Copy(io.Discard, struct{ io.Reader }{r.Body}); err != nil {
		return nil, err
	}
	body, kind := c.whole, "application/json"
	if strings.HasSuffix(r.URL.Path, "stream") {
		body, kind = c.stream, "application/vnd.amazon.eventstream"
	}
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {kind}}, Body: io.NopCloser(bytes.NewReader(body)), Request: r}, nil
}

const benchFrames = 100

// newCanned returns the answers: a text of a kilobyte, and benchFrames pieces.
func newCanned(b *testing.B) canned {
	text := strings.Repeat("What is said here has no meaning. ", 24)
	c := canned{whole: fmt.Appendf(nil, `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":%q}],`+
		`"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":200,"output_tokens":170}}`, text)}
	var stream bytes.Buffer
	add := func(payload string) {
		m := eventstream.Message{Payload: fmt.Appendf(nil, `{"bytes":%q,"p":"abcdefghijklmnop"}`, base64.StdEncoding.EncodeToString([]byte(payload)))}
		for name, value := range map[string]string{":message-type": "event", ":event-type": "chunk", ":content-type": "application/json"} {
			m.Headers.Set(name, eventstream.StringValue(value))
		}
		if err := eventstream.NewEncoder().Encode(&stream, m); err != nil {
			b.Fatal(err)
		}
	}
	for i := range benchFrames {
		add(fmt.Sprintf(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"%06d word\n"}}`, i))
	}
	add(`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":9}}`)
	add(`{"type":"message_stop","amazon-bedrock-invocationMetrics":{"inputTokenCount":200,"outputTokenCount":9}}`)
	c.stream = stream.Bytes()
	return c
}

// written is a response writer that drops its output.
type written struct {
	header http.Header
	bytes  int
}

func (w *written) Header() http.Header               { return w.header }
func (w *written) WriteHeader(int)                   {}
func (w *written) Write(b []byte) (int, error)       { w.bytes += len(b); return len(b), nil }
func (w *written) WriteString(s string) (int, error) { w.bytes += len(s); return len(s), nil }
func (w *written) Flush()                            {}

// BenchmarkGateway measures glossa's part of a request of a kilobyte to a model that
// takes no time: a buffered answer, or a stream of benchFrames; and the same calls
// with the SDK alone. See .ci/peers/gateway for those of a process with sockets.
func BenchmarkGateway(b *testing.B) {
	m := remoteModels[0]
	client := newCanned(b)
	cfg := aws.Config{Region: "us-east-1", Credentials: aws.NewCredentialsCache(backendtest.Credentials()), HTTPClient: client}
	key, err := account.NewKey("bench", account.Client, "a-key-of-a-client")
	if err != nil {
		b.Fatal(err)
	}
	a, err := New(Config{Records: catalogue(b, m), Auth: true, Keys: []account.Key{key}, Metrics: io.Discard})
	if err != nil {
		b.Fatal(err)
	}
	a.cloud.load = func() (aws.Config, error) { return cfg, nil }
	h := a.Handler("openai")
	for _, stream := range []bool{false, true} {
		body := fmt.Sprintf(`{"model":%q,"max_tokens":256,"temperature":0.5,"stream":%v,"messages":[`+
			`{"role":"system","content":"You answer in one short sentence."},{"role":"user","content":%q}]}`,
			m.name, stream, strings.Repeat("Tell me about the old lighthouse. ", 24))
		name := map[bool]string{false: "whole", true: "stream"}[stream]
		b.Run(name+"/glossa", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r := httptest.NewRequest("POST", "/v1/chat/completions", strings.NewReader(body))
				r.Header = http.Header{"Authorization": {"Bearer a-key-of-a-client"}, "Content-Type": {"application/json"}}
				ctx, cancel := context.WithCancel(r.Context()) // as a server does
				w := &written{header: http.Header{}}
				h.ServeHTTP(w, r.WithContext(ctx))
				if cancel(); w.bytes < 1000 {
					b.Fatal("no answer")
				}
			}
		})
		b.Run(name+"/sdk", func(b *testing.B) {
			b.ReportAllocs()
			direct := bedrockruntime.NewFromConfig(cfg)
			for b.Loop() {
				if err := callDirectly(b.Context(), direct, m.name, body, stream); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// callDirectly makes the call by the SDK's client. Streams of one client would share its
// protocol's buffer.
func callDirectly(ctx context.Context, c *bedrockruntime.Client, id, body string, stream bool) error {
	sound := func(o *bedrockruntime.Options) {
		o.Retryer = aws.NopRetryer{}
		o.Protocol = restjson1.New(nil)
	}
	kind := aws.String("application/json")
	if !stream {
		_, err := c.InvokeModel(ctx, &bedrockruntime.InvokeModelInput{ModelId: &id, Body: []byte(body), ContentType: kind, Accept: kind}, sound)
		return err
	}
	out, err := c.InvokeModelWithResponseStream(ctx, &bedrockruntime.InvokeModelWithResponseStreamInput{ModelId: &id, Body: []byte(body), ContentType: kind, Accept: kind}, sound)
	if err != nil {
		return err
	}
	events := out.GetStream()
	defer events.Close()
	n := 0
	for event := range events.Events() {
		if _, ok := event.(*types.ResponseStreamMemberChunk); ok {
			n++
		}
	}
	if err := events.Err(); err != nil || n != benchFrames+2 {
		return fmt.Errorf("%d events: %w", n, err)
	}
	return nil
}
