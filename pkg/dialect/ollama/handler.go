package ollama

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"net/http"
	"strings"
	"time"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
	"glossa/pkg/openaiapi"
	"glossa/pkg/wire"
)

// Config configures the dialect.
type Config struct {
	Models llm.Models
	Now    func() time.Time // nil: time.Now

	// Held returns when the models in memory leave it if they are not used again, by their names: the
	// zero time is when others need their memory. Nil: not known.
	Held func() map[string]time.Time
	// Keep sets how long the model of a name stays in memory after its last use; below 0 until others
	// need its memory. Nil: requests do not set it.
	Keep func(ctx context.Context, name string, idle time.Duration) error
}

// Routes returns the routes of the dialect.
func Routes(cfg Config) []httpx.Route {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Held == nil {
		cfg.Held = func() map[string]time.Time { return nil }
	}
	post := func(pattern string, doc *httpx.Operation, handle httpx.Handler) httpx.Route {
		return httpx.Route{Method: "POST", Pattern: pattern, Permission: httpx.Inference, Doc: doc, Handle: handle}
	}
	chat := post("/api/chat", chatDoc, httpx.Post(chatTable, (*chatRequest).request, open[chatRequest](cfg), cfg.chat))
	text := post("/api/generate", generateDoc, httpx.Post(generateTable, (*generateRequest).request, open[generateRequest](cfg), cfg.text))
	chat.Streams, text.Streams = true, true
	routes := []httpx.Route{
		chat, text,
		post("/api/embed", embedDoc, httpx.Post(embedTable, (*embedRequest).request, open[embedRequest](cfg), cfg.embed)),
		post("/api/embeddings", embeddingsDoc, httpx.Post(embeddingsTable, (*embeddingsRequest).request, open[embeddingsRequest](cfg), embeddings)),
		{Method: "GET", Pattern: "/api/tags", Permission: httpx.Listing, Doc: tagsDoc, Handle: cfg.tags},
		{Method: "GET", Pattern: "/api/ps", Permission: httpx.Listing, Doc: runningDoc, Handle: cfg.running},
		{Method: "POST", Pattern: "/api/show", Permission: httpx.Listing, Doc: showDoc, Handle: cfg.show},
	}
	for i := range routes {
		routes[i].Errors = Errors
	}
	return routes
}

// Ours reports whether a request for /api/chat or /api/generate is of Ollama's client, and not of
// Alpha's: the clients say who they are or send stream, and only Ollama has the other keys.
func Ours(header http.Header, body []byte) bool {
	if agent := strings.ToLower(header.Get("User-Agent")); strings.HasPrefix(agent, "ollama") {
		return true
	}
	var keys map[string]json.RawMessage
	if json.Unmarshal(body, &keys) != nil {
		return false
	}
	for _, key := range []string{"stream", "options", "format", "keep_alive", "tools", "think", "raw", "template", "context", "images", "system", "suffix", "logprobs"} {
		if _, ok := keys[key]; ok {
			return true
		}
	}
	return false
}

func (s *settings) modelName() string          { return s.Model }
func (e *embedRequest) modelName() string      { return e.Model }
func (e *embeddingsRequest) modelName() string { return e.Model }

func (c *chatRequest) unloads() bool     { return c.asksNothing() && c.leaves() }
func (g *generateRequest) unloads() bool { return g.asksNothing() && g.leaves() }
func (*embedRequest) unloads() bool      { return false }
func (*embeddingsRequest) unloads() bool { return false }

func (c *chatRequest) asksNothing() bool { return len(c.Messages) == 0 }
func (g *generateRequest) asksNothing() bool {
	return g.Prompt == "" && len(g.Images.Values) == 0
}

// leaves reports whether the model is to leave the memory after the request.
func (s *settings) leaves() bool {
	idle, err := idleTime(s.KeepAlive)
	return err == nil && idle != nil && *idle == 0
}

func (s *settings) keepAlive() json.RawMessage          { return s.KeepAlive }
func (e *embedRequest) keepAlive() json.RawMessage      { return e.KeepAlive }
func (e *embeddingsRequest) keepAlive() json.RawMessage { return e.KeepAlive }

// idleTime reads a duration or seconds; below 0 is for ever, and nil is not sent.
func idleTime(raw json.RawMessage) (*time.Duration, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		if d, err := time.ParseDuration(text); err == nil {
			return &d, nil
		}
	}
	var seconds float64
	if json.Unmarshal(raw, &seconds) != nil {
		return nil, wire.Invalid("keep_alive", "must be a number of seconds or a duration such as 5m, not %.40s", raw)
	}
	if seconds > math.MaxInt64/float64(time.Second) {
		seconds = -1
	}
	return new(time.Duration(seconds * float64(time.Second))), nil
}

