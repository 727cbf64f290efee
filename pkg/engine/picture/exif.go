package picture

import (
	"bytes"
	"encoding/binary"
)

// exifMagic begins the segment of a JPEG file that has Exif data.
const exifMagic = "Exif\x00\x00"

// orientations holds the places of a file that may have its orientation. Broken ones are ignored.
type orientations struct {
	exif []byte // a TIFF file, after up to two exifMagic
	xmp  []byte // contains XML
}

// orientation returns the orientation from 1 to 8: Exif's, or else XMP's, as Pillow's getexif.
func (o *orientations) orientation() int {
	tiff := bytes.TrimPrefix(bytes.TrimPrefix(o.exif, []byte(exifMagic)), []byte(exifMagic))
	value, found := tiffOrientation(tiff)
	if !found {
		value = xmpOrientation(o.xmp)
	}
	if value < 1 || value > 8 {
		return 1
	}
	return value
}

// tiffOrientation returns the tag 0x0112 of the first directory of a TIFF file (TIFF 6.0, section 2).
// Of several, the last counts, as in Pillow.
func tiffOrientation(tiff []byte) (value int, found bool) {
	if len(tiff) < 8 {
		return 0, false
	}
	var order binary.ByteOrder
	switch string(tiff[:2]) {
	case "II":
		order = binary.LittleEndian
	case "MM":
		order = binary.BigEndian
	default:
		return 0, false
	}
	at := uint64(order.Uint32(tiff[4:]))
	if at+2 > uint64(len(tiff)) {
		return 0, false
	}
	const entry = 12 // bytes: tag, type, count, value
	count := order.Uint16(tiff[at:])
	entries := tiff[at+2:]
	for range count {
		if len(entries) < entry {
			break
		}
		kind, n := order.Uint16(entries[2:]), order.Uint32(entries[4:])
		switch {
		case order.Uint16(entries) != 0x0112:
		case kind == 3 && (n == 1 || n == 2): // SHORT
			value, found = int(order.Uint16(entries[8:])), true
		case kind == 4 && n == 1: // LONG
			value, found = int(order.Uint32(entries[8:])), true
		}
		entries = entries[entry:]
	}
	return value, found
}

// xmpOrientation returns the first digit that follows tiff:Orientation as an attribute or as an
// element, or 0.
func xmpOrientation(xmp []byte) int {
	for {
		_, rest, found := bytes.Cut(xmp, []byte("tiff:Orientation"))
		if !found {
			return 0
		}
		xmp = rest
		value, ok := bytes.CutPrefix(rest, []byte(`="`))
		if !ok {
			value, ok = bytes.CutPrefix(rest, []byte(">"))
		}
		if ok && len(value) > 0 && '0' <= value[0] && value[0] <= '9' {
			return int(value[0] - '0')
		}
	}
}
