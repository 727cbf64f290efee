package sentencepiece

import (
	"encoding/binary"
	"maps"
	"slices"
	"strings"
	"testing"

	"glossa/pkg/tokenizer"
	"glossa/pkg/tokenizer/internal/charsmap"
	"glossa/pkg/tokenizer/internal/spmodel"
	"glossa/pkg/tokenizer/internal/subword"
	"glossa/pkg/tokenizer/internal/tokenizertest"
)

// A hostile file must be rejected, or its tokenizer must encode and decode without a
// panic.
func FuzzSentencePieceModel(f *testing.F) {
	for _, name := range tokenizertest.ModelNames {
		f.Add(tokenizertest.ReadFile(f, "testdata", "sp."+name+".model"))
	}
	f.Add([]byte{})
	f.Add(protoModel(nil, modelPiece{"<unk>", 0, subword.KindUnknown}, modelPiece{"\xe4", -1, subword.KindNormal}, modelPiece{"\xbd\xa0", -2, subword.KindUser}))
	f.Add(protoModel([]byte{3 << 3, spmodel.BPE}, modelPiece{"<unk>", 0, subword.KindUnknown}, modelPiece{"ab", -1, subword.KindUnused}, modelPiece{"abc", -2, subword.KindNormal}))
	f.Fuzz(func(t *testing.T, raw []byte) {
		tok, err := Parse(raw)
		if err != nil {
			return
		}
		for _, text := range []string{"", " a  walk ", "ab\x00c\xff\xe4\xbd", "é🙂<s></s><unk>abcabc", strings.Repeat("a\u2581b", 9)} {
			for _, id := range append(tok.Encode(text), tok.EncodeSpecial(text)...) {
				if id < 0 || id >= tok.Size() {
					t.Fatalf("id %d of %d", id, tok.Size())
				}
			}
			tokenizer.Decode(tok, tok.EncodeSpecial(text))
		}
		if pegasus, err := ParsePegasus(raw); err == nil {
			for _, id := range pegasus.EncodeSpecial("a</s>\xff<unk_2>🙂") {
				if id < 0 || id >= pegasus.Size() {
					t.Fatalf("Pegasus: id %d of %d", id, pegasus.Size())
				}
			}
		}
		xglm, err := ParseXGLM(raw)
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
	toks := map[string]tokenizer.Tokenizer{"xglm": readXGLM(f), "m2m100": readM2M100(f)}
	for _, name := range tokenizertest.ModelNames {
		toks[name] = readPieceTokenizer(f, name)
	}
	for _, text := range tokenizertest.ReadPieceGoldens(f, "testdata").Inputs(f) {
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
			tokenizertest.CheckRoundTrip(t, name, toks[name], text)
		}
	})
}

func FuzzCharsmap(f *testing.F) {
	m, err := spmodel.Read(tokenizertest.ReadFile(f, "testdata", "sp.unigram.model"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(m.Normalizer.Charsmap, "e\u0301 ﬁ Ａ\r\n\u1100\u1161")
	f.Add(binary.LittleEndian.AppendUint32(nil, 4), "a")
	f.Fuzz(func(t *testing.T, raw []byte, text string) {
		m, err := charsmap.New(raw)
		if err != nil {
			return
		}
		n := normalizer{charsmap: m, removeExtra: true, dummyPrefix: true, space: spaceMark}
		n.normalize(text, nil, nil)
		m.ReplaceClusters(text)
	})
}
