package batch

import (
	"context"
	"errors"
	"io"
)

// An input reads lines of a batch's input, those that follow each other with one request.
type input struct {
	b     *Batches
	w     *work
	ahead []byte // of the input, from offset at
	at    int64
}

// readAhead is the number of bytes that are read at once. A longer line is read whole.
const readAhead = 1 << 20

// line reads the line at a place, which is the first of those that are wanted.
func (r *input) line(ctx context.Context, at span, wanted []span) (Line, *fault, error) {
	from := at.Offset - r.at
	if from < 0 || from+at.Bytes > int64(len(r.ahead)) {
		end := at.Offset + at.Bytes
		for _, next := range wanted[1:] {
			if next.Offset < end || next.Offset+next.Bytes-at.Offset > readAhead {
				break
			}
			end = next.Offset + next.Bytes
		}
		text, err := r.read(ctx, at.Offset, end-at.Offset)
		if errors.Is(err, ErrNotFound) {
			return Line{}, &fault{Code: "input_deleted", Message: "the input file was deleted", Line: at.Line}, nil
		}
		if err != nil {
			return Line{}, nil, err
		}
		r.ahead, r.at, from = text, at.Offset, 0
	}
	line, err := parse(r.ahead[from : from+at.Bytes])
	return line, nil, err
}

func (r *input) read(ctx context.Context, offset, n int64) ([]byte, error) {
	body, err := r.b.cfg.Store.Open(ctx, room(r.w.owner)+"content/"+r.w.Input, offset, n)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	text := make([]byte, n)
	_, err = io.ReadFull(body, text)
	return text, err
}
