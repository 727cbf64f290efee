package sentencepiece

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"

	"glossa/pkg/tokenizer/internal/subword"
	"glossa/pkg/tokenizer/internal/tokenizertest"
)

type modelPiece struct {
	piece string
	score float32
	kind  subword.Kind
}

// protoModel returns a .model file; trainer is the content of trainer_spec.
func protoModel(trainer []byte, pieces ...modelPiece) []byte {
	var raw []byte
	for _, p := range pieces {
		body := protoBytes(nil, 1, []byte(p.piece))
		body = binary.LittleEndian.AppendUint32(append(body, 2<<3|5), math.Float32bits(p.score))
		body = append(body, 3<<3, byte(p.kind))
		raw = protoBytes(raw, 1, body)
	}
	return protoBytes(raw, 2, trainer)
}

func protoBytes(to []byte, number int, body []byte) []byte {
	to = append(to, byte(number<<3|2))
	return append(binary.AppendUvarint(to, uint64(len(body))), body...)
}

func TestSentencePieceRefuses(t *testing.T) {
	unk := modelPiece{"<unk>", 0, subword.KindUnknown}
	bytePiece := modelPiece{"<0x41>", 0, subword.KindByte}
	fallback := []byte{0x98, 0x02, 1} // byte_fallback: true
	whole := tokenizertest.ReadFile(t, "testdata", "sp.unigram.model")
	cases := map[string]struct {
		raw  []byte
		want string
	}{
		"empty":             {nil, "no pieces"},
		"cut off":           {whole[:len(whole)-7], "ends within"},
		"no unknown":        {protoModel(nil, modelPiece{"a", 0, subword.KindNormal}), "neither an unknown piece"},
		"two unknown":       {protoModel(nil, unk, modelPiece{"u", 0, subword.KindUnknown}), "both of type UNKNOWN"},
		"duplicate":         {protoModel(nil, unk, modelPiece{"a", 0, 1}, modelPiece{"a", 0, 1}), `pieces 1 and 2 are both "a"`},
		"empty piece":       {protoModel(nil, unk, modelPiece{"", 0, 1}), "piece 1"},
		"NUL":               {protoModel(nil, unk, modelPiece{"a\x00", 0, 1}), "NUL"},
		"long piece":        {protoModel(nil, unk, modelPiece{strings.Repeat("a", 8000), 0, 1}), "8000 bytes"},
		"long special":      {protoModel(nil, unk, modelPiece{strings.Repeat("a", 300), 0, subword.KindControl}), "longer than 256"},
		"NaN":               {protoModel(nil, unk, modelPiece{"a", float32(math.NaN()), 1}), "score is NaN"},
		"infinite":          {protoModel(nil, unk, modelPiece{"a", float32(math.Inf(-1)), 1}), "score is -Inf"},
		"type":              {protoModel(nil, unk, modelPiece{"a", 0, 7}), "type 7"},
		"word model":        {protoModel([]byte{3 << 3, 3}, unk), "model_type 3"},
		"byte off":          {protoModel(nil, unk, bytePiece), "byte_fallback is off"},
		"bytes missing":     {protoModel(fallback, unk, bytePiece), "1 bytes, not 256"},
		"no byte":           {protoModel(fallback, unk, modelPiece{"<0xZZ>", 0, subword.KindByte}), "is not a byte"},
		"wire type":         {[]byte{1 << 3, 1}, "wire type 0, not 2"},
		"group":             {[]byte{9<<3 | 3}, "wire type 3"},
		"field zero":        {[]byte{0, 0}, "no valid number"},
		"overlong":          {[]byte{1<<3 | 2, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}, "ends within"},
		"denormalizer":      {protoBytes(protoModel(nil, unk), 5, protoBytes(nil, 2, []byte("x"))), "denormalizer_spec"},
		"charsmap cut off":  {protoBytes(protoModel(nil, unk), 3, protoBytes(nil, 2, []byte("x"))), "cut off"},
		"charsmap too long": {protoBytes(protoModel(nil, unk), 3, protoBytes(nil, 2, []byte("\xff\xff\xff\xfcxxxxx"))), "4244635647 bytes"},
		"charsmap end":      {protoBytes(protoModel(nil, unk), 3, protoBytes(nil, 2, []byte("\x04\x00\x00\x00\x00\x00\x00\x00x"))), "NUL"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := Parse(c.raw)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "sentencepiece model: ") {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
	if _, err := ParseXGLM(protoModel(nil, unk, modelPiece{"a", 0, 1}, modelPiece{"b", 0, 1}, modelPiece{"c", 0, 1})); err == nil ||
		!strings.Contains(err.Error(), `piece 1, "a", has type 1`) {
		t.Error(err)
	}
	if _, err := ParsePegasus(protoModel(nil, modelPiece{"<pad>", 0, subword.KindControl}, modelPiece{"a", 0, 1}, unk)); err == nil ||
		!strings.Contains(err.Error(), `piece 1, "a", has type 1`) {
		t.Error(err)
	}
	if _, err := ParsePegasus(protoModel(nil, modelPiece{"<pad>", 0, subword.KindControl}, unk)); err == nil || !strings.Contains(err.Error(), "there are 2 pieces") {
		t.Error(err)
	}
}

// Unknown fields are skipped.
func TestSentencePieceUnknownFields(t *testing.T) {
	raw := tokenizertest.ReadFile(t, "testdata", "sp.unigram.model")
	raw = append(raw, 100<<3&0x7f|0x80|5, 100>>4, 1, 2, 3, 4) // field 100, four bytes
	raw = append(raw, 15<<3|1, 1, 2, 3, 4, 5, 6, 7, 8)
	raw = protoBytes(append(raw, 14<<3, 7), 13, []byte("x"))
	if _, err := Parse(raw); err != nil {
		t.Error(err)
	}
}

// The largest valid scores do not lead to invalid ids.
func TestUnigramExtremeScores(t *testing.T) {
	pieces := []modelPiece{{"<unk>", 0, subword.KindUnknown}, {"a", math.MaxFloat32, 1}, {"b", -math.MaxFloat32, 1}, {"ab", 3e38, 1}, {"\u2581", -3e38, 1}}
	tok, err := Parse(protoModel(nil, pieces...))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("abba x", 200)
	if got := len(tok.Encode(text)); got == 0 || got > len(text)+1 {
		t.Errorf("%d ids", got)
	}
}

// Long texts without spaces: quadratic time would exceed the test's timeout.
func TestSentencePieceLong(t *testing.T) {
	for _, name := range tokenizertest.ModelNames {
		tok := readPieceTokenizer(t, name)
		for _, unit := range []string{"a", "walk", "山川", "🙂", "\xff", "e\u0301"} {
			text := strings.Repeat(unit, (1<<17)/len(unit))
			ids := tok.Encode(text)
			if plain := tok.normalizer.normalize(text, nil, nil); tok.unknown.Bytes != nil && len(ids) < len(plain)/maxPieceOf(tok) {
				t.Errorf("%s: %q makes %d ids", name, unit, len(ids))
			}
			if again := tok.Encode(text); !slices.Equal(ids, again) || len(ids) == 0 {
				t.Errorf("%s: %q makes %d ids, then %d others", name, unit, len(ids), len(again))
			}
		}
	}
}

func maxPieceOf(t *Tokenizer) (longest int) {
	for _, piece := range t.pieces {
		longest = max(longest, len(piece))
	}
	return longest
}

// Byte pieces that end within a rune, with other tokens in between.
func TestByteRun(t *testing.T) {
	tok := readPieceTokenizer(t, "bpebytes")
	a := tok.Encode("a")
	at := func(s string) []int {
		var ids []int
		for i := range len(s) {
			ids = append(ids, tok.unknown.Bytes[s[i]])
		}
		return ids
	}
	d := tok.NewDecoder()
	var got []string
	for _, id := range slices.Concat(at("\xf0\x9f\x99\x82\xe4\xbd"), a, at("\xe4\xbd")) {
		got = append(got, d.Next(id))
	}
	got = append(got, d.Flush())
	want := []string{"", "", "", "🙂", "", "", "\ufffd\ufffd a"}
	if len(a) > 1 {
		t.Fatalf("a is %v", a)
	}
	want = append(want, "", "", "\ufffd\ufffd")
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
