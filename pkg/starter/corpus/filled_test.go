package corpus_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"glossa/pkg/llm"
	"glossa/pkg/starter/corpus"
)

const (
	formPieces = 150    // held-out sentences
	blankLine  = "\n\n" // between pieces
	formsFile  = "../testdata/forms.md"
)

// leastFields are the minimum shares of right fields, in each of the ways.
var leastFields = [3]float64{0.92, 0.9, 0.88}

// formTask is a held-out sentence from which to fill in a form, and the right form.
type formTask struct {
	prompt string
	begun  string // part of the form at the end of the prompt
	want   *corpus.Filled
}

// tally counts fields by kind of form.
type tally struct{ right, all map[string]int }

func (c *tally) add(kind string, right bool) bool {
	c.all[kind]++
	if right {
		c.right[kind]++
	}
	return right
}

// share returns the share of right fields, of one kind or of all.
func (c *tally) share(kinds ...string) float64 {
	right, all := 0, 0
	for _, k := range kinds {
		right, all = right+c.right[k], all+c.all[k]
	}
	return float64(right) / float64(all)
}

// TestFormsAreFilledIn fills in forms greedily from sentences that the model has not
// seen: with keys of its choice, with a key that the prompt requests, as a schema does,
// and from prompts without the blank line that marks the end of a sentence.
func TestFormsAreFilledIn(t *testing.T) {
	if testing.Short() {
		t.Skip("decodes 30,000 tokens")
	}
	s := open(t, "forms")
	ways, counts := formTasks(t, s), [3]*tally{}
	for i, tasks := range ways {
		counts[i] = fillForms(t, s, tasks)
	}
	kinds := []string{"person", "order", "meeting", "weather", "access", "message", "answer"}
	table := "| form | fields right | of a single key | without the blank line |\n|---|---|---|---|\n"
	for _, k := range kinds {
		table += formRow("`"+k+"`", counts, k)
	}
	table += formRow("all", counts, kinds...)
	t.Logf("\n%s", table)
	for i, c := range counts {
		if got := c.share(kinds...); got < leastFields[i] {
			t.Errorf("%.1f %% of the fields are right, at least %.0f %% must be:\n%s", 100*got, 100*leastFields[i], table)
		}
	}
	checkTable(t, formsFile, table, 8) // a field or two of the rarest kind
}

// formRow writes the shares of some kinds.
func formRow(name string, counts [3]*tally, kinds ...string) string {
	row := "| " + name
	for _, c := range counts {
		row += fmt.Sprintf(" | %.1f %%", 100*c.share(kinds...))
	}
	return row + " |\n"
}

// formTasks makes the three tasks of each held-out piece.
func formTasks(t *testing.T, s *starter) (ways [3][]formTask) {
	for i, piece := range strings.Split(s.heldOut(t, 250*formPieces), blankLine)[:formPieces] {
		text, _ := corpus.SplitForm(piece)
		want, err := corpus.FillForm(text)
		if err != nil {
			t.Fatal(err)
		}
		begun := `{"` + want.Keys[i%len(want.Keys)] + `":`
		for w, task := range []formTask{{blankLine + text, "", want}, {blankLine + text + begun, begun, want}, {text, "", want}} {
			ways[w] = append(ways[w], task)
		}
	}
	return ways
}

// fillForms generates from the tasks' prompts, 40 at once.
func fillForms(t *testing.T, s *starter, tasks []formTask) *tally {
	count := &tally{map[string]int{}, map[string]int{}}
	for some := range slices.Chunk(tasks, 40) {
		req := &llm.Request{Params: llm.Params{MaxTokens: new(s.engine.Info().Context), Stop: []string{blankLine}, Temperature: new(0.0)}}
		for _, task := range some {
			req.Prompts = append(req.Prompts, llm.Text(task.prompt))
		}
		for i, row := range generate(t, s.engine, req) {
			some[i].judge(t, row.Text, count)
		}
	}
	return count
}

// judge counts the fields of a form, and the right ones among them. All are wrong in a
// text that is not a form.
func (task *formTask) judge(t *testing.T, text string, count *tally) {
	keys, values, err := corpus.ReadForm(task.begun + strings.TrimPrefix(text, "\n"))
	switch {
	case err != nil:
		keys = task.want.Keys
		t.Log(err)
	case task.begun != "":
		keys = keys[:1]
	}
	kind := task.want.Kind
	if task.want.Keys[0] == "answer" {
		kind = "answer"
	}
	for _, k := range keys {
		want, ok := task.want.Values[k]
		if !count.add(kind, ok && values[k] == want) {
			t.Logf("%s: %s, not %q:\n%s%s", k, want, values[k], task.prompt, text)
		}
	}
}
