package awsrest

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
	"github.com/aws/smithy-go/transport/http/protocol/restjson1"
)

func newReader(b []byte) *bufio.Reader { return bufio.NewReaderSize(bytes.NewReader(b), buffered) }

// canned gives the same answer to any request.
type canned struct {
	kind string
	body []byte
}

func (c canned) Do(r *http.Request) (*http.Response, error) {
	// The SDK closes the body right after sending; WriteTo fails then.
	if _, err := io.Copy(io.Discard, struct{ io.Reader }{r.Body}); err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: 200, Header: http.Header{"Content-Type": {c.kind}}, ContentLength: int64(len(c.body)), Body: io.NopCloser(bytes.NewReader(c.body)), Request: r,
	}, nil
}

// BenchmarkPost measures a call without a network, against the SDK's client: a kilobyte both ways.
func BenchmarkPost(b *testing.B) {
	body := []byte(`{"text": "` + strings.Repeat("x", 1000) + `"}`)
	cfg := configuration()
	cfg.HTTPClient = canned{"application/json", body}
	b.Run("awsrest", func(b *testing.B) {
		b.ReportAllocs()
		c, err := New(Bedrock(), cfg, "", "")
		if err != nil {
			b.Fatal(err)
		}
		op := c.Operation(http.Header{"Accept": {"application/json"}}, "model", "anthropic.claude-v2:1", "invoke")
		for b.Loop() {
			a, err := op.Post(b.Context(), body)
			if err != nil {
				b.Fatal(err)
			}
			if got, err := a.Whole(); err != nil || len(got) != len(body) {
				b.Fatal(err)
			}
		}
	})
	b.Run("sdk", func(b *testing.B) {
		b.ReportAllocs()
		c, kind := bedrockruntime.NewFromConfig(cfg), aws.String("application/json")
		for b.Loop() {
			_, err := c.InvokeModel(b.Context(), &bedrockruntime.InvokeModelInput{ModelId: aws.String("anthropic.claude-v2:1"), Body: body, ContentType: kind, Accept: kind})
			if err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkEvents measures a stream of a thousand events without a network, against the SDK's
// client.
func BenchmarkEvents(b *testing.B) {
	event := chunkOf(b, []byte(`{"bytes":"`+strings.Repeat("QUFB", 40)+`","p":"abcdefghij"}`))
	cfg := configuration()
	cfg.HTTPClient = canned{"application/vnd.amazon.eventstream", bytes.Repeat(event, 1000)}
	b.Run("awsrest", func(b *testing.B) {
		b.ReportAllocs()
		c, err := New(Bedrock(), cfg, "", "")
		if err != nil {
			b.Fatal(err)
		}
		op := c.Operation(nil, "model", "m", "invoke-with-response-stream")
		for b.Loop() {
			a, err := op.Post(b.Context(), nil)
			if err != nil {
				b.Fatal(err)
			}
			n := 0
			for _, err := range a.Events() {
				if err != nil {
					b.Fatal(err)
				}
				n++
			}
			if n != 1000 {
				b.Fatal(n)
			}
		}
	})
	b.Run("sdk", func(b *testing.B) {
		b.ReportAllocs()
		c := bedrockruntime.NewFromConfig(cfg, func(o *bedrockruntime.Options) { o.Protocol = restjson1.New(nil) })
		for b.Loop() {
			out, err := c.InvokeModelWithResponseStream(b.Context(), &bedrockruntime.InvokeModelWithResponseStreamInput{ModelId: aws.String("m"), Body: []byte("{}")})
			if err != nil {
				b.Fatal(err)
			}
			n := 0
			for range out.GetStream().Events() {
				n++
			}
			if err := out.GetStream().Close(); err != nil || n != 1000 {
				b.Fatal(n, err)
			}
		}
	})
}
