package fit_test

import (
	"errors"
	"strings"
	"testing"

	"glossa/pkg/fit"
)

const gb = 1_000_000_000

// llama is the list of an 8B model, sizes rounded.
func llama() []fit.Candidate {
	return []fit.Candidate{
		{"IQ2_M", 2.9 * gb}, {"Q2_K", 3.2 * gb}, {"Q3_K_M", 4 * gb}, {"Q4_K_S", 4.7 * gb}, {"Q4_K_M", 4.9 * gb},
		{"Q5_K_M", 5.7 * gb}, {"Q6_K", 6.6 * gb}, {"Q8_0", 8.5 * gb}, {"F16", 16.1 * gb},
	}
}

func TestChoose(t *testing.T) {
	for name, test := range map[string]struct {
		list []fit.Candidate
		room int64
		want string // "": an error
		says string
	}{
		"much memory":                   {llama(), 64 * gb, "Q8_0", "closest to the original"},
		"Q8_0 takes just half":          {llama(), 17 * gb, "Q8_0", "at most half"},
		"Q8_0 takes more than half":     {llama(), 17*gb - 2, "Q4_K_M", "common balance"},
		"Q4_K_M fits exactly":           {llama(), 4.9 * gb, "Q4_K_M", "and fits"},
		"a neighbour fits":              {llama(), 4.8 * gb, "Q4_K_S", "best of those that fit"},
		"three bits":                    {llama(), 4.5 * gb, "Q3_K_M", "best of those that fit"},
		"two bits, and not IQ2":         {llama(), 3.5 * gb, "Q2_K", "best of those that fit"},
		"nothing fits":                  {llama(), 3 * gb, "", "its smallest form, Q2_K, needs 3.2 GB, and weights may take 3.0 GB"},
		"unknown memory":                {llama(), 0, "Q4_K_M", "not known"},
		"one that is large":             {[]fit.Candidate{{"F16", gb}}, 2 * gb, "F16", "best of those that fit"},
		"lower case":                    {[]fit.Candidate{{"f16", 3}, {"q4_k_m", 2}}, 3, "q4_k_m", "fits"},
		"five bits rather than sixteen": {[]fit.Candidate{{"F16", 3}, {"Q5_0", 2}}, 3, "Q5_0", "best"},
		"unsupported ones":              {[]fit.Candidate{{"IQ1_S", 1}, {"TQ1_0", 1}}, gb, "", "none of its quantisations is supported"},
		"none":                          {nil, gb, "", "none of its quantisations"},
	} {
		got, err := fit.Choose(test.list, test.room)
		switch {
		case test.want == "":
			if err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("%s: %v, want %q", name, err, test.says)
			}
		case err != nil:
			t.Errorf("%s: %v", name, err)
		case test.list[got.Index].Name != test.want || !strings.Contains(got.Reason, test.says):
			t.Errorf("%s: %s %s, want %s and %q", name, test.list[got.Index].Name, got.Reason, test.want, test.says)
		}
	}
}

func TestFormat(t *testing.T) {
	sizes := map[string]int64{"stored": 8 * gb, "f32": 16 * gb, "bf16": 8 * gb, "q8_0": 4.2 * gb, "q4_0": 2.2 * gb}
	for room, want := range map[int64]string{0: "stored", 20 * gb: "stored", 8 * gb: "stored", 8*gb - 1: "q8_0", 4.2 * gb: "q8_0", 4 * gb: "q4_0", 2.2 * gb: "q4_0"} {
		name, reason, err := fit.Format(sizes, room)
		if name != want || err != nil || (reason == "") != (want == "stored") {
			t.Errorf("%d: %q, %q, %v, want %s", room, name, reason, err, want)
		}
	}
	if _, reason, _ := fit.Format(sizes, 5*gb); reason != "its weights need 8.0 GB as stored, and may take 5.0 GB: they are loaded as q8_0, which needs 4.2 GB" {
		t.Error(reason)
	}
	_, _, err := fit.Format(sizes, gb)
	if large, ok := errors.AsType[*fit.TooLargeError](err); !ok || large.Name != "q4_0" || large.Room != gb {
		t.Errorf("%v", err)
	}
	same := map[string]int64{"stored": 8 * gb, "q4_k": 2 * gb, "q6_k": 2 * gb, "q8_0": 2 * gb}
	for range 20 {
		name, _, _ := fit.Format(same, 3*gb)
		_, _, err := fit.Format(same, gb)
		if large, ok := errors.AsType[*fit.TooLargeError](err); name != "q8_0" || !ok || large.Name != "q8_0" {
			t.Fatalf("of formats of one size %q, %v", name, err)
		}
	}
	if name, _, err := fit.Format(map[string]int64{"stored": 4 * gb, "f32": 0}, gb); err == nil {
		t.Errorf("a format without weights was chosen: %q", name)
	}
}
