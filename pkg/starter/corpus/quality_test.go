package corpus_test

import (
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"glossa/pkg/engine"
	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/llm"
	starters "glossa/pkg/starter"
	"glossa/pkg/starter/corpus"
	"glossa/pkg/tokenizer"
	"glossa/pkg/tokenizer/alpha"
)

var update = flag.Bool("update", false, "write the tables in testdata, which the README shows")

// Bounds that a starter must meet.
const (
	samples   = 200
	leastGood = 0.95 // share of valid samples, except of forms
	leastForm = 0.80 // of forms, where each value must be that of the sentence
	mostRuns  = 0.05 // share of the samples' runs in the training text
)

// Sampling parameters: the defaults of Alpha's server.
const (
	temperature   = 0.7
	topK          = 40
	heldOutTokens = 20_000 // number of scored tokens
)

// figures are the measurements of one starter.
type figures struct {
	name           string
	model, trigram float64 // cross-entropy on held-out text, bits per token
	valid          float64 // share of samples
	runs           float64 // share of runs that occur in the training text
}

// Seeds of the texts: that of the Makefile and another.
const (
	trainSeed   = 1
	heldOutSeed = 2
)

var names = []string{"novels", "abc", "chords", "forms"}

// starter is one model with its training text.
type starter struct {
	name   string
	engine *engine.Engine
	tok    tokenizer.Tokenizer
	train  []int // tokens
}

func TestQuality(t *testing.T) {
	if testing.Short() {
		t.Skip("counts trigrams and draws samples")
	}
	table := make([]figures, len(names))
	t.Run("starter", func(t *testing.T) {
		for i, name := range names {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				table[i] = measure(t, withText(t, open(t, name)))
			})
		}
	})
	all := !slices.ContainsFunc(table, func(f figures) bool { return f.name == "" }) // -run may skip some
	if all && !t.Failed() {
		checkTable(t, qualityFile, markdown(table), 0.2)
	}
}

