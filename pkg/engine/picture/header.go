package picture

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image/color"
	"image/jpeg"
	"image/png"
)

// A header is the part of a file before its pixels.
type header struct {
	png           bool // otherwise JPEG
	width, height int  // as stored, before the orientation
	orientation   int  // Exif's, from 1 to 8
	bytes         int64
}

// An Info is what the header of a file says of its picture.
type Info struct {
	Width, Height int   // after the orientation
	Cost          int64 // bytes of memory that Decode takes at most: by the format and the kind of pixels
}

const (
	pngMagic  = "\x89PNG\r\n\x1a\n"
	jpegMagic = "\xff\xd8\xff"
)

// Describe reads the header of a file. It returns an error for other formats than PNG and JPEG, for
// broken headers and for sizes beyond MaxPixels and MaxEdge.
func Describe(data []byte) (Info, error) {
	h, err := readHeader(data)
	if err != nil {
		return Info{}, err
	}
	if h.orientation >= 5 {
		h.width, h.height = h.height, h.width
	}
	return Info{h.width, h.height, h.bytes}, nil
}

// readHeader reads the header of a file and checks the size.
func readHeader(data []byte) (header, error) {
	h := header{orientation: 1}
	var err error
	switch {
	case bytes.HasPrefix(data, []byte(pngMagic)):
		h.png = true
		err = h.readPNG(data)
	case bytes.HasPrefix(data, []byte(jpegMagic)):
		err = h.readJPEG(data)
	case len(data) == 0:
		err = errors.New("the image has no bytes: only PNG and JPEG are read")
	default:
		err = fmt.Errorf("the image is %s: only PNG and JPEG are read", format(data))
	}
	if err != nil {
		return header{}, err
	}
	return h, nil
}

// format names the format of a file that is not read.
func format(data []byte) string {
	for _, f := range []struct {
		at         int
		magic, say string
	}{
		{0, "GIF8", "GIF"},
		{8, "WEBP", "WebP"},
		{0, "BM", "BMP"},
		{0, "II*\x00", "TIFF"},
		{0, "MM\x00*", "TIFF"},
		{4, "ftypavif", "AVIF"},
		{4, "ftypavis", "AVIF"},
		{4, "ftyphei", "HEIC"},
		{4, "ftypmif1", "HEIF"},
		{4, "JXL ", "JPEG XL"},
		{0, "\xff\x0a", "JPEG XL"},
		{4, "jP  ", "JPEG 2000"},
		{0, "\x00\x00\x01\x00", "ICO"},
		{0, "%PDF", "PDF"},
		{0, "<svg", "SVG"},
	} {
		if len(data) >= f.at && bytes.HasPrefix(data[f.at:], []byte(f.magic)) {
			return f.say
		}
	}
	return "in an unknown format"
}

// readPNG reads the header of a PNG file and looks for the orientation in all its chunks.
func (h *header) readPNG(data []byte) error {
	config, err := png.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return unreadable(err)
	}
	h.width, h.height = config.Width, config.Height
	if err := checkSize(h.width, h.height); err != nil {
		return err
	}
	const depth, interlace = 24, 28 // offsets of the fields of IHDR, the first chunk
	pixel := int64(4)               // bytes of the standard library's widest image
	if data[depth] == 16 {
		pixel = 8
	}
	if data[interlace] != 0 {
		pixel *= 2 // the passes are images, too
	}
	h.bytes = pixel*int64(h.width)*int64(h.height) + decoded(h.width, h.height)

	var tags orientations
	for rest := data[len(pngMagic):]; len(rest) >= 12; { // length, type, content, checksum
		n := uint64(binary.BigEndian.Uint32(rest))
		if n > uint64(len(rest)-12) {
			break
		}
		switch content := rest[8 : 8+n]; string(rest[4:8]) {
		case "eXIf":
			tags.exif = content
		case "iTXt":
			if text, ok := bytes.CutPrefix(content, []byte("XML:com.adobe.xmp\x00\x00")); ok {
				tags.xmp = text
			}
		}
		rest = rest[12+n:]
	}
	h.orientation = tags.orientation()
	return nil
}

