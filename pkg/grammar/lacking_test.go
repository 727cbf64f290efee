package grammar_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// Bounded strings can be written of characters that are tokens although their bytes are not, whatever
// path to the end is the shortest in characters or in tokens.
func TestLackingBytes(t *testing.T) {
	vocabs, written := vocabularies(t), 0
	for _, pattern := range []string{`^-|é`, `^é+$`, `^[日本]{1,5}$`, `^[日本]{2}$`, `^(abcdefg|é)ü?$`, `^(é|--)*😀$`, `\u0001|語`, `.`, `^[^a]*é`, `^(aß|é)ü?$`, `^(bß|[^b]*é)$`, `^(a*ß|x)+$`} {
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
						t.Errorf("%s over %s: %v", raw, v.name, err)
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
