package picture

import (
	"fmt"
	"iter"
	"math"
)

// maxAspect is the largest ratio of the edges of a picture that Qwen2-VL's processor reads.
const maxAspect = 200

// maxSquares bounds the inputs of a picture. Qwen3-VL's have up to 16,384.
const maxSquares = 1 << 18

// maxMost bounds the pixels of a resized picture. Qwen3-VL's have up to 16,777,216.
const maxMost = 1 << 27

// checkFlexible is Check for a processor with Multiple.
func (p *Processor) checkFlexible() error {
	switch {
	case p.Side != 0 || p.Longest != 0 || p.Shortest != 0 || p.Split:
		return fmt.Errorf("picture processor: multiple %d: there is side, longest, shortest or split too", p.Multiple)
	case p.Multiple < 1 || p.Multiple > maxSide:
		return fmt.Errorf("picture processor: multiple %d: must be from 1 to %d", p.Multiple, maxSide)
	case p.Least < 1 || p.Most < p.Least || p.Most > maxMost:
		return fmt.Errorf("picture processor: %d to %d pixels: must be from 1 to %d", p.Least, p.Most, maxMost)
	case p.Most/(p.Multiple*p.Multiple) > maxSquares:
		return fmt.Errorf("picture processor: at most %d pixels: there are more than %d squares of %d", p.Most, maxSquares, p.Multiple)
	case p.Most < p.Multiple*p.Multiple:
		return fmt.Errorf("picture processor: at most %d pixels: a square of multiple, %d, has more", p.Most, p.Multiple)
	}
	return nil
}

// Fits returns an error for a picture of a size in pixels that the processor does not read.
func (p *Processor) Fits(width, height int) error {
	if long, short := max(width, height), min(width, height); p.Multiple > 0 && long > maxAspect*short {
		return fmt.Errorf("the image has %d x %d pixels: one edge may be at most %d times the other", width, height, maxAspect)
	}
	return nil
}

// Size returns the size of the only frame of a picture that [Processor.Fits], with Multiple: its edges
// keep their ratio as far as they are multiples (smart_resize of Qwen2-VL).
func (p *Processor) Size(width, height int) (int, int) {
	w, h, by := float64(width), float64(height), float64(p.Multiple)
	toWidth, toHeight := int(math.RoundToEven(w/by))*p.Multiple, int(math.RoundToEven(h/by))*p.Multiple
	switch pixels := toWidth * toHeight; {
	case pixels > p.Most:
		shrink := math.Sqrt(w * h / float64(p.Most))
		down := func(edge float64) int { return max(int(math.Floor(edge/shrink/by)), 1) * p.Multiple }
		toWidth, toHeight = down(w), down(h)
	case pixels < p.Least:
		grow := math.Sqrt(float64(p.Least) / (w * h))
		up := func(edge float64) int { return int(math.Ceil(float64(edge*grow)/by)) * p.Multiple }
		toWidth, toHeight = up(w), up(h)
	}
	return toWidth, toHeight
}

// Squares yields the row and the column of each of some patches: those of a square of side x side
// neighbours row by row, one square after another, row by row. side divides rows and columns.
func Squares(rows, columns, side int) iter.Seq2[int, int] {
	return func(yield func(row, column int) bool) {
		for at := range rows * columns {
			square, in := at/(side*side), at%(side*side)
			across := columns / side
			if !yield(square/across*side+in/side, square%across*side+in%side) {
				return
			}
		}
	}
}
