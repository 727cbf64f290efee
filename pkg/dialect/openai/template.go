package openai

import (
	"net/http"
	"strings"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
	"glossa/pkg/openaiapi"
)

// promptAnswer is the text that a chat becomes. llama.cpp's server answers POST
// /apply-template with the first key.
type promptAnswer struct {
	Prompt string       `json:"prompt" doc:"the text that the model would read"`
	Spans  []promptSpan `json:"spans" doc:"the pieces of the text, by who wrote them"`
}

// promptSpan is a piece of a prompt.
type promptSpan struct {
	Text     string `json:"text" doc:"never empty"`
	Template bool   `json:"template" doc:"true if the chat template wrote it, false if it is the request's"`
}

// answerPrompt renders a chat as a completion would.
func answerPrompt(w http.ResponseWriter, r *http.Request, call httpx.Call[chatRequest, *llm.Request, *llm.Model]) error {
	if err := openaiapi.CheckImages("messages", &call.Model.ModelInfo, call.Req); err != nil {
		return err
	}
	renderer, err := llm.As[llm.Renderer](call.Model)
	if err != nil {
		return &llm.Error{Code: llm.Unsupported, Param: "model", Message: "this server does not know the chat template of the model", Err: err}
	}
	parts, _, err := renderer.Render(r.Context(), call.Req.Prompts[0], &call.Req.Params, true)
	if err != nil {
		return call.In.rename(err)
	}
	return httpx.JSON(w, http.StatusOK, newPrompt(parts))
}

// newPrompt joins parts that one side wrote.
func newPrompt(parts []llm.Part) promptAnswer {
	var text strings.Builder
	out := promptAnswer{Spans: []promptSpan{}}
	for _, part := range parts {
		text.WriteString(part.Text)
		switch last := len(out.Spans) - 1; {
		case part.Text == "":
		case last >= 0 && out.Spans[last].Template == part.Special:
			out.Spans[last].Text += part.Text
		default:
			out.Spans = append(out.Spans, promptSpan{part.Text, part.Special})
		}
	}
	out.Prompt = text.String()
	return out
}
