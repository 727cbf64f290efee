package picture

import (
	"slices"
	"strings"
	"testing"
)

// flexible is the processor of Qwen2-VL, with patches of half of a multiple.
func flexible(multiple, least, most int) *Processor {
	return &Processor{Filter: Bicubic, Multiple: multiple, Least: least, Most: most, Scale: 1. / 255, Std: [3]float64{1, 1, 1}}
}

// Sizes are those of smart_resize in transformers 5.23.
func TestSize(t *testing.T) {
	for _, c := range []struct{ multiple, least, most, width, height, toWidth, toHeight int }{
		{28, 3136, 1003520, 1, 1, 56, 56},
		{28, 3136, 1003520, 1, 200, 28, 812},
		{28, 3136, 1003520, 200, 1, 812, 28},
		{28, 3136, 1003520, 14, 42, 56, 112},
		{28, 3136, 1003520, 70, 98, 56, 112},
		{28, 3136, 1003520, 640, 480, 644, 476},
		{28, 3136, 1003520, 1000, 1333, 840, 1148},
		{28, 3136, 1003520, 4000, 3000, 1148, 840},
		{28, 3136, 1003520, 30000, 151, 14112, 56},
		{28, 3136, 1003520, 5, 6, 56, 84},
		{28, 3136, 1003520, 10, 30, 56, 112},
		{28, 3136, 1003520, 18, 22, 56, 84},
		{32, 65536, 16777216, 1, 1, 256, 256},
		{32, 65536, 16777216, 1, 200, 32, 3648},
		{32, 65536, 16777216, 200, 1, 3648, 32},
		{32, 65536, 16777216, 14, 42, 160, 448},
		{32, 65536, 16777216, 70, 98, 224, 320},
		{32, 65536, 16777216, 640, 480, 640, 480},
		{32, 65536, 16777216, 1000, 1333, 992, 1344},
		{32, 65536, 16777216, 4000, 3000, 4000, 3008},
		{32, 65536, 16777216, 30000, 151, 30016, 160},
		{32, 65536, 16777216, 5, 6, 256, 288},
		{32, 65536, 16777216, 10, 30, 160, 448},
		{32, 65536, 16777216, 18, 22, 256, 288},
		{4, 64, 400, 1, 1, 8, 8},
		{4, 64, 400, 1, 200, 4, 116},
		{4, 64, 400, 200, 1, 116, 4},
		{4, 64, 400, 14, 42, 8, 32},
		{4, 64, 400, 70, 98, 16, 20},
		{4, 64, 400, 640, 480, 20, 16},
		{4, 64, 400, 1000, 1333, 16, 20},
		{4, 64, 400, 4000, 3000, 20, 16},
		{4, 64, 400, 30000, 151, 280, 4},
		{4, 64, 400, 5, 6, 8, 12},
		{4, 64, 400, 10, 30, 8, 32},
		{4, 64, 400, 18, 22, 16, 24},
	} {
		p := flexible(c.multiple, c.least, c.most)
		width, height := p.Size(c.width, c.height)
		if err := p.Fits(c.width, c.height); width != c.toWidth || height != c.toHeight || err != nil {
			t.Errorf("%+v: %d x %d, %v", c, width, height, err)
		}
	}
}

// A picture that is too narrow is an error, but not without Multiple.
func TestFits(t *testing.T) {
	for _, c := range []struct {
		width, height int
		says          string
	}{{201, 1, "201 x 1"}, {1, 201, "1 x 201"}, {20000, 10, "20000 x 10"}, {200, 1, ""}} {
		err := flexible(28, 3136, 1003520).Fits(c.width, c.height)
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%d x %d: %v", c.width, c.height, err)
		}
		if err := (&Processor{Side: 4}).Fits(c.width, c.height); err != nil {
			t.Error(err)
		}
	}
}

// Patches follow square by square.
func TestSquares(t *testing.T) {
	var got []int
	for row, column := range Squares(4, 6, 2) {
		got = append(got, 10*row+column)
	}
	want := []int{0, 1, 10, 11, 2, 3, 12, 13, 4, 5, 14, 15, 20, 21, 30, 31, 22, 23, 32, 33, 24, 25, 34, 35}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Descriptions of frames of any shape that cannot be followed are errors.
func TestFlexibleRefused(t *testing.T) {
	for want, change := range map[string]func(p *Processor){
		"":                  func(*Processor) {},
		"there is side":     func(p *Processor) { p.Side = 28 },
		"side 0":            func(p *Processor) { p.Multiple, p.Side = 0, 0 },
		"multiple -28":      func(p *Processor) { p.Multiple = -28 },
		"multiple 5000":     func(p *Processor) { p.Multiple = 5000 },
		"0 to 1003520":      func(p *Processor) { p.Least = 0 },
		"3136 to 3135":      func(p *Processor) { p.Most = 3135 },
		"3136 to 268435456": func(p *Processor) { p.Most = 1 << 28 },
		"a square":          func(p *Processor) { p.Least, p.Most = 1, 783 },
		"more than 262144 ": func(p *Processor) { p.Multiple, p.Most = 1, 1<<18+1 },
	} {
		p := flexible(28, 3136, 1003520)
		change(p)
		if err := p.Check(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
