package grammar

import "testing"

// Items that cannot be equal to those before them need one value only, and the items before a
// constant leave it out.
func TestUniquePrefixes(t *testing.T) {
	var bytes []string
	for b := range 256 {
		bytes = append(bytes, string([]byte{byte(b)}))
	}
	v := NewVocabulary(bytes)
	for items, text := range map[string]string{
		`2,"prefixItems":[{"type":"integer"},{"const":"a"}]`:                        `[1,"a"]`,
		`2,"prefixItems":[{"type":"integer"},{"type":"null"}]`:                      `[1,null]`,
		`3,"prefixItems":[{"type":"integer"},{"type":"string"},{"type":"boolean"}]`: `[1,"",true]`,
		`2,"prefixItems":[{"enum":["x"]},{"const":"a"}]`:                            `["x","a"]`,
		`2,"prefixItems":[{"const":1.5},{"const":2.5}]`:                             `[1.5,2.5]`,
		`2,"prefixItems":[{"type":"string"},{"const":"a"}]`:                         `["b","a"]`,
		`3,"prefixItems":[{"type":"string"},{"const":1},{"const":2}]`:               `["",1,2]`,
		`3,"prefixItems":[{"enum":["a","b","c"]},{"const":"a"},{"const":"b"}]`:      `["c","a","b"]`,
	} {
		g, err := Schema([]byte(`{"type":"array","uniqueItems":true,"minItems":`+items+`}`), Generating())
		if err != nil {
			t.Errorf("%s: %v", items, err)
			continue
		}
		c, err := g.Bind(v)
		if err != nil || !g.Match(text) {
			t.Errorf("%s: %v", items, err)
			continue
		}
		m := c.Start()
		for left := m.Cost(); left > 0; left-- {
			mask, token := m.Mask(left), 0
			for token < 256 && !mask.Allows(token) {
				token++
			}
			if !m.Take(token) {
				t.Fatalf("%s: nothing may follow %q", items, m.Text())
			}
		}
		if !m.Accepts() || !g.Match(string(m.Text())) {
			t.Errorf("%s: %q", items, m.Text())
		}
	}
}
