// Package picture reads the files of pictures and prepares their pixels for the towers of
// vision models, as the image processors of transformers 5.23 do with Pillow 13: it decodes,
// turns, resizes, cuts into tiles and normalizes. It knows files and pixels, nothing of models,
// prompts or requests, and it opens no file and no address.
//
// Sources: transformers' image_transforms and the PIL processors of Idefics3, SmolVLM, Gemma 3,
// SigLIP and CLIP; Pillow's Resample.c, Geometry.c, AlphaComposite.c and Convert.c; libjpeg-turbo's
// jdsample.c and jdcolor.c; the PNG and Exif specifications.
//
// Given the same pixels, Resize, Frames and Values return the same bits as the reference. A PNG
// file gives the same pixels, too; TestDifferences lists the kinds for which Pillow departs from
// the PNG specification. A JPEG file gives nearly the same pixels: chroma is enlarged and colours
// are converted as by libjpeg-turbo, but the inverse DCT of the standard library rounds
// differently. About 3 in 100 values differ, nearly all by 1 and none by more than 3;
// testdata/README.md has the measurements.
//
// The decoders are those of the standard library, so JPEG files with arithmetic coding, with 12
// bits or with four components but without Adobe's marker are errors.
package picture

import "fmt"

// Limits of a file. Larger ones are refused before their pixels are decoded.
const (
	MaxPixels = 50_000_000 // width times height
	MaxEdge   = 30_000     // pixels
)

// A Picture is an RGB image with 8 bits a channel.
type Picture struct {
	Width, Height int     // pixels
	Pix           []uint8 // (Height, Width, 3), row-major
}

// newPicture returns a black picture.
func newPicture(width, height int) *Picture {
	return &Picture{Width: width, Height: height, Pix: make([]uint8, 3*width*height)}
}

// row returns the pixels of row y.
func (p *Picture) row(y int) []uint8 {
	return p.Pix[3*p.Width*y : 3*p.Width*(y+1)]
}

// Crop returns a copy of the rectangle whose upper left pixel is (x, y). It panics if the
// rectangle does not lie within the picture.
func (p *Picture) Crop(x, y, width, height int) *Picture {
	if x < 0 || y < 0 || width < 0 || height < 0 || x > p.Width-width || y > p.Height-height {
		panic(fmt.Sprintf("picture: no %dx%d pixels at %d,%d of %dx%d", width, height, x, y, p.Width, p.Height))
	}
	out := newPicture(width, height)
	for i := range height {
		copy(out.row(i), p.row(y + i)[3*x:])
	}
	return out
}

// checkSize returns an error for a size beyond the limits.
func checkSize(width, height int) error {
	switch {
	case width < 1 || height < 1:
		return fmt.Errorf("the image has %d x %d pixels: it is empty", width, height)
	case width > MaxEdge || height > MaxEdge:
		return fmt.Errorf("the image has %d x %d pixels: an edge may have at most %d", width, height, MaxEdge)
	case width*height > MaxPixels:
		return fmt.Errorf("the image has %d x %d pixels, %d in all: at most %d are read", width, height, width*height, MaxPixels)
	}
	return nil
}
