package engine

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/llm"
	"glossa/pkg/tokenizer"
)

// numbers is a tokenizer whose tokens are spelled as their ids: "12 7 3".
type numbers struct{ size int }

func (n numbers) Encode(text string) []int {
	ids := []int{}
	for word := range strings.FieldsSeq(text) {
		if id, err := strconv.Atoi(word); err == nil && id >= 0 && id < n.size {
			ids = append(ids, id)
		}
	}
	return ids
}

func (n numbers) EncodeSpecial(text string) []int { return n.Encode(text) }
func (n numbers) Size() int                       { return n.size }
func (n numbers) Piece(id int) string             { return strconv.Itoa(id) }
func (n numbers) NewDecoder() tokenizer.Decoder   { return n }
func (n numbers) Next(id int) string              { return " " + strconv.Itoa(id) }
func (n numbers) Flush() string                   { return "" }

func spell(ids []int) string { return strings.Trim(fmt.Sprint(ids), "[]") }

// reference returns an engine of a golden model and the results of the original.
func reference(t *testing.T, dir string) (*Engine, *checkpoint.File, []int) {
	t.Helper()
	m, err := arch.Open(os.DirFS("arch/testdata"), dir)
	if err != nil {
		t.Fatal(err)
	}
	m.Tokenizer = numbers{m.Tokens}
	e, err := New(m, Config{Name: dir})
	if err != nil {
		t.Fatal(err)
	}
	f, err := checkpoint.Open(os.DirFS("arch/testdata"), dir+"/golden.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	raw, err := f.Raw("ids")
	if err != nil {
		t.Fatal(err)
	}
	var ids []int
	for b := make([]byte, 8); ; {
		if n, _ := raw.Read(b); n < 8 {
			return e, f, ids
		}
		ids = append(ids, int(b[0])|int(b[1])<<8)
	}
}

func values(t *testing.T, f *checkpoint.File, name string) []float32 {
	t.Helper()
	v, err := f.Float32(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// logprob returns the log-probability of a token under a row of golden logits, and the
// likeliest token.
func logprob(logits []float32, id int) (l float64, argmax int) {
	sum := 0.0
	for i, v := range logits {
		sum += math.Exp(float64(v))
		if v > logits[argmax] {
			argmax = i
		}
	}
	return float64(logits[id]) - math.Log(sum), argmax
}

// A score is the sum of the original implementation's log-probabilities.
func TestScore(t *testing.T) {
	e, f, ids := reference(t, "gpt2")
	logits, vocab := values(t, f, "logits"), e.model.Vocab
	const cut = 5
	want, greedy, argmax := 0.0, true, ""
	for i := cut; i < len(ids); i++ {
		l, best := logprob(logits[(i-1)*vocab:i*vocab], ids[i])
		want += l
		greedy = greedy && best == ids[i]
		argmax += " " + strconv.Itoa(best)
	}
	for name, req := range map[string]*llm.ScoreRequest{
		"text":          {Prompt: llm.Text(spell(ids[:cut])), Continuation: " " + spell(ids[cut:]), Top: 2},
		"spaces before": {Prompt: llm.Text(spell(ids[:cut]) + "  \n"), Continuation: spell(ids[cut:]), Top: 2},
		"tokens":        {Prompt: llm.Prompt{Parts: []llm.Part{{Tokens: ids[:cut]}}}, Continuation: spell(ids[cut:]), Top: 2},
	} {
		got, usage, err := e.Score(t.Context(), req)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if math.Abs(got.Logprob-want) > 1e-4 || got.Greedy != greedy || got.Argmax != argmax {
			t.Errorf("%s: %+v, want %v %v %q", name, got, want, greedy, argmax)
		}
		if len(got.Tokens) != len(ids)-cut || got.Tokens[0].ID != ids[cut] || len(got.Tokens[0].Top) != 2 || usage.Input != len(ids) {
			t.Errorf("%s: tokens %+v, usage %+v", name, got.Tokens, usage)
		}
	}
}

// A continuation of likeliest tokens is greedy, and its text is the argmax.
func TestScoreGreedy(t *testing.T) {
	e, _, ids := reference(t, "gpt2")
	req := request(spell(ids[:4]))
	req.MaxTokens = new(3)
	rows, _ := collect(t, e, req)
	got, _, err := e.Score(t.Context(), &llm.ScoreRequest{Prompt: llm.Text(spell(ids[:4])), Continuation: rows[0].Text})
	if err != nil || !got.Greedy || got.Argmax != rows[0].Text || len(got.Tokens[0].Top) != 0 {
		t.Errorf("%q: %+v, %v", rows[0].Text, got, err)
	}
}

// The end-of-text token stands for an empty context, as in TextSynth.
func TestScoreEmptyContext(t *testing.T) {
	e, _, ids := reference(t, "gpt2")
	end := llm.Prompt{Parts: []llm.Part{{Tokens: []int{e.empty}}}}
	want, _, err := e.Score(t.Context(), &llm.ScoreRequest{Prompt: end, Continuation: spell(ids)})
	if err != nil {
		t.Fatal(err)
	}
	for _, prompt := range []llm.Prompt{{}, llm.Text(""), llm.Text("  ")} {
		got, usage, err := e.Score(t.Context(), &llm.ScoreRequest{Prompt: prompt, Continuation: spell(ids)})
		if err != nil || got.Logprob != want.Logprob || len(got.Tokens) != len(ids) {
			t.Errorf("%+v: %+v, %v, want %v", prompt, got, err, want.Logprob)
		}
		if usage.Input != 1+len(ids) {
			t.Errorf("%+v: %+v", prompt, usage)
		}
	}
}

// If the padding of the vocabulary is likeliest, the best real token is returned instead.
func TestScorePadding(t *testing.T) {
	e, _, ids := reference(t, "gpt2")
	e.tokens = e.model.Vocab / 2
	for i := range ids {
		ids[i] %= e.tokens
	}
	for top := range 4 {
		got, _, err := e.Score(t.Context(), &llm.ScoreRequest{Prompt: llm.Text(spell(ids[:1])), Continuation: " " + spell(ids[1:]), Top: top})
		if err != nil {
			t.Fatal(err)
		}
		for _, tok := range got.Tokens {
			if len(tok.Top) != top || slices.ContainsFunc(tok.Top, func(o llm.Token) bool { return o.ID >= e.tokens }) {
				t.Errorf("%d likeliest of the first %d: %+v", top, e.tokens, tok.Top)
			}
		}
	}
}

func TestScoreRefuses(t *testing.T) {
	e, _, _ := reference(t, "gpt2")
	for name, test := range map[string]struct {
		req   *llm.ScoreRequest
		code  llm.Code
		param string
	}{
		"no continuation": {&llm.ScoreRequest{Prompt: llm.Text("1")}, llm.Invalid, "continuation"},
		"no token":        {&llm.ScoreRequest{Prompt: llm.Text("1"), Continuation: " "}, llm.Invalid, "continuation"},
		"chat":            {&llm.ScoreRequest{Prompt: llm.Prompt{Messages: []llm.Message{{Role: "user"}}}, Continuation: "1"}, llm.Invalid, ""},
		"too long":        {&llm.ScoreRequest{Prompt: llm.Text(strings.Repeat("1 ", 2*e.model.Context)), Continuation: " 1"}, llm.TooLong, ""},
		"no room":         {&llm.ScoreRequest{Prompt: llm.Text("1"), Continuation: strings.Repeat(" 1", e.model.Context)}, llm.TooLong, "continuation"},
		"far too long":    {&llm.ScoreRequest{Prompt: llm.Text("1"), Continuation: strings.Repeat(" 1", 100*e.model.Context)}, llm.TooLong, "continuation"},
		"negative top":    {&llm.ScoreRequest{Prompt: llm.Text("1"), Continuation: " 2", Top: -1}, llm.Invalid, "logprobs"},
		"unknown token":   {&llm.ScoreRequest{Prompt: llm.Prompt{Parts: []llm.Part{{Tokens: []int{1 << 20}}}}, Continuation: " 2"}, llm.Invalid, "prompt"},
	} {
		if _, _, err := e.Score(t.Context(), test.req); err == nil || llm.AsError(err).Code != test.code || llm.AsError(err).Param != test.param {
			t.Errorf("%s: %v, want %s of %q", name, err, test.code, test.param)
		}
	}
}

// Layers equal those of the original implementation, with every pooling.
func TestEmbed(t *testing.T) {
	for _, dir := range []string{"gpt2", "llama"} {
		e, f, ids := reference(t, dir)
		width, last := e.model.Width, len(e.model.Decoder)
		req := &llm.EmbedRequest{Prompts: []llm.Prompt{{Parts: []llm.Part{{Tokens: ids}}}}, Layers: []int{0, 1, -1}}
		got, usage, err := e.Embed(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		if usage.Input != len(ids) || len(got[0].Tokens) != len(ids) || got[0].Layers[2].Index != last {
			t.Errorf("%s: usage %+v, %d tokens, layer %d", dir, usage, len(got[0].Tokens), got[0].Layers[2].Index)
		}
		for i, layer := range []int{0, 1, last} {
			want := values(t, f, fmt.Sprintf("hidden.%d", layer))
			for j, vector := range got[0].Layers[i].Vectors {
				near(t, fmt.Sprintf("%s: layer %d, token %d", dir, layer, j), vector, want[j*width:(j+1)*width])
			}
		}
		req.Layers, req.Pooling = []int{1}, []llm.Pooling{llm.PoolMean, llm.PoolMax, llm.PoolLast, llm.PoolAbsMax}
		if got, _, err = e.Embed(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		want := pooled(values(t, f, "hidden.1"), width)
		for i, p := range req.Pooling {
			near(t, fmt.Sprintf("%s: %s", dir, p), got[0].Layers[0].Vectors[i], want[p])
		}
	}
}

// pooled computes every pooling of rows of the given width.
func pooled(rows []float32, width int) map[llm.Pooling][]float32 {
	out, n := map[llm.Pooling][]float32{}, len(rows)/width
	for i := range width {
		mean, top, abs := 0.0, rows[i], rows[i]
		for r := range n {
			v := rows[r*width+i]
			mean += float64(v) / float64(n)
			top = max(top, v)
			if math.Abs(float64(v)) > math.Abs(float64(abs)) {
				abs = v
			}
		}
		for p, v := range map[llm.Pooling]float32{
			llm.PoolMean: float32(mean), llm.PoolMax: top, llm.PoolLast: rows[(n-1)*width+i], llm.PoolAbsMax: abs,
		} {
			out[p] = append(out[p], v)
		}
	}
	return out
}

func near(t *testing.T, what string, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, want %d", what, len(got), len(want))
	}
	for i := range want {
		if d := math.Abs(float64(got[i] - want[i])); !(d <= 1e-4*max(1, math.Abs(float64(want[i])))) {
			t.Errorf("%s: value %d is %v, want %v", what, i, got[i], want[i])
			return
		}
	}
}

// Without layers a text has one vector; texts do not affect each other's vectors.
func TestSentenceVector(t *testing.T) {
	e, _, ids := reference(t, "llama")
	both, usage, err := e.Embed(t.Context(), &llm.EmbedRequest{Prompts: []llm.Prompt{llm.Text(spell(ids)), llm.Text("")}})
	if err != nil {
		t.Fatal(err)
	}
	one, _, err := e.Embed(t.Context(), &llm.EmbedRequest{Prompts: []llm.Prompt{llm.Text("")}})
	if err != nil {
		t.Fatal(err)
	}
	if len(both[0].Layers) != 1 || len(both[0].Layers[0].Vectors) != 1 || len(both[0].Layers[0].Vectors[0]) != e.model.Width {
		t.Fatalf("%+v", both[0].Layers)
	}
	near(t, "an empty text", both[1].Layers[0].Vectors[0], one[0].Layers[0].Vectors[0])
	if usage.Input < len(ids)+1 {
		t.Errorf("%+v", usage)
	}
}

func TestEmbedRefuses(t *testing.T) {
	e, _, _ := reference(t, "gpt2")
	text := []llm.Prompt{llm.Text("1 2")}
	for name, req := range map[string]*llm.EmbedRequest{
		"no prompt":       {},
		"layer":           {Prompts: text, Layers: []int{99}},
		"negative layer":  {Prompts: text, Layers: []int{-9}},
		"only pooling":    {Prompts: text, Pooling: []llm.Pooling{llm.PoolMax}},
		"pooling":         {Prompts: text, Layers: []int{0}, Pooling: []llm.Pooling{"sum"}},
		"too long":        {Prompts: []llm.Prompt{llm.Text(strings.Repeat("1 ", e.model.Context+1))}},
		"too many texts":  {Prompts: make([]llm.Prompt, 2049)},
		"too much memory": {Prompts: text, Layers: make([]int, 1<<20)},
	} {
		e.memory = 1 << 24
		if _, _, err := e.Embed(t.Context(), req); err == nil || llm.AsError(err).Code == llm.Internal {
			t.Errorf("%s: %v", name, err)
		}
	}
}
