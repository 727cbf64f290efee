package conformance

import (
	"errors"
	"io"
	"math"
	"testing"

	goopenai "github.com/sashabaranov/go-openai"
)

func TestGoOpenAI(t *testing.T) {
	cfg := goopenai.DefaultConfig("not-needed")
	cfg.BaseURL = serve(t)
	c := goopenai.NewClientWithConfig(cfg)

	list, err := c.ListModels(t.Context())
	if err != nil || len(list.Models) < 3 || list.Models[0].ID != model {
		t.Errorf("%+v, %v", list, err)
	}
	if m, err := c.GetModel(t.Context(), model); err != nil || m.ID != model {
		t.Errorf("%+v, %v", m, err)
	}
	t.Run("chat", func(t *testing.T) { testGoChat(t, c) })
	t.Run("completions", func(t *testing.T) { testGoCompletions(t, c) })
	t.Run("embeddings", func(t *testing.T) { testGoEmbeddings(t, c) })
	t.Run("errors", func(t *testing.T) { testGoErrors(t, c) })
}

func testGoChat(t *testing.T, c *goopenai.Client) {
	req := goopenai.ChatCompletionRequest{
		Model: model, MaxTokens: 9, Temperature: math.SmallestNonzeroFloat32,
		Messages: []goopenai.ChatCompletionMessage{{Role: goopenai.ChatMessageRoleUser, Content: prompt}},
	}
	whole, err := c.CreateChatCompletion(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	req.StreamOptions = &goopenai.StreamOptions{IncludeUsage: true}
	stream, err := c.CreateChatCompletionStream(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	var streamed answer
	for {
		chunk, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, choice := range chunk.Choices {
			streamed.text += choice.Delta.Content
			streamed.finish = string(choice.FinishReason)
		}
		if chunk.Usage != nil {
			streamed.input, streamed.output = chunk.Usage.PromptTokens, chunk.Usage.CompletionTokens
		}
	}
	first := whole.Choices[0]
	agree(t, "chat", 9, answer{first.Message.Content, string(first.FinishReason), whole.Usage.PromptTokens, whole.Usage.CompletionTokens}, streamed)
}

func testGoCompletions(t *testing.T, c *goopenai.Client) {
	req := goopenai.CompletionRequest{
		Model: model, Prompt: prompt, MaxTokens: 9, LogProbs: 2, Echo: false, Metadata: map[string]string{"a": "b"}, Store: false,
	}
	seed := 7
	req.Seed = &seed
	whole, err := c.CreateCompletion(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	req.StreamOptions = &goopenai.StreamOptions{IncludeUsage: true}
	stream, err := c.CreateCompletionStream(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	var streamed answer
	var values []float32
	for {
		chunk, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, choice := range chunk.Choices {
			streamed.text += choice.Text
			streamed.finish = choice.FinishReason
			values = append(values, choice.LogProbs.TokenLogprobs...)
		}
		if chunk.Usage != nil {
			streamed.input, streamed.output = chunk.Usage.PromptTokens, chunk.Usage.CompletionTokens
		}
	}
	first := whole.Choices[0]
	agree(t, "completions", 9, answer{first.Text, first.FinishReason, whole.Usage.PromptTokens, whole.Usage.CompletionTokens}, streamed)
	if len(values) != 9 {
		t.Errorf("%d log-probabilities", len(values))
	}
	for i, v := range first.LogProbs.TokenLogprobs {
		if v != values[i] || first.LogProbs.TopLogprobs[i][first.LogProbs.Tokens[i]] != v || first.LogProbs.TextOffset[i] < len(prompt) {
			t.Errorf("%d: %+v", i, first.LogProbs)
		}
	}
}

func testGoEmbeddings(t *testing.T, c *goopenai.Client) {
	plain, err := c.CreateEmbeddings(t.Context(), goopenai.EmbeddingRequestStrings{Input: []string{prompt, "Ida"}, Model: model})
	if err != nil {
		t.Fatal(err)
	}
	packed, err := c.CreateEmbeddings(t.Context(), goopenai.EmbeddingRequestStrings{
		Input: []string{prompt, "Ida"}, Model: model, EncodingFormat: goopenai.EmbeddingEncodingFormatBase64,
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		product, err := plain.Data[i].DotProduct(&packed.Data[i])
		if err != nil || math.Abs(float64(product)-1) > 1e-4 {
			t.Errorf("%v, %v", product, err)
		}
	}
	if _, err := c.CreateEmbeddings(t.Context(), goopenai.EmbeddingRequestTokens{Input: [][]int{{5, 6}}, Model: model}); err != nil {
		t.Error(err)
	}
}

func testGoErrors(t *testing.T, c *goopenai.Client) {
	_, err := c.CreateCompletion(t.Context(), goopenai.CompletionRequest{Model: model, Prompt: "x", Store: true})
	if e, ok := errors.AsType[*goopenai.APIError](err); !ok || e.HTTPStatusCode != 400 || e.Param == nil || *e.Param != "store" {
		t.Errorf("%v", err)
	}
	_, err = c.CreateCompletionStream(t.Context(), goopenai.CompletionRequest{Model: "none", Prompt: "x"})
	if e, ok := errors.AsType[*goopenai.APIError](err); !ok || e.HTTPStatusCode != 404 || e.Code != "model_not_found" {
		t.Errorf("%v", err)
	}
}
