package picture

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"strings"
	"testing"
)

// progressive returns a grey JPEG of a size with scans that refine nothing: a few bytes each, which
// visit all blocks.
func progressive(side, scans int) []byte {
	var b bytes.Buffer
	segment := func(marker byte, content ...byte) {
		b.Write([]byte{0xff, marker})
		b.Write(binary.BigEndian.AppendUint16(nil, uint16(len(content)+2)))
		b.Write(content)
	}
	b.Write([]byte{0xff, 0xd8})
	segment(0xdb, append([]byte{0}, bytes.Repeat([]byte{1}, 64)...)...)
	segment(0xc2, 8, byte(side>>8), byte(side), byte(side>>8), byte(side), 1, 1, 0x11, 0)
	segment(0xc4, append(append([]byte{0x10, 1}, make([]byte, 15)...), 0xe0)...)
	for range scans {
		segment(sos, 1, 1, 0, 1, 63, 0x10)
		edge := (side + 7) / 8
		for left := edge * edge; left > 0; left -= 32767 {
			b.Write([]byte{0x7f, 0xff, 0})
		}
	}
	b.Write([]byte{0xff, eoi})
	return b.Bytes()
}

// Scans are refused by what they visit together, whatever their bytes.
func TestScans(t *testing.T) {
	for _, c := range []struct {
		side, scans int
		says        string
	}{
		{64, maxScans, ""}, {64, maxScans + 1, "101 scans: at most 100"}, {7000, 10, ""}, {7000, 11, "11 scans of 7000 x 7000 pixels"},
	} {
		_, err := Describe(progressive(c.side, c.scans))
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%d scans of %d pixels a side: %v, want %q", c.scans, c.side, err, c.says)
		}
	}
}

// leaving is the context of a client that leaves when it has been asked for a number of times.
type leaving struct {
	context.Context
	asked, last int
}

func (l *leaving) Err() error {
	if l.asked++; l.asked > l.last {
		return context.Canceled
	}
	return nil
}

// A picture is not read on when its client has left: not between scans of a few bytes, between rows,
// or between the sizes of a frame.
func TestLeaving(t *testing.T) {
	file := progressive(1400, 50)
	scans := &leaving{Context: t.Context(), last: 1 << 30}
	img, err := Decode(scans, file)
	if want := len(file)/step + 1400; err != nil || scans.asked < want {
		t.Fatalf("%v, asked %d times, want %d at least", err, scans.asked, want)
	}
	for _, last := range []int{0, 1, 2, len(file) / step / 2, scans.asked - 1400, scans.asked - 1} {
		l := &leaving{Context: t.Context(), last: last}
		if _, err := Decode(l, file); !errors.Is(err, context.Canceled) || last < len(file)/step && l.asked > last+3 {
			t.Errorf("left after %d of %d: asked %d times, %v", last, scans.asked, l.asked, err)
		}
	}
	tiles := Processor{Filter: Lanczos, Side: 64, Longest: 256, Split: true, Scale: 1, Std: [3]float64{1, 1, 1}}
	for _, p := range []Processor{tiles, {Filter: Bicubic, Side: 56, Scale: 1, Std: tiles.Std}, {Filter: Bicubic, Side: 56, Shortest: 56, Scale: 1, Std: tiles.Std}} {
		if frames, err := p.Frames(&leaving{Context: t.Context()}, img); !errors.Is(err, context.Canceled) {
			t.Errorf("%+v: %d frames, %v", p, len(frames), err)
		}
	}
}
