package picture

import (
	"context"
	"fmt"
	"math"
)

// A Processor describes what a model's image processor does. Packed model files contain it.
type Processor struct {
	Filter Filter `json:"filter,omitempty"`
	// Side is the edge of the square frames that the tower reads, in pixels.
	Side int `json:"side,omitempty"`
	// Longest is the longest edge to which a picture is resized first, in pixels, as Idefics3 and
	// SmolVLM do. Without it a picture is resized to a frame.
	Longest int `json:"longest,omitempty"`
	// Shortest is the shortest edge to which a picture is resized, in pixels, before the square in the
	// middle becomes the frame, as CLIP does. It is at least Side, and there is no Longest.
	Shortest int `json:"shortest,omitempty"`
	// Multiple, if set, is what the edges of the only frame are multiples of, in pixels: it has the shape
	// of the picture, and Least to Most pixels, as in Qwen2-VL. There is no Side then.
	Multiple int `json:"multiple,omitempty"`
	Least    int `json:"least,omitempty"`
	Most     int `json:"most,omitempty"`
	// Split cuts pictures of the size Longest into tiles of the size Side. The whole is the last frame.
	Split bool `json:"split,omitempty"`
	// A value is (pixel*Scale - Mean) / Std.
	Scale float64    `json:"scale,omitempty"`
	Mean  [3]float64 `json:"mean,omitzero"` // of red, green, blue
	Std   [3]float64 `json:"std,omitzero"`
}

// Bounds of a description. Real ones have sides up to 1024 and up to 36 tiles.
const (
	maxSide    = 4096
	maxTiles   = 1024
	maxLongest = 4096 // Idefics3's MAX_IMAGE_SIZE: larger settings are reduced to it
)

// Check returns an error for a description that cannot be followed, or that takes more memory
// or time than any picture is worth.
func (p *Processor) Check() error {
	switch {
	case p.Filter > Hamming:
		return fmt.Errorf("picture processor: filter %d: must be from 0 to %d", p.Filter, Hamming)
	case p.Multiple == 0 && (p.Side < 1 || p.Side > maxSide):
		return fmt.Errorf("picture processor: side %d: must be from 1 to %d", p.Side, maxSide)
	case p.Longest < 0 || p.Longest > MaxEdge:
		return fmt.Errorf("picture processor: longest %d: must be from 0 to %d", p.Longest, MaxEdge)
	case p.Shortest != 0 && (p.Longest != 0 || p.Shortest < p.Side || p.Shortest > maxSide):
		return fmt.Errorf("picture processor: shortest %d: must be from side, %d, to %d, without longest", p.Shortest, p.Side, maxSide)
	case p.Split && p.Longest == 0:
		return fmt.Errorf("picture processor: split needs longest")
	}
	if p.Multiple != 0 || p.Least != 0 || p.Most != 0 {
		if err := p.checkFlexible(); err != nil {
			return err
		}
	}
	if rows, columns := p.Layout(1, 1); rows*columns > maxTiles {
		return fmt.Errorf("picture processor: %d tiles of side %d: must be at most %d", rows*columns, p.Side, maxTiles)
	}
	for c, table := range p.values() {
		for _, v := range [...]float32{table[0], table[255]} {
			if math.IsInf(float64(v), 0) || math.IsNaN(float64(v)) {
				return fmt.Errorf("picture processor: scale %v, mean %v, std %v: values of channel %d are not finite", p.Scale, p.Mean[c], p.Std[c], c)
			}
		}
		if table[0] == table[255] {
			return fmt.Errorf("picture processor: scale %v, std %v: values of channel %d do not differ", p.Scale, p.Std[c], c)
		}
	}
	return nil
}

// Layout returns the rows and columns of the tiles of a picture of a size in pixels, or 0, 0 if
// it has a single frame.
func (p *Processor) Layout(width, height int) (rows, columns int) {
	if !p.Split {
		return 0, 0
	}
	width, height = p.multiple(p.bounded(width, height))
	if width <= p.Side && height <= p.Side {
		return 0, 0
	}
	return height / p.Side, width / p.Side
}

// bounded returns the size with the longest edge Longest: the other edge is truncated and then
// made even; after the reduction to maxLongest it is only truncated (Idefics3's
// get_resize_output_image_size).
func (p *Processor) bounded(width, height int) (int, int) {
	aspect := float64(width) / float64(height)
	if width >= height {
		width = p.Longest
		height = even(int(float64(width) / aspect))
	} else {
		height = p.Longest
		width = even(int(float64(height) * aspect))
	}
	width, height = max(width, 1), max(height, 1)
	aspect = float64(width) / float64(height)
	switch {
	case width >= height && width > maxLongest:
		width, height = maxLongest, int(maxLongest/aspect)
	case height > width && height > maxLongest:
		width, height = int(maxLongest*aspect), maxLongest
	}
	return max(width, 1), max(height, 1)
}

// even returns the next even number.
func even(n int) int { return n + n%2 }

// multiple returns a size whose edges are multiples of Side: the longest edge grows, and the
// other one grows after it (Idefics3's resize_for_vision_encoder). For some very tall pictures
// the reference computes a width of 0 and fails; they have one column.
func (p *Processor) multiple(width, height int) (int, int) {
	up := func(n int) int { return max((n+p.Side-1)/p.Side, 1) * p.Side }
	aspect := float64(width) / float64(height)
	if width >= height {
		width = up(width)
		return width, up(int(float64(width) / aspect))
	}
	height = up(height)
	return up(int(float64(height) * aspect)), height
}

