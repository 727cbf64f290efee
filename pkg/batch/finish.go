package batch

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"time"
)

// newSeal returns the seal of the answers that are there.
func (w *work) newSeal() *seal {
	s := &seal{Status: Completed, Output: newID(filePrefix), Errors: newID(filePrefix), At: time.Now()}
	for i := range w.parts {
		s.Parts = append(s.Parts, w.parts[i].keys())
	}
	switch {
	case !w.cancelled.IsZero():
		s.Status = Cancelled
	case w.missing:
		s.Status = Expired
	}
	return s
}

// finish assembles the files of a sealed batch, and ends it.
func (b *Batches) finish(ctx context.Context, w *work) error {
	e := end{Status: w.seal.Status, Cancelled: w.cancelled, At: time.Now()}
	var err error
	if e.Output, err = b.assemble(ctx, w, w.seal.Output, "_output.jsonl", false, &e.Counts.Completed); err != nil {
		return err
	}
	if e.Errors, err = b.assemble(ctx, w, w.seal.Errors, "_error.jsonl", true, &e.Counts.Failed); err != nil {
		return err
	}
	e.Counts.Total = w.plan.total()
	return once(b.createJSON(ctx, w.endKey(), e))
}

// assemble writes the file of answers or of errors and counts its lines. It returns "" for a
// file without lines.
func (b *Batches) assemble(ctx context.Context, w *work, id, suffix string, failed bool, lines *int) (string, error) {
	r, out := io.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = out.CloseWithError(b.write(ctx, w, failed, out, lines)) // it returns nil
	}()
	defer func() {
		_ = r.Close() // ends the writer
		<-ended
	}()
	body := bufio.NewReader(r)
	if _, err := body.Peek(1); err != nil {
		if err == io.EOF { //nolint:errorlint // a pipe returns it unwrapped
			return "", nil
		}
		return "", err
	}
	f := File{ID: id, Name: w.ID + suffix, Purpose: "batch_output", Created: w.seal.At}
	_, err := b.store(ctx, w.owner, f, body)
	return id, err
}

// write writes the lines of one of the files. It depends on the seal alone.
func (b *Batches) write(ctx context.Context, w *work, failed bool, out io.Writer, lines *int) error {
	to := json.NewEncoder(out)
	to.SetEscapeHTML(false)
	put := func(v any) error {
		*lines++
		return to.Encode(v)
	}
	if failed {
		for _, p := range w.plan.Broken {
			r := w.newResult(p.Line, p.ID)
			r.Error = &fault{p.Code, p.Message, p.Line, p.Param}
			if err := put(r); err != nil {
				return err
			}
		}
	}
	in := input{b: b, w: w}
	for i, spans := range w.plan.Parts {
		answered, err := b.answered(ctx, w.seal.Parts[i])
		if err != nil {
			return err
		}
		for n, at := range spans {
			rec, ok := answered[at.Line]
			switch {
			case ok && rec.Failed == failed:
				err = put(rec.Out)
			case !ok && failed:
				var r result
				if r, err = in.missing(ctx, at, spans[n:]); err == nil {
					err = put(r)
				}
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// missing returns the result of a line that has no answer, because the batch was cancelled or
// expired.
func (r *input) missing(ctx context.Context, at span, wanted []span) (result, error) {
	request, problem, err := r.line(ctx, at, wanted)
	if err != nil {
		return result{}, err
	}
	res := r.w.newResult(at.Line, request.CustomID)
	switch res.Error = problem; {
	case problem != nil:
	case r.w.seal.Status == Cancelled:
		res.Error = &fault{Code: "batch_cancelled", Message: "the batch was cancelled before this request had an answer", Line: at.Line}
	default:
		res.Error = &fault{Code: "batch_expired", Message: "the batch expired before this request had an answer", Line: at.Line}
	}
	return res, nil
}

// clean deletes what a batch that has ended no longer needs.
func (b *Batches) clean(ctx context.Context, w *work) error {
	keys, err := b.cfg.Store.List(ctx, w.key(""))
	if err != nil {
		return err
	}
	if err := b.deleteAll(ctx, keys); err != nil {
		return err
	}
	return b.cfg.Store.Delete(ctx, openKey(w.owner, w.ID))
}

// deletions is the number of deletions at once.
const deletions = 8

func (b *Batches) deleteAll(ctx context.Context, keys []string) error {
	var group sync.WaitGroup
	var errs [deletions]error
	for i := range deletions {
		group.Go(func() {
			for n := i; n < len(keys) && errs[i] == nil; n += deletions {
				errs[i] = b.cfg.Store.Delete(ctx, keys[n])
			}
		})
	}
	group.Wait()
	return errors.Join(errs[:]...)
}
