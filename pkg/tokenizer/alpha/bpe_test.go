package alpha

import (
	"container/heap"
	"encoding/json"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"glossa/pkg/tokenizer"
)

// passes implements the definition for fewer than 1000 merges: merge 0, 1, ... in turn,
// each from left to right over the whole text.
func passes(t *bpeTokenizer, merges [][2]int, ids []int) []int {
	for rank, m := range merges {
		var out []int
		for i := 0; i < len(ids); i++ {
			if i+1 < len(ids) && ids[i] == m[0] && ids[i+1] == m[1] {
				out = append(out, len(t.pieces)-t.merger.Ranks+rank)
				i++
			} else {
				out = append(out, ids[i])
			}
		}
		ids = out
	}
	return ids
}

// byRank is a heap of (rank, position) that compares only ranks.
type byRank [][2]int

func (h byRank) Len() int           { return len(h) }
func (h byRank) Less(i, j int) bool { return h[i][0] < h[j][0] }
func (h byRank) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *byRank) Push(x any)        { *h = append(*h, x.([2]int)) }
func (h *byRank) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}

// heaped implements the definition for 1000 merges and more, with a sparse slice and the
// standard library's heap.
func heaped(t *bpeTokenizer, merges [][2]int, ids []int) []int {
	ids = slices.Clone(ids)
	next := func(i, step int) int {
		for i += step; i >= 0 && i < len(ids) && ids[i] < 0; i += step {
		}
		return i
	}
	var h byRank
	offer := func(i int) {
		j := next(i, 1)
		if i < 0 || j >= len(ids) {
			return
		}
		if rank := slices.Index(merges, [2]int{ids[i], ids[j]}); rank >= 0 {
			heap.Push(&h, [2]int{rank, i})
		}
	}
	for i := range ids {
		offer(i)
	}
	for h.Len() > 0 {
		item := heap.Pop(&h).([2]int)
		i := item[1]
		j := next(i, 1)
		if ids[i] < 0 || j >= len(ids) || slices.Index(merges, [2]int{ids[i], ids[j]}) != item[0] {
			continue
		}
		ids[i], ids[j] = len(t.pieces)-t.merger.Ranks+item[0], -1
		offer(next(i, -1))
		offer(i)
	}
	return slices.DeleteFunc(ids, func(id int) bool { return id < 0 })
}

// known returns the ids of the characters in b's vocabulary.
func known(b *bpeTokenizer, text string) (ids []int) {
	for _, r := range text {
		if id := b.chars.id(r); id >= 0 {
			ids = append(ids, int(id))
		}
	}
	return ids
}

func checkBPE(t *testing.T, train, text string, size int) {
	t.Helper()
	a, err := Train(BPE, train, size)
	if err != nil {
		return // an empty or invalid text
	}
	tok, err := a.Tokenizer()
	if err != nil {
		t.Fatal(err)
	}
	b := tok.(*bpeTokenizer)
	ids := known(b, text)
	for _, mode := range []struct {
		byPos bool
		want  []int
	}{{true, passes(b, a.Merges, ids)}, {false, heaped(b, a.Merges, ids)}} {
		b.byPos, b.merger.Window = mode.byPos, 1+len(text)/5
		if got := b.Encode(text); !slices.Equal(got, mode.want) {
			t.Fatalf("by position %v, %q after %q: %v, want %v", mode.byPos, text, train, got, mode.want)
		}
		var known strings.Builder
		for _, r := range text {
			if b.chars.id(r) >= 0 {
				known.WriteRune(r)
			}
		}
		if got := tokenizer.Decode(b, b.Encode(text)); got != known.String() {
			t.Fatalf("%q decodes to %q", known.String(), got)
		}
	}
}

func TestBPEDefinitions(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	random := func(alphabet string, n int) string {
		runes := []rune(alphabet)
		var b strings.Builder
		for range n {
			b.WriteRune(runes[rng.IntN(len(runes))])
		}
		return b.String()
	}
	for range 300 {
		alphabet := []string{"a", "ab", "abc", "aab \n", "aé世😀"}[rng.IntN(5)]
		checkBPE(t, random(alphabet, 1+rng.IntN(200)), random(alphabet+"z", rng.IntN(120)), 1+rng.IntN(60))
	}
}

func FuzzBPE(f *testing.F) {
	f.Add("the cat sat on the mat", "the bat", 30)
	f.Add("aaaaaaaaaaaaaaaa", "aaaaaaa", 4)
	f.Fuzz(func(t *testing.T, train, text string, size int) {
		if len(train) > 500 || len(text) > 200 || size > 200 {
			return
		}
		checkBPE(t, train, text, size)
	})
}

