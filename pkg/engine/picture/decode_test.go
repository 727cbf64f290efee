package picture

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"strings"
	"testing"
)

// chunk returns a chunk of a PNG file.
func chunk(kind string, content []byte) []byte {
	out := binary.BigEndian.AppendUint32(nil, uint32(len(content)))
	out = append(append(out, kind...), content...)
	return binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out[4:]))
}

// pngOf returns the beginning of a PNG file of a size.
func pngOf(width, height uint32) []byte {
	head := binary.BigEndian.AppendUint32(nil, width)
	head = binary.BigEndian.AppendUint32(head, height)
	return append([]byte(pngMagic), chunk("IHDR", append(head, 8, 2, 0, 0, 0))...)
}

// jpegOf returns a JPEG file whose header claims another size.
func jpegOf(file []byte, width, height uint16) []byte {
	out := bytes.Clone(file)
	at := bytes.Index(out, []byte{0xff, 0xc0}) + 5
	binary.BigEndian.PutUint16(out[at:], height)
	binary.BigEndian.PutUint16(out[at+2:], width)
	return out
}

// file returns one of the JPEG files.
func (g *goldens) file(tb testing.TB, name string) []byte {
	tb.Helper()
	for _, f := range g.JPEG {
		if f.Name == name {
			return f.File
		}
	}
	tb.Fatalf("no file %q", name)
	return nil
}

// Other formats and sizes beyond the limits are refused by name, before anything large is allocated.
func TestRefused(t *testing.T) {
	g := readGoldens(t)
	jpeg, progressive := g.file(t, "4:2:0"), g.file(t, "4:2:0 progressive")
	scan := bytes.Index(progressive, []byte{0xff, sos})
	scans := append(bytes.Clone(progressive[:scan]), bytes.Repeat([]byte{0xff, sos, 0, 2, 1, 0xff, 0}, 101)...)
	for want, data := range map[string][]byte{
		"no bytes: only PNG and JPEG are read": nil,
		"is GIF: only PNG and JPEG are read":   []byte("GIF89a\x01\x00\x01\x00"),
		"is WebP: only PNG and JPEG are read":  []byte("RIFF\x24\x00\x00\x00WEBPVP8 "),
		"is HEIC":                              []byte("\x00\x00\x00\x18ftypheic"),
		"is AVIF":                              []byte("\x00\x00\x00\x18ftypavif"),
		"is BMP":                               []byte("BM"),
		"is in an unknown format: only PNG and JPEG are read":               []byte("hello"),
		"10000 x 10000 pixels, 100000000 in all: at most 50000000 are read": pngOf(10000, 10000),
		"30001 x 1 pixels: an edge may have at most 30000":                  pngOf(30001, 1),
		"1 x 30001 pixels":     pngOf(1, 30001),
		"cannot be read: png:": pngOf(0, 1),
		"10001 x 9999 pixels, 99999999 in all: at most 50000000": jpegOf(jpeg, 10001, 9999),
		"1 x 65535 pixels: an edge may have at most 30000":       jpegOf(jpeg, 1, 65535),
		"101 scans: at most 100 are read":                        scans,
		"0 x 9 pixels: it is empty":                              jpegOf(jpeg, 0, 9),
	} {
		took := allocated(func() {
			if _, err := Decode(t.Context(), data); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("Decode: %v, want %q", err, want)
			}
			if info, err := Describe(data); err == nil || !strings.Contains(err.Error(), want) || info != (Info{}) {
				t.Errorf("Describe: %+v, %v; want %q", info, err, want)
			}
		})
		if took > 1<<20 {
			t.Errorf("%s: took %d bytes", want, took)
		}
	}
	if info, err := Describe(pngOf(30000, 1666)); info.Width != 30000 || info.Height != 1666 || err != nil {
		t.Errorf("the largest: %+v, %v", info, err)
	}
}

// A file that ends anywhere too early is an error.
func TestTruncated(t *testing.T) {
	g := readGoldens(t)
	files := map[string][]byte{}
	for _, f := range g.PNG {
		files[f.Name] = f.File
	}
	for _, f := range g.JPEG {
		files[f.Name] = f.File
	}
	for _, name := range []string{"kind 6, 8 bits", "kind 3, 2 bits tRNS interlaced", "eXIf 6 >", "4:2:0", "4:2:0 progressive", "CMYK", "Exif 6"} {
		file := files[name]
		if _, err := Decode(t.Context(), file); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for n := range file {
			if _, err := Decode(t.Context(), file[:n:n]); err == nil {
				t.Errorf("%s: decoded from %d of %d bytes", name, n, len(file))
			}
		}
	}
}

