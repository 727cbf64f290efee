package hf

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"glossa/pkg/tokenizer/internal/tokenizertest"
)

// With prepend_scheme first, Metaspace marks what is of the text's first character, and nothing if
// a normalizer has removed that. The tokens are those of tokenizers.
func TestMetaspaceFirst(t *testing.T) {
	var xglm struct{ Normalizer json.RawMessage }
	if err := json.Unmarshal(tokenizertest.ReadFile(t, "testdata", "xglm.tokenizer.json"), &xglm); err != nil {
		t.Fatal(err)
	}
	var vocab []string
	for _, piece := range []string{"?", "▁", "a", "b", "c", "x", "á", "\u0301", "▁a", "▁b", "▁c", "▁x", "▁á", "▁\u0301"} {
		vocab = append(vocab, fmt.Sprintf(`[%q,-1]`, piece))
	}
	for _, c := range []struct {
		normalizer string
		texts      map[string]string
	}{
		{`{"type":"Strip","strip_left":true,"strip_right":true}`, map[string]string{
			"a b": "▁a|▁b", " a b ": "a|▁b", "\u00a0 xa": "x|a", "xa b": "▁x|a|▁b", "ca a": "▁c|a|▁a",
		}},
		{`{"type":"Strip","strip_right":true}`, map[string]string{"a ": "▁a", " a": "▁a"}},
		{`{"type":"Replace","pattern":{"Regex":"xx?"},"content":"c"}`, map[string]string{"xa b": "▁c|a|▁b", "xxa b": "c|a|▁b", "axx": "▁a|c"}},
		{`{"type":"Replace","pattern":{"String":"x"},"content":""}`, map[string]string{"xa b": "a|▁b", "axb": "▁a|b", " xa": "▁a"}},
		{`{"type":"Nmt"}`, map[string]string{"\u0001a": "a", "a\u0001": "▁a"}},
		{`{"type":"NFD"}`, map[string]string{"á": "▁a|▁\u0301", "a\u0301": "▁a|\u0301", "ca": "▁c|a"}},
		{`{"type":"Prepend","prepend":"c"}`, map[string]string{"a b": "▁c|▁a|▁b"}},
		{`{"type":"Sequence","normalizers":[{"type":"NFD"},{"type":"StripAccents"}]}`, map[string]string{"\u0301a": "a", "á": "▁a"}},
		{string(xglm.Normalizer), map[string]string{"\u200ba": "▁a", "a b": "▁a|▁b"}},
	} {
		tok, err := parse([]byte(`{"normalizer":` + c.normalizer + `,"pre_tokenizer":{"type":"Sequence","pretokenizers":[` +
			`{"type":"Split","pattern":{"Regex":"c|` + "\u0301" + `"},"behavior":"Isolated"},{"type":"Metaspace","replacement":"▁","prepend_scheme":"first"}]},` +
			`"decoder":{"type":"Metaspace","replacement":"▁"},"model":{"type":"Unigram","unk_id":0,"vocab":[` + strings.Join(vocab, ",") + `]}}`))
		if err != nil {
			t.Fatal(err)
		}
		for text, want := range c.texts {
			var got []string
			for _, id := range tok.Encode(text) {
				got = append(got, tok.Piece(id))
			}
			if strings.Join(got, "|") != want {
				t.Errorf("%.60s: %+q is %+q, want %+q", c.normalizer, text, strings.Join(got, "|"), want)
			}
		}
	}
}
