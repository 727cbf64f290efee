package engine_test

import (
	"errors"
	"strings"
	"testing"

	"glossa/pkg/engine"
	"glossa/pkg/engine/arch"
	"glossa/pkg/llm"
)

// Requests that a model cannot answer name the parameter and what would work.
func TestEncoderRefuses(t *testing.T) {
	e := openEncoder(t, "testdata/encoders/bert", engine.Config{})
	text := func(change func(*llm.EmbedRequest)) *llm.EmbedRequest { return embedTexts([]string{"a cat"}, change) }
	long := strings.Repeat("cat ", 23)
	for _, c := range []struct {
		req         *llm.EmbedRequest
		code        llm.Code
		param, want string
	}{
		{&llm.EmbedRequest{}, llm.Invalid, "prompt", "is required"},
		{&llm.EmbedRequest{Prompts: make([]llm.Prompt, 10000)}, llm.Invalid, "prompt", "at most"},
		{text(func(r *llm.EmbedRequest) { r.PromptName = "ask" }), llm.Invalid, "prompt_name", `"ask" is not one of document, query`},
		{text(func(r *llm.EmbedRequest) { r.Dimensions = 33 }), llm.Invalid, "dimensions", "must be between 1 and 32, not 33"},
		{text(func(r *llm.EmbedRequest) { r.Dimensions = -1 }), llm.Invalid, "dimensions", "must be between 1 and 32, not -1"},
		{&llm.EmbedRequest{Prompts: []llm.Prompt{llm.Text("a"), llm.Text(long)}}, llm.TooLong, "prompt[1]", "the prompt has 25 tokens, the context of this model 24"},
		{&llm.EmbedRequest{Prompts: []llm.Prompt{{Messages: []llm.Message{{Role: "user"}}}}}, llm.Unsupported, "", "not chats or images"},
		{&llm.EmbedRequest{Prompts: []llm.Prompt{{Parts: []llm.Part{{Tokens: []int{1 << 20}}}}}}, llm.Invalid, "prompt", "1048576"},
		{text(func(r *llm.EmbedRequest) { r.Layers, r.Dimensions = []int{1}, 4 }), llm.Invalid, "dimensions", "cannot be shortened"},
	} {
		_, _, err := e.Embed(t.Context(), c.req)
		if got, ok := errors.AsType[*llm.Error](err); !ok || got.Code != c.code || got.Param != c.param || !strings.Contains(got.Message, c.want) {
			t.Errorf("%v, want %q, %s", err, c.param, c.want)
		}
	}
	for _, err := range e.Generate(t.Context(), &llm.Request{}) {
		if got, ok := errors.AsType[*llm.Error](err); !ok || got.Code != llm.Unsupported || !strings.Contains(got.Message, "embeds texts") {
			t.Errorf("%v", err)
		}
	}
}

// A text of tokens is complete, so the tokenizer adds nothing to it.
func TestEncoderTokens(t *testing.T) {
	e := openEncoder(t, "testdata/encoders/bert", engine.Config{})
	tokens, err := e.Tokenize(t.Context(), []llm.Part{{Text: "the red hen"}}, true)
	if err != nil {
		t.Fatal(err)
	}
	var ids []int
	for _, token := range tokens {
		ids = append(ids, token.ID)
	}
	if ids[0] != 2 || ids[len(ids)-1] != 3 {
		t.Errorf("not the tokens of a whole text: %v", ids)
	}
	want, _ := vectorsOf(t, e, embedTexts([]string{"the red hen"}, nil))
	got, usage := vectorsOf(t, e, &llm.EmbedRequest{Prompts: []llm.Prompt{{Parts: []llm.Part{{Tokens: ids}}}}})
	if difference(got[0], want[0]) != 0 || usage.Input != len(ids) {
		t.Errorf("%d tokens, another vector by %v", usage.Input, difference(got[0], want[0]))
	}
}

// The layers of an encoder and of a decoder that embeds texts are one vector for each token.
func TestEncoderLayers(t *testing.T) {
	for _, name := range []string{"bert", "qwen3"} {
		e := openEncoder(t, "testdata/encoders/"+name, engine.Config{})
		list, _, err := e.Embed(t.Context(), &llm.EmbedRequest{Prompts: []llm.Prompt{llm.Text("the hen")}, Layers: []int{0, -1}})
		if err != nil {
			t.Fatal(err)
		}
		if l := list[0].Layers; len(l) != 2 || l[1].Index != 2 || len(l[0].Vectors) != len(list[0].Tokens) || len(l[1].Vectors[0]) != 32 {
			t.Errorf("%s: %+v", name, l)
		}
	}
}

// Open makes an encoder of files that say how they embed texts, and other engines refuse them.
func TestOpenEncoder(t *testing.T) {
	for _, name := range []string{"bert-bare", "mistral"} {
		m, err := arch.OpenPath("testdata/encoders/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := engine.New(m, engine.Config{Name: name}); err == nil || !strings.Contains(err.Error(), "embeds texts and does not continue them") {
			t.Errorf("%v", err)
		}
		if m, err = arch.OpenPath("testdata/encoders/" + name); err != nil {
			t.Fatal(err)
		}
		b, err := engine.Open(m, engine.Config{})
		if err != nil {
			t.Fatal(err)
		}
		e, ok := b.(*engine.Encoder)
		if !ok {
			t.Fatalf("%T", b)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Models that were not trained for it reject the options of sentence vectors.
func TestEmbedOptionsOfOthers(t *testing.T) {
	m, err := arch.OpenPath("../starter/runs/phrases")
	if err != nil {
		t.Fatal(err)
	}
	b, err := engine.Open(m, engine.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for param, change := range map[string]func(*llm.EmbedRequest){
		"prompt_name": func(r *llm.EmbedRequest) { r.PromptName = "query" },
		"task":        func(r *llm.EmbedRequest) { r.Task = llm.EmbedQuery },
		"dimensions":  func(r *llm.EmbedRequest) { r.Dimensions = 2 },
		"truncate":    func(r *llm.EmbedRequest) { r.Truncate = true },
	} {
		req := &llm.EmbedRequest{Prompts: []llm.Prompt{llm.Text("a")}}
		change(req)
		_, _, err := b.(llm.Embedder).Embed(t.Context(), req)
		if got, ok := errors.AsType[*llm.Error](err); !ok || got.Param != param {
			t.Errorf("%v, want %q", err, param)
		}
	}
}
