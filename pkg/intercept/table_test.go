package intercept

import (
	"context"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"glossa/pkg/llm"
	"glossa/pkg/llm/llmtest"
)

// interfaces returns the exported interfaces declared in Go files.
func interfaces(t *testing.T, files map[string]any) (names []string) {
	t.Helper()
	for name, source := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, source, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok && spec.Name.IsExported() {
				if _, ok := spec.Type.(*ast.InterfaceType); ok {
					names = append(names, spec.Name.Name)
				}
			}
			return true
		})
	}
	return names
}

// without returns the capabilities in files that have no row in the table.
func without(t *testing.T, files map[string]any) []string {
	return slices.DeleteFunc(interfaces(t, files), func(name string) bool {
		return name == "Models" || // the catalog
			slices.ContainsFunc(table, func(r row) bool { return r.capability == capabilityOf(name, r) })
	})
}

// capabilityOf returns the type of r if it is the interface of pkg/llm with that name.
func capabilityOf(name string, r row) reflect.Type {
	if r.capability.Name() == name && r.capability.PkgPath() == reflect.TypeFor[llm.Model]().PkgPath() {
		return r.capability
	}
	return nil
}

// Every capability of pkg/llm has a row, and the test detects one without a row.
func TestEveryCapabilityHasARow(t *testing.T) {
	files := map[string]any{}
	list, err := filepath.Glob("../llm/*.go")
	if err != nil || len(list) < 5 {
		t.Fatal(list, err)
	}
	for _, name := range list {
		if !strings.HasSuffix(name, "_test.go") {
			files[name] = nil // read from disk
		}
	}
	if n := len(interfaces(t, files)); n != len(table)+1 {
		t.Errorf("pkg/llm has %d interfaces, the table %d rows", n, len(table))
	}
	if missing := without(t, files); len(missing) > 0 {
		t.Errorf("these capabilities have no row in capabilities.go: %q", missing)
	}
	files["summarizer.go"] = "package llm\n\ntype Summarizer interface { Summarize(ctx context.Context) (Usage, error) }"
	if missing := without(t, files); !slices.Equal(missing, []string{"Summarizer"}) {
		t.Errorf("the table lacks %q", missing)
	}
}

// The rows name each method that takes a context. A method without usage in its results
// is free, and a free one has none.
func TestRows(t *testing.T) {
	streams := []string{"generate", "invoke"} // these report their usage with the last chunk, and in keys
	for _, r := range table {
		var named, working []string
		for _, m := range r.methods {
			named = append(named, m.Name)
		}
		for method := range r.capability.Methods() {
			if method.Type.NumIn() == 0 || method.Type.In(0) != reflect.TypeFor[context.Context]() {
				continue
			}
			name := strings.ToLower(method.Name)
			working = append(working, name)
			usage := slices.Contains(streams, name)
			for out := range method.Type.Outs() {
				usage = usage || out == reflect.TypeFor[llm.Usage]()
			}
			if i := slices.Index(named, name); i >= 0 && r.methods[i].Free == usage {
				t.Errorf("%s.%s: free is %v", r.capability, method.Name, r.methods[i].Free)
			}
		}
		slices.Sort(named)
		slices.Sort(working)
		if !slices.Equal(named, working) {
			t.Errorf("%s has the methods %q, its row %q", r.capability, working, named)
		}
		if !reflect.TypeOf(r.zero).Implements(r.capability) {
			t.Errorf("%T does not stand for %s", r.zero, r.capability)
		}
		for _, other := range table {
			if other.capability != r.capability && r.capability.Name() != "Backend" && reflect.TypeOf(r.zero).Implements(other.capability) {
				t.Errorf("%T stands for %s too", r.zero, other.capability)
			}
		}
	}
}

// nothing is an interceptor that passes calls through.
type nothing struct{ Interceptor }

// able has every capability, and one that is not in the table.
type able struct {
	llmtest.Script
	llm.Invoker
	llm.Scorer
	llm.Embedder
	llm.Reranker
	llm.Classifier
	llm.Translator
	llm.Tokenizer
	llm.TokenizerFile
	llm.Renderer
	llm.Mapper
}

func (able) Summarize(context.Context, []string) ([]float64, llm.Usage, error) {
	return nil, llm.Usage{}, nil
}

// has returns the capabilities of b.
func has(b llm.Backend) (names []string) {
	for name, err := range map[string]error{
		"invoker": is[llm.Invoker](b), "scorer": is[llm.Scorer](b), "embedder": is[llm.Embedder](b), "translator": is[llm.Translator](b), "reranker": is[llm.Reranker](b), "classifier": is[llm.Classifier](b),
		"tokenizer": is[llm.Tokenizer](b), "file": is[llm.TokenizerFile](b), "renderer": is[llm.Renderer](b), "mapper": is[llm.Mapper](b),
		"backend": is[llm.Backend](b), "summarizer": is[Summarizer](b), "like a mapper": is[interface {
			Unmapped(map[string]any) []string
		}](b),
	} {
		if err == nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func is[C any](b llm.Backend) error {
	_, err := llm.As[C](b)
	return err
}

// A wrapped model has those of its capabilities that are in the table, and no others,
// whatever the wrappers.
func TestCapabilities(t *testing.T) {
	for _, b := range []llm.Backend{
		llmtest.Script{}, able{}, struct {
			llmtest.Script
			llm.Scorer
		}{}, struct {
			llm.Backend
			llm.Mapper
		}{}, &llm.Model{Backend: able{}},
	} {
		want := slices.DeleteFunc(has(b), func(name string) bool { return name == "summarizer" })
		m := &llm.Model{Backend: b}
		for range 3 {
			m = Wrap(m, nothing{})
			if got := has(m); !slices.Equal(got, want) {
				t.Errorf("%T: %q, want %q", b, got, want)
			}
		}
	}
	all := slices.DeleteFunc(has(able{}), func(name string) bool {
		return slices.Contains([]string{"summarizer", "invoker", "mapper", "like a mapper"}, name)
	})
	if got := has(Wrap(Broken(llm.ModelInfo{}, llm.Errorf(llm.Full, "")), nothing{})); !slices.Equal(got, all) {
		t.Errorf("a broken model has %q, want %q", got, all)
	}
	if got := has(Wrap(WithSummarizer(&llm.Model{Backend: able{}}), nothing{})); !slices.Contains(got, "summarizer") {
		t.Errorf("with its row: %q", got)
	}
}

// Token counts in keys are read in every provider's spelling; the last ones hold, and
// values that are not numbers are ignored.
func TestNote(t *testing.T) {
	for v, want := range map[any]int{
		json.Number("12"): 12, json.Number("12.0"): 12, json.Number("1e1"): 10, 7.0: 7, 3: 3,
		json.Number("-1"): 5, -1.0: 5, -1: 5, json.Number("1e300"): 5, json.Number("x"): 5, "9": 5, nil: 5,
	} {
		for _, name := range []string{"generated_tokens", "output_tokens"} {
			used := llm.Usage{Input: 2, Output: 5}
			if told := note(&used, map[string]any{name: v}); told != (want != 5) || used != (llm.Usage{Input: 2, Output: want}) {
				t.Errorf("%v: %+v, told %v", v, used, told)
			}
		}
		used := llm.Usage{Input: 5, Output: 2}
		if note(&used, map[string]any{"input_tokens": v}); used != (llm.Usage{Input: want, Output: 2}) {
			t.Errorf("%v: %+v", v, used)
		}
	}
}
