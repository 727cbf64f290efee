package app

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"glossa/pkg/backend/awsrest"
	"glossa/pkg/batch"
	"glossa/pkg/host"
)

// A batchWork works on batches: in a server as long as it runs, in a function for the time of an
// invocation.
type batchWork struct {
	batches   *batch.Batches
	log       *slog.Logger
	lines     func() http.Handler // of the paths that lines may name
	steps     int                 // that one process makes at once
	functions int                 // that work at once, at most
	news      chan struct{}       // there is a new batch
	// later queues an event for the function that answers ctx.
	later func(ctx context.Context, e batchEvent) error
}

// DefaultBatchFunctions is the number of functions that work on batches at once, unless
// [Config].BatchFunctions says otherwise.
const DefaultBatchFunctions = 4

func newBatchWork(a *App, b *batch.Batches) *batchWork {
	return &batchWork{
		batches: b, log: a.cfg.Log, lines: sync.OnceValue(a.lines), news: make(chan struct{}, 1),
		steps:     cmp.Or(a.cfg.Workers, DefaultWorkers),
		functions: cmp.Or(a.cfg.BatchFunctions, DefaultBatchFunctions),
		later: func(ctx context.Context, e batchEvent) error {
			event, err := json.Marshal(e)
			if err != nil {
				return err
			}
			client, err := a.cloud.client(awsrest.Lambda(), "", "", "")
			if err != nil {
				return err
			}
			return client.InvokeLater(ctx, host.FunctionARN(ctx), event)
		},
	}
}

// created tells the workers that there is a new batch. In a function these are other invocations;
// if they cannot be started, the schedule finds the batch.
func (w *batchWork) created(ctx context.Context) {
	if host.FunctionARN(ctx) != "" {
		w.failed(ctx, "", w.later(ctx, batchEvent{eventStart}))
		return
	}
	select {
	case w.news <- struct{}{}:
	default: // somebody is told already
	}
}

// startBatches works on batches until ctx ends or the returned function is called, which waits
// for the end.
func (a *App) startBatches(ctx context.Context) (stop func()) {
	if a.batches == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		a.batches.serve(ctx, max(1, a.batches.steps/2)) // the other half is for clients who wait
	}()
	return func() {
		cancel()
		<-ended
	}
}

// Pauses of the workers of batches: while there is nothing to do, and after a fault.
const (
	batchIdle  = 10 * time.Second
	batchFault = 5 * time.Second
)

// serve works on all batches until ctx ends, with n workers.
func (w *batchWork) serve(ctx context.Context, n int) {
	var workers sync.WaitGroup
	for range n {
		workers.Go(func() {
			for ctx.Err() == nil {
				w.rest(ctx, w.step(ctx))
			}
		})
	}
	workers.Wait()
}

// step makes a step of a batch, and returns how long nothing more can be done.
func (w *batchWork) step(ctx context.Context) time.Duration {
	jobs, err := w.batches.Open(ctx)
	if err != nil {
		w.failed(ctx, "", err)
		return batchFault
	}
	wait := batchIdle
	for _, job := range jobs {
		step, err := w.batches.Step(ctx, job.Owner, job.ID)
		switch {
		case ctx.Err() != nil:
			return 0
		case err != nil:
			w.failed(ctx, job.ID, err)
			wait = min(wait, batchFault)
		case step.Ended:
		case step.Wait == 0:
			return 0
		default:
			wait = min(wait, step.Wait)
		}
	}
	return wait
}

// rest waits, until there is a new batch at most.
func (w *batchWork) rest(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-w.news:
	case <-ctx.Done():
	}
}

// failed logs an error, if there is one.
func (w *batchWork) failed(ctx context.Context, id string, err error) {
	if err != nil && w.log != nil && ctx.Err() == nil {
		w.log.LogAttrs(ctx, slog.LevelError, "batch", slog.String("id", id), slog.String("problem", err.Error()))
	}
}