// Frames returns the frames of a picture, of Side x Side pixels: its tiles row by row and then
// the whole, or only the whole. With Multiple, the only frame has the size that Size returns. The error
// is that of ctx, which is checked before each step.
func (p *Processor) Frames(ctx context.Context, img *Picture) ([]*Picture, error) {
	if p.Multiple > 0 {
		width, height := p.Size(img.Width, img.Height)
		return []*Picture{img.Resize(width, height, p.Filter)}, ctx.Err()
	}
	if p.Shortest > 0 {
		return []*Picture{p.middle(img)}, ctx.Err()
	}
	rows, columns := p.Layout(img.Width, img.Height)
	if p.Longest > 0 && ctx.Err() == nil {
		width, height := p.bounded(img.Width, img.Height)
		img = img.Resize(width, height, p.Filter)
	}
	if p.Split && ctx.Err() == nil {
		width, height := p.multiple(img.Width, img.Height)
		img = img.Resize(width, height, p.Filter)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	frames := make([]*Picture, 0, rows*columns+1)
	for row := range rows {
		for column := range columns {
			frames = append(frames, img.Crop(column*p.Side, row*p.Side, p.Side, p.Side))
		}
	}
	return append(frames, img.Resize(p.Side, p.Side, p.Filter)), nil
}

// middle returns the square in the middle of a picture that was resized to Shortest: of a narrow one,
// only that is computed (get_resize_output_image_size and center_crop in image_transforms).
func (p *Processor) middle(img *Picture) *Picture {
	width, height := p.Shortest, p.Shortest
	if img.Width <= img.Height {
		height = int(float64(p.Shortest*img.Height) / float64(img.Width))
	} else {
		width = int(float64(p.Shortest*img.Width) / float64(img.Height))
	}
	return img.resize(width, height, interval{(width - p.Side) / 2, p.Side}, interval{(height - p.Side) / 2, p.Side}, p.Filter)
}

// Values returns the values of a frame, patch by patch: (n, 3*patch*patch), in the order of [Squares]
// with a side of merge patches. A patch has the order of the weights of a Conv2d: channel, y, x. Pixels
// at the right and at the bottom that fill no patch are left out, as by a Conv2d with the stride patch.
func (p *Processor) Values(frame *Picture, patch, merge int) []float32 {
	tables := p.values()
	rows, columns := frame.Height/patch, frame.Width/patch
	values := make([]float32, 0, rows*columns*3*patch*patch)
	for row, column := range Squares(rows, columns, merge) {
		for c := range tables {
			for y := range patch {
				pix := frame.row(row*patch + y)[3*column*patch:]
				for x := range patch {
					values = append(values, tables[c][pix[3*x+c]])
				}
			}
		}
	}
	return values
}

// values returns the value of each pixel in each channel. The reference multiplies in float64,
// rounds, and subtracts and divides in float32 (image_transforms.rescale and normalize).
func (p *Processor) values() (tables [3][256]float32) {
	for c := range tables {
		mean, std := float32(p.Mean[c]), float32(p.Std[c])
		for pixel := range tables[c] {
			scaled := float32(float64(pixel) * p.Scale)
			tables[c][pixel] = float32(scaled-mean) / std
		}
	}
	return tables
}

// Memory returns the memory in bytes that Decode, Frames and the Values of all frames take at
// most for a picture, with all that they allocate.
func (p *Processor) Memory(of Info, patch int) int64 {
	bytes, width, height := of.Cost, of.Width, of.Height
	resize := func(w, h int) {
		bytes += resizeBytes(width, height, w, h)
		width, height = w, h
	}
	if p.Multiple > 0 {
		w, h := p.Size(width, height)
		resize(w, h)
		return bytes + heap(3*4*int64(w)*int64(h))
	}
	rows, columns := p.Layout(width, height)
	if p.Longest > 0 {
		resize(p.bounded(width, height))
	}
	if p.Split {
		resize(p.multiple(width, height))
	}
	resize(p.Side, p.Side)
	tiles, side := int64(rows*columns), int64(p.Side)
	n := side / int64(patch) * int64(patch)
	const object = 64 // bytes of a Picture and its slots in slices
	return bytes + tiles*(heap(3*side*side)+object) + (tiles+1)*heap(3*4*n*n)
}

// resizeBytes returns the memory in bytes that Resize takes at most.
func resizeBytes(width, height, toWidth, toHeight int) int64 {
	between := func(in, out int) int64 { // input pixels of an output pixel
		const widest = 3 // Lanczos
		return 2*widest*int64(in/out+1) + 3
	}
	axis := func(in, out int) int64 {
		taps := between(in, out)
		return heap(24*int64(out)) + heap(4*int64(out)*taps) + heap(8*taps) // spans, weights, and weights before rounding
	}
	rows := between(height, toHeight) + 2 // of the ring, or two of the full width
	kept := heap(3*int64(toWidth)*rows) + 2*heap(24*rows) + heap(6*int64(width))
	sums := heap(24*int64(width)) + heap(12*int64(max(width, toWidth)))
	return heap(3*int64(toWidth)*int64(toHeight)) + axis(width, toWidth) + axis(height, toHeight) + kept + sums + 1<<10
}

// heap returns the bytes that Go's allocator takes at most for an object: its size is rounded up
// to a class with a quarter more, or to a page.
func heap(size int64) int64 {
	return size + min(size/4+16, 8<<10)
}
