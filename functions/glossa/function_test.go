package main

import (
	"strings"
	"testing"
)

func TestFunctionCommand(t *testing.T) {
	var out, problems strings.Builder
	if status := run(t.Context(), []string{"function", "novels"}, strings.NewReader(""), &out, &problems); status != exitUsage || !strings.Contains(problems.String(), `there is no function "novels", only openai, `) {
		t.Errorf("%d %s", status, problems.String())
	}
}
