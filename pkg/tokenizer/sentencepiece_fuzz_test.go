package tokenizer

import (
	"encoding/binary"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

var pieceModelNames = []string{"unigram", "unigramuser", "unigrambytes", "bpe", "bpebytes", "bpesuffix"}

// What a hostile file makes must encode and decode without a panic, or be refused.
func FuzzSentencePieceModel(f *testing.F) {
	for _, name := range pieceModelNames {
		f.Add(readTestdata(f, "sp."+name+".model"))
	}
	f.Add([]byte{})
	f.Add(protoModel(nil, modelPiece{"<unk>", 0, pieceUnknown}, modelPiece{"\xe4", -1, pieceNormal}, modelPiece{"\xbd\xa0", -2, pieceUser}))
	f.Add(protoModel([]byte{3 << 3, modelBPE}, modelPiece{"<unk>", 0, pieceUnknown}, modelPiece{"ab", -1, pieceUnused}, modelPiece{"abc", -2, pieceNormal}))
	f.Fuzz(func(t *testing.T, raw []byte) {
		tok, err := FromSentencePiece(raw)
		if err != nil {
			return
		}
		for _, text := range []string{"", " a  walk ", "ab\x00c\xff\xe4\xbd", "é🙂<s></s><unk>abcabc", strings.Repeat("a\u2581b", 9)} {
			for _, id := range append(tok.Encode(text), tok.EncodeSpecial(text)...) {
				if id < 0 || id >= tok.Size() {
					t.Fatalf("id %d of %d", id, tok.Size())
				}
			}
			Decode(tok, tok.EncodeSpecial(text))
		}
		xglm, err := FromXGLM(raw)
		if err != nil {
			return
		}
		for _, id := range xglm.EncodeSpecial("a</s>\xff<madeupword1>🙂") {
			if id < 0 || id >= xglm.Size() {
				t.Fatalf("XGLM: id %d of %d", id, xglm.Size())
			}
		}
	})
}

func FuzzSentencePiece(f *testing.F) {
	toks := map[string]Tokenizer{"xglm": readXGLM(f), "m2m100": readM2M100(f), "gguf": ggufOf(f, "bpebytes"), "t5": ggufOf(f, "unigramuser")}
	for _, name := range pieceModelNames {
		toks[name] = readPieceTokenizer(f, name)
	}
	for _, text := range readPieceGoldens(f).inputs(f) {
		if len(text) < 200 {
			f.Add(text)
		}
	}
	names := slices.Sorted(maps.Keys(toks))
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<12 {
			return
		}
		for _, name := range names {
			checkRoundTrip(t, name, toks[name], text)
		}
	})
}

// checkRoundTrip checks that ids are in range, that what is decoded is UTF-8, and
// that what loses nothing gives the text back.
func checkRoundTrip(t *testing.T, name string, tok Tokenizer, text string) {
	t.Helper()
	checkBounds(t, name, tok, text)
	ids := tok.Encode(text)
	for _, id := range append(tok.EncodeSpecial(text), ids...) {
		if id < 0 || id >= tok.Size() {
			t.Fatalf("%s: id %d of %d", name, id, tok.Size())
		}
	}
	for _, special := range tok.(Specials).SpecialTokens() {
		if slices.Contains(ids, special) && tok.Piece(special) != "<unk>" {
			t.Fatalf("%s: Encode(%q) reads %s", name, text, tok.Piece(special))
		}
	}
	decoded := Decode(tok, ids)
	plain := strings.ReplaceAll(text, spaceMark, " ")
	switch {
	case name == "gguf": // also of what is no UTF-8
		if decoded != plain {
			t.Fatalf("%s: %q is decoded to %q", name, text, decoded)
		}
	case name == "bpebytes" || name == "unigrambytes":
		if plain = eachByteReplaced(plain); decoded != plain {
			t.Fatalf("%s: %q is decoded to %q", name, text, decoded)
		}
	default:
		if again := Decode(tok, tok.Encode(decoded)); name != "t5" && !utf8.ValidString(again) {
			t.Fatalf("%s: %q is decoded to %q", name, text, again)
		}
	}
}

// eachByteReplaced replaces each byte that is in no rune by U+FFFD.
func eachByteReplaced(text string) string {
	var b strings.Builder
	for _, r := range text {
		b.WriteRune(r)
	}
	return b.String()
}

func FuzzCharsmap(f *testing.F) {
	m, err := readPieceModel(readTestdata(f, "sp.unigram.model"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(m.normalizer.charsmap, "e\u0301 ﬁ Ａ\r\n\u1100\u1161")
	f.Add(binary.LittleEndian.AppendUint32(nil, 4), "a")
	f.Fuzz(func(t *testing.T, raw []byte, text string) {
		m, err := newCharsmap(raw)
		if err != nil {
			return
		}
		n := pieceNormalizer{charsmap: m, removeExtra: true, dummyPrefix: true, space: spaceMark}
		n.normalize(text)
		m.replaceClusters(text)
	})
}

// The double array finds what a map of all prefixes finds.
func FuzzPieceTrie(f *testing.F) {
	f.Add("a ab abc b \xff \xff\xff \x00 \x00\x01", "abcabx\xff\x00\x01")
	f.Fuzz(func(t *testing.T, list, text string) {
		pieces := strings.Split(list, " ")
		ids := map[string]int{}
		all := make([]int, len(pieces))
		for id, piece := range pieces {
			ids[piece], all[id] = id, id
		}
		trie, err := newPieceTrie(pieces, all)
		if err != nil {
			t.Fatal(err)
		}
		for from := range len(text) {
			wantID, wantLength := -1, 0
			for to := from + 1; to <= len(text); to++ {
				if id, ok := ids[text[from:to]]; ok {
					wantID, wantLength = id, to-from
				}
			}
			if id, length := trie.longest(text[from:]); id != wantID || length != wantLength {
				t.Fatalf("%q of %q: piece %d of %d bytes, want %d of %d", text[from:], pieces, id, length, wantID, wantLength)
			}
		}
	})
}
