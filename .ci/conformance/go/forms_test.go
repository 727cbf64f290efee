package conformance

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/shared"
	goopenai "github.com/sashabaranov/go-openai"
)

// Untrained models: only the constraint makes their answers valid. The model with an end
// token of calls makes calls.
const (
	letters = "letters"
	chatter = "chatter"
)

// A place is the requested object; 300 tokens are more than it needs.
type place struct {
	Name   string `json:"name"`
	Kind   string `json:"kind"`
	Height *int   `json:"height"`
}

const placeSchema = `{"type":"object","properties":{"name":{"type":"string","maxLength":8},"kind":{"enum":["town","river"]},` +
	`"height":{"anyOf":[{"type":"integer","minimum":-400,"maximum":9000},{"type":"null"}]}},"required":["name","kind","height"],"additionalProperties":false}`

// check checks that a text is exactly a place.
func check(t *testing.T, text string) {
	t.Helper()
	var p place
	dec := json.NewDecoder(bytes.NewReader([]byte(text)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&p); err != nil || dec.More() || p.Kind != "town" && p.Kind != "river" || len([]rune(p.Name)) > 8 || p.Height != nil && (*p.Height < -400 || *p.Height > 9000) {
		t.Errorf("%s: %+v, %v", text, p, err)
	}
}

func TestFormsOfOpenAI(t *testing.T) {
	c := openai.NewClient(option.WithBaseURL(serve(t, "--checkpoints", os.Getenv("FORMS"))), option.WithAPIKey("not-needed"), option.WithMaxRetries(0))
	params := openai.ChatCompletionNewParams{
		Model: letters, MaxTokens: openai.Int(300), Temperature: openai.Float(1),
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(prompt)},
	}
	t.Run("schema", func(t *testing.T) {
		params := params
		params.ResponseFormat.OfJSONSchema = &shared.ResponseFormatJSONSchemaParam{JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{
			Name: "place", Strict: openai.Bool(true), Schema: json.RawMessage(placeSchema),
		}}
		for seed := range int64(5) {
			params.Seed = openai.Int(seed)
			whole, streamed := both(t, &c, params)
			check(t, whole.Message.Content)
			if whole.FinishReason != "stop" || streamed.FinishReason != "stop" || streamed.Message.Content != whole.Message.Content {
				t.Errorf("%+v, %+v", whole, streamed)
			}
		}
	})
	t.Run("tools", func(t *testing.T) { testTools(t, &c, params) })
	t.Run("errors", func(t *testing.T) {
		params := params
		params.ResponseFormat.OfJSONSchema = &shared.ResponseFormatJSONSchemaParam{JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{Name: "x", Schema: map[string]any{"type": "objekt"}}}
		_, err := c.Chat.Completions.New(t.Context(), params)
		if e, ok := errors.AsType[*openai.Error](err); !ok || e.StatusCode != 400 || e.Param != "response_format" {
			t.Error(err)
		}
	})
}

// both requests an answer, whole and streamed.
func both(t *testing.T, c *openai.Client, params openai.ChatCompletionNewParams) (whole, streamed openai.ChatCompletionChoice) {
	t.Helper()
	answer, err := c.Chat.Completions.New(t.Context(), params)
	if err != nil {
		t.Fatal(err)
	}
	acc := openai.ChatCompletionAccumulator{}
	stream := c.Chat.Completions.NewStreaming(t.Context(), params)
	for stream.Next() {
		if !acc.AddChunk(stream.Current()) {
			t.Fatal("a chunk that does not fit")
		}
	}
	if stream.Err() != nil {
		t.Fatal(stream.Err())
	}
	return answer.Choices[0], acc.Choices[0]
}

func testTools(t *testing.T, c *openai.Client, params openai.ChatCompletionNewParams) {
	var parameters shared.FunctionParameters
	if err := json.Unmarshal([]byte(placeSchema), &parameters); err != nil {
		t.Fatal(err)
	}
	params.Tools = []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{Name: "visit", Parameters: parameters})}
	params.ToolChoice.OfAuto = openai.String("required")
	params.Model, params.MaxTokens = chatter, openai.Int(4000) // some twenty calls
	for seed := range int64(5) {
		params.Seed = openai.Int(seed)
		whole, streamed := both(t, c, params)
		if whole.FinishReason != "tool_calls" || len(whole.Message.ToolCalls) == 0 || len(whole.Message.ToolCalls) != len(streamed.Message.ToolCalls) {
			t.Fatalf("%+v, %+v", whole, streamed)
		}
		for i, call := range whole.Message.ToolCalls {
			check(t, call.Function.Arguments)
			if call.ID == "" || call.Function.Name != "visit" || call.Function.Arguments != streamed.Message.ToolCalls[i].Function.Arguments {
				t.Errorf("%+v, %+v", call, streamed.Message.ToolCalls[i])
			}
		}
		again := params
		again.Messages = append(again.Messages[:1:1], whole.Message.ToParam())
		for _, call := range whole.Message.ToolCalls {
			again.Messages = append(again.Messages, openai.ToolMessage("rain", call.ID))
		}
		if last, _ := both(t, c, again); last.FinishReason != "tool_calls" {
			t.Errorf("%+v", last)
		}
	}
}

