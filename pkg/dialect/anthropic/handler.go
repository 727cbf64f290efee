package anthropic

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"
	"time"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
	"glossa/pkg/openaiapi"
	"glossa/pkg/wire"
)

// Config configures the dialect.
type Config struct{ Models llm.Models }

// Routes returns the routes of the dialect. OpenAI's has paths of the same name for models; the
// header anthropic-version tells the clients apart.
func Routes(cfg Config) []httpx.Route {
	create := httpx.Post(messageTable, (*messageRequest).request, open[messageRequest](cfg), create)
	count := httpx.Post(countTable, (*prompted).request, open[prompted](cfg), countTokens)
	return []httpx.Route{
		{Method: "POST", Pattern: "/v1/messages", Permission: httpx.Inference, Streams: true, Errors: Errors, Doc: createDoc, Handle: create},
		{Method: "POST", Pattern: "/v1/messages/count_tokens", Permission: httpx.Inference, Errors: Errors, Doc: countDoc, Handle: count},
		{Method: "GET", Pattern: "/v1/models", Permission: httpx.Listing, Errors: Errors, Doc: listDoc, Handle: cfg.list},
		{Method: "GET", Pattern: "/v1/models/{id...}", Permission: httpx.Listing, Errors: Errors, Doc: modelDoc, Handle: cfg.model},
	}
}

// Ours reports whether the client of a request speaks this protocol: all of them send the version.
func Ours(header http.Header) bool { return header.Get("Anthropic-Version") != "" }

func (p *prompted) modelName() string { return p.Model }

// open returns how the model of a request is found.
func open[In any, Request interface {
	*In
	modelName() string
}](cfg Config) func(*http.Request, *In) (*llm.Model, error) {
	return func(r *http.Request, in *In) (*llm.Model, error) {
		return cfg.open(r.Context(), Request(in).modelName())
	}
}

func (cfg Config) open(ctx context.Context, name string) (*llm.Model, error) {
	model, err := cfg.Models.Open(ctx, name)
	if e, ok := errors.AsType[*llm.Error](err); ok && e.Code == llm.NotFound {
		unknown := llm.Errorf(llm.NotFound, "model: %.200s", name) // Anthropic's words
		if nearest := httpx.NearestModel(ctx, cfg.Models, name); nearest != "" {
			unknown.Message += fmt.Sprintf("; did you mean %s?", nearest)
		}
		unknown.Err = err
		return nil, unknown
	}
	return model, err
}

func create(w http.ResponseWriter, r *http.Request, call httpx.Call[messageRequest, *generation, *llm.Model]) error {
	gen, model := call.Req, call.Model
	if err := openaiapi.CheckImages("messages", &model.ModelInfo, gen.Request); err != nil {
		return err
	}
	gen.leaveOutEffort(w, model)
	a := newAnswer(model, gen)
	if gen.Stream {
		return gen.rename(a.stream(w, r, model))
	}
	rows, _, err := httpx.Collect(r, follower{model, a}, gen.Request)
	if err != nil {
		return gen.rename(err)
	}
	if err := a.checkInputs(rows[0].Finish); err != nil {
		return err
	}
	httpx.Guarantee(w, rows)
	return httpx.JSON(w, http.StatusOK, a.answerMessage)
}

// leaveOutEffort leaves the effort out of a request for a model in this process that does not reason,
// and names it in a header.
func (g *generation) leaveOutEffort(w http.ResponseWriter, model *llm.Model) {
	if g.IgnoresEffort(&model.ModelInfo) {
		httpx.Ignore(w.Header(), g.OptionalEffort)
		g.Effort = nil
	}
}

// A follower passes the chunks of a model on, in their order, to an answer that is not
// streamed.
type follower struct {
	llm.Backend
	a *answer
}

// Generate implements [llm.Backend].
func (f follower) Generate(ctx context.Context, req *llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		for chunk, err := range f.Backend.Generate(ctx, req) {
			if err == nil {
				err = f.a.add(chunk)
				f.a.take()
			}
			if err != nil {
				yield(llm.Chunk{}, err)
				return
			}
			if !yield(chunk, nil) {
				return
			}
		}
	}
}

// ping is the event that keeps a stream alive. It may come at any time.
const ping = "event: ping\ndata: {\"type\":\"ping\"}\n\n"

// stream sends the events of an answer as its chunks come. An error before the first one has a
// status of its own.
func (a *answer) stream(w http.ResponseWriter, r *http.Request, model *llm.Model) error {
	out, begun := httpx.NewStream(r.Context(), w, httpx.SSE.KeptAliveBy(ping)), false
	for chunk, err := range out.Await(model.Generate(r.Context(), a.gen.Request)) {
		if err == nil && !begun {
			begun = true
			a.begin(a.gen.input(r.Context(), model))
		}
		if err == nil {
			err = a.add(chunk)
		}
		if err != nil {
			return err
		}
		for _, e := range a.take() {
			if err := out.Event(e.Type, e); err != nil {
				return err
			}
		}
	}
	return nil
}