// The well-known example of runs: from left to right "aaaaa" is (aaaa)(a); the heap
// orders equal ranks differently.
func TestBPERuns(t *testing.T) {
	raw := json.RawMessage(`{"type":"bpe","vocabSize":3,"vocab":["a","aa","aaaa"],"merges":[[0,0],[1,1]]}`)
	tok, err := Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	if got := tok.Encode("aaaaa"); !slices.Equal(got, []int{2, 0}) {
		t.Errorf("left to right: %v", got)
	}
	tok.(*bpeTokenizer).byPos = false
	if got := tok.Encode("aaaaa"); !slices.Equal(got, heaped(tok.(*bpeTokenizer), [][2]int{{0, 0}, {1, 1}}, make([]int, 5))) {
		t.Errorf("heap: %v", got)
	}
}

// TestTrainCounts recounts all pairs before each merge: no eligible pair may be more
// frequent than the merged one.
func TestTrainCounts(t *testing.T) {
	text := strings.Repeat("she sells sea shells by the sea shore; aaa aaaa aa ", 8)
	a, err := Train(BPE, text, 60)
	if err != nil {
		t.Fatal(err)
	}
	tok, err := a.Tokenizer()
	if err != nil {
		t.Fatal(err)
	}
	b := tok.(*bpeTokenizer)
	ids := known(b, text)
	for rank := range a.Merges {
		count := map[[2]int]int{}
		for i := range len(ids) - 1 {
			count[[2]int{ids[i], ids[i+1]}]++
		}
		for p, n := range count {
			if n > count[a.Merges[rank]] && joins(a.Vocab[p[0]], a.Vocab[p[1]]) {
				t.Fatalf("merge %d is %v with %d occurrences, %v has %d", rank, a.Merges[rank], count[a.Merges[rank]], p, n)
			}
		}
		one := *b
		one.merger.Ranks = b.merger.Ranks - rank // so that the first merge makes the next id
		ids = passes(&one, a.Merges[rank:rank+1], ids)
	}
	if !slices.Equal(ids, tok.Encode(text)) {
		t.Error("encoding the training text differs from the merged training text")
	}
}

// Trained tokens do not extend beyond a word and the space before it.
func TestTrainKeepsWords(t *testing.T) {
	a, err := Train(BPE, strings.Repeat("It was 1999, at last: \"no\"!?\n\nIt is so...  ", 50), 200)
	if err != nil {
		t.Fatal(err)
	}
	whole := regexp.MustCompile(`^( ?(\pL+|\d+|[^\pL\d\s]+)|\n+|\s)$`)
	for _, piece := range a.Vocab {
		if !whole.MatchString(piece) {
			t.Errorf("%q crosses a border", piece)
		}
	}
	if !slices.Contains(a.Vocab, " 1999") || !slices.Contains(a.Vocab, "\n\n") || !slices.Contains(a.Vocab, " was") {
		t.Errorf("%q lacks what is frequent", a.Vocab)
	}
}

func TestTrainOrder(t *testing.T) {
	// U+10000 sorts before U+FF00 by UTF-16 code units.
	a, err := Train(Char, "b\uff00\U00010000a", 0)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"a", "b", "\U00010000", "\uff00"}; !slices.Equal(a.Vocab, want) {
		t.Errorf("%q, want %q", a.Vocab, want)
	}
}

func story(n int) string {
	words := strings.Fields("the a cat dog king queen river mountain old young walked sat slept found lost gold silver bread under over near and then but")
	rng := rand.New(rand.NewPCG(3, 4))
	var b strings.Builder
	for b.Len() < n {
		b.WriteString(words[rng.IntN(len(words))])
		if rng.IntN(9) == 0 {
			b.WriteByte('.')
		}
		for range rng.IntN(3) {
			b.WriteByte(byte('a' + rng.IntN(26)))
		}
		b.WriteByte(' ')
	}
	return b.String()[:n]
}

func BenchmarkEncode(b *testing.B) {
	for _, bench := range []struct {
		name string
		size int
		text string
	}{
		{"bpe-500", 500, story(1 << 20)},
		{"bpe-2000", 2000, story(1 << 20)},
		{"bpe-2000-runs", 2000, strings.Repeat("a", 1<<20)},
	} {
		b.Run(bench.name, func(b *testing.B) {
			a, err := Train(BPE, story(1<<18)+strings.Repeat("a", 4096), bench.size)
			if err != nil {
				b.Fatal(err)
			}
			tok, err := a.Tokenizer()
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(bench.text)))
			for b.Loop() {
				tok.Encode(bench.text)
			}
		})
	}
}

func BenchmarkTrain(b *testing.B) {
	text := story(2 << 20)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := Train(BPE, text, 2000); err != nil {
			b.Fatal(err)
		}
	}
}