// A timed model is one that was opened for a request.
type timed struct {
	*llm.Model
	clock
}

// open returns how the model of a request is found, and how long it stays in memory after it. A request
// that only unloads the model does not load it.
func open[In any, Request interface {
	*In
	modelName() string
	keepAlive() json.RawMessage
	unloads() bool
}](cfg Config) func(*http.Request, *In) (*timed, error) {
	return func(r *http.Request, in *In) (*timed, error) {
		out := &timed{clock: clock{begun: cfg.Now()}}
		idle, err := idleTime(Request(in).keepAlive())
		if err != nil {
			return nil, err
		}
		find := cfg.open
		if Request(in).unloads() {
			find = cfg.find
		}
		out.Model, err = find(r.Context(), Request(in).modelName())
		if err == nil && idle != nil && cfg.Keep != nil {
			err = cfg.Keep(r.Context(), strings.TrimSuffix(Request(in).modelName(), latest), *idle)
		}
		out.opened = cfg.Now()
		return out, err
	}
}

// latest is the tag that a name has if it has no other.
const latest = ":latest"

// open opens a model, whose name may have the tag latest.
func (cfg Config) open(ctx context.Context, name string) (*llm.Model, error) {
	model, err := cfg.Models.Open(ctx, strings.TrimSuffix(name, latest))
	if e, ok := errors.AsType[*llm.Error](err); ok && e.Code == llm.NotFound {
		unknown := llm.Errorf(llm.NotFound, "model %.200q not found, try pulling it first", name) // Ollama's words
		if nearest := httpx.NearestModel(ctx, cfg.Models, name); nearest != "" {
			unknown.Message = fmt.Sprintf("model %.200q not found; did you mean %q?", name, nearest)
		}
		unknown.Err = err
		return nil, unknown
	}
	return model, err
}

func (cfg Config) chat(w http.ResponseWriter, r *http.Request, call httpx.Call[chatRequest, *llm.Request, *timed]) error {
	if call.In.asksNothing() {
		return cfg.loaded(w, call.Model, true, call.In.unloads())
	}
	return cfg.answer(w, r, call.Req, call.Model, true)
}

func (cfg Config) text(w http.ResponseWriter, r *http.Request, call httpx.Call[generateRequest, *llm.Request, *timed]) error {
	if call.In.asksNothing() {
		return cfg.loaded(w, call.Model, false, call.In.unloads())
	}
	return cfg.answer(w, r, call.Req, call.Model, false)
}

// loaded answers a chat or a text that asks nothing: the model was only opened, or closed.
func (cfg Config) loaded(w http.ResponseWriter, model *timed, isChat, unload bool) error {
	line := (&answer{model: model.Name, isChat: isChat, now: cfg.Now}).line("", "")
	line.Done, line.Reason = true, "load"
	if unload {
		line.Reason = "unload"
	}
	return httpx.JSON(w, http.StatusOK, line)
}

// answer answers a chat or a text.
func (cfg Config) answer(w http.ResponseWriter, r *http.Request, req *llm.Request, model *timed, isChat bool) error {
	a := &answer{model: model.Name, isChat: isChat, now: cfg.Now, clock: model.clock}
	if err := openaiapi.CheckImages("messages", &model.ModelInfo, req); err != nil {
		return err
	}
	backend := watched{model.Model, &a.clock, cfg.Now}
	if req.Stream {
		return a.stream(w, r, req, backend)
	}
	rows, used, err := httpx.Collect(r, backend, req)
	if err != nil {
		return rename(err)
	}
	row := rows[0]
	row.Usage = &used
	whole, err := a.piece(row, req.Logprobs != nil)
	if err != nil {
		return err
	}
	a.finish(&whole, &row)
	return httpx.JSON(w, http.StatusOK, whole)
}

// A watched model notes when its first chunk comes.
type watched struct {
	llm.Backend
	clock *clock
	now   func() time.Time
}

// Generate implements [llm.Backend].
func (m watched) Generate(ctx context.Context, req *llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		for chunk, err := range m.Backend.Generate(ctx, req) {
			if m.clock.first.IsZero() {
				m.clock.first = m.now()
			}
			if !yield(chunk, err) {
				return
			}
		}
	}
}