func TestFormsOfGoOpenAI(t *testing.T) {
	cfg := goopenai.DefaultConfig("not-needed")
	cfg.BaseURL = serve(t, "--checkpoints", os.Getenv("FORMS"))
	c := goopenai.NewClientWithConfig(cfg)
	req := goopenai.ChatCompletionRequest{
		Model: letters, MaxTokens: 900, Temperature: 1,
		Messages: []goopenai.ChatCompletionMessage{{Role: goopenai.ChatMessageRoleUser, Content: prompt}},
	}
	t.Run("schema", func(t *testing.T) {
		req := req
		req.ResponseFormat = &goopenai.ChatCompletionResponseFormat{
			Type:       goopenai.ChatCompletionResponseFormatTypeJSONSchema,
			JSONSchema: &goopenai.ChatCompletionResponseFormatJSONSchema{Name: "place", Strict: true, Schema: json.RawMessage(placeSchema)},
		}
		for seed := range 5 {
			req.Seed = &seed
			answer, err := c.CreateChatCompletion(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			check(t, answer.Choices[0].Message.Content)
			if text, _, err := streamed(t, c, req); err != nil || text != answer.Choices[0].Message.Content {
				t.Errorf("%q, %v", text, err)
			}
		}
	})
	t.Run("tools", func(t *testing.T) { testGoTools(t, c, req) })
}

func testGoTools(t *testing.T, c *goopenai.Client, req goopenai.ChatCompletionRequest) {
	req.Tools = []goopenai.Tool{{Type: goopenai.ToolTypeFunction, Function: &goopenai.FunctionDefinition{Name: "visit", Strict: true, Parameters: json.RawMessage(placeSchema)}}}
	req.Model, req.ToolChoice, req.ParallelToolCalls = chatter, "required", false
	for seed := range 5 {
		req.Seed = &seed
		answer, err := c.CreateChatCompletion(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		m := answer.Choices[0].Message
		if len(m.ToolCalls) != 1 || answer.Choices[0].FinishReason != goopenai.FinishReasonToolCalls {
			t.Fatalf("%+v", answer)
		}
		check(t, m.ToolCalls[0].Function.Arguments)
		if _, arguments, err := streamed(t, c, req); err != nil || arguments != m.ToolCalls[0].Function.Arguments {
			t.Errorf("%q, %v", arguments, err)
		}
		again := req
		again.Messages = append(again.Messages[:1:1], m, goopenai.ChatCompletionMessage{Role: goopenai.ChatMessageRoleTool, ToolCallID: m.ToolCalls[0].ID, Content: "rain"})
		again.ToolChoice = goopenai.ToolChoice{Type: goopenai.ToolTypeFunction, Function: goopenai.ToolFunction{Name: "visit"}}
		if _, err := c.CreateChatCompletion(t.Context(), again); err != nil {
			t.Error(err)
		}
	}
}

// streamed returns the text of a streamed answer and the arguments of its only call.
func streamed(t *testing.T, c *goopenai.Client, req goopenai.ChatCompletionRequest) (text, arguments string, err error) {
	t.Helper()
	stream, err := c.CreateChatCompletionStream(t.Context(), req)
	if err != nil {
		return "", "", err
	}
	defer stream.Close()
	names := 0
	for {
		chunk, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return text, arguments, nil
		}
		if err != nil {
			return "", "", err
		}
		for _, choice := range chunk.Choices {
			text += choice.Delta.Content
			for _, piece := range choice.Delta.ToolCalls {
				arguments += piece.Function.Arguments
				if piece.Function.Name != "" {
					names++
				}
				if piece.Index == nil || names != 1 {
					return "", "", fmt.Errorf("%+v, after %d names", piece, names)
				}
			}
		}
	}
}
