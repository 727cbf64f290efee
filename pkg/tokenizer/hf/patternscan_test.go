package hf

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// farPatterns read far in vain: each has a match that ends where another could have gone on.
var farPatterns = []string{
	`(?:[^Z]*Z)|.`, `(?:[^Z]*Z)|.|\n`, `a[^Z]*Z|b`, `[^Z]{1,400}Z|[\s\S]`, `ab*c|(?:a|b)+?c[ab]*Z|a`, `(?:aé|é|a)*Z|(?:é|a)`,
	`[ab]*Z|[ac]*Y|[a-z]`, `(?:a|b)+(?:Z|Y)|a{3,5}|\p{N}`,
}

// A scan finds what package regexp finds.
func TestFarScan(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for _, source := range farPatterns {
		p, err := compilePattern(source)
		if err != nil {
			t.Fatal(err)
		}
		if p.far == nil {
			t.Errorf("%s does not read far", source)
			continue
		}
		re := regexp.MustCompile(strings.ReplaceAll(source, `.`, `[^\n]`))
		for _, letters := range []string{"aaaaab", "aaaaaaaaaabbc\n", "aaaaébbc ", "aéé世😀Z1\n", strings.Repeat("ab", 500) + "ZY"} {
			alphabet := []rune(letters)
			runes := make([]rune, 1000)
			for i := range runes {
				runes[i] = alphabet[rng.IntN(len(alphabet))]
			}
			text := string(runes) + "\xff" + letters
			var got, want [][]int
			find := p.on(text)
			for at := 0; ; at = got[len(got)-1][1] {
				start, end := find(text, at)
				if start < 0 {
					break
				}
				got = append(got, []int{start, end})
			}
			if want = re.FindAllStringIndex(text, -1); !slices.EqualFunc(got, want, slices.Equal) {
				t.Errorf("%s in texts of %.20q: %d matches, want %d", source, letters, len(got), len(want))
			}
			scan := &farScan{patternDFA: p.far}
			for at := range text {
				if got, want := scan.match(text, at), p.far.match(text, at); got != want {
					t.Fatalf("%s in texts of %.20q: the match at %d ends at %d, want %d", source, letters, at, got, want)
				}
			}
			if p.covering == nil {
				continue
			}
			split, ends := p.split(text), []int{}
			for at := 0; at < len(text); at = ends[len(ends)-1] {
				ends = append(ends, split(text, at))
			}
			if !slices.EqualFunc(ends, want, func(end int, m []int) bool { return end == m[1] }) {
				t.Errorf("%s cuts texts of %.20q otherwise than it finds", source, letters)
			}
		}
	}
}

// A scan reads no block twice in vain in one state.
func TestFarScanIsLinear(t *testing.T) {
	text := strings.Repeat("aab", 4000)
	for _, source := range farPatterns {
		p, err := compilePattern(source)
		if err != nil {
			t.Fatal(err)
		}
		s, vain := &farScan{patternDFA: p.far}, 0
		for i := range len(text) {
			s.match(text, i)
			vain += len(s.vain)
		}
		marked := 0
		for _, word := range s.dead {
			marked += bits.OnesCount64(word)
		}
		if vain != marked || vain == 0 {
			t.Errorf("%s: %d blocks are read in vain, %d of them once", source, vain, marked)
		}
	}
}

// A pre-tokenizer whose pattern reads far has a scan for each text.
func TestFarSteps(t *testing.T) {
	long := strings.Repeat("a", 600) + "Z" + strings.Repeat("a", 600)
	for name, source := range map[string]string{"covering": `[^Z]*Z|[\s\S]`, "searching": `[^Z]*Z|a`} {
		p, err := compilePattern(source)
		if err != nil {
			t.Fatal(err)
		}
		steps, err := readSplit(&fileStep{Pattern: filePattern{Regex: &source}, Behavior: "Isolated"})
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{long, strings.Repeat("a", 700), long, "aZa"} {
			var got []int
			cutSteps(steps, segment{text: text}, func(s segment) bool {
				got = append(got, len(s.text))
				return true
			})
			var want []int
			for at := 0; at < len(text); {
				_, end := p.find(text, at)
				want = append(want, end-at)
				at = end
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: %d pieces, want %d", name, len(got), len(want))
			}
		}
		if p.far == nil || steps[0].split != nil && steps[0].on == nil {
			t.Errorf("%s: all texts have the same scan", name)
		}
	}
}

// Patterns whose automata are large are rejected before they take memory or time.
func TestPatternSizes(t *testing.T) {
	pairs := func(n int) string {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf("%[1]c%[1]c", 0x4e00+i))
		}
		return strings.Join(list, "|")
	}
	holes := make([]rune, 45000)
	for i := range holes {
		holes[i] = 0x20000 + 2*rune(i)
	}
	for name, source := range map[string]string{
		"instructions": `[ab]{1,900}|c[bd]{1,900}`,
		"classes":      pairs(250),
		"cells":        "[" + string(holes) + "]|" + pairs(200),
		"states":       `(?:a|b)*a(?:a|b){12}c|[ab]+`,
		"work":         `(?:.*a){300}|` + pairs(200),
		"far":          `(?:a|b)*a(?:a|b){9}|.|\n`,
	} {
		if _, err := compilePattern(source); err == nil || !strings.Contains(err.Error(), "too large") {
			t.Errorf("%s: %v", name, err)
		}
	}
	p, err := compilePattern(strings.Repeat(`\p{L}|`, 900) + "x")
	if err != nil || p.far != nil {
		t.Errorf("alternatives of one set: %v", err)
	}
}

// The lag is the number of characters that are read before it is known where a match ends.
func TestLag(t *testing.T) {
	for source, want := range map[string]int{`a`: 1, `abc|.`: 1, `[a-z]{3,9}`: 3, `a{70}|a`: 68, ` ?[a-z]+|\s+(?!\S)|\s`: 1} {
		p := patternParser{rest: source}
		if _, err := p.alternatives(0); err != nil {
			t.Fatal(err)
		}
		d, err := newPatternDFA(p.out.String())
		if err != nil {
			t.Fatal(err)
		}
		if got := d.lag(); got != want {
			t.Errorf("%s: %d, want %d", source, got, want)
		}
	}
}
