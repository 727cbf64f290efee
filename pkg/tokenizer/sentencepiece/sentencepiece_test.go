package sentencepiece

import (
	"slices"
	"strings"
	"testing"

	"glossa/pkg/tokenizer"
	"glossa/pkg/tokenizer/internal/subword"
	"glossa/pkg/tokenizer/internal/tokenizertest"
	"glossa/pkg/tokenizer/internal/unigram"
)

func readPieceTokenizer(t testing.TB, name string) *Tokenizer {
	t.Helper()
	tok, err := Parse(tokenizertest.ReadFile(t, "testdata", "sp."+name+".model"))
	if err != nil {
		t.Fatal(err)
	}
	return tok.(*Tokenizer)
}

func TestSentencePieceGoldens(t *testing.T) {
	g := tokenizertest.ReadPieceGoldens(t, "testdata")
	if len(g.Models) != 6 {
		t.Fatalf("%d models", len(g.Models))
	}
	for name, golden := range g.Models {
		t.Run(name, func(t *testing.T) {
			tok := readPieceTokenizer(t, name)
			for i, text := range g.Inputs(t) {
				if got := tok.Encode(text); !slices.Equal(got, golden.IDs[i]) {
					t.Errorf("Encode(%.60q)\n %v, want\n %v", text, got, golden.IDs[i])
				}
			}
			tokenizertest.CheckDecoding(t, tok, golden.IDs, golden.Decoded)
			tokenizertest.CheckDecoding(t, tok, golden.Sequences, golden.SequenceTexts)
		})
	}
}

// The name of a file does not determine its type: both of these could be called
// sentencepiece.bpe.model.
func TestModelTypeDecides(t *testing.T) {
	if _, ok := readPieceTokenizer(t, "unigram").model.(*unigram.Model); !ok {
		t.Error("trainer_spec.model_type 1 is not read as Unigram")
	}
	if _, ok := readPieceTokenizer(t, "bpe").model.(*scoredBPE); !ok {
		t.Error("trainer_spec.model_type 2 is not read as BPE")
	}
}

func TestSentencePieceSpecials(t *testing.T) {
	tok := readPieceTokenizer(t, "bpebytes")
	if got := tok.SpecialTokens(); len(got) != 3 || got["<s>"] != 1 || got["</s>"] != 2 {
		t.Fatalf("special tokens %v", got)
	}
	plain := tok.Encode("the <s>walk</s>")
	if slices.Contains(plain, 1) || slices.Contains(plain, 2) {
		t.Errorf("Encode reads special tokens: %v", plain)
	}
	want := slices.Concat(tok.Encode("the "), []int{1}, tok.Encode("walk"), []int{2})
	if got := tok.EncodeSpecial("the <s>walk</s>"); !slices.Equal(got, want) {
		t.Errorf("EncodeSpecial %v, want %v", got, want)
	}
	if got := tokenizer.Decode(tok, want); got != "the  walk" { // the second part keeps its prefix
		t.Errorf("decoded %q", got)
	}
	if before, after := tok.Affixes(); before != nil || after != nil {
		t.Errorf("affixes %v %v", before, after)
	}
}

// The ids are those of sentencepiece mapped to fairseq's, as in the first class of
// transformers.
func TestXGLM(t *testing.T) {
	g := tokenizertest.ReadPieceGoldens(t, "testdata")
	tok := readXGLM(t)
	if tok.Size() != g.XGLM.Size {
		t.Errorf("size %d, want %d", tok.Size(), g.XGLM.Size)
	}
	if len(g.XGLM.Special) == 0 {
		t.Error("there are no special tokens")
	}
	for piece, id := range g.XGLM.Special {
		if got := tok.SpecialTokens()[piece]; got != id || tok.Piece(id) != piece {
			t.Errorf("%s is %d, want %d", piece, got, id)
		}
	}
	if before, after := tok.Affixes(); !slices.Equal(before, []int{2}) || after != nil {
		t.Errorf("affixes %v %v", before, after)
	}
	for i, text := range g.Inputs(t) {
		var want []int
		for _, id := range g.Models["unigram"].IDs[i] {
			if id == 0 {
				id = 2 // the unknown id, which is 3
			}
			want = append(want, id+1)
		}
		if got := tok.Encode(text); !slices.Equal(got, want) {
			t.Errorf("Encode(%.60q)\n %v, want\n %v", text, got, want)
		}
	}
}

