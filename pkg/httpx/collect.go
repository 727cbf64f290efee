package httpx

import (
	"context"
	"errors"
	"net/http"

	"glossa/pkg/llm"
)

// Collect generates the whole answer to r. If the client disconnected in the meantime, it
// returns the error of the request's context.
func Collect(r *http.Request, b llm.Backend, req *llm.Request) ([]llm.Chunk, llm.Usage, error) {
	ctx := r.Context()
	rows, usage, err := llm.Collect(b.Generate(ctx, req), req.Rows())
	if err == nil && errors.Is(ctx.Err(), context.Canceled) {
		err = ctx.Err()
	}
	return rows, usage, err
}
