package engine

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strings"

	"glossa/pkg/engine/picture"
	"glossa/pkg/llm"
	"glossa/pkg/tokenizer"
)

// A picture stands in a prompt as the text around its frames and as the inputs of these, which are
// no tokens. Their ids are below 0 and tell what is seen: equal pictures have equal ones, so that
// computed prompts are found again, and others differ.

// A pictured is a picture of a prompt.
type pictured struct {
	*llm.Image
	at     string // the parameter that it came in
	number int    // in that, counted from 1
	sum    [sha256.Size]byte
	info   picture.Info
	frames []*picture.Picture // nil before they are needed
}

// A view is a frame of a picture in a prompt.
type view struct {
	*pictured
	frame  int
	n      int       // inputs
	at     int       // index of its first input among the prompt's ids, which may have lost some
	inputs []float32 // (n, width); nil before they are needed

	rows, columns int // of the inputs, if they have places
}

// newPictured reads the header of a picture in a parameter.
func newPictured(image *llm.Image, at string, number int) (*pictured, error) {
	p := &pictured{Image: image, at: at, number: number, sum: sha256.Sum256(image.Data)}
	var err error
	p.info, err = picture.Describe(image.Data)
	return p, p.fault(err)
}

// fault returns the client's error for a picture that cannot be read.
func (p *pictured) fault(err error) error {
	if err == nil {
		return nil
	}
	return &llm.Error{Code: llm.Invalid, Param: p.at, Message: fmt.Sprintf("image %d: %v", p.number, err), Err: err}
}

// expand adds a picture to a prompt: the text around its frames, and their inputs.
func (e *Engine) expand(ctx context.Context, to *pictureCollector, image *llm.Image) error {
	s := e.sight
	to.pictures++
	p, err := newPictured(image, to.at, to.pictures)
	if err == nil {
		err = p.fault(s.Processor.Fits(p.info.Width, p.info.Height))
	}
	if err != nil {
		return err
	}
	rows, columns := s.Processor.Layout(p.info.Width, p.info.Height)
	for r := range rows {
		for c := range columns {
			to.text += strings.NewReplacer("%r", fmt.Sprint(r+1), "%c", fmt.Sprint(c+1)).Replace(s.Text.Tile)
			if err := to.view(ctx, e, p, r*columns+c); err != nil {
				return err
			}
		}
		to.text += s.Text.RowEnd
	}
	if rows > 0 {
		to.text += s.Text.TileEnd
	}
	to.text += s.Text.Before
	if err := to.view(ctx, e, p, rows*columns); err != nil {
		return err
	}
	to.text += s.Text.After
	return nil
}

// pictureCollector collects the tokens of parts with pictures.
type pictureCollector struct {
	*tokenizer.Collector
	at       string     // the parameter of the parts
	parts    []llm.Part // not yet tokenised
	text     string     // after them, of pictures
	pictures int
	views    []*view
}

// flush tokenises what has been collected.
func (t *pictureCollector) flush(ctx context.Context, e *Engine) error {
	t.add()
	err := e.encode(ctx, t.Collector, t.parts)
	t.parts = nil
	return err
}

// add moves the text of pictures to the parts.
func (t *pictureCollector) add() {
	if t.text != "" {
		t.parts, t.text = append(t.parts, llm.Part{Text: t.text, Special: true}), ""
	}
}

// view adds the inputs of a frame.
func (t *pictureCollector) view(ctx context.Context, e *Engine, p *pictured, frame int) error {
	if err := t.flush(ctx, e); err != nil {
		return err
	}
	v := &view{pictured: p, frame: frame, n: e.sight.count(p)}
	v.rows, v.columns = e.sight.Grid(p.info.Width, p.info.Height)
	t.views = append(t.views, v)
	return t.AddTokens(p.inputIDs(frame, v.n))
}

// inputIDs returns the ids of a frame's inputs: 63 bits of a digest each.
func (p *pictured) inputIDs(frame, n int) []int {
	ids := make([]int, n)
	for i := range ids {
		next := sha256.Sum256(binary.LittleEndian.AppendUint64(p.sum[:], uint64(frame)<<32|uint64(i)))
		ids[i] = -1 - int(binary.LittleEndian.Uint64(next[:])>>1)
	}
	return ids
}

