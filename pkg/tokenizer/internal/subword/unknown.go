package subword

import (
	"errors"
	"fmt"
	"slices"

	"glossa/pkg/tokenizer/internal/encode"
)

// Cut is a piece of a text that begins where the one before it ends.
type Cut struct {
	ID  int32 // -1 if it is unknown and there is no unknown piece
	End int32 // in bytes of the text
}

// Unknown is the treatment of text that no piece covers.
type Unknown struct {
	ID    int       // -1 if there is none
	Bytes *[256]int // ids of the byte pieces, -1 for none; nil without byte fallback
}

// Check returns an error unless every text has ids.
func (u *Unknown) Check() error {
	if u.ID < 0 && !u.HasAllBytes() {
		return errors.New("there is neither an unknown piece nor one for every byte")
	}
	return nil
}

// Runs receives the pieces of a text in order and passes their ids to Put. It passes a run
// of unknown pieces to Run as a whole.
type Runs struct {
	Text string
	Unk  int // id of the unknown piece
	Put  func(id int)
	Run  func(run string)

	begin, end int // of the current run of unknown pieces; empty if there is none
	from       int // where the next piece begins
}

// Add adds the next piece.
func (r *Runs) Add(c Cut) {
	from := r.from
	r.from = int(c.End)
	if int(c.ID) == r.Unk {
		if r.begin == r.end {
			r.begin = from
		}
		r.end = int(c.End)
		return
	}
	r.Close()
	r.Put(int(c.ID))
}

// Close ends the text, and with it a run.
func (r *Runs) Close() {
	if r.begin < r.end {
		r.Run(r.Text[r.begin:r.end])
		r.begin, r.end = 0, 0
	}
}

// Runs returns a receiver that appends the ids of text to o. A run of unknown pieces
// becomes its bytes, or else the unknown piece, once.
func (u *Unknown) Runs(o *encode.Output, text string) *Runs {
	return &Runs{
		Text: text, Unk: u.ID,
		Put: func(id int) { o.IDs = append(o.IDs, id) },
		Run: func(run string) { o.IDs = u.AppendRun(o.IDs, run) },
	}
}

// AppendRun appends the ids of a run of unknown pieces.
func (u *Unknown) AppendRun(ids []int, run string) []int {
	if u.Bytes == nil {
		return append(ids, u.ID)
	}
	n := len(ids)
	for i := range len(run) {
		id := u.Bytes[run[i]]
		if id < 0 {
			return append(ids[:n], u.ID)
		}
		ids = append(ids, id)
	}
	return ids
}

// HasAllBytes reports whether every run becomes its bytes.
func (u *Unknown) HasAllBytes() bool { return u.Bytes != nil && !slices.Contains(u.Bytes[:], -1) }

// ByteIDs returns the ids of <0x00> to <0xFF>, -1 for missing ones.
func ByteIDs(pieces []string) *[256]int {
	ids := new([256]int)
	for i := range ids {
		ids[i] = -1
	}
	for id, piece := range pieces {
		if b, ok := ParseByte(piece); ok && piece == BytePiece(b) {
			ids[b] = id
		}
	}
	return ids
}

// BytePiece returns the piece of a byte that encoders look for, such as <0x0A>.
func BytePiece(b byte) string { return fmt.Sprintf("<0x%02X>", b) }

// ParseByte returns the byte that a piece such as <0x0A> or <0x0a> stands for in decoders.
func ParseByte(piece string) (b byte, ok bool) {
	if len(piece) != 6 || piece[:3] != "<0x" || piece[5] != '>' {
		return 0, false
	}
	for _, c := range []byte(piece[3:5]) {
		switch {
		case '0' <= c && c <= '9':
			b = b<<4 | (c - '0')
		case 'A' <= c && c <= 'F':
			b = b<<4 | (c - 'A' + 10)
		case 'a' <= c && c <= 'f':
			b = b<<4 | (c - 'a' + 10)
		default:
			return 0, false
		}
	}
	return b, true
}

// MaxChar is the greatest result of [CharLength].
const MaxChar = 4

// CharLength returns the length of the UTF-8 sequence that a byte begins.
func CharLength(lead byte) int {
	switch {
	case lead < 0xc0:
		return 1
	case lead < 0xe0:
		return 2
	case lead < 0xf0:
		return 3
	}
	return 4
}
