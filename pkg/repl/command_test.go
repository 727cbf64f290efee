package repl

import (
	"context"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"glossa/pkg/llm"
	"glossa/pkg/llm/llmtest"
	"glossa/pkg/terminal"
)

func TestCommands(t *testing.T) {
	for _, test := range []struct {
		name, input, out string
		notes            []string
	}{
		{"help", "/help\n", "", []string{"/model [NAME]      continue with", "/exit              leave", "Ctrl-R searches"}},
		{"the model", "/model\n", "", []string{"(novels; /models lists all)"}},
		{"another model", "hi\n/model numbers\nyo\n", "<hi>\n<yo>\n", []string{"(numbers, context of 99 tokens)"}},
		{"a base model", "/model base\n", "", []string{"(base: continues what you write, since it was not trained on conversations)"}},
		{"a model that translates", "/model phrases\nhi\n", "<hi>\n", []string{"(phrases translates: it cannot chat; use novels, numbers or base)"}},
		{"a misspelt model", "/model novel\n", "", []string{`(there is no model "novel": did you mean novels?)`}},
		{"an unknown model", "/model xyz\n", "", []string{`(there is no model "xyz"; use novels, numbers or base)`}},
		{"the list", "/models\n", "", []string{"  phrases                  translates, cannot chat\n* novels                   Model novels\n  numbers  "}},
		{"the system message", "/system\n/system be brief\n/system\n/system \"\"\n/system\n", "", []string{
			"(no system message: /system TEXT sets one)\n(system message set; it applies from the next question)\n(system message: be brief)\n(no system message)\n(no system message: ",
		}},
		{"undo", "a\nb\n/undo\n/undo\n/undo\n", "<a>\n<b>\n", []string{"(forgotten: b)\n(forgotten: a)\n(there is nothing to undo)\n"}},
		{"retry", "/retry\na\n/retry\n", "<a>\n<a>\n", []string{"(there is nothing to retry)\n", "(again: a)\n"}},
		{"an image", "/image cat.png\n", "", []string{"(novels takes text only, no images)"}},
		{"a misspelt command", "/modle x\n", "", []string{"(there is no command /modle: did you mean /model?)"}},
		{"the beginning of a command", "/ret\n", "", []string{"(there is no command /ret: did you mean /retry?)"}},
		{"an unknown command", "/nonsense x\n", "", []string{"(there is no command /nonsense: /help lists the commands)"}},
		{"leave", "/exit\nhi\n", "", nil},
		{"earlier names", "a\n/reset\n/undo\n/quit\nhi\n", "<a>\n", []string{"(the conversation is forgotten)\n(there is nothing to undo)\n"}},
		{"parameters", "/params\n/params temperature=0.5 stop=\"a b\"\n/params\n/params stop=\n/params\n", "", []string{
			"  temperature        not set    0 always", "(temperature=0.5 stop=\"a b\")\n  temperature        0.5  ", `  stop               ["a b"]    end`,
			"(stop=)\n  temperature        0.5 ", "  stop               not set    end",
		}},
		{"wrong parameters change nothing", "/params seed=1 top_p=7\n/params\n", "", []string{"(top_p must be a number above 0 and at most 1)\n", "  seed               not set "}},
	} {
		t.Run(test.name, func(t *testing.T) {
			out, notes, err := converse(t, Config{Models: several(), NoStats: true}, test.input)
			if err != nil || out != test.out {
				t.Errorf("%q, want %q, %v", out, test.out, err)
			}
			for _, want := range test.notes {
				if !strings.Contains(notes, want) {
					t.Errorf("notes %q lack %q", notes, want)
				}
			}
		})
	}
}