// open loads a starter without its text.
func open(t testing.TB, name string) *starter {
	ck, err := checkpoint.ReadAlphaFile(starters.Runs(), newest(t, name).Checkpoint, checkpoint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := &starter{name: name}
	if s.tok, err = alpha.Parse(ck.Tokenizer); err != nil {
		t.Fatal(err)
	}
	m, err := arch.FromAlpha(ck, "")
	if err != nil {
		t.Fatal(err)
	}
	if s.engine, err = engine.New(m, engine.Config{Name: name}); err != nil {
		t.Fatal(err)
	}
	return s
}

// newest finds the run of a starter.
func newest(t testing.TB, name string) checkpoint.Run {
	runs, problems := checkpoint.Scan(starters.Runs())
	for _, err := range problems {
		t.Fatal(err)
	}
	i := slices.IndexFunc(runs, func(r checkpoint.Run) bool { return r.ID == name })
	if i < 0 {
		t.Fatalf("there is no run %q", name)
	}
	return runs[i]
}

// withText adds the text that the run was trained on.
func withText(t *testing.T, s *starter) *starter {
	var c struct {
		TextBytes  int
		TextSHA256 string
	}
	if err := json.Unmarshal(newest(t, s.name).Config.TrainConfig, &c); err != nil {
		t.Fatal(err)
	}
	text, err := corpus.Text(s.name, trainSeed, c.TextBytes)
	if err != nil {
		t.Fatal(err)
	}
	if sum := fmt.Sprintf("%x", sha256.Sum256([]byte(text))); sum != c.TextSHA256 {
		t.Fatalf("the model was trained on a text with SHA-256 %s; the generator's has %s", c.TextSHA256, sum)
	}
	s.train = s.tok.Encode(text)
	return s
}

// heldOut returns text that the model was not trained on.
func (s *starter) heldOut(t *testing.T, size int) string {
	text, err := corpus.Text(s.name, heldOutSeed, size)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// measure computes the figures and fails if a bound is not met.
func measure(t *testing.T, s *starter) figures {
	f := figures{name: s.name}
	f.model, f.trigram = crossEntropies(t, s)
	f.valid, f.runs = judgeSamples(t, s)
	t.Logf("%+v", f)
	if !(f.model < f.trigram) {
		t.Errorf("%.3f bits per token on held-out text, the trigram model has %.3f", f.model, f.trigram)
	}
	least := leastGood
	if s.name == "forms" {
		least = leastForm
	}
	if f.valid < least {
		t.Errorf("%.1f %% of the samples are valid, at least %.0f %% must be", 100*f.valid, 100*least)
	}
	if f.runs >= mostRuns {
		t.Errorf("%.1f %% of the samples' runs of %d tokens are in the training text, must be under %.0f %%", 100*f.runs, runTokens(s.name), 100*mostRuns)
	}
	return f
}

// crossEntropies scores held-out text in windows of the model's context. The trigram
// model scores the same tokens, with context across the windows.
func crossEntropies(t *testing.T, s *starter) (model, baseline float64) {
	ids := s.tok.Encode(s.heldOut(t, 10*heldOutTokens))
	ids = ids[:min(len(ids), heldOutTokens)]
	three := newTrigram(s.train, s.tok.Size())
	context, n := s.engine.Info().Context, 0
	for from := 0; from < len(ids); from += context {
		window := ids[from:min(len(ids), from+context)]
		for i, tok := range score(t, s.engine, window) {
			if i > 0 {
				model -= tok.Logprob
				baseline -= three.logprob(ids[max(0, from+i-2):], min(2, from+i))
				n++
			}
		}
	}
	bits := float64(n) * math.Ln2
	return model / bits, baseline / bits
}

// score returns the window's tokens with their log-probabilities.
func score(t *testing.T, e *engine.Engine, window []int) []llm.Token {
	rows := generate(t, e, &llm.Request{
		Prompts: []llm.Prompt{{Parts: []llm.Part{{Tokens: window}}}},
		Params:  llm.Params{Echo: new(true), Logprobs: new(0), MaxTokens: new(0)},
	})
	if len(rows[0].Tokens) != len(window) {
		t.Fatalf("%d of %d tokens are scored", len(rows[0].Tokens), len(window))
	}
	return rows[0].Tokens
}

func generate(t *testing.T, e *engine.Engine, req *llm.Request) []llm.Chunk {
	rows, _, err := llm.Collect(e.Generate(t.Context(), req), req.Rows())
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// judgeSamples draws samples and returns the share of valid ones, and the share of their
// runs of tokens that occur in the training text.
func judgeSamples(t *testing.T, s *starter) (valid, repeated float64) {
	prompts, stop := samplePrompts(s.name, s.heldOut(t, 100_000))
	if len(prompts) == 0 || samples%len(prompts) != 0 {
		t.Fatalf("%d samples cannot be drawn from %d prompts", samples, len(prompts))
	}
	size := runTokens(s.name)
	known, seen, good, runs, hits := runSet(s.train, size), map[string]bool{}, 0, 0, 0
	for p := range slices.Chunk(prompts, max(1, 40*len(prompts)/samples)) { // 40 rows at once
		req := &llm.Request{N: samples / len(prompts), Params: llm.Params{
			MaxTokens: new(s.engine.Info().Context), Stop: []string{stop}, Seed: new(int64(1)),
			Temperature: new(temperature), TopK: new(topK),
		}}
		for _, prompt := range p {
			req.Prompts = append(req.Prompts, llm.Text(prompt))
		}
		for i, row := range generate(t, s.engine, req) {
			prompt := p[i/req.N]
			seen[prompt+row.Text] = true
			if err := judge(s.name, prompt, row); err == nil {
				good++
			} else {
				t.Logf("%v:\n%s%s", err, prompt, row.Text)
			}
			r, h := countRuns(s.tok.Encode(row.Text), size, known)
			runs, hits = runs+r, hits+h
		}
	}
	if len(seen) < samples*99/100 {
		t.Errorf("only %d of %d samples are different", len(seen), samples)
	}
	return float64(good) / samples, float64(hits) / float64(runs)
}

// samplePrompts returns the prompts of the samples and their stop string: the openings of
// the examples of Alpha's documentation, the heads of held-out pieces, or the end of the previous piece.
func samplePrompts(name, heldOut string) (prompts []string, stop string) {
	switch name {
	case "abc":
		return regexp.MustCompile(`X:.*\nT:.*\nM:.*\nL:.*\nK:.*\n`).FindAllString(heldOut, samples), "\n\n"
	case "chords":
		all := regexp.MustCompile(`(?m)^[^ ]+ [^ ]+ :`).FindAllString(heldOut, -1)
		slices.Sort(all)
		all = slices.Compact(all)
		return all[:min(len(all), samples/4)], "\n"
	case "forms":
		return []string{blankLine}, blankLine
	}
	return []string{
		"The old lighthouse stood", "The ship sailed into", "Once upon a time", "The castle", "Chapter One\n\n",
	}, "\n\n"
}

// judge returns the fault of a sample. An unfinished sample is a fault too.
func judge(name, prompt string, row llm.Chunk) error {
	if row.Finish != llm.FinishStop {
		return fmt.Errorf("ended by %s", row.Finish)
	}
	switch name {
	case "abc":
		return corpus.CheckTune(prompt + row.Text)
	case "chords":
		return corpus.CheckProgression(prompt + " " + strings.TrimPrefix(row.Text, " "))
	case "forms":
		return corpus.CheckForm(strings.TrimPrefix(prompt+row.Text, blankLine))
	}
	return corpus.CheckStory(prompt + row.Text)
}

// runTokens returns the length of a run: 12 tokens, and 64 if characters are the tokens.
func runTokens(name string) int {
	if name == "forms" {
		return 64
	}
	return 12
}

// runSet returns the hashes of all runs of tokens. A collision counts as one run, which
// can only make a starter look worse.
func runSet(ids []int, size int) map[uint64]bool {
	set := make(map[uint64]bool, len(ids))
	for i := range len(ids) - size + 1 {
		set[runHash(ids[i:i+size])] = true
	}
	return set
}

// countRuns counts the runs in ids, and the known ones.
func countRuns(ids []int, size int, known map[uint64]bool) (runs, hits int) {
	for i := range max(0, len(ids)-size+1) {
		runs++
		if known[runHash(ids[i:i+size])] {
			hits++
		}
	}
	return runs, hits
}

// runHash hashes a run (FNV-1a, 64 bit, over whole ids).
func runHash(run []int) uint64 {
	h := uint64(14695981039346656037)
	for _, id := range run {
		h = (h ^ uint64(id)) * 1099511628211
	}
	return h
}

const qualityFile = "../testdata/quality.md"

// checkTable compares a table with the one in testdata, which the README shows. Figures
// may differ slightly between kinds of processor: by a fiftieth and slack.
func checkTable(t *testing.T, file, got string, slack float64) {
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	a, b := numbers(got), numbers(string(want))
	if len(a) != len(b) || len(a) == 0 {
		t.Fatalf("%s is not a table of these figures; -update writes it:\n%s", file, got)
	}
	for i := range a {
		if math.Abs(a[i]-b[i]) > 0.02*b[i]+slack {
			t.Errorf("%s says %v where %v was measured; -update writes it", file, b[i], a[i])
		}
	}
}

// markdown writes the figures as a table.
func markdown(table []figures) string {
	var b strings.Builder
	b.WriteString("| starter | bits per token | trigram | valid | copied |\n|---|---|---|---|---|\n")
	for _, f := range table {
		fmt.Fprintf(&b, "| `%s` | %.3f | %.3f | %.1f %% | %.2f %% |\n", f.name, f.model, f.trigram, 100*f.valid, 100*f.runs)
	}
	return b.String()
}

// numbers returns the numbers in a table's cells.
func numbers(table string) (out []float64) {
	for _, s := range regexp.MustCompile(`\| ([0-9.]+)`).FindAllStringSubmatch(table, -1) {
		if x, err := strconv.ParseFloat(s[1], 64); err == nil {
			out = append(out, x)
		}
	}
	return out
}
