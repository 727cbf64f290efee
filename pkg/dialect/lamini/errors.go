package lamini

import (
	"net/http"
	"strconv"
	"strings"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
	"glossa/pkg/wire"
)

// Errors gives errors Lamini's shape, {"detail": sentence}, or FastAPI's list of faults of a
// body, and the statuses that the SDK maps to its exceptions.
var Errors httpx.Errors = shape{}

type shape struct{}

type errorBody struct {
	Detail string `json:"detail" doc:"what went wrong"`
}

// faultsBody lists the faults of a body.
type faultsBody struct {
	Detail []fault `json:"detail" doc:"one entry for each error"`
}

// A fault describes an invalid value in a body.
type fault struct {
	Type string `json:"type" doc:"kind of the error"`
	Loc  []any  `json:"loc" doc:"body, and the keys and indices on the way to the value"`
	Msg  string `json:"msg" doc:"what is wrong"`
}

// Statuses that only Lamini has.
const (
	statusTimeout = 524
	statusNoModel = 594
)

// Claims implements [httpx.Claimant].
func (shape) Claims(header http.Header) bool { return Ours(header) }

// Body implements [httpx.Errors].
func (shape) Body(e *llm.Error) (int, any) {
	switch e.Code {
	case llm.Invalid:
		return http.StatusUnprocessableEntity, faultsBody{[]fault{{"value_error", location(e.Param), e.Message}}}
	case wire.UnknownParam:
		return http.StatusUnprocessableEntity, faultsBody{[]fault{{"extra_forbidden", location(e.Param), "Extra inputs are not permitted"}}}
	case llm.NotFound:
		return statusNoModel, errorBody{e.Message}
	case llm.Timeout:
		return statusTimeout, errorBody{e.Message}
	}
	if e.Param != "" {
		return httpx.Status(e.Code), errorBody{e.Param + ": " + e.Message}
	}
	return httpx.Status(e.Code), errorBody{e.Message}
}

// InBand implements [httpx.Errors]; there are no streams.
func (shape) InBand(*llm.Error) []byte { return nil }

// location splits a path such as prompt[1] into its elements.
func location(param string) []any {
	loc := []any{"body"}
	for _, step := range strings.FieldsFunc(param, func(c rune) bool { return c == '.' || c == '[' || c == ']' }) {
		if i, err := strconv.Atoi(step); err == nil {
			loc = append(loc, i)
		} else {
			loc = append(loc, step)
		}
	}
	return loc
}