// Markers of a JPEG file (ITU-T T.81, table B.1).
const (
	sof0 = 0xc0 // baseline
	sof1 = 0xc1 // sequential
	rst0 = 0xd0
	rst7 = 0xd7
	eoi  = 0xd9
	sos  = 0xda
	app1 = 0xe1
)

// Bounds of the time of decoding: a scan of a few bytes can visit all blocks. Encoders write about
// ten scans.
const (
	maxScans   = 100
	maxVisited = 10 * MaxPixels // of all scans
)

// readJPEG reads the header of a JPEG file, looks for the orientation before the first scan and
// counts the scans.
func (h *header) readJPEG(data []byte) error {
	config, err := jpeg.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return unreadable(err)
	}
	h.width, h.height = config.Width, config.Height
	if err := checkSize(h.width, h.height); err != nil {
		return err
	}
	var tags orientations
	sequential, scans := false, 0
	for marker, content := range segments(data) {
		switch {
		case (marker == sof0 || marker == sof1) && scans == 0:
			sequential = true
		case marker == sos:
			scans++
		case marker != app1 || scans > 0:
		case bytes.HasPrefix(content, []byte(exifMagic)) && tags.exif == nil:
			tags.exif = content[:len(content):len(content)]
		case bytes.HasPrefix(content, []byte(exifMagic)) && len(tags.exif) < 1<<16: // continued
			tags.exif = append(tags.exif, content[len(exifMagic):]...)
		case bytes.HasPrefix(content, []byte("http://ns.adobe.com/xap/1.0/\x00")):
			tags.xmp = content
		}
	}
	if scans > maxScans {
		return fmt.Errorf("the image has %d scans: at most %d are read", scans, maxScans)
	}
	if scans*h.width*h.height > maxVisited {
		return fmt.Errorf("the image has %d scans of %d x %d pixels, %d in all: at most %d are read", scans, h.width, h.height, scans*h.width*h.height, maxVisited)
	}
	h.orientation = tags.orientation()
	h.bytes = jpegBytes(h.width, h.height, config.ColorModel, sequential)
	return nil
}

// segments iterates over the segments of a JPEG file. It skips stray bytes, as the standard
// library does, and the pixels of scans.
func segments(data []byte) func(yield func(marker byte, content []byte) bool) {
	return func(yield func(byte, []byte) bool) {
		for rest := data[2:]; ; {
			at := bytes.IndexByte(rest, 0xff)
			if at < 0 {
				return
			}
			for rest = rest[at:]; len(rest) > 0 && rest[0] == 0xff; rest = rest[1:] {
			}
			if len(rest) == 0 {
				return
			}
			marker := rest[0]
			rest = rest[1:]
			if marker == 0 || rst0 <= marker && marker <= rst7 { // a byte 0xff of a scan
				continue
			}
			if marker == eoi || len(rest) < 2 {
				return
			}
			n := int(binary.BigEndian.Uint16(rest))
			if n < 2 || n > len(rest) || !yield(marker, rest[2:n]) {
				return
			}
			rest = rest[n:]
		}
	}
}

// unreadable returns the error of a broken file.
func unreadable(err error) error {
	return fmt.Errorf("the image cannot be read: %w", err)
}

// jpegBytes returns the memory in bytes that decoding a JPEG file takes at most: the standard library's
// image and coefficients, and the Picture.
func jpegBytes(width, height int, model color.Model, sequential bool) int64 {
	planes, converted := int64(3), int64(0) // converted: bytes a pixel of a further image
	switch model {
	case color.GrayModel:
		planes = 1
	case color.RGBAModel:
		converted = 4
	case color.CMYKModel:
		planes, converted = 4, 4
	}
	sample := int64(1)
	if !sequential {
		sample += 4 // the coefficients of progressive files are int32
	}
	padded := int64(width+31) * int64(height+15) // blocks of 8x8, at most 4x2 of them a unit
	return planes*sample*padded + converted*int64(width)*int64(height) + decoded(width, height)
}

// decoded returns the bytes of the Picture, with its rows in both decoders and their buffers.
func decoded(width, height int) int64 {
	return 3*int64(width)*int64(height) + 64*int64(width) + 512<<10
}
