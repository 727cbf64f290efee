package grammar_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"glossa/pkg/grammar/pushdown"
)

// A vocabulary is a vocabulary for tests.
type vocabulary struct {
	name   string
	tokens []string
	ready  *pushdown.Vocabulary
}

func vocabularies(t testing.TB) []vocabulary {
	list := []vocabulary{
		{name: "bytes", tokens: byteTokens()},
		{name: "characters", tokens: characterTokens()},
		{name: "byte pairs", tokens: pairTokens(t)},
	}
	for i := range list {
		list[i].ready = pushdown.NewVocabulary(list[i].tokens)
	}
	return list
}

// byteTokens returns the 256 bytes after an empty token, as for the end of a text.
func byteTokens() []string {
	tokens := []string{""}
	for b := range 256 {
		tokens = append(tokens, string([]byte{byte(b)}))
	}
	return tokens
}

// characterTokens returns a character vocabulary of an English text with some other
// characters. It cannot spell any others.
func characterTokens() []string {
	var tokens []string
	for r := ' '; r <= '~'; r++ {
		tokens = append(tokens, string(r))
	}
	return append(tokens, "\n", "\t", "é", "ü", "ï", "日", "本", "語", "😀", "")
}

// pairTokens returns a byte-level BPE trained on the schemas of testdata and some of their
// texts, without a pre-tokenizer, so that tokens cross the ends of values. It also has tokens
// that are hard for a mask: much punctuation, parts of characters, a duplicate.
func pairTokens(t testing.TB) []string {
	tokens := byteTokens()
	text := []byte(sample)
	files := schemaFiles(t)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		var line bytes.Buffer
		if err := json.Compact(&line, files[name]); err != nil {
			t.Fatal(err)
		}
		text = append(text, line.Bytes()...)
	}
	tokens = append(tokens, merges(text, 500)...)
	return append(tokens, `"},{"`, `"]}`, `":"`, `":{"`, `":[`, `":`, `","`, `",`, `""`, `"":`, `[]`, `{}`, `[[`, `]]`, `}}`, `}}}`, `}]}`, `]}]`, `},`, `],`,
		`null`, `true`, `false`, `ull`, `0.`, `00`, `e+`, `E-1`, `-1`, `,-`, `\"`, `\\`, `\u`, `\u00`, `\ud8`, `\`, "  ", "\n", "\xf0\x9f", "\x98\x80", "\xe6\x97", "\xa5\xe6", "é\"", "日", "日\"}",
		`null`, "", strings.Repeat(" ", 64), strings.Repeat("a", 200), strings.Repeat("a", 300), `{"a":1,"b":2,"c":3}`, `[1,2,3]`, `"a":`, `,"`, `, `, `: `)
}

// sample is text as the schemas describe it.
const sample = `{"name":"Ada Lovelace","born":"1815-12-10","email":"ada@example.org","age":36,"nicknames":["Ada","the Countess"]}
{"city":"Reykjavík","unit":"celsius","days":3}{"reasons":["It is short.","It is the only one that is true."],"answer":"Yes, it does.","confidence":0.95}
{"at":"2024-02-29T23:59:59Z","from":"192.168.0.1","level":"info","fields":{"path":"/index.html","status":200,"cached":false}}
{"id":"123e4567-e89b-12d3-a456-426614174000","lines":[{"text":"bread","count":2,"price":3.5},{"text":"milk","count":1,"price":1.25}],"paid":true}
{"name":"root","children":[{"name":"left","children":[]},{"name":"right","children":[]}]}[1,2,3,40,500,-6,0.7,8e9]["one","two","three",null,true,false]
The quick brown fox jumps over the lazy dog, and the naïve cat says "no" to 日本語 and 😀. `

// merges trains a BPE and returns the tokens that it adds to the bytes.
func merges(text []byte, n int) []string {
	parts := make([]string, len(text))
	for i, b := range text {
		parts[i] = string([]byte{b})
	}
	var made []string
	for range n {
		seen := map[[2]string]int{}
		for i := range len(parts) - 1 {
			seen[[2]string{parts[i], parts[i+1]}]++
		}
		best := slices.MaxFunc(slices.Collect(maps.Keys(seen)), func(a, b [2]string) int {
			return cmp.Or(seen[a]-seen[b], strings.Compare(b[0], a[0]), strings.Compare(b[1], a[1]))
		})
		var next []string
		for i := 0; i < len(parts); i++ {
			if i+1 < len(parts) && parts[i] == best[0] && parts[i+1] == best[1] {
				next = append(next, parts[i]+parts[i+1])
				i++
				continue
			}
			next = append(next, parts[i])
		}
		parts, made = next, append(made, best[0]+best[1])
	}
	return made
}

// schemaFiles returns the files of testdata/schemas, each a set of schemas by name.
func schemaFiles(t testing.TB) map[string][]byte {
	t.Helper()
	names, err := filepath.Glob("testdata/schemas/*.json")
	if err != nil || len(names) == 0 {
		t.Fatalf("no schemas: %v", err)
	}
	files := map[string][]byte{}
	for _, name := range names {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files[filepath.Base(name)] = raw
	}
	return files
}
