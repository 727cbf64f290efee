package tokenizer

import (
	"errors"
	"slices"
)

// pieceCut is a piece of a text that begins where the one before it ends.
type pieceCut struct {
	id  int32 // -1 if it is unknown and no piece stands for that
	end int32 // in bytes of the text
}

// unknownPiece says what stands for the parts of a text that no piece covers.
type unknownPiece struct {
	id    int       // -1 if there is none
	bytes *[256]int // ids of the byte pieces, -1 for none; nil without byte fallback
}

// check tells whether every text has ids.
func (u *unknownPiece) check() error {
	if u.id < 0 && !u.hasAllBytes() {
		return errors.New("there is neither an unknown piece nor one for every byte")
	}
	return nil
}

// pieceRuns takes the tokens of a text that is cut, in their order, and puts their ids
// out. A run of unknown pieces becomes what run makes of it.
type pieceRuns struct {
	text string
	unk  int // id of the unknown piece
	put  func(id int)
	run  func(run string)

	begin, end int // of the run that is open; empty if none is
	from       int // where the next piece begins
}

// add takes the next piece.
func (r *pieceRuns) add(c pieceCut) {
	from := r.from
	r.from = int(c.end)
	if int(c.id) == r.unk {
		if r.begin == r.end {
			r.begin = from
		}
		r.end = int(c.end)
		return
	}
	r.close()
	r.put(int(c.id))
}

// close ends the text.
func (r *pieceRuns) close() {
	if r.begin < r.end {
		r.run(r.text[r.begin:r.end])
		r.begin, r.end = 0, 0
	}
}

// runs returns what puts out the ids of a text: a run of unknown pieces becomes its
// bytes, or else the unknown piece, once.
func (u *unknownPiece) runs(o *output, text string) *pieceRuns {
	return &pieceRuns{
		text: text, unk: u.id,
		put: func(id int) { o.ids = append(o.ids, id) },
		run: func(run string) { o.ids = u.appendRun(o.ids, run) },
	}
}

// appendRun appends what stands for a run without pieces.
func (u *unknownPiece) appendRun(ids []int, run string) []int {
	if u.bytes == nil {
		return append(ids, u.id)
	}
	n := len(ids)
	for i := range len(run) {
		id := u.bytes[run[i]]
		if id < 0 {
			return append(ids[:n], u.id)
		}
		ids = append(ids, id)
	}
	return ids
}

// hasAllBytes tells whether every run becomes its bytes.
func (u *unknownPiece) hasAllBytes() bool { return u.bytes != nil && !slices.Contains(u.bytes[:], -1) }

// bytePieces are the ids of <0x00> to <0xFF>, -1 for those that are not there.
func bytePieces(pieces []string) *[256]int {
	ids := new([256]int)
	for i := range ids {
		ids[i] = -1
	}
	for id, piece := range pieces {
		if b, ok := pieceByte(piece); ok {
			ids[b] = id
		}
	}
	return ids
}

// pieceByte is the byte that a piece such as <0x0A> stands for.
func pieceByte(piece string) (b byte, ok bool) {
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

// charBytes is the length of the longest sequence that charLength knows.
const charBytes = 4

// charLength is the length of the UTF-8 sequence that a byte begins.
func charLength(lead byte) int {
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
