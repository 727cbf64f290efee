package picture

import (
	"image"
	"image/color"
)

// nonPremultiplied returns a colour of a palette; those of image/png are color.RGBA if opaque
// and color.NRGBA otherwise, so nothing is rounded.
func nonPremultiplied(c color.Color) color.NRGBA {
	return color.NRGBAModel.Convert(c).(color.NRGBA)
}

// An upsampler converts rows of a JPEG image to RGB as libjpeg-turbo does by default ("fancy
// upsampling"): if chroma has half the resolution, a pixel has 3/4 of the nearer sample and
// 1/4 of the other one (jdsample.c).
type upsampler struct {
	img           *image.YCbCr
	width, height int // of chroma, in samples
	h, v          int // pixels of a sample in each direction
	cb, cr        []int32
	sums          []int32 // (width) of two rows of chroma
}

// newUpsampler returns an upsampler.
func newUpsampler(img *image.YCbCr) *upsampler {
	u := &upsampler{img: img}
	switch img.SubsampleRatio {
	case image.YCbCrSubsampleRatio422:
		u.h, u.v = 2, 1
	case image.YCbCrSubsampleRatio420:
		u.h, u.v = 2, 2
	case image.YCbCrSubsampleRatio440:
		u.h, u.v = 1, 2
	case image.YCbCrSubsampleRatio411:
		u.h, u.v = 4, 1
	case image.YCbCrSubsampleRatio410:
		u.h, u.v = 4, 2
	default:
		u.h, u.v = 1, 1
	}
	size := img.Rect.Size()
	u.width, u.height = (size.X+u.h-1)/u.h, (size.Y+u.v-1)/u.v
	u.sums = make([]int32, u.width)
	u.cb, u.cr = make([]int32, u.width*u.h), make([]int32, u.width*u.h)
	return u
}

// row converts row y. The numbers are those of jdcolor.c: coefficients of JFIF times 1<<16.
func (u *upsampler) row(y int, out []uint8) {
	u.chroma(u.img.Cb, y, u.cb)
	u.chroma(u.img.Cr, y, u.cr)
	const half = 1 << 15
	for x, luma := range u.img.Y[y*u.img.YStride:][:len(out)/3] {
		l, cb, cr := int32(luma), u.cb[x]-128, u.cr[x]-128
		p := out[3*x : 3*x+3 : 3*x+3]
		p[0] = clip(l + (91881*cr+half)>>16)
		p[1] = clip(l + (-22554*cb-46802*cr+half)>>16)
		p[2] = clip(l + (116130*cb+half)>>16)
	}
}

// chroma writes the samples of row y of the picture.
func (u *upsampler) chroma(plane []uint8, y int, out []int32) {
	sample := func(row int) []uint8 { return plane[row*u.img.CStride:][:u.width] }
	near := y / u.v
	far := near - 1 + y%u.v*2 // the row on the other side of this half of the sample
	far = min(max(far, 0), u.height-1)
	switch {
	case u.h == 2 && u.width > 2:
		if u.v == 2 {
			sum(sample(near), sample(far), u.sums)
			double(u.sums, 4, 8, 7, out)
			return
		}
		for x, s := range sample(near) {
			u.sums[x] = int32(s)
		}
		double(u.sums, 2, 1, 2, out)
	case u.h == 1 && u.v == 2:
		sum(sample(near), sample(far), out)
		for x := range out {
			out[x] = (out[x] + 1 + int32(y%2)) >> 2
		}
	default:
		for x, s := range sample(near) {
			for i := range u.h {
				out[x*u.h+i] = int32(s)
			}
		}
	}
}

// sum writes three times near plus far.
func sum(near, far []uint8, out []int32) {
	for x := range out {
		out[x] = 3*int32(near[x]) + int32(far[x])
	}
}

// double writes two values for each of in: 3/4 of it and 1/4 of the value on that side, after
// adding left or right and shifting. The outermost ones have no other value.
func double(in []int32, shift int, left, right int32, out []int32) {
	last := len(in) - 1
	for x, s := range in {
		before, after := in[max(x-1, 0)], in[min(x+1, last)]
		out[2*x] = (3*s + before + left) >> shift
		out[2*x+1] = (3*s + after + right) >> shift
	}
}

// clip limits a value to those of a byte.
func clip(v int32) uint8 {
	return uint8(min(max(v, 0), 255))
}
