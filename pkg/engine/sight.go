package engine

import (
	"context"
	"fmt"
	"slices"

	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/picture"
	"glossa/pkg/engine/transformer"
)

// sight is an [arch.Vision] in memory.
type sight struct {
	*arch.Vision

	kernels *kernel.Kernels
	tower   *transformer.Model
	lanes   *lanes
	norm    []float32 // (Project.In), or nil
	hidden  transform // of Hidden, or without a matrix
	project *dense
	deep    []merger // of Deep
}

// newSight reads the weights of a model that reads pictures; nil if v is.
func newSight(v *arch.Vision, k *kernel.Kernels, cfg Config) (*sight, error) {
	if v == nil {
		return nil, nil
	}
	s := &sight{Vision: v, kernels: k}
	var err error
	if s.tower, err = transformer.New(v.Spec, v.Weights, k, cfg.Format.Head()); err != nil {
		if release := v.Weights.Release; release != nil {
			release()
		}
		return nil, fmt.Errorf("model %q: vision: %w", cfg.Name, err)
	}
	if s.project, err = newDense(k, v.Project); err == nil && v.Norm != nil {
		s.norm, err = readVector(v.Norm.Weight)
	}
	if v.Hidden != nil && err == nil {
		s.hidden, err = newTransform(k, v.Hidden, true, nil, 0)
	}
	for _, m := range v.Deep {
		if err == nil {
			err = s.addMerger(m)
		}
	}
	if err != nil {
		s.tower.Close()
		return nil, fmt.Errorf("model %q: vision: %w", cfg.Name, err)
	}
	s.lanes = &lanes{cfg.Name, nil, k, newBatches(s.tower, cfg.Team)}
	return s, nil
}

// Bytes returns the memory of the weights, of the encoder of pictures too.
func (e *Engine) Bytes() int64 {
	n := e.core.Bytes()
	if s := e.sight; s != nil {
		n += s.tower.Bytes() + s.HeadBytes()
	}
	return n
}

// Failed returns why the weights, which may still be loading, will never be complete; nil while
// they may be.
func (e *Engine) Failed() error {
	if err := e.core.Failed(); err != nil || e.sight == nil {
		return err
	}
	return e.sight.tower.Failed()
}

// Close releases the memory of mapped weights after the last pass has ended. Later calls of the
// engine fail.
func (e *Engine) Close() error {
	if e.sight != nil {
		e.sight.tower.Close()
	}
	return e.core.Close()
}

// patches returns what the tower reads of a frame.
func (s *sight) patches(frame *picture.Picture) transformer.Patches {
	if s.Processor.Multiple > 0 {
		return s.flexible(frame)
	}
	return transformer.Patches{Values: s.Processor.Values(frame, s.Patch, 1), Positions: s.Positions}
}

// see computes the inputs (inputs, 1+Deep, width of the decoder) of a frame. Preparing it is a part of the
// turn, since a large picture takes as long as a pass.
func (s *sight) see(ctx context.Context, m *member, prepare func() (*picture.Picture, error)) (inputs []float32, err error) {
	err = m.encode(ctx, func(pass *transformer.Pass) error {
		frame, err := prepare()
		if err != nil {
			return err
		}
		err = pass.EncodePatches([]transformer.Patches{s.patches(frame)})
		if err == nil {
			inputs = s.inRows(frame, s.deepened(s.inputs(pass.Last()), pass))
		}
		return err
	})
	if err == nil && s.kernels.HasNaN(inputs) {
		err = s.lanes.damaged()
	}
	return inputs, err
}

// inputs returns what the decoder reads of x (patches, Width), the tower's result.
func (s *sight) inputs(x []float32) []float32 {
	width := s.Spec.Width
	x = x[s.Skip*width:]
	for row := range slices.Chunk(x, width) {
		s.tower.FinalNorm(true, row, row)
	}
	if s.Merge > 1 && s.Processor.Multiple == 0 { // else they are side by side
		x = s.merge(x)
	}
	if s.norm != nil {
		for row := range slices.Chunk(x, len(s.norm)) {
			s.kernels.RMSNorm(row, row, s.norm, s.Spec.Eps)
		}
	}
	if s.hidden.dense != nil {
		x = s.hidden.apply(s.kernels, x)
	}
	return s.project.apply(s.kernels, x)
}

// merge makes one vector of the vectors of each square of neighbouring patches.
func (s *sight) merge(x []float32) []float32 {
	width, side := s.Spec.Width, s.Side()
	n, in := side/s.Merge, width
	if !s.Mean {
		in *= s.Merge * s.Merge
	}
	merged := make([]float32, n*n*in)
	for row := range side {
		for column := range side {
			from := x[(row*side+column)*width : (row*side+column+1)*width]
			to := merged[(row/s.Merge*n+column/s.Merge)*in:]
			if s.Mean {
				s.kernels.Add(to[:width], from)
			} else {
				copy(to[(row%s.Merge*s.Merge+column%s.Merge)*width:], from)
			}
		}
	}
	if s.Mean {
		s.kernels.Scale(merged, 1/float32(s.Merge*s.Merge))
	}
	return merged
}

// memory returns what reading a picture takes, without the inputs of its frames.
func (s *sight) memory(p *pictured, workers int) int64 {
	vectors, inputs := s.Vectors(), s.count(p)
	if s.Processor.Multiple > 0 {
		vectors = inputs * s.Merge * s.Merge
	}
	pass := s.tower.PassBytes(vectors, workers) + 4*int64(vectors)*int64(s.Spec.Patch+2*s.Spec.Width)
	return s.Processor.Memory(p.info, s.Patch) + pass + s.headMemory(vectors, inputs)
}
