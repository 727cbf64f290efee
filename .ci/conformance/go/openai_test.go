package conformance

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

func TestOpenAI(t *testing.T) {
	c := openai.NewClient(option.WithBaseURL(serve(t)), option.WithAPIKey("not-needed"), option.WithMaxRetries(0))
	t.Run("models", func(t *testing.T) { testModels(t, &c) })
	t.Run("chat", func(t *testing.T) { testChat(t, &c) })
	t.Run("completions", func(t *testing.T) { testCompletions(t, &c) })
	t.Run("logprobs", func(t *testing.T) { testLogprobs(t, &c) })
	t.Run("embeddings", func(t *testing.T) { testEmbeddings(t, &c) })
	t.Run("errors", func(t *testing.T) { testErrors(t, &c) })
}

func testModels(t *testing.T, c *openai.Client) {
	list, err := c.Models.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range list.Data {
		if got, err := c.Models.Get(t.Context(), m.ID); err != nil || got.ID != m.ID || got.Created != m.Created || got.OwnedBy != m.OwnedBy {
			t.Errorf("%s: %+v, %v", m.ID, got, err)
		}
	}
	if len(list.Data) < 3 || list.Data[0].ID != model {
		t.Errorf("%+v", list.Data)
	}
}

func testChat(t *testing.T, c *openai.Client) {
	params := openai.ChatCompletionNewParams{
		Model: model, MaxTokens: openai.Int(9), Temperature: openai.Float(0), Seed: openai.Int(1),
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(prompt)},
	}
	whole, err := c.Chat.Completions.New(t.Context(), params)
	if err != nil {
		t.Fatal(err)
	}
	params.StreamOptions.IncludeUsage = openai.Bool(true)
	stream := c.Chat.Completions.NewStreaming(t.Context(), params)
	acc := openai.ChatCompletionAccumulator{}
	for stream.Next() {
		if !acc.AddChunk(stream.Current()) {
			t.Error("a chunk of another answer")
		}
	}
	if stream.Err() != nil {
		t.Fatal(stream.Err())
	}
	one := func(m *openai.ChatCompletion) answer {
		return answer{m.Choices[0].Message.Content, string(m.Choices[0].FinishReason), int(m.Usage.PromptTokens), int(m.Usage.CompletionTokens)}
	}
	agree(t, "chat", 9, one(whole), one(&acc.ChatCompletion))
}

func testCompletions(t *testing.T, c *openai.Client) {
	params := openai.CompletionNewParams{
		Model: model, MaxTokens: openai.Int(9), Temperature: openai.Float(0),
		Prompt: openai.CompletionNewParamsPromptUnion{OfString: openai.String(prompt)},
	}
	whole, err := c.Completions.New(t.Context(), params)
	if err != nil {
		t.Fatal(err)
	}
	streamed := answer{}
	params.StreamOptions.IncludeUsage = openai.Bool(true)
	stream := c.Completions.NewStreaming(t.Context(), params)
	for stream.Next() {
		chunk := stream.Current()
		for _, choice := range chunk.Choices {
			streamed.text += choice.Text
			streamed.finish = string(choice.FinishReason)
		}
		streamed.input, streamed.output = int(chunk.Usage.PromptTokens), int(chunk.Usage.CompletionTokens)
	}
	if stream.Err() != nil {
		t.Fatal(stream.Err())
	}
	first := answer{whole.Choices[0].Text, string(whole.Choices[0].FinishReason), int(whole.Usage.PromptTokens), int(whole.Usage.CompletionTokens)}
	agree(t, "completions", 9, first, streamed)

	params.StreamOptions = openai.ChatCompletionStreamOptionsParam{}
	params.Prompt = openai.CompletionNewParamsPromptUnion{OfArrayOfStrings: []string{"Ida", prompt}}
	params.N, params.BestOf = openai.Int(1), openai.Int(2)
	list, err := c.Completions.New(t.Context(), params)
	if err != nil || len(list.Choices) != 2 || list.Choices[1].Text != first.text || list.Choices[1].Index != 1 {
		t.Errorf("%+v, %v", list, err)
	}
}

func testLogprobs(t *testing.T, c *openai.Client) {
	got, err := c.Completions.New(t.Context(), openai.CompletionNewParams{
		Model: "abc", MaxTokens: openai.Int(0), Echo: openai.Bool(true), Logprobs: openai.Int(2),
		Prompt: openai.CompletionNewParamsPromptUnion{OfArrayOfTokenArrays: [][]int64{{5, 6, 7}, {8, 9}}},
	})
	if err != nil || len(got.Choices) != 2 || got.Usage.PromptTokens != 5 || got.Usage.CompletionTokens != 0 {
		t.Fatalf("%+v, %v", got, err)
	}
	for i, choice := range got.Choices {
		l := choice.Logprobs
		if len(l.Tokens) != 3-i || strings.Join(l.Tokens, "") != choice.Text || len(l.TextOffset) != 3-i || len(l.TokenLogprobs) != 3-i {
			t.Fatalf("%+v", choice)
		}
		for j := 1; j < len(l.Tokens); j++ {
			if l.TopLogprobs[j][l.Tokens[j]] != l.TokenLogprobs[j] || l.TokenLogprobs[j] >= 0 || l.TextOffset[j] != int64(j) {
				t.Errorf("%d: %+v", j, l)
			}
		}
	}
}

func testEmbeddings(t *testing.T, c *openai.Client) {
	both, err := c.Embeddings.New(t.Context(), openai.EmbeddingNewParams{
		Model: model, Input: openai.EmbeddingNewParamsInputUnion{OfArrayOfStrings: []string{prompt, "Ida"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	one, err := c.Embeddings.New(t.Context(), openai.EmbeddingNewParams{
		Model: model, Input: openai.EmbeddingNewParamsInputUnion{OfString: openai.String(prompt)},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(both.Data) != 2 || both.Data[1].Index != 1 || one.Usage.PromptTokens != 4 || one.Usage.TotalTokens != 4 {
		t.Fatalf("%+v %+v", both.Usage, one.Usage)
	}
	sum := 0.0
	for i, x := range one.Data[0].Embedding {
		sum += x * x
		if math.Abs(x-both.Data[0].Embedding[i]) > 1e-5 {
			t.Errorf("element %d is %v alone and %v in a list", i, x, both.Data[0].Embedding[i])
		}
	}
	if math.Abs(sum-1) > 1e-4 {
		t.Errorf("the length is %v", sum)
	}
}

func testErrors(t *testing.T, c *openai.Client) {
	for param, params := range map[string]openai.CompletionNewParams{
		"suffix": {Model: model, Suffix: openai.String("x")}, "best_of": {Model: model, N: openai.Int(3), BestOf: openai.Int(2)},
		"model": {Model: "none"},
	} {
		params.Prompt.OfString = openai.String("x")
		_, err := c.Completions.New(t.Context(), params)
		if e, ok := errors.AsType[*openai.Error](err); !ok || e.Param != param || e.Type != "invalid_request_error" || e.Message == "" {
			t.Errorf("%s: %v", param, err)
		}
		stream := c.Completions.NewStreaming(t.Context(), params)
		if param != "best_of" && (stream.Next() || stream.Err() == nil) {
			t.Errorf("%s: no error in a stream", param)
		}
	}
}
