package hf

import (
	"encoding/json"
	"hash/crc32"
	"os"
	"slices"
	"strings"
	"testing"

	"glossa/pkg/tokenizer"
)

// familyGoldens holds, by name, tokenizers that the reference trained with the pre-tokenizers of
// today's models, and checksums of its ids of the mixed texts, a hundred at a time.
type familyGoldens struct {
	Words    []string
	Families map[string]struct {
		Tokenizer json.RawMessage
		Sums      []uint32
		Text      string
		IDs       []int
		Pieces    []string
	}
}

func readFamilies(t testing.TB) *familyGoldens {
	t.Helper()
	raw, err := os.ReadFile("testdata/families.golden.json")
	if err != nil {
		t.Fatal(err)
	}
	var f familyGoldens
	if err := json.Unmarshal(raw, &f); err != nil {
		t.Fatal(err)
	}
	return &f
}

// mixed returns texts of the words, the same as texts of families_goldens.py.
func mixed(words []string, count int) []string {
	state, out := uint64(1), make([]string, count)
	for i := range out {
		var b strings.Builder
		for range 1 + state%13 {
			state = (state*1103515245 + 12345) % (1 << 31)
			b.WriteString(words[(state>>8)%uint64(len(words))])
		}
		out[i] = b.String()
	}
	return out
}

// Ids of 2,000 mixed texts equal the reference's for the pre-tokenizers of each family, and
// decode to the texts.
func TestFamilies(t *testing.T) {
	f := readFamilies(t)
	texts := mixed(f.Words, 2000)
	for name, want := range f.Families {
		tok, err := Parse(want.Tokenizer)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := tok.Encode(want.Text); !slices.Equal(got, want.IDs) {
			t.Errorf("%s: %q is %v, want %v: %q", name, want.Text, got, want.IDs, want.Pieces)
		}
		for i, sum := range want.Sums {
			var ids [][]int
			for _, text := range texts[100*i:][:100] {
				ids = append(ids, append([]int{}, tok.Encode(text)...))
				if back := tokenizer.Decode(tok, tok.Encode(text)); back != text {
					t.Errorf("%s: %q decodes to %q", name, text, back)
				}
			}
			raw, err := json.Marshal(ids)
			if err != nil {
				t.Fatal(err)
			}
			if crc32.ChecksumIEEE(raw) != sum {
				t.Errorf("%s: ids of texts %d to %d differ", name, 100*i, 100*i+99)
			}
		}
		if _, err := Check(want.Tokenizer, false); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(f.Families) < 9 {
		t.Errorf("%d families", len(f.Families))
	}
}

// The patterns with scanners mean the same when they are compiled.
func TestPatternDFA(t *testing.T) {
	texts := mixed(readFamilies(t).Words, 500)
	for source, split := range knownPatterns {
		p := patternParser{rest: source}
		if _, err := p.alternatives(0); err != nil {
			t.Fatal(err)
		}
		compiled, err := p.compile()
		if err != nil || compiled.covering == nil {
			t.Fatalf("%s: %v", source, err)
		}
		for _, text := range texts {
			text += "\xff\xc3"
			for i := 0; i < len(text); {
				got, want := compiled.covering.match(text, i), split(text, i)
				if got != want {
					t.Fatalf("%s: %q at %d ends at %d, want %d", source, text, i, got, want)
				}
				i = want
			}
		}
	}
}

// (?!\S) is the only look-ahead.
func TestLookAhead(t *testing.T) {
	for source, want := range map[string]string{
		`(?!\S)`:        "empty text",
		`(?!\S)+a`:      "repetition of what matches the empty text",
		`\s(?!\s)|\s|.`: "group (?!",
	} {
		if _, err := compilePattern(source); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", source, err, want)
		}
	}
	p, err := compilePattern(`\s+(?!\S)|\s|\S+`)
	if err != nil {
		t.Fatal(err)
	}
	if got := p.find.replaceAll("a  b \n", "|"); got != "|||||" {
		t.Errorf("got %q", got)
	}
}

func BenchmarkPatternDFA(b *testing.B) {
	text := strings.Join(mixed(readFamilies(b).Words, 4000), " The quick brown fox jumps over the lazy dog. ")
	f := readFamilies(b)
	for name, family := range f.Families {
		tok, err := parse(family.Tokenizer)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				cutSteps(tok.steps, segment{text, 1}, func(segment) bool { return true })
			}
		})
	}
}
