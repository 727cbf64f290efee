//go:build cdk

package stacks_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"

	"glossa/infra/plan"
	"glossa/infra/policy"
	"glossa/infra/stacks"
	"glossa/pkg/app"
	"glossa/pkg/deployment"
)

var update = flag.Bool("update", false, "rewrite infra/policy/testdata/*/*.json")

// TestMain ends the process of the CDK, which all tests share: it takes seconds to start.
func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	jsii.Close()
	os.Exit(code)
}

// testdata has a directory for each variant of settings: the contexts and the expected
// templates.
const testdata = "../policy/testdata"

// variants returns the contexts of each variant by its name, which is its stage.
func variants(t *testing.T) map[string]map[string]any {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(testdata, "*", "contexts.json"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	all := map[string]map[string]any{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var own map[string]any
		if err := json.Unmarshal(text, &own); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all[filepath.Base(filepath.Dir(file))] = own
	}
	return all
}

// contexts returns the contexts of cdk.json merged with an operator's.
func contexts(t *testing.T, own map[string]any) *map[string]any {
	t.Helper()
	text, err := os.ReadFile("../cdk.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Context map[string]any }
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	maps.Copy(file.Context, own)
	return &file.Context
}

// programs returns a directory with placeholders of the functions' programs.
func programs(t *testing.T) string {
	t.Helper()
	dist := t.TempDir()
	for _, family := range append(app.Families(), deployment.Canary) {
		dir := filepath.Join(dist, plan.Architecture, family)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "bootstrap"), []byte(family), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dist
}

// TestStacks synthesises each variant and checks the rules.
func TestStacks(t *testing.T) {
	dist, all := programs(t), variants(t)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		t.Run(name, func(t *testing.T) {
			out := t.TempDir()
			app := awscdk.NewApp(&awscdk.AppProps{Context: contexts(t, all[name]), Outdir: &out})
			p, err := stacks.Plan(app, "eu-west-1")
			if err != nil {
				t.Fatal(err)
			}
			templates, err := stacks.Synthesise(app, p, dist)
			if err != nil {
				t.Fatal(err)
			}
			if err := policy.Check(p, templates); err != nil {
				t.Error(err)
			}
			golden(t, name, out, p.Second() != nil)
			if name == "prod" {
				dashboard(t, templates.Watch)
			}
		})
	}
}

// asset matches the hash of a program in the name of its upload.
var asset = regexp.MustCompile(`[0-9a-f]{64}`)

// golden compares the templates of a variant with the golden ones, which the rules' tests
// read.
func golden(t *testing.T, variant, out string, second bool) {
	t.Helper()
	stacks := []string{"data", "api", "watch"}
	if second {
		stacks = append(stacks, "replica-data", "replica-api", "replica-watch")
	}
	for _, stack := range stacks {
		got, err := os.ReadFile(filepath.Join(out, "glossa-"+variant+"-"+stack+".template.json"))
		if err != nil {
			t.Fatal(err)
		}
		got = append(asset.ReplaceAll(got, []byte("ASSET")), '\n')
		file := filepath.Join(testdata, variant, stack+".json")
		if *update {
			if err := os.WriteFile(file, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) {
			t.Errorf("the stack %s differs from %s: run this test with -update and read the difference\n%s", stack, file, difference(got, want))
		}
	}
}

// difference returns the first lines that differ.
func difference(got, want []byte) string {
	a, b := strings.Split(string(got), "\n"), strings.Split(string(want), "\n")
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	return fmt.Sprintf("line %d\ngot\n%s\nwant\n%s", i+1,
		strings.Join(a[i:min(len(a), i+10)], "\n"), strings.Join(b[i:min(len(b), i+10)], "\n"))
}

// dashboard checks that the cost of tokens is shown exactly if a price is set.
func dashboard(t *testing.T, watch policy.Template) {
	t.Helper()
	text, err := json.Marshal(watch)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"(in0*0.3+out0*0.4)/1000000", "(in1*0+out1*0.25)/1000000", "amazon.titan", "time_to_first_token", "glossa/prod",
		"d0/1000*10240/1024*0.0000133334+n0*0.0000002", "d1/1000*1769/1024*", "n*0.0000035",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the dashboard lacks %s", want)
		}
	}
}

func TestPlanRefuses(t *testing.T) {
	for name, own := range map[string]map[string]any{
		"memroy": {"memroy": "1"}, "stage": {"stage": "A"}, "reserved": {"reserved": -1.0}, "us-west-2 is the first region": {"replica": "us-west-2"},
	} {
		out := t.TempDir()
		app := awscdk.NewApp(&awscdk.AppProps{Context: contexts(t, own), Outdir: &out})
		if _, err := stacks.Plan(app, "us-west-2"); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v: %v", own, err)
		}
	}
}
