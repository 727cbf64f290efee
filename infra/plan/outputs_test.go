package plan

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"glossa/pkg/app"
	"glossa/pkg/deployment"
)

// The document and the stacks use the same names of outputs.
func TestOutputs(t *testing.T) {
	outputs := deployment.Outputs(app.Families())
	for _, name := range outputs {
		outputs = append(outputs, deployment.ReplicaOutput(name))
	}
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("[(`]output ([A-Za-z0-9]+)").FindAllSubmatch(readme, -1)
	if len(found) < 4 {
		t.Errorf("%q: the document names other outputs", found)
	}
	for _, name := range found {
		if !slices.Contains(outputs, string(name[1])) {
			t.Errorf("README.md: %q is not an output: %v", name[1], outputs)
		}
	}
}
