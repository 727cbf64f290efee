package sentencepiece

import (
	"errors"
	"fmt"
	"maps"

	"glossa/pkg/tokenizer"
	"glossa/pkg/tokenizer/internal/encode"
	"glossa/pkg/tokenizer/internal/subword"
)

// remapped is a SentencePiece tokenizer with other ids: fairseq's models have a dictionary
// of their own. Special tokens, including the unknown one, decode to nothing.
type remapped struct {
	sp            *Tokenizer
	pieces        []string       // by id
	ids           []int          // by piece of sp
	from          []int          // by id: the piece of sp, -1 for none
	unknown       int            // the id
	surfaces      map[string]int // ids of runs that sp does not know; may be nil
	special       map[string]int
	isSpecial     []bool // by id
	trie          *subword.Trie
	before, after []int // affixes
}

// read takes the pieces of a dictionary, and returns the ids of special ones, which it must have.
// </s> and <unk> are among them.
func (t *remapped) read(vocab map[string]int, names ...string) (special []int, err error) {
	if len(vocab) == 0 {
		return nil, errors.New("it is empty")
	}
	if len(vocab) > encode.MaxVocab {
		return nil, fmt.Errorf("it has %d entries, at most %d", len(vocab), encode.MaxVocab)
	}
	t.pieces = make([]string, len(vocab))
	taken := make([]bool, len(vocab))
	for piece, id := range vocab {
		if id < 0 || id >= len(vocab) || taken[id] {
			return nil, fmt.Errorf("%.40q has id %d: ids must be 0 to %d, each once", piece, id, len(vocab)-1)
		}
		t.pieces[id], taken[id] = piece, true
	}
	for _, name := range names {
		id, ok := vocab[name]
		if !ok {
			return nil, fmt.Errorf("there is no %s", name)
		}
		special = append(special, id)
	}
	t.unknown, t.after = vocab["<unk>"], []int{vocab["</s>"]}
	return special, nil
}

// remap looks up the pieces of the model in a dictionary. An entry that only that has is found if
// it is the whole of an unknown run.
func (t *remapped) remap(vocab map[string]int) {
	t.ids = make([]int, len(t.sp.pieces))
	t.surfaces = map[string]int{}
	known := make(map[string]bool, len(t.sp.pieces))
	for i, piece := range t.sp.pieces {
		known[piece] = true
		id, ok := vocab[piece]
		if !ok {
			id = t.unknown
		}
		t.ids[i] = id
	}
	for piece, id := range vocab {
		if !known[piece] && piece != "" {
			t.surfaces[piece] = id
		}
	}
}

// finish computes the other fields from pieces, ids and the special tokens.
func (t *remapped) finish(special []int) error {
	t.from = make([]int, len(t.pieces))
	for id := range t.from {
		t.from[id] = -1
	}
	for piece, id := range t.ids {
		t.from[id] = piece
	}
	t.special, t.isSpecial = map[string]int{}, make([]bool, len(t.pieces))
	for _, id := range special {
		if other, ok := t.special[t.pieces[id]]; ok {
			return fmt.Errorf("tokens %d and %d are both %.40q", other, id, t.pieces[id])
		}
		t.special[t.pieces[id]] = id
		t.isSpecial[id] = true
	}
	var err error
	t.trie, err = subword.NewTrie(t.pieces, special)
	return err
}

// Encode implements [tokenizer.Tokenizer].
func (t *remapped) Encode(text string) []int { return encode.All(t, text, false) }

// EncodeSpecial implements [tokenizer.Tokenizer].
func (t *remapped) EncodeSpecial(text string) []int { return encode.All(t, text, true) }

// EncodeTo implements [encode.Encoder].
func (t *remapped) EncodeTo(o *encode.Output, text string, reads encode.Reads) {
	encodeBetween(t.trie, o, text, reads, func(text string, reads encode.Reads) { t.encode(o, text, reads) })
}

func (t *remapped) encode(o *encode.Output, text string, reads encode.Reads) {
	text, refuse := t.sp.normalizer.parts(text, reads)
	if text == "" || !o.Worked(0) {
		return
	}
	o.Grow(len(text))
	runs := subword.Runs{
		Text: text, Unk: t.sp.unknown.ID,
		Put: func(piece int) { o.IDs = append(o.IDs, t.ids[piece]) },
		Run: func(run string) {
			if id, ok := t.surfaces[run]; ok {
				o.IDs = append(o.IDs, id)
				return
			}
			n := len(o.IDs)
			o.IDs = t.sp.unknown.AppendRun(o.IDs, run)
			for i := n; i < len(o.IDs); i++ {
				o.IDs[i] = t.ids[o.IDs[i]]
			}
		},
	}
	t.sp.model.Cut(o, text, refuse, runs.Add)
	runs.Close()
}

// Size implements [tokenizer.Tokenizer].
func (t *remapped) Size() int { return len(t.pieces) }

// Piece implements [tokenizer.Tokenizer].
func (t *remapped) Piece(id int) string {
	if id < 0 || id >= len(t.pieces) {
		return ""
	}
	return t.pieces[id]
}

// SpecialTokens implements [tokenizer.Specials].
func (t *remapped) SpecialTokens() map[string]int { return maps.Clone(t.special) }

// Affixes implements [tokenizer.Affixes].
func (t *remapped) Affixes() (before, after []int) { return t.before, t.after }

// NewDecoder implements [tokenizer.Tokenizer].
func (t *remapped) NewDecoder() tokenizer.Decoder {
	return &remappedDecoder{t: t, sp: textDecoder{t: t.sp, first: t.sp.strip}}
}

// remappedDecoder decodes by the pieces of sp. Another token that is not special decodes to
// its own spelling.
type remappedDecoder struct {
	t  *remapped
	sp textDecoder
}

// Next implements [tokenizer.Decoder].
func (d *remappedDecoder) Next(id int) string {
	if id < 0 || id >= len(d.t.pieces) || d.t.isSpecial[id] {
		return ""
	}
	if piece := d.t.from[id]; piece >= 0 {
		return d.sp.Next(piece)
	}
	return d.sp.literal(d.t.pieces[id])
}

// Flush implements [tokenizer.Decoder].
func (d *remappedDecoder) Flush() string { return d.sp.Flush() }