// Pegasus has 103 words more between the first two pieces and the others. They are not text.
func TestPegasus(t *testing.T) {
	raw := protoModel(nil, modelPiece{"<pad>", 0, subword.KindControl}, modelPiece{"</s>", 0, subword.KindControl}, modelPiece{"<unk>", 0, subword.KindUnknown},
		modelPiece{"a", -1, 1}, modelPiece{"\u2581", -2, 1}, modelPiece{"\u2581b", -2, 1}, modelPiece{"<n>", -2, subword.KindUser})
	opened, err := ParsePegasus(raw)
	if err != nil {
		t.Fatal(err)
	}
	tok := opened.(*remapped)
	if tok.Size() != 110 {
		t.Errorf("%d tokens", tok.Size())
	}
	for id, piece := range map[int]string{0: "<pad>", 1: "</s>", 2: "<mask_1>", 3: "<mask_2>", 4: "<unk_2>", 104: "<unk_102>", 105: "<unk>", 106: "a", 109: "<n>"} {
		if _, special := tok.SpecialTokens()[piece]; tok.Piece(id) != piece || special != (id < 106) {
			t.Errorf("token %d is %q, special %v", id, tok.Piece(id), special)
		}
	}
	if got := tok.Encode("aa b<n>?"); !slices.Equal(got, []int{107, 106, 106, 108, 109, 105}) || tokenizer.Decode(tok, got) != "aa b<n>" {
		t.Errorf("%v is %q", got, tokenizer.Decode(tok, got))
	}
	if got := tok.Encode("</s><mask_1>"); slices.Contains(got, 1) || slices.Contains(got, 2) {
		t.Errorf("marks of a text are tokens: %v", got)
	}
	if before, after := tok.Affixes(); before != nil || !slices.Equal(after, []int{1}) {
		t.Errorf("affixes %v %v", before, after)
	}
}

// mBART-50 has XGLM's ids of pieces, and its languages behind them.
func TestMBART50(t *testing.T) {
	raw := tokenizertest.ReadFile(t, "testdata", "sp.unigram.model")
	tok, err := ParseMBART50(raw)
	if err != nil {
		t.Fatal(err)
	}
	xglm := readXGLM(t)
	if text := "the quick walk"; !slices.Equal(tok.Encode(text), xglm.Encode(text)) {
		t.Errorf("%v, XGLM has %v", tok.Encode(text), xglm.Encode(text))
	}
	first := xglm.Size() - xglmMadeUp
	if n := len(tok.Languages()); n != 52 || tok.Size() != first+53 || tok.Piece(tok.Size()-1) != "<mask>" {
		t.Errorf("%d languages of %d tokens", n, tok.Size())
	}
	for code, want := range map[string]int{"ar_AR": first, "en_XX": first + 3, "sl_SI": first + 51} {
		if id, ok := tok.Language(code); !ok || id != want || tok.SpecialTokens()[code] != want {
			t.Errorf("%s is %d, want %d", code, id, want)
		}
	}
	if _, ok := tok.Language("en"); ok {
		t.Error("there is a language en")
	}
	if before, after := tok.Affixes(); before != nil || !slices.Equal(after, []int{2}) {
		t.Errorf("affixes %v %v", before, after)
	}
	if _, err := ParseMBART50(raw[:10]); err == nil || !strings.Contains(err.Error(), "of mBART-50") {
		t.Error(err)
	}
}

func readXGLM(t testing.TB) *remapped {
	t.Helper()
	tok, err := ParseXGLM(tokenizertest.ReadFile(t, "testdata", "sp.unigram.model"))
	if err != nil {
		t.Fatal(err)
	}
	return tok.(*remapped)
}

// xglmDifferences are the texts with other ids in transformers' XGLMTokenizer 5.x, which
// uses tokenizers' parts instead of sentencepiece.
var xglmDifferences = map[string][]string{
	"white space, and what becomes it, is kept at the end": {
		" ", "   ", "a ", "  two  spaces  ", "\n", "\t\t", "a\n", "</s> <unk> <pad>",
		"func main() {\n\tfor i := 0; i < 10; i++ {\n\t\tfmt.Println(i)\n\t}\n}\n",
		"quicklynãotwoquick \u200b",
	},
	"U+2581 is no space, and stands for the prefix": {"▁", "▁▁", "▁the ▁", " ▁ ", "▁▁the", "▁andпомнитьchâteau天気writing"},
	"a grapheme cluster that begins with a rule is replaced as a whole": {
		"e\u0301 n\u0303 o\u0308 e\u0301\u0301 x\u0301",
	},
}

