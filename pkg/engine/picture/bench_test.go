package picture

import (
	"bytes"
	"image"
	"image/jpeg"
	"testing"
)

// noise returns a picture of reproducible noise.
func noise(width, height int) *Picture {
	p := newPicture(width, height)
	state := uint32(1)
	for i := range p.Pix {
		state = state*1664525 + 1013904223
		p.Pix[i] = uint8(state >> 24)
	}
	return p
}

// Pictures of 12 megapixels, as phones take them.
func BenchmarkResize(b *testing.B) {
	for _, bench := range []struct {
		name                          string
		width, height, toWide, toHigh int
		filter                        Filter
	}{
		{"SmolVLM", 4000, 3000, 2048, 1536, Lanczos},
		{"SmolVLM/portrait", 3000, 4000, 1536, 2048, Lanczos},
		{"Gemma3", 4000, 3000, 896, 896, Bilinear},
		{"Gemma3/columnsFirst", 1000, 12000, 896, 896, Bilinear},
	} {
		b.Run(bench.name, func(b *testing.B) {
			p := noise(bench.width, bench.height)
			b.SetBytes(int64(len(p.Pix)))
			b.ReportAllocs()
			for b.Loop() {
				p.Resize(bench.toWide, bench.toHigh, bench.filter)
			}
		})
	}
}

// A JPEG file of 12 megapixels with chroma of half the resolution.
func BenchmarkDecode(b *testing.B) {
	img := image.NewYCbCr(image.Rect(0, 0, 4000, 3000), image.YCbCrSubsampleRatio420)
	for i := range img.Y {
		img.Y[i] = uint8(i%4000/16 + i/4000/40)
	}
	var file bytes.Buffer
	if err := jpeg.Encode(&file, img, nil); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(3 * 4000 * 3000)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Decode(b.Context(), file.Bytes()); err != nil {
			b.Fatal(err)
		}
	}
}

// SmolVLM's frames of 12 megapixels, and their values.
func BenchmarkFrames(b *testing.B) {
	p := &Processor{Filter: Lanczos, Side: 512, Longest: 2048, Split: true, Scale: 1. / 255, Mean: [3]float64{.5, .5, .5}, Std: [3]float64{.5, .5, .5}}
	img := noise(4000, 3000)
	b.ReportAllocs()
	for b.Loop() {
		for _, f := range framesOf(b, p, img) {
			p.Values(f, 16, 1)
		}
	}
}