// encodeParts tokenises the parts of a parameter, and returns the frames of their pictures.
func (e *Engine) encodeParts(ctx context.Context, to *tokenizer.Collector, parts []llm.Part, at string) ([]*view, error) {
	if e.sight == nil || llm.Texts(parts) {
		return nil, e.encode(ctx, to, parts)
	}
	t := &pictureCollector{Collector: to, at: at}
	for _, part := range parts {
		if part.Image != nil {
			if err := e.expand(ctx, t, part.Image); err != nil {
				return nil, err
			}
			continue
		}
		t.add()
		t.parts = append(t.parts, part)
	}
	return t.views, t.flush(ctx, e)
}

// Tokenize implements [llm.Tokenizer], also for texts with images.
func (e *Engine) Tokenize(ctx context.Context, parts []llm.Part, start bool) ([]llm.Token, error) {
	return e.tokenize(ctx, start, func(to *tokenizer.Collector) error {
		_, err := e.encodeParts(ctx, to, parts, "messages")
		return err
	})
}

// place finds the inputs of views among the ids of p, which end with the last of them. A frame that
// has lost some is dropped: the others would not show it.
func (p *prompt) place(views []*view) {
	lost := 0
	for _, v := range views {
		lost += v.n
	}
	for _, id := range p.ids {
		if id < 0 {
			lost--
		}
	}
	for ; lost > 0; views = views[1:] {
		if n := views[0].n; lost < n { // ids begin with the rest of a frame
			p.ids = p.ids[n-lost:]
		}
		lost -= views[0].n
	}
	p.views = views
	for at := 0; len(views) > 0; at++ {
		if p.ids[at] < 0 {
			views[0].at = at
			at += views[0].n - 1
			views = views[1:]
		}
	}
}

// needPictures returns the memory for the pictures of prompts: of each prompt one is prepared at a
// time, and a pass has the inputs of a chunk, or of a frame.
func (g *generation) needPictures() (need int64) {
	s := g.engine.sight
	for _, p := range g.prompts {
		most := int64(0)
		for _, v := range p.views {
			most = max(most, s.memory(v.pictured, g.engine.workers)+4*int64(s.width())*int64(2*v.n+prefillChunk))
		}
		need += most
	}
	return need
}

// look returns the vectors of the inputs among ids from, ..., to-1 of p.
func (g *generation) look(ctx context.Context, p *prompt, from, to int) (vectors []float32, err error) {
	s := g.engine.sight
	for _, v := range p.views {
		first, last := max(from, v.at), min(to, v.at+v.n)
		if first >= last {
			continue
		}
		if v.inputs == nil {
			if v.inputs, err = g.see(ctx, v); err != nil {
				return nil, err
			}
		}
		width := s.width()
		vectors = append(vectors, v.inputs[(first-v.at)*width:(last-v.at)*width]...)
		if to >= v.at+v.n {
			v.inputs = nil // it is in the cache then
		}
	}
	return vectors, nil
}

// see computes the inputs of a frame.
func (g *generation) see(ctx context.Context, v *view) ([]float32, error) {
	s := g.engine.sight
	m := s.lanes.join(llm.SenderOf(ctx), g.worker)
	defer m.leave()
	return s.see(ctx, m, func() (*picture.Picture, error) {
		if v.frames == nil {
			img, err := picture.Decode(ctx, v.Data)
			if err == nil {
				v.frames, err = s.Processor.Frames(ctx, img)
			}
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if err != nil {
				return nil, v.fault(err)
			}
		}
		frame := v.frames[v.frame]
		if v.frame == len(v.frames)-1 {
			v.frames = nil
		}
		return frame, nil
	})
}

// whole returns where a pass over the ids of p that begins at one ends, at most at to, so that it
// does not divide the inputs of a frame that see each other.
func (g *generation) whole(p *prompt, at, to int) int {
	if g.engine.model.Mutual == 0 {
		return to
	}
	for _, v := range p.views {
		if end := v.at + v.n; v.at < to && to < end {
			if v.at > at {
				return v.at
			}
			return end
		}
	}
	return to
}
