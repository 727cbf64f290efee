package picture

import (
	"bytes"
	"compress/zlib"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"image"
	"image/png"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
)

// goldens is testdata/goldens.json: testdata/README.md explains it.
type goldens struct {
	Pictures map[string][]byte // files
	Resizes  []struct {
		Picture       string
		Filter        Filter
		Width, Height int
		Pix, SHA256   string
	}
	Layouts []struct {
		Side, Longest int
		Sizes         [][6]int // width, height, both bounded, rows, columns
	}
	Processed []struct {
		Name      string
		Processor Processor
		Patch     int
		Pictures  []struct {
			Picture        string
			Rows, Columns  int
			Frames, Values []string
		}
	}
	PNG, JPEG []decoding
	Large     map[string][]byte // files
}

// A decoding is a file and what Pillow reads from it.
type decoding struct {
	Name          string
	File          []byte
	Width, Height int
	SHA256        string
	Pix           []byte // by zlib
}

// readGoldens reads the golden file.
func readGoldens(tb testing.TB) *goldens {
	tb.Helper()
	data, err := os.ReadFile("testdata/goldens.json")
	if err != nil {
		tb.Fatal(err)
	}
	g := new(goldens)
	if err := json.Unmarshal(data, g); err != nil {
		tb.Fatal(err)
	}
	return g
}

// picture decodes one of the pictures.
func (g *goldens) picture(tb testing.TB, name string) *Picture {
	tb.Helper()
	return decode(tb, g.Pictures[name])
}

// decode decodes a file and compares what its header promised.
func decode(tb testing.TB, file []byte) *Picture {
	tb.Helper()
	p, err := Decode(tb.Context(), file)
	if err != nil {
		tb.Fatal(err)
	}
	info, err := Describe(file)
	if err != nil || info.Width != p.Width || info.Height != p.Height || len(p.Pix) != 3*p.Width*p.Height {
		tb.Errorf("Describe: %+v, %v; decoded %d x %d with %d bytes", info, err, p.Width, p.Height, len(p.Pix))
	}
	return p
}

// framesOf returns the frames of a picture.
func framesOf(tb testing.TB, p *Processor, img *Picture) []*Picture {
	tb.Helper()
	list, err := p.Frames(tb.Context(), img)
	if err != nil {
		tb.Fatal(err)
	}
	return list
}

// digest returns the first 64 bits of SHA-256.
func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}

// Resize returns the bits of Pillow.
func TestResize(t *testing.T) {
	g := readGoldens(t)
	for _, want := range g.Resizes {
		p := g.picture(t, want.Picture).Resize(want.Width, want.Height, want.Filter)
		same := digest(p.Pix) == want.SHA256
		if want.Pix != "" {
			same = hex.EncodeToString(p.Pix) == want.Pix
		}
		if !same || p.Width != want.Width || p.Height != want.Height {
			t.Errorf("%s to %d x %d by filter %d: other pixels than Pillow's %s", want.Picture, want.Width, want.Height, want.Filter, want.Pix)
		}
	}
}

// Layout returns the rows and columns of the reference. Where the reference fails because it
// computes a width of 0, there is one column.
func TestLayout(t *testing.T) {
	failed := 0
	for _, table := range readGoldens(t).Layouts {
		p := &Processor{Side: table.Side, Longest: table.Longest, Split: true}
		for _, s := range table.Sizes {
			if width, height := p.bounded(s[0], s[1]); width != s[2] || height != s[3] {
				t.Errorf("%d x %d of longest edge %d: %d x %d, want %d x %d", s[0], s[1], p.Longest, width, height, s[2], s[3])
			}
			want := [2]int{s[4], s[5]}
			if want[0] < 0 {
				failed++
				want = [2]int{}
			}
			if rows, columns := p.Layout(s[0], s[1]); [2]int{rows, columns} != want {
				t.Errorf("%d x %d in tiles of %d, longest edge %d: %d rows, %d columns; want %d", s[0], s[1], p.Side, p.Longest, rows, columns, want)
			}
		}
	}
	if failed == 0 {
		t.Error("the reference fails nowhere: the exception can go")
	}
}

