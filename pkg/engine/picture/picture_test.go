package picture

import (
	"encoding/json"
	"image/color"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// Crop copies, and refuses what is not in the picture.
func TestCrop(t *testing.T) {
	p := noise(5, 4)
	c := p.Crop(1, 2, 3, 2)
	for y := range 2 {
		if !slices.Equal(c.row(y), p.row(2 + y)[3:12]) {
			t.Errorf("row %d: %d", y, c.row(y))
		}
	}
	c.Pix[0]++
	if c.Pix[0] == p.row(2)[3] {
		t.Error("the copy shares pixels")
	}
	for _, bad := range [][4]int{{-1, 0, 1, 1}, {0, -1, 1, 1}, {3, 0, 3, 1}, {0, 4, 1, 1}, {0, 0, -1, 1}, {0, 0, 1, -1}, {math.MaxInt, 0, 1, 1}} {
		panics(t, func() { p.Crop(bad[0], bad[1], bad[2], bad[3]) })
	}
	panics(t, func() { p.Resize(0, 1, Box) })
	panics(t, func() { p.Resize(1, 0, Box) })
	panics(t, func() { p.Resize(1, 1, Hamming+1) })
}

// panics fails the test unless f panics with a message of this package.
func panics(t *testing.T, f func()) {
	t.Helper()
	defer func() {
		if s, _ := recover().(string); !strings.HasPrefix(s, "picture: ") {
			t.Errorf("panic %q", s)
		}
	}()
	f()
}

// A resized picture of one colour has that colour: weights add up to 1, also at the edges.
func TestFlat(t *testing.T) {
	p := newPicture(37, 23)
	for i := range p.Pix {
		p.Pix[i] = []uint8{255, 0, 129}[i%3]
	}
	for f := Nearest; f <= Hamming; f++ {
		for _, size := range [][2]int{{1, 1}, {2, 50}, {50, 2}, {36, 24}, {200, 100}} {
			for i, v := range p.Resize(size[0], size[1], f).Pix {
				if v != p.Pix[i%3] {
					t.Fatalf("filter %d to %d: channel %d is %d", f, size, i%3, v)
				}
			}
		}
	}
}

// A patch has the order channel, y, x, and what fills no patch is left out.
func TestValues(t *testing.T) {
	p := &Processor{Side: 5, Scale: 1, Std: [3]float64{1, 1, 1}}
	frame := newPicture(5, 5)
	for i := range frame.Pix {
		frame.Pix[i] = uint8(i)
	}
	want := []float32{
		0, 3, 15, 18, 1, 4, 16, 19, 2, 5, 17, 20,
		6, 9, 21, 24, 7, 10, 22, 25, 8, 11, 23, 26,
		30, 33, 45, 48, 31, 34, 46, 49, 32, 35, 47, 50,
		36, 39, 51, 54, 37, 40, 52, 55, 38, 41, 53, 56,
	}
	if got := p.Values(frame, 2, 1); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	if got := p.Values(frame, 6, 1); len(got) != 0 {
		t.Errorf("a patch larger than the frame: %v", got)
	}
}

// smolVLM is the processor of SmolVLM-256M.
func smolVLM() Processor {
	return Processor{Filter: Lanczos, Side: 512, Longest: 2048, Split: true, Scale: 1. / 255, Mean: [3]float64{.5, .5, .5}, Std: [3]float64{.5, .5, .5}}
}

// Descriptions come from packed files: their keys stay, and Check refuses bad ones.
func TestCheck(t *testing.T) {
	p := smolVLM()
	data, err := json.Marshal(p)
	const want = `{"filter":1,"side":512,"longest":2048,"split":true,"scale":0.00392156862745098,"mean":[0.5,0.5,0.5],"std":[0.5,0.5,0.5]}`
	if err != nil || string(data) != want {
		t.Errorf("%s, %v", data, err)
	}
	if err := p.Check(); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(p *Processor){
		"filter 6":           func(p *Processor) { p.Filter = 6 },
		"side 0":             func(p *Processor) { p.Side = 0 },
		"side -1":            func(p *Processor) { p.Side = -1 },
		"side 4097":          func(p *Processor) { p.Side = 4097 },
		"longest -1":         func(p *Processor) { p.Longest = -1 },
		"longest 30001":      func(p *Processor) { p.Longest = 30001 },
		"split needs":        func(p *Processor) { p.Longest = 0 },
		"16777216 tiles":     func(p *Processor) { p.Side, p.Longest = 1, 30000 },
		"scale 0":            func(p *Processor) { p.Scale = 0 },
		"scale NaN":          func(p *Processor) { p.Scale = math.NaN() },
		"scale +Inf":         func(p *Processor) { p.Scale = math.Inf(1) },
		"mean 1e+300":        func(p *Processor) { p.Mean[1] = 1e300 },
		"std 0":              func(p *Processor) { p.Std[2] = 0 },
		"std 1e-300":         func(p *Processor) { p.Std[2] = 1e-300 },
		"channel 2 do not":   func(p *Processor) { p.Std[2] = math.Inf(-1) },
		"channel 0 are not ": func(p *Processor) { p.Mean[0] = math.NaN() },
	} {
		p := smolVLM()
		change(&p)
		if err := p.Check(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Cost and Memory bound all that is allocated for a picture, and not absurdly.
func TestMemory(t *testing.T) {
	g := readGoldens(t)
	files := g.Large
	for _, f := range g.JPEG {
		files[f.Name] = f.File
	}
	small := Processor{Filter: Bicubic, Side: 56, Scale: 1, Std: [3]float64{1, 1, 1}}
	tiles := Processor{Filter: Lanczos, Side: 64, Longest: 256, Split: true, Scale: 1, Std: [3]float64{1, 1, 1}}
	for name, file := range files {
		var img *Picture
		took := allocated(func() { img = decode(t, file) })
		info, err := Describe(file)
		if bound := jpegBytes(img.Width, img.Height, color.CMYKModel, false); err != nil || took > info.Cost || info.Cost > bound {
			t.Errorf("%s: decoding took %d bytes; %+v, %v, of at most %d for its size", name, took, info, err, bound)
		}
		for _, p := range []Processor{small, tiles} {
			took := took + allocated(func() {
				for _, f := range framesOf(t, &p, img) {
					p.Values(f, 8, 1)
				}
			})
			if bound := p.Memory(info, 8); took > bound || bound > 40*took {
				t.Errorf("%s, side %d: took %d bytes; Memory %d", name, p.Side, took, bound)
			}
		}
	}
}

// Resize takes no more memory than Memory allows for it.
func TestResizeMemory(t *testing.T) {
	for _, size := range [][4]int{{300, 200, 96, 64}, {10, 3000, 896, 5}, {3000, 1, 5, 300}, {1, 3000, 300, 3001}, {500, 3000, 100, 90}, {7, 7, 400, 400}, {100, 100, 100, 7}, {100, 100, 7, 100}} {
		p := noise(size[0], size[1])
		for f := Nearest; f <= Hamming; f++ {
			took, bound := allocated(func() { p.Resize(size[2], size[3], f) }), resizeBytes(size[0], size[1], size[2], size[3])
			if took > bound {
				t.Errorf("%d by filter %d: took %d bytes, want at most %d", size, f, took, bound)
			}
		}
	}
}

// A part of a picture takes no more memory if the whole is huge.
func TestResizePart(t *testing.T) {
	p, part := noise(1, 300), interval{1000, 50}
	if took := allocated(func() { p.resize(100, 1<<40, interval{10, 50}, part, Nearest) }); took > 20_000 {
		t.Errorf("took %d bytes", took)
	}
}

// allocated returns the bytes that f allocates.
func allocated(f func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}
