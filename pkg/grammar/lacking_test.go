package grammar_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"glossa/pkg/grammar/pushdown"
)

// Bounded strings can be written of characters that are tokens although their bytes are not, whatever
// path to the end is the shortest in characters or in tokens.
func TestLackingBytes(t *testing.T) {
	pieces := []string{`"`, "aa", "é", "ü", "üü", `é"`, "日本", "日"}
	vocabs := append(vocabularies(t), vocabulary{name: "pieces", tokens: pieces, ready: pushdown.NewVocabulary(pieces)})
	written := 0
	for _, pattern := range []string{`^-|é`, `^é+$`, `^[日本]{1,5}$`, `^[日本]{2}$`, `^(abcdefg|é)ü?$`, `^(é|--)*😀$`, `\u0001|語`, `.`, `^[^a]*é`, `^(aß|é)ü?$`, `^(bß|[^b]*é)$`, `^(a*ß|x)+$`, `^(aa|é)ü$`, `^(日本|aa)+ü*$`} {
		for most := 1; most <= 4; most++ {
			for least := 0; least <= min(most, 2); least++ {
				raw := fmt.Appendf(nil, `{"type":"string","pattern":%q,"minLength":%d,"maxLength":%d}`, pattern, least, most)
				c, err := newSchemaCase(string(raw), raw)
				if err != nil {
					continue // no text is short enough, or patterns with a minimum are refused
				}
				for _, v := range vocabs {
					bound, err := c.grammar.Bind(v.ready)
					if err != nil {
						if v.name != "pieces" || most == 2 && pattern == `^(aa|é)ü$` {
							t.Errorf("%s over %s: %v", raw, v.name, err)
						}
						continue
					}
					for i, s := range samplers {
						for more := range 4 {
							w := &writer{constraint: bound, vocab: &v, random: rand.New(rand.NewPCG(uint64(i), uint64(more)))}
							if err := w.run(s, bound.Min()+more); err != nil {
								t.Errorf("%s over %s, %d tokens more, %s: %v", raw, v.name, more, s.name, err)
							} else if err := c.check(w.text()); err != nil {
								t.Errorf("%s over %s, %s: %q: %v", raw, v.name, s.name, w.text(), err)
							}
							written++
						}
					}
				}
			}
		}
	}
	if written < 500 {
		t.Errorf("only %d texts", written)
	}
}
