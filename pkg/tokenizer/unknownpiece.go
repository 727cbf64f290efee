package tokenizer

import (
	"errors"
	"iter"
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
	if u.id < 0 && (u.bytes == nil || slices.Contains(u.bytes[:], -1)) {
		return errors.New("there is neither an unknown piece nor one for every byte")
	}
	return nil
}

// runs yields the ids of a text that is cut, and with the unknown piece, once for a
// run of them, the run.
func (u *unknownPiece) runs(text string, cuts []pieceCut) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		from := 0
		for i := 0; i < len(cuts); i++ {
			id, run := int(cuts[i].id), ""
			if id == u.id {
				for i+1 < len(cuts) && int(cuts[i+1].id) == u.id {
					i++
				}
				run = text[from:cuts[i].end]
			}
			if !yield(id, run) {
				return
			}
			from = int(cuts[i].end)
		}
	}
}

// appendIDs appends the ids of a text that is cut: a run of unknown pieces becomes
// its bytes, or else the unknown piece, once.
func (u *unknownPiece) appendIDs(ids []int, text string, cuts []pieceCut) []int {
	for id, run := range u.runs(text, cuts) {
		if run == "" {
			ids = append(ids, id)
		} else {
			ids = u.appendRun(ids, run)
		}
	}
	return ids
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
