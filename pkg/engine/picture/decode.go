package picture

import (
	"context"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"io"
)

// Decode reads a PNG or JPEG file. It turns the picture by the orientation in its Exif data, as
// PIL.ImageOps.exif_transpose does, and puts transparent pixels on white, as transformers'
// convert_to_rgb does. Errors are those of Describe, of a broken or truncated file, and of ctx, which is
// checked as the decoder reads on and before each row that is converted.
func Decode(ctx context.Context, data []byte) (*Picture, error) {
	h, err := readHeader(data)
	if err != nil {
		return nil, err
	}
	read := jpeg.Decode
	if h.png {
		read = png.Decode
	}
	img, err := read(&source{ctx, data})
	if ended := ctx.Err(); ended != nil {
		return nil, ended
	}
	if err != nil {
		return nil, unreadable(err)
	}
	if size := img.Bounds().Size(); size.X != h.width || size.Y != h.height {
		return nil, fmt.Errorf("the image has %d x %d pixels, and its header says %d x %d", size.X, size.Y, h.width, h.height)
	}
	fill, err := converter(img)
	if err != nil {
		return nil, err
	}
	p := turn(h.width, h.height, h.orientation, func(y int, out []uint8) {
		if ctx.Err() == nil {
			fill(y, out)
		}
	})
	return p, ctx.Err()
}

// source is the file that a decoder reads, until ctx ends.
type source struct {
	ctx  context.Context
	rest []byte
}

// step is the most that a source gives at once: scans of a few bytes may visit all pixels.
const step = 64 // bytes

// Read implements [io.Reader].
func (s *source) Read(to []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	if len(s.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(to[:min(len(to), step)], s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// A fill writes the RGB pixels of row y to out, which has 3 bytes a pixel.
type fill func(y int, out []uint8)

// turn returns the picture of the size whose rows fill writes, turned by an Exif orientation.
func turn(width, height, orientation int, fill fill) *Picture {
	if orientation == 1 {
		p := newPicture(width, height)
		for y := range height {
			fill(y, p.row(y))
		}
		return p
	}
	p := newPicture(width, height)
	if orientation >= 5 {
		p.Width, p.Height = height, width
	}
	row := make([]uint8, 3*width)
	for y := range height {
		fill(y, row)
		at, step := place(orientation, y, width, height)
		for x := range width {
			copy(p.Pix[3*(at+x*step):][:3], row[3*x:])
		}
	}
	return p
}

// place returns the index of the pixel to which the first of row y goes, and the distance to the
// next one. Exif 2.3, table of tag 0x0112: where row 0 and column 0 are.
func place(orientation, y, width, height int) (at, step int) {
	switch orientation {
	case 2: // top right
		return y*width + width - 1, -1
	case 3: // bottom right
		return (height-y)*width - 1, -1
	case 4: // bottom left
		return (height - 1 - y) * width, 1
	case 5: // left top
		return y, height
	case 6: // right top
		return height - 1 - y, height
	case 7: // right bottom
		return width*height - 1 - y, -height
	default: // 8: left bottom
		return (width-1)*height + y, -height
	}
}

// converter returns the function that converts rows of an image of the standard library.
func converter(img image.Image) (fill, error) {
	switch m := img.(type) {
	case *image.YCbCr:
		return newUpsampler(m).row, nil
	case *image.CMYK:
		return convert(m.Pix, m.Stride, 4, fromCMYK), nil
	case *image.Gray:
		return convert(m.Pix, m.Stride, 1, func(in []uint8) (r, g, b uint8) { return in[0], in[0], in[0] }), nil
	case *image.Gray16:
		return convert(m.Pix, m.Stride, 2, func(in []uint8) (r, g, b uint8) { return in[0], in[0], in[0] }), nil
	case *image.RGBA: // of truecolour without alpha: opaque
		return convert(m.Pix, m.Stride, 4, func(in []uint8) (r, g, b uint8) { return in[0], in[1], in[2] }), nil
	case *image.RGBA64: // likewise, big endian
		return convert(m.Pix, m.Stride, 8, func(in []uint8) (r, g, b uint8) { return in[0], in[2], in[4] }), nil
	case *image.NRGBA:
		return convert(m.Pix, m.Stride, 4, func(in []uint8) (r, g, b uint8) { return onWhite(in[0], in[1], in[2], in[3]) }), nil
	case *image.NRGBA64:
		return convert(m.Pix, m.Stride, 8, func(in []uint8) (r, g, b uint8) { return onWhite(in[0], in[2], in[4], in[6]) }), nil
	case *image.Paletted:
		colors := palette(m)
		return convert(m.Pix, m.Stride, 1, func(in []uint8) (r, g, b uint8) {
			c := colors[in[0]]
			return c[0], c[1], c[2]
		}), nil
	}
	return nil, fmt.Errorf("the image has pixels of type %T, which are not read", img)
}

// convert returns the function that converts rows of pixels of size bytes, one at a time.
func convert(pix []uint8, stride, size int, pixel func(in []uint8) (r, g, b uint8)) fill {
	return func(y int, out []uint8) {
		in := pix[y*stride:]
		for i := 0; i < len(out); i += 3 {
			out[i], out[i+1], out[i+2] = pixel(in)
			in = in[size:]
		}
	}
}

// palette returns the colours of a palette on white.
func palette(m *image.Paletted) (colors [256][3]uint8) {
	for i, c := range m.Palette {
		n := nonPremultiplied(c)
		colors[i][0], colors[i][1], colors[i][2] = onWhite(n.R, n.G, n.B, n.A)
	}
	return colors
}

// onWhite puts a colour with alpha on opaque white, by the integer arithmetic of Pillow's
// ImagingAlphaComposite, which computes with 7 more bits.
func onWhite(r, g, b, alpha uint8) (uint8, uint8, uint8) {
	const bits = 7
	a := uint32(alpha)
	blend := func(c uint8) uint8 {
		sum := (uint32(c)*a+255*(255-a))<<bits + 0x80<<bits
		return uint8((sum>>8 + sum) >> 8 >> bits)
	}
	return blend(r), blend(g), blend(b)
}

// fromCMYK converts a pixel as Pillow's cmyk2rgb does: each colour is 255-k less its share of it.
func fromCMYK(in []uint8) (r, g, b uint8) {
	paper := 255 - uint32(in[3])
	ink := func(c uint8) uint8 {
		product := uint32(c)*paper + 128
		return uint8(paper - (product>>8+product)>>8)
	}
	return ink(in[0]), ink(in[1]), ink(in[2])
}