func TestChatWithAnUnknownModel(t *testing.T) {
	for name, want := range map[string]string{
		"nope":    `there is no model "nope"; use novels, numbers or base`,
		"phrases": "phrases translates: it cannot chat; use novels, numbers or base",
	} {
		if _, _, err := converse(t, Config{Models: several(), Model: name}, ""); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// A model that cannot chat says what it does.
func TestOtherTasks(t *testing.T) {
	models := fakeModels{[]string{"sentences", "ranks", "moods", "novels"}, map[string]llm.Backend{"sentences": echo{}, "ranks": echo{}, "moods": echo{}, "novels": echo{}}}
	for name, want := range map[string]string{"sentences": "embeds texts", "ranks": "ranks documents", "moods": "classifies texts"} {
		if _, _, err := converse(t, Config{Models: models, Model: name}, ""); err == nil || err.Error() != name+" "+want+": it cannot chat; use novels" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if names := Chatting(t.Context(), models); !slices.Equal(names, []string{"novels"}) {
		t.Errorf("%q", names)
	}
}

// The name of a file or directory is answered with the flag for it.
func TestFileHint(t *testing.T) {
	for name, want := range map[string]string{
		"./empty": "--checkpoints . empty", "../runs/mine": "--checkpoints ../runs mine", "/srv/llama.gguf": "--checkpoints /srv llama",
		"llama.gguf": "--checkpoints . llama", "/srv/qwen/model.safetensors": "--checkpoints /srv qwen", "srv/packed.safetensors": "--checkpoints srv packed",
	} {
		if got := filepath.ToSlash(FileHint(filepath.FromSlash(name))); !strings.HasSuffix(got, want) {
			t.Errorf("%s: %s", name, got)
		}
	}
	for _, name := range []string{"", "novels", "acme/tiny", "llama3.2", "mine.v2:8b"} {
		if got := FileHint(name); got != "" {
			t.Errorf("%s: %s", name, got)
		}
	}
	if _, _, err := converse(t, Config{Models: several(), Model: "./novels"}, ""); err == nil || !strings.Contains(err.Error(), "--checkpoints . novels") {
		t.Error(err)
	}
}

// A failed retry keeps the earlier answer.
func TestRetryFails(t *testing.T) {
	n := 0
	model := echo{say: func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Chunk, error] {
		if n++; n == 2 {
			return func(yield func(llm.Chunk, error) bool) {
				yield(llm.Chunk{}, llm.Errorf(llm.Overloaded, "no room"))
			}
		}
		return llmtest.Script{"x"}.Generate(ctx, req)
	}}
	var prompts []string
	model.prompts = &prompts
	_, notes, err := converse(t, Config{Models: one(model)}, "a\n/retry\nb\n")
	if err != nil || !strings.Contains(notes, "no room") || !slices.Equal(prompts, []string{"a", "a", "a | x | b"}) {
		t.Errorf("%q, %q, %v", prompts, notes, err)
	}
}

// What /params and /system set reaches the model.
func TestSettingsReachTheModel(t *testing.T) {
	var got *llm.Request
	model := echo{say: func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Chunk, error] {
		got = req
		return llmtest.Script{"x"}.Generate(ctx, req)
	}}
	models := fakeModels{[]string{"base"}, map[string]llm.Backend{"base": model}}
	if _, _, err := converse(t, Config{Models: models}, "/params top_p=0.5 seed=7\n/system be brief\nhi\n"); err != nil {
		t.Fatal(err)
	}
	if *got.TopP != 0.5 || *got.Seed != 7 || got.Params.MaxTokens != nil || *got.Defaults.MaxTokens != baseTokens || got.Params.Temperature != nil {
		t.Errorf("%+v", got)
	}
	if m := got.Prompts[0].Messages; len(m) != 2 || m[0].Role != "system" || m[0].Parts[0].Text != "be brief" {
		t.Errorf("%+v", m)
	}
}

// trackedModels records the contexts with which its models are opened.
type trackedModels struct {
	fakeModels
	contexts map[string]context.Context
}

func (h trackedModels) Open(ctx context.Context, name string) (*llm.Model, error) {
	h.contexts[name] = ctx
	return h.fakeModels.Open(ctx, name)
}

// A conversation that switches to another model releases the previous one.
func TestChatReleasesModels(t *testing.T) {
	models := trackedModels{fakeModels{[]string{"x", "y"}, map[string]llm.Backend{"y": echo{}}}, map[string]context.Context{}}
	models.backends["x"] = echo{say: func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Chunk, error] {
		if models.contexts["x"].Err() != nil {
			t.Error("the first model is released while it answers")
		}
		return llmtest.Script{"x"}.Generate(ctx, req)
	}}
	models.backends["y"] = echo{say: func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Chunk, error] {
		if models.contexts["x"].Err() == nil || models.contexts["y"].Err() != nil || models.contexts["nope"].Err() == nil {
			t.Error("the first model is not released, or the second is")
		}
		return llmtest.Script{"y"}.Generate(ctx, req)
	}}
	if out, _, err := converse(t, Config{Models: models, Model: "x"}, "hi\n/model y\n/model nope\nhi\n"); err != nil || out != "x\ny\n" {
		t.Errorf("%q, %v", out, err)
	}
}