// Broken Exif data is ignored: reading it neither fails nor loops.
func TestHostileExif(t *testing.T) {
	entry := func(tag, kind uint16, count uint32, value uint16) []byte {
		out := binary.BigEndian.AppendUint16(nil, tag)
		out = binary.BigEndian.AppendUint16(out, kind)
		out = binary.BigEndian.AppendUint32(out, count)
		return append(binary.BigEndian.AppendUint16(out, value), 0, 0)
	}
	tiff := func(offset uint32, count uint16, entries ...[]byte) []byte {
		out := binary.BigEndian.AppendUint32([]byte("MM\x00*"), offset)
		return append(binary.BigEndian.AppendUint16(out, count), bytes.Join(entries, nil)...)
	}
	six, other := entry(0x0112, 3, 1, 6), entry(0x0110, 3, 1, 6)
	for _, test := range []struct {
		exif []byte
		want int
	}{
		{tiff(8, 1, six), 6},
		{append([]byte(exifMagic+exifMagic), tiff(8, 1, six)...), 6},
		{append([]byte(exifMagic+exifMagic+exifMagic), tiff(8, 1, six)...), 1},
		{tiff(8, 2, other, six), 6},
		{tiff(8, 2, six, entry(0x0112, 3, 1, 3)), 3},
		{tiff(8, 65535, six), 6},   // fewer entries than it says
		{tiff(8, 0, six), 1},       // no entries
		{tiff(1<<32-1, 1, six), 1}, // beyond the end
		{tiff(0, 1, six), 1},       // the header as a directory
		{tiff(21, 1, six), 1},      // in the last byte
		{tiff(8, 1, six[:11]), 1},  // cut
		{append([]byte("XX"), tiff(8, 1, six)[2:]...), 1},
		{[]byte("MM\x00*"), 1},
		{nil, 1},
		{tiff(8, 1, entry(0x0112, 3, 1, 0)), 1},
		{tiff(8, 1, entry(0x0112, 3, 1, 9)), 1},
		{tiff(8, 1, entry(0x0112, 3, 2, 6)), 6},
		{tiff(8, 1, entry(0x0112, 3, 3, 6)), 1},     // elsewhere
		{tiff(8, 1, entry(0x0112, 4, 1, 6)), 1},     // 6<<16
		{tiff(8, 1, entry(0x0112, 1, 1, 0x600)), 1}, // bytes
		{tiff(8, 1, entry(0x0112, 2, 1, 6)), 1},
	} {
		if got := (&orientations{exif: test.exif}).orientation(); got != test.want {
			t.Errorf("%x: %d, want %d", test.exif, got, test.want)
		}
	}
	// Segments that continue one another are read once each.
	many := bytes.Repeat([]byte("\xff\xe1\x00\x09"+exifMagic+"M"), 1<<17)
	file := append([]byte(jpegMagic[:2]), many...)
	file = append(file, readGoldens(t).file(t, "4:2:0")[2:]...)
	if took := allocated(func() { decode(t, file) }); took > 2<<20 {
		t.Errorf("took %d bytes", took)
	}
	for xmp, want := range map[string]int{
		`<tiff:Orientation>8</tiff:Orientation>`: 8, `tiff:Orientation="0"`: 1, `tiff:Orientation`: 1, `tiff:Orientation="`: 1, `tiff:Orientation='3'`: 1,
		`tiff:Orientation tiff:Orientation="4" tiff:Orientation="5"`: 4, strings.Repeat("tiff:Orientation", 99): 1, ``: 1,
	} {
		if got := (&orientations{xmp: []byte(xmp)}).orientation(); got != want {
			t.Errorf("%s: %d, want %d", xmp, got, want)
		}
	}
}

// Decode and Size agree, and do not panic.
func FuzzDecode(f *testing.F) {
	g := readGoldens(f)
	for _, list := range [][]decoding{g.PNG, g.JPEG} {
		for _, file := range list {
			f.Add(file.File)
		}
	}
	f.Add(pngOf(10000, 10000))
	f.Add([]byte("\xff\xd8\xff\xff\xff\x00\xff\xe1\x00\x01"))
	f.Fuzz(func(t *testing.T, data []byte) {
		info, err := Describe(data)
		if err == nil && info.Width*info.Height > 1<<20 {
			return
		}
		p, decodeErr := Decode(t.Context(), data)
		if err != nil && (decodeErr == nil || err.Error() != decodeErr.Error()) {
			t.Errorf("Describe: %v; Decode: %v", err, decodeErr)
		}
		if decodeErr == nil && (p.Width != info.Width || p.Height != info.Height || len(p.Pix) != 3*info.Width*info.Height) {
			t.Errorf("Describe: %+v; Decode: %d x %d, %d bytes", info, p.Width, p.Height, len(p.Pix))
		}
	})
}
