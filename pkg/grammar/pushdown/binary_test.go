package pushdown

import (
	"reflect"
	"strings"
	"testing"
)

func TestBinary(t *testing.T) {
	for name, v := range vocabularies() {
		b, err := v.AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ReadVocabulary(b)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !reflect.DeepEqual(got.nodes, v.nodes) || !reflect.DeepEqual(got.ids, v.ids) ||
			got.roots != v.roots || got.isToken != v.isToken || got.inToken != v.inToken || !reflect.DeepEqual(got.tokens, v.tokens) {
			t.Errorf("%s: what is read differs from what was written", name)
		}
	}
}

// FuzzReadVocabulary reads any bytes: an error, or a vocabulary that writes them again.
func FuzzReadVocabulary(f *testing.F) {
	b, _ := NewVocabulary([]string{"a", "ab", "b", "", "ab"}).AppendBinary(nil)
	f.Add(b)
	f.Add(b[:len(b)-1])
	f.Add([]byte(trieMagic + strings.Repeat("\xff", 12)))
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := ReadVocabulary(b)
		if err != nil {
			return
		}
		if again, _ := v.AppendBinary(nil); string(again) != string(b) {
			t.Errorf("written as %q", again)
		}
		for id := range v.Size() {
			if at := v.find(v.Token(id)); v.Token(id) != "" && at < 0 {
				t.Errorf("token %d is not in its trie", id)
			}
		}
	})
}
