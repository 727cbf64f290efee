package picture

import (
	"bytes"
	"encoding/binary"
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
		_, _, err := Size(progressive(c.side, c.scans))
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%d scans of %d pixels a side: %v, want %q", c.scans, c.side, err, c.says)
		}
	}
}
