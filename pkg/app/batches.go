package app

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"glossa/pkg/account"
	"glossa/pkg/batch"
	"glossa/pkg/batch/inbucket"
	"glossa/pkg/bucket"
	"glossa/pkg/dialect/batches"
	"glossa/pkg/httpx"
	"glossa/pkg/openaiapi"
)

// openBatches opens the batches in the directory or the bucket of cfg; nil: there are none.
func (a *App) openBatches() (*batchWork, error) {
	if a.cfg.Batches == "" {
		return nil, nil
	}
	cfg := batch.Config{Runner: runner{a}, Endpoints: batches.Endpoints()}
	if bucket.IsURL(a.cfg.Batches) {
		b, err := a.cloud.bucket(a.cfg.Batches)
		if err != nil {
			return nil, err
		}
		cfg.Store = inbucket.New(b)
	} else {
		store, err := batch.OpenDirectory(a.cfg.Batches)
		if err != nil {
			return nil, err
		}
		began := time.Now() // another process may follow before Alone returns
		if cfg.Store = store; store.Alone() {
			cfg.Alone = began
		}
	}
	return newBatchWork(a, batch.New(cfg)), nil
}

// batchRoutes returns the routes of batches, none if there are none.
func (a *App) batchRoutes() []httpx.Route {
	if a.batches == nil {
		return nil
	}
	return batches.Routes(batches.Config{Batches: a.batches.batches, Owner: owner, Sender: account.Sender, Created: a.batches.created})
}

// A runner runs the lines of batches as requests of their senders, by the same handlers.
type runner struct{ app *App }

// Run implements [batch.Runner].
func (r runner) Run(ctx context.Context, sender string, line batch.Line) (batch.Answer, error) {
	if sender != "" {
		ctx = account.OnBehalf(ctx, sender)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, line.URL, bytes.NewReader(line.Body))
	if err != nil {
		return batch.Answer{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	answer := &recorder{header: http.Header{}}
	r.app.batches.lines().ServeHTTP(answer, req)
	if sender == "" && answer.status == http.StatusUnauthorized {
		return batch.Answer{}, errOpenOwner
	}
	a := batch.Answer{Status: answer.status, RequestID: answer.header.Get("X-Request-Id"), Body: bytes.TrimSpace(answer.body.Bytes())}
	if seconds, err := strconv.Atoi(answer.header.Get("Retry-After")); err == nil {
		a.RetryAfter = time.Duration(seconds) * time.Second
	}
	return a, nil
}

// errOpenOwner is the error of a batch of a server without keys that shares its directory with
// one that demands them.
var errOpenOwner = errors.New("the batch belongs to a server without keys")

// lines returns the handler of the lines of batches.
func (a *App) lines() http.Handler {
	var routes []httpx.Route
	for _, family := range []string{"openai", "embeddings", "responses"} {
		routes = append(routes, a.routes(family)...)
	}
	return a.mux(httpx.Browsers{}, routes, openaiapi.Errors).Handler()
}

// A recorder keeps an answer.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements [http.ResponseWriter].
func (r *recorder) Header() http.Header { return r.header }

// WriteHeader implements [http.ResponseWriter].
func (r *recorder) WriteHeader(status int) { r.status = status }

// Write implements [http.ResponseWriter].
func (r *recorder) Write(b []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	return r.body.Write(b)
}