func TestXGLMDifferences(t *testing.T) {
	g := tokenizertest.ReadPieceGoldens(t, "testdata")
	tok := readXGLM(t)
	differs := map[string]bool{}
	for _, texts := range xglmDifferences {
		for _, text := range texts {
			differs[text] = true
		}
	}
	for i, text := range g.Texts {
		got := slices.Concat(tok.before, tok.EncodeSpecial(text))
		if same := slices.Equal(got, g.XGLM.IDs[i]); same == differs[text] {
			t.Errorf("EncodeSpecial(%.60q)\n %v, upstream\n %v", text, got, g.XGLM.IDs[i])
		}
		// Upstream removes spaces only from the first token.
		if got := tokenizer.Decode(tok, g.XGLM.IDs[i]); got != strings.TrimLeft(g.XGLM.Decoded[i], " ") {
			t.Errorf("Decode of %.60q\n %q, want\n %q", text, got, g.XGLM.Decoded[i])
		}
		delete(differs, text)
	}
	if len(differs) > 0 {
		t.Errorf("not among the texts: %v", differs)
	}
}

func TestM2M100(t *testing.T) {
	g := tokenizertest.ReadPieceGoldens(t, "testdata")
	tok := readM2M100(t)
	for i, text := range g.Texts {
		if got := tok.EncodeSpecial(text); !slices.Equal(got, g.M2M100.IDs[i]) {
			t.Errorf("EncodeSpecial(%.60q)\n %v, want\n %v", text, got, g.M2M100.IDs[i])
		}
	}
	french, _ := tok.Language("fr")
	if slices.Contains(tok.Encode("__fr__ bonjour"), french) || !slices.Contains(tok.EncodeSpecial("__fr__ bonjour"), french) {
		t.Error("Encode reads languages, or EncodeSpecial does not")
	}
	tokenizertest.CheckDecoding(t, tok, g.M2M100.IDs, g.M2M100.Decoded)
	tokenizertest.CheckDecoding(t, tok, g.M2M100.Sequences, g.M2M100.SequenceTexts)
	if len(tok.Languages()) != 100 || len(g.M2M100.Languages) != 100 {
		t.Errorf("%d languages", len(tok.Languages()))
	}
	for code, want := range g.M2M100.Languages {
		id, ok := tok.Language(code)
		if !ok || id != want || tok.Piece(id) != "__"+code+"__" || tok.SpecialTokens()["__"+code+"__"] != id {
			t.Errorf("language %s is %d, want %d", code, id, want)
		}
	}
	_, after := tok.Affixes()
	if got := slices.Concat([]int{french}, tok.Encode("walk"), after); !slices.Equal(got, g.M2M100.French) {
		t.Errorf("a French text is %v, want %v", got, g.M2M100.French)
	}
	if _, ok := tok.Language("nso"); ok {
		t.Error("there is a language nso")
	}
}

func readM2M100(t testing.TB) *M2M100 {
	t.Helper()
	tok, err := ParseM2M100(tokenizertest.ReadFile(t, "testdata", "sp.m2m100.vocab.json"), tokenizertest.ReadFile(t, "testdata", "sp.unigram.model"))
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

func TestM2M100Refuses(t *testing.T) {
	model := tokenizertest.ReadFile(t, "testdata", "sp.unigram.model")
	for vocab, want := range map[string]string{
		`{`:                                  "vocab.json",
		`{}`:                                 "empty",
		`{"<s>":0,"<pad>":1,"</s>":2}`:       "<unk>",
		`{"<s>":0,"<pad>":1,"</s>":5}`:       "id 5",
		`{"<s>":0,"<pad>":0}`:                "each once",
		`{"<s>":-1}`:                         "id -1",
		`{"<s>":0,"<pad>":9007199254740993}`: "id 9007199254740993",
	} {
		if _, err := ParseM2M100([]byte(vocab), model); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", vocab, err)
		}
	}
}
