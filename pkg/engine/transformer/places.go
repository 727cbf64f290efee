package transformer

import (
	"fmt"
	"slices"
)

// A Place is the position of a token on three axes: time, rows and columns. That of a word is the same
// on all of them (Wang et al. 2024, Qwen2-VL, sec. 2.1: M-RoPE).
type Place [3]int

// axes is the number of positions of a place.
const axes = len(Place{})

// A Grid is a picture among the tokens of a sequence: Rows x Columns tokens, row by row. All have the
// time at which it begins, and rows and columns count from there on. The token after it has the position
// after the largest of these.
type Grid struct {
	At            int // index of the first token
	Rows, Columns int
}

// end returns the index of the token after the picture.
func (g Grid) end() int { return g.At + g.Rows*g.Columns }

// placesOf returns the places of n tokens of a sequence with grids, which are sorted, from index start on.
func placesOf(grids []Grid, start, n int) []Place {
	list, shift := make([]Place, n), 0 // shift is that of positions from indices, after pictures
	for i := range list {
		at := start + i
		for len(grids) > 0 && grids[0].end() <= at {
			shift += max(grids[0].Rows, grids[0].Columns) - grids[0].Rows*grids[0].Columns
			grids = grids[1:]
		}
		list[i] = Place{at + shift, at + shift, at + shift}
		if len(grids) > 0 && grids[0].At <= at {
			first, in := grids[0].At+shift, at-grids[0].At
			list[i] = Place{first, first + in/grids[0].Columns, first + in%grids[0].Columns}
		}
	}
	return list
}

// hasAxes reports whether a rotary table turns by places.
func (s *Spec) hasAxes() bool {
	return slices.ContainsFunc(s.Rotaries, func(r Rotary) bool { return r.Axes != nil })
}

// position returns the position of row j of a span by which pair i of a table turns.
func (r *Rotary) position(sp *span, j, i int) int {
	if sp.places == nil || r.Axes == nil {
		return sp.start + j
	}
	return sp.places[j][r.Axes[i]]
}

// checkAxes refuses axes that pairs cannot have.
func (s *Spec) checkAxes(r *Rotary) error {
	switch {
	case r.Axes == nil:
		return nil
	case len(r.Axes) != len(r.Frequencies):
		return fmt.Errorf("axes: %d of %d frequencies", len(r.Axes), len(r.Frequencies))
	case slices.ContainsFunc(r.Axes, func(a int) bool { return a < 0 || a >= axes }):
		return fmt.Errorf("axes: one is not below %d", axes)
	case len(s.Encoder) > 0 && s.Patch == 0 || s.Class:
		return fmt.Errorf("axes: there is an encoder of texts, or a class")
	}
	return nil
}
