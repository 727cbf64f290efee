package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
)

// said is the text of an answer without streaming, which makes the answer a kilobyte long.
var said = strings.Repeat("What is said here has no meaning. ", 24)

// A fake answers like Amazon Bedrock for models of Anthropic and, for the proxy, like
// OpenAI, streamed as server-sent events.
type fake struct {
	mu     sync.Mutex
	frames int
	pace   time.Duration
	last   []byte // the body of the last request
}

func newFake(control *http.ServeMux) http.Handler {
	f := &fake{}
	control.HandleFunc("/last", func(w http.ResponseWriter, _ *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		_, _ = w.Write(f.last)
	})
	control.HandleFunc("/plan", func(w http.ResponseWriter, r *http.Request) {
		var p struct {
			Frames int
			Pace   time.Duration
		}
		if err := json.NewDecoder(r.Body).Decode(&p); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		f.frames, f.pace = p.Frames, p.Pace
	})
	return f
}

// ServeHTTP implements [http.Handler].
func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has disconnected
	}
	f.mu.Lock()
	f.last = body
	frames, pace := f.frames, f.pace
	f.mu.Unlock()
	switch {
	case strings.HasSuffix(r.URL.Path, "/invoke"):
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":%q}],`+
			`"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":200,"output_tokens":170}}`, said)
	case strings.HasSuffix(r.URL.Path, "/invoke-with-response-stream"):
		w.Header().Set("Content-Type", "application/vnd.amazon.eventstream")
		f.stream(w, r, frames, pace, bedrockEvent)
		bedrockEvent(w, `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":9}}`)
		bedrockEvent(w, `{"type":"message_stop","amazon-bedrock-invocationMetrics":{"inputTokenCount":200,"outputTokenCount":9}}`)
	case strings.Contains(string(body), `"stream":true`):
		w.Header().Set("Content-Type", "text/event-stream")
		f.stream(w, r, frames, pace, openaiEvent)
		io.WriteString(w, "data: [DONE]\n\n")
	default:
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":`+
			`{"role":"assistant","content":%q},"finish_reason":"stop"}],"usage":{"prompt_tokens":200,"completion_tokens":170,"total_tokens":370}}`, said)
	}
}

// stream sends frames, each with its number and its time.
func (f *fake) stream(w http.ResponseWriter, r *http.Request, frames int, pace time.Duration, event func(http.ResponseWriter, string)) {
	next := time.Now()
	for i := range frames {
		select {
		case <-time.After(time.Until(next)):
		case <-r.Context().Done():
			return
		}
		next = next.Add(pace)
		event(w, fmt.Sprintf(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"%06d %d\n"}}`, i, time.Now().UnixNano()))
	}
}

func bedrockEvent(w http.ResponseWriter, payload string) {
	b, err := json.Marshal(map[string]any{"bytes": []byte(payload), "p": "abcdefghijklmnop"})
	if err != nil {
		panic(err) // a string and bytes
	}
	m := eventstream.Message{Payload: b}
	m.Headers.Set(":message-type", eventstream.StringValue("event"))
	m.Headers.Set(":event-type", eventstream.StringValue("chunk"))
	m.Headers.Set(":content-type", eventstream.StringValue("application/json"))
	_ = eventstream.NewEncoder().Encode(w, m) // fails if the client has disconnected
	w.(http.Flusher).Flush()
}

// openaiEvent sends the text of a frame as OpenAI does.
func openaiEvent(w http.ResponseWriter, payload string) {
	var frame struct{ Delta struct{ Text string } }
	if err := json.Unmarshal([]byte(payload), &frame); err != nil {
		panic(err) // made by this program
	}
	fmt.Fprintf(w, `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":%q},"finish_reason":null}]}`+"\n\n", frame.Delta.Text)
	w.(http.Flusher).Flush()
}
