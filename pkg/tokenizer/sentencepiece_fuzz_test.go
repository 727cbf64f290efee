package tokenizer

import (
	"encoding/binary"
	"maps"
	"slices"
	"strings"
	"testing"
)

// What a hostile file makes must encode and decode without a panic, or be refused.
func FuzzSentencePieceModel(f *testing.F) {
	for _, name := range pieceModelNames {
		f.Add(readFile(f, "testdata", "sp."+name+".model"))
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
	toks := map[string]Tokenizer{"xglm": readXGLM(f), "m2m100": readM2M100(f)}
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

func FuzzCharsmap(f *testing.F) {
	m, err := readPieceModel(readFile(f, "testdata", "sp.unigram.model"))
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
