package subword

import (
	"errors"
	"slices"

	"glossa/pkg/tokenizer/internal/encode"
)

// Cut is a piece of a text that begins where the one before it ends.
type Cut struct {
	ID  int32 // -1 if it is unknown and no piece stands for that
	End int32 // in bytes of the text
}

// Unknown says what stands for the parts of a text that no piece covers.
type Unknown struct {
	ID    int       // -1 if there is none
	Bytes *[256]int // ids of the byte pieces, -1 for none; nil without byte fallback
}

// Check tells whether every text has ids.
func (u *Unknown) Check() error {
	if u.ID < 0 && !u.HasAllBytes() {
		return errors.New("there is neither an unknown piece nor one for every byte")
	}
	return nil
}

// Runs takes the tokens of a text that is cut, in their order, and puts their ids
// out. A run of unknown pieces becomes what run makes of it.
type Runs struct {
	Text string
	Unk  int // id of the unknown piece
	Put  func(id int)
	Run  func(run string)

	begin, end int // of the run that is open; empty if none is
	from       int // where the next piece begins
}

// Add takes the next piece.
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

// Close ends the text.
func (r *Runs) Close() {
	if r.begin < r.end {
		r.Run(r.Text[r.begin:r.end])
		r.begin, r.end = 0, 0
	}
}

// Runs returns what puts out the ids of a text: a run of unknown pieces becomes its
// bytes, or else the unknown piece, once.
func (u *Unknown) Runs(o *encode.Output, text string) *Runs {
	return &Runs{
		Text: text, Unk: u.ID,
		Put: func(id int) { o.IDs = append(o.IDs, id) },
		Run: func(run string) { o.IDs = u.AppendRun(o.IDs, run) },
	}
}

// AppendRun appends what stands for a run without pieces.
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

// HasAllBytes tells whether every run becomes its bytes.
func (u *Unknown) HasAllBytes() bool { return u.Bytes != nil && !slices.Contains(u.Bytes[:], -1) }

// ByteIDs are the ids of <0x00> to <0xFF>, -1 for those that are not there.
func ByteIDs(pieces []string) *[256]int {
	ids := new([256]int)
	for i := range ids {
		ids[i] = -1
	}
	for id, piece := range pieces {
		if b, ok := ParseByte(piece); ok {
			ids[b] = id
		}
	}
	return ids
}

// ParseByte is the byte that a piece such as <0x0A> stands for.
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
		default:
			return 0, false
		}
	}
	return b, true
}

// MaxChar is the length of the longest sequence that CharLength knows.
const MaxChar = 4

// CharLength is the length of the UTF-8 sequence that a byte begins.
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
