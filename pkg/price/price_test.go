package price

import (
	"slices"
	"strings"
	"testing"

	"glossa/pkg/llm"
)

// Every price has a name, a unit, a date and a source, and is read by its name.
func TestRows(t *testing.T) {
	table := AWS()
	var names []string
	for _, r := range table.Rows() {
		if r.USD <= 0 || r.USD > llm.Dollar || r.Unit == "" || !strings.HasPrefix(r.Date, "20") || r.Source == "" || table.Of(r.Name) != r.USD {
			t.Errorf("%+v", r)
		}
		names = append(names, r.Name)
	}
	for _, name := range []string{LambdaSecond("arm64"), LambdaSecond("amd64"), LambdaRequest, APIRequest, ManagedFee, FargateVCPU, FargateMemory, EC2MediumHour} {
		if !slices.Contains(names, name) {
			t.Errorf("%s has no row", name)
		}
	}
	if slices.Sort(names); len(slices.Compact(names)) != len(table.Rows()) {
		t.Error("two rows have a name")
	}
	// A million GB-seconds, in dollars: the pricing page's 13.3334.
	if got := table.Of(LambdaSecondARM64).Times(1_000_000).String(); got != "13.3334" {
		t.Error(got)
	}
}

func TestReplace(t *testing.T) {
	table := AWS()
	if err := table.Replace(map[string]string{LambdaRequest: "4e-7", ManagedFee: "0"}); err != nil {
		t.Fatal(err)
	}
	if table.Of(LambdaRequest) != 400_000 || table.Of(ManagedFee) != 0 || AWS().Of(LambdaRequest) != 200_000 {
		t.Errorf("%+v", table.Rows())
	}
	for _, r := range table.Rows() {
		if r.Name == LambdaRequest && (r.Source != "given" || r.Date != "") {
			t.Errorf("%+v", r)
		}
	}
	for want, given := range map[string][2]string{
		`there is no price "gold": known are`: {"gold", "1"},
		"must not be negative":                {FargateVCPU, "-1"},
		"decimal number":                      {FargateVCPU, "NaN"},
		"the highest is 1000":                 {FargateVCPU, "1001"},
	} {
		if err := AWS().Replace(map[string]string{given[0]: given[1]}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %s", given, err, want)
		}
	}
}