func TestComplete(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"chat.json", "cat.png", ".hidden", "two words"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "chats"), 0o700); err != nil {
		t.Fatal(err)
	}
	s := newSession(Config{Models: several()}, Streams{}, nil)
	for line, want := range map[string][]string{
		"/mo":                         {"/model", "/models"},
		"/":                           {"/help", "/model", "/models", "/system", "/params", "/save", "/load", "/undo", "/retry", "/clear", "/image", "/exit"},
		"hello":                       nil,
		"":                            nil,
		"/model ":                     {"novels", "numbers", "base"},
		"/model nu":                   {"numbers"},
		"/system no":                  nil,
		"/params seed=1 to":           {"top_p=", "top_k="},
		"/load " + dir + "/ch":        {dir + "/chat.json", dir + "/chats/"},
		"/save " + dir + "/":          {dir + "/cat.png", dir + "/chat.json", dir + "/chats/"},
		"/image " + dir + "/nowhere/": nil,
	} {
		var got []string
		for _, c := range s.complete(t.Context(), line) {
			got = append(got, c.Text)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
	var described terminal.Completion = s.complete(t.Context(), "/undo")[0]
	if described.Description == "" {
		t.Error("a command is not described")
	}
}

func TestNearest(t *testing.T) {
	names := []string{"novels", "numbers", "phrases"}
	for word, want := range map[string]string{
		"novel": "novels", "NOVELS": "novels", "nvoels": "novels", "numbes": "numbers", "xyz": "", "n": "", "phrasesx": "phrases", "": "",
	} {
		if got := nearest(word, names); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}

func TestSet(t *testing.T) {
	for _, test := range []struct{ assignment, wrong string }{
		{"temperature=0", ""}, {"temperature=2", ""}, {"temperature=2.1", "temperature must be a number from 0 to 2"},
		{"temperature=NaN", "temperature must be a number from 0 to 2"}, {"temperature=x", "temperature must be a number from 0 to 2"},
		{"temperature", "temperature needs a value: temperature=VALUE"}, {"temperature=", ""},
		{"top_p=0", "top_p must be a number above 0 and at most 1"}, {"top_p=1", ""},
		{"max_tokens=0", "max_tokens must be a positive integer"}, {"max_tokens=1", ""}, {"max_tokens=1.5", "max_tokens must be a positive integer"},
		{"top_k=-1", "top_k must be an integer of at least 0"}, {"top_k=0", ""},
		{"seed=-5", ""}, {"seed=x", "seed must be an integer"},
		{"presence_penalty=-3", "presence_penalty must be a number from -2 to 2"},
		{"stop=two words", ""}, {`stop=["a",""]`, "stop must be 1 to 8 strings that are not empty"}, {`stop=[1]`, "stop: [1] is not a JSON array of strings"},
		{`stop="a`, `stop: "a is not a JSON string`}, {"stop=[]", "stop must be 1 to 8 strings that are not empty"},
		{"temprature=1", `there is no parameter "temprature": did you mean temperature?`},
		{"xyz=1", `there is no parameter "xyz": use temperature, top_p, top_k, max_tokens, seed, stop, presence_penalty, frequency_penalty or repetition_penalty`},
	} {
		var p llm.Params
		err := Set(&p, test.assignment)
		if err == nil && test.wrong != "" || err != nil && err.Error() != test.wrong {
			t.Errorf("%s: %v, want %q", test.assignment, err, test.wrong)
		}
	}
	var p llm.Params
	for _, assignment := range []string{"seed=7", "stop=[\"a\", \"b\"]", "max_tokens=5", "max_tokens="} {
		if err := Set(&p, assignment); err != nil {
			t.Fatal(err)
		}
	}
	if *p.Seed != 7 || !slices.Equal(p.Stop, []string{"a", "b"}) || p.MaxTokens != nil {
		t.Errorf("%+v", p)
	}
}

func TestAssignments(t *testing.T) {
	for text, want := range map[string][]string{
		"a=1  b=2":          {"a=1", "b=2"},
		`stop="x y" seed=1`: {`stop="x y"`, "seed=1"},
		`stop=["a b","c"]`:  {`stop=["a b","c"]`},
		"seed= top_p=1":     {"seed=", "top_p=1"},
		"seed":              {"seed"},
		"":                  nil,
	} {
		if got, err := assignments(text); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q, %v", text, got, want, err)
		}
	}
	if _, err := assignments(`stop="x`); err == nil {
		t.Error("an open string is accepted")
	}
}
