package runtimeapi_test

import (
	"testing"

	"glossa/pkg/host/runtimeapi"
)

// Only last digits may differ, by one.
func TestAlike(t *testing.T) {
	const want = `200 {"value":[0.08800,-1.50000],"n":3,"version":"1.2.3"}`
	for got, alike := range map[string]bool{
		want: true,
		`200 {"value":[0.08801,-1.50001],"n":3,"version":"1.2.3"}`:  true,
		`200 {"value":[0.08802,-1.50000],"n":3,"version":"1.2.3"}`:  false,
		`200 {"value":[0.08800,1.50000],"n":3,"version":"1.2.3"}`:   false,
		`200 {"value":[0.08800],"n":3,"version":"1.2.3"}`:           false,
		`200 {"value":[0.08800,-1.50000],"n":4,"version":"1.2.3"}`:  false,
		`500 {"value":[0.08800,-1.50000],"n":3,"version":"1.2.3"}`:  false,
		`200 {"value":[0.088001,-1.50000],"n":3,"version":"1.2.3"}`: false,
	} {
		if runtimeapi.Alike(got, want) != alike {
			t.Errorf("%s: alike is not %t", got, alike)
		}
	}
}