// stream sends the lines of an answer as its chunks come. An error before the first one has a
// status of its own.
func (a *answer) stream(w http.ResponseWriter, r *http.Request, req *llm.Request, model llm.Backend) error {
	out := httpx.NewStream(r.Context(), w, httpx.NDJSON)
	for chunk, err := range out.Await(model.Generate(r.Context(), req)) {
		if err != nil {
			return rename(err)
		}
		lines, err := a.add(chunk, req.Logprobs != nil)
		if err != nil {
			return err
		}
		for _, line := range lines {
			if err := out.Send(line); err != nil {
				return err
			}
		}
	}
	return nil
}

// rename puts the client's keys into an error of a model.
func rename(err error) error {
	e, ok := errors.AsType[*llm.Error](err)
	if !ok {
		return err
	}
	renamed := *e
	switch {
	case strings.HasPrefix(e.Param, "tools["):
		renamed.Param = strings.Replace(e.Param, "].", "].function.", 1)
	case e.Param == "reasoning_effort":
		renamed.Param = "think" // a level, or whether
	}
	return &renamed
}

// request translates a request for vectors.
func (e *embedRequest) request() (*llm.EmbedRequest, error) {
	req := &llm.EmbedRequest{Truncate: e.Truncate == nil || *e.Truncate}
	if e.Dimensions != nil {
		req.Dimensions = *e.Dimensions
	}
	for _, text := range e.Input.Values {
		req.Prompts = append(req.Prompts, llm.Text(text))
	}
	return req, nil
}

func (cfg Config) embed(w http.ResponseWriter, r *http.Request, call httpx.Call[embedRequest, *llm.EmbedRequest, *timed]) error {
	list, used, err := embed(r.Context(), call.Model.Model, call.Req, call.In.Truncate == nil)
	if err != nil {
		return err
	}
	out := embedAnswer{Model: call.Model.Name, Embeddings: [][]float32{}, durations: durations{
		Total: int64(cfg.Now().Sub(call.Model.begun)), Load: int64(call.Model.opened.Sub(call.Model.begun)), PromptCount: used.Input, Cost: used.Cost,
	}}
	for _, e := range list {
		out.Embeddings = append(out.Embeddings, llm.Unit(e.Layers[0].Vectors[0]))
	}
	return httpx.JSON(w, http.StatusOK, out)
}

// embed embeds texts, none without work. With lenient, a model that cannot cut them gets them whole.
func embed(ctx context.Context, model *llm.Model, req *llm.EmbedRequest, lenient bool) ([]llm.Embedding, llm.Usage, error) {
	embedder, err := llm.As[llm.Embedder](model)
	if err != nil {
		return nil, llm.Usage{}, err
	}
	if len(req.Prompts) == 0 {
		return nil, llm.Usage{}, nil
	}
	if lenient {
		return llm.EmbedCut(ctx, embedder, req)
	}
	return embedder.Embed(ctx, req)
}

// request translates a request for a vector. An empty text has none.
func (e *embeddingsRequest) request() (*llm.EmbedRequest, error) {
	req := &llm.EmbedRequest{Truncate: true}
	if e.Prompt != "" {
		req.Prompts = []llm.Prompt{llm.Text(e.Prompt)}
	}
	return req, nil
}

func embeddings(w http.ResponseWriter, r *http.Request, call httpx.Call[embeddingsRequest, *llm.EmbedRequest, *timed]) error {
	list, _, err := embed(r.Context(), call.Model.Model, call.Req, true)
	if err != nil {
		return err
	}
	answer := embeddingsAnswer{[]float32{}}
	if len(list) > 0 {
		answer.Embedding = list[0].Layers[0].Vectors[0]
	}
	return httpx.JSON(w, http.StatusOK, answer)
}

// Errors gives errors the shape that Ollama's clients read.
var Errors httpx.Errors = shape{}

type shape struct{}

// Body implements [httpx.Errors].
func (shape) Body(e *llm.Error) (int, any) {
	message := e.Message
	switch {
	case e.Code == wire.UnknownParam:
		message = "unknown key " + e.Param
	case e.Param != "" && e.Code != llm.NotFound:
		message = e.Param + ": " + message
	}
	return httpx.Status(e.Code), errorBody{message}
}

// InBand implements [httpx.Errors].
func (s shape) InBand(e *llm.Error) []byte {
	_, body := s.Body(e)
	frame, _ := httpx.NDJSON.Frame(body) // strings cannot fail
	return frame
}
