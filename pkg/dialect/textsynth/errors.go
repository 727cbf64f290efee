package textsynth

import (
	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

// Errors gives errors TextSynth's shape, {"error": message}: its clients check for that key
// whatever the status. In a stream an error is an answer like the others.
var Errors httpx.Errors = shape{}

type shape struct{}

type errorBody struct {
	Error string `json:"error" doc:"what went wrong"`
}

// Body implements [httpx.Errors].
func (shape) Body(e *llm.Error) (int, any) {
	return httpx.Status(e.Code), errorBody{sentence(e)}
}

// InBand implements [httpx.Errors].
func (shape) InBand(e *llm.Error) []byte {
	frame, _ := httpx.LineFeed.Frame(errorBody{sentence(e)}) // strings cannot fail
	return frame
}

func sentence(e *llm.Error) string {
	if e.Param == "" || e.Code == llm.NotFound {
		return e.Message
	}
	return e.Param + ": " + e.Message
}