// input returns the tokens of the prompt for the beginning of a stream, 0 if they are not known
// before its end.
func (g *generation) input(ctx context.Context, model *llm.Model) int {
	n, err := g.count(ctx, model)
	if err != nil {
		return 0
	}
	return n
}

// rename puts the client's keys into an error of a model. The messages of a model are not those
// of the client.
func (g *generation) rename(err error) error {
	err = openaiapi.RenameTool(err, g.paths)
	e, ok := errors.AsType[*llm.Error](err)
	if !ok {
		return err
	}
	renamed := *e
	switch {
	case strings.HasPrefix(e.Param, "messages"), e.Param == "continue_final_message":
		renamed.Param = "messages"
	case strings.HasPrefix(e.Param, "tools["):
		renamed.Param = strings.Replace(e.Param, "].parameters", "].input_schema", 1)
	}
	return &renamed
}

// count counts the tokens of the prompt.
func (g *generation) count(ctx context.Context, model *llm.Model) (int, error) {
	renderer, err := llm.As[llm.Renderer](model)
	if err != nil {
		return 0, uncounted(err)
	}
	tokenizer, err := llm.As[llm.Tokenizer](model)
	if err != nil {
		return 0, uncounted(err)
	}
	parts, start, err := renderer.Render(ctx, g.Prompts[0], &g.Params, true)
	if err != nil {
		return 0, g.rename(err)
	}
	tokens, err := tokenizer.Tokenize(ctx, parts, start)
	return len(tokens), err
}

func uncounted(cause error) error {
	return &llm.Error{Code: llm.Unsupported, Param: "model", Message: "this server cannot count the tokens of the model's prompts", Err: cause}
}

func countTokens(w http.ResponseWriter, r *http.Request, call httpx.Call[prompted, *generation, *llm.Model]) error {
	if err := openaiapi.CheckImages("messages", &call.Model.ModelInfo, call.Req.Request); err != nil {
		return err
	}
	call.Req.leaveOutEffort(w, call.Model)
	n, err := call.Req.count(r.Context(), call.Model)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, tokenCount{n})
}

func (cfg Config) list(w http.ResponseWriter, r *http.Request) error {
	var in listRequest
	if err := httpx.DecodeQuery(r, listTable, &in); err != nil {
		return err
	}
	infos, err := cfg.Models.List(r.Context())
	if err != nil {
		return err
	}
	list, err := in.page(infos)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, list)
}

// page returns the models that a request asks for.
func (in *listRequest) page(infos []llm.ModelInfo) (*modelList, error) {
	position := func(key, id string) (int, error) {
		i := slices.IndexFunc(infos, func(info llm.ModelInfo) bool { return info.Name == id })
		if i < 0 {
			return 0, wire.Invalid(key, "%.200q is not the id of a model", id)
		}
		return i, nil
	}
	from, to := 0, len(infos)
	limit, backward := defaultModels, in.BeforeID != ""
	if in.Limit != nil {
		limit = *in.Limit
	}
	var err error
	switch {
	case backward && in.AfterID != "":
		return nil, wire.Invalid("before_id", "cannot be combined with after_id")
	case backward:
		to, err = position("before_id", in.BeforeID)
	case in.AfterID != "":
		from, err = position("after_id", in.AfterID)
		from++
	}
	if err != nil {
		return nil, err
	}
	list := &modelList{Data: []modelObject{}, HasMore: to-from > limit}
	if backward {
		from = max(from, to-limit)
	} else {
		to = min(to, from+limit)
	}
	for _, info := range infos[from:to] {
		list.Data = append(list.Data, newModel(&info))
	}
	if n := len(list.Data); n > 0 {
		list.FirstID, list.LastID = &list.Data[0].ID, &list.Data[n-1].ID
	}
	return list, nil
}

func (cfg Config) model(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("id")
	infos, err := cfg.Models.List(r.Context())
	if err != nil {
		return err
	}
	for _, info := range infos { // opening a model may load it, and only aliases need that
		if name == info.Name || name == info.Family+"/"+info.Name {
			return httpx.JSON(w, http.StatusOK, newModel(&info))
		}
	}
	model, err := cfg.open(r.Context(), name)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, newModel(&model.ModelInfo))
}

// newModel describes a model.
func newModel(info *llm.ModelInfo) modelObject {
	m := modelObject{Type: "model", ID: info.Name, DisplayName: info.Description, CreatedAt: time.Unix(0, 0).UTC().Format(time.RFC3339), Lifecycle: "active"}
	if m.DisplayName == "" {
		m.DisplayName = info.Name
	}
	if !info.Created.IsZero() {
		m.CreatedAt = info.Created.UTC().Format(time.RFC3339)
	}
	if info.Context > 0 {
		m.MaxInputTokens, m.MaxTokens = &info.Context, &info.Context
	}
	return m
}