// Frames and Values return the bits of transformers' processors.
func TestProcessor(t *testing.T) {
	g := readGoldens(t)
	for _, want := range g.Processed {
		p := &want.Processor
		if err := p.Check(); err != nil {
			t.Errorf("%s: %v", want.Name, err)
			continue
		}
		for _, w := range want.Pictures {
			img := g.picture(t, w.Picture)
			if rows, columns := p.Layout(img.Width, img.Height); rows != w.Rows || columns != w.Columns {
				t.Errorf("%s, %s: %d rows, %d columns; want %d, %d", want.Name, w.Picture, rows, columns, w.Rows, w.Columns)
			}
			var frames, values []string
			for _, f := range framesOf(t, p, img) {
				frames = append(frames, digest(f.Pix))
				var data []byte
				for _, v := range p.Values(f, want.Patch, 1) {
					data, _ = binary.Append(data, binary.LittleEndian, v)
				}
				values = append(values, digest(data))
			}
			if !slices.Equal(frames, w.Frames) {
				t.Errorf("%s, %s: other frames than the reference's", want.Name, w.Picture)
			}
			if !slices.Equal(values, w.Values) {
				t.Errorf("%s, %s: other values than the reference's", want.Name, w.Picture)
			}
		}
	}
}

// PNG files of all kinds and orientations give the pixels of transformers' convert_to_rgb.
func TestPNG(t *testing.T) {
	for _, want := range readGoldens(t).PNG {
		p := decode(t, want.File)
		same := digest(p.Pix) == want.SHA256 && p.Width == want.Width && p.Height == want.Height
		if reason := differences[strings.TrimSuffix(want.Name, " interlaced")]; same != (reason == "") {
			t.Errorf("%s: the same pixels as Pillow's: %t; expected difference: %q", want.Name, same, reason)
		}
	}
}

// differences has the kinds of PNG files for which Pillow departs from the PNG specification,
// which this package follows.
var differences = map[string]string{
	"kind 0, 16 bits":      "Pillow clips grey of 16 bits at 255, so most of such a picture is white",
	"kind 0, 16 bits tRNS": "Pillow clips grey of 16 bits at 255, so most of such a picture is white",
	"kind 0, 2 bits tRNS":  "Pillow compares the transparent grey with pixels that it has scaled to 8 bits",
	"kind 0, 4 bits tRNS":  "Pillow compares the transparent grey with pixels that it has scaled to 8 bits",
	"kind 2, 16 bits tRNS": "Pillow compares the lower 8 bits of the transparent colour with the upper 8 bits of pixels",
}

// Files that Pillow reads otherwise follow the specification: the transparent colour, which the
// script gave to row 3, is white, and grey of 16 bits keeps its upper 8.
func TestDifferences(t *testing.T) {
	found := 0
	for _, file := range readGoldens(t).PNG {
		if name := strings.TrimSuffix(file.Name, " interlaced"); differences[name] != "" && strings.HasSuffix(name, "tRNS") {
			found++
			p := decode(t, file.File)
			if row := p.row(3); bytes.Count(row, []byte{255}) != len(row) || bytes.Count(p.Pix, []byte{255}) == len(p.Pix) {
				t.Errorf("%s: row 3 is %d", file.Name, row)
			}
		}
	}
	if found != 8 {
		t.Errorf("%d files, want 8", found)
	}
	grey := image.NewGray16(image.Rect(0, 0, 2, 1))
	copy(grey.Pix, []uint8{0x12, 0xff, 0x80, 0x00})
	var file bytes.Buffer
	if err := png.Encode(&file, grey); err != nil {
		t.Fatal(err)
	}
	if p := decode(t, file.Bytes()); !slices.Equal(p.Pix, []uint8{0x12, 0x12, 0x12, 0x80, 0x80, 0x80}) {
		t.Errorf("grey of 16 bits: %x", p.Pix)
	}
}

// JPEG files give nearly the pixels of libjpeg-turbo.
func TestJPEG(t *testing.T) {
	for _, want := range readGoldens(t).JPEG {
		p := decode(t, want.File)
		if p.Width != want.Width || p.Height != want.Height {
			t.Errorf("%s: %d x %d pixels, want %d x %d", want.Name, p.Width, p.Height, want.Width, want.Height)
			continue
		}
		r, err := zlib.NewReader(bytes.NewReader(want.Pix))
		if err != nil {
			t.Fatal(err)
		}
		pix, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		sum, most := 0, 0
		for i, v := range pix {
			d := max(int(v)-int(p.Pix[i]), int(p.Pix[i])-int(v))
			sum, most = sum+d, max(most, d)
		}
		if mean := float64(sum) / float64(len(pix)); mean > 0.2 || most > 3 || len(pix) != len(p.Pix) {
			t.Errorf("%s: mean difference %.3f, at most %d; want at most 0.2 and 3", want.Name, mean, most)
		}
	}
}
