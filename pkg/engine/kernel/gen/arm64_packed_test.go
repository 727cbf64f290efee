package main

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestWordsOfGNU assembles the instructions in the words' comments with GNU as, for the
// oldest supported CPU.
func TestWordsOfGNU(t *testing.T) {
	const prefix = "aarch64-linux-gnu-"
	if _, err := exec.LookPath(prefix + "as"); err != nil {
		t.Skip("GNU as for arm64 is not installed; the codes in known are what it once said")
	}
	list, err := filesARM64()
	if err != nil {
		t.Fatal(err)
	}
	for name, march := range map[string]string{"kernel_neon_arm64.s": "armv8-a", "kernel_dotprod_arm64.s": "armv8.2-a+dotprod", "kernel_i8mm_arm64.s": "armv8.2-a+i8mm"} {
		var source strings.Builder
		var want []byte
		for _, w := range wordLine.FindAllStringSubmatch(string(list[name]), -1) {
			code, err := strconv.ParseUint(w[1], 16, 32)
			if err != nil {
				t.Fatal(err)
			}
			source.WriteString(w[2] + "\n")
			want = binary.LittleEndian.AppendUint32(want, uint32(code))
		}
		dir := t.TempDir()
		object, raw := filepath.Join(dir, "words.o"), filepath.Join(dir, "words")
		as := exec.Command(prefix+"as", "-march="+march, "-o", object, "-")
		as.Stdin = strings.NewReader(source.String())
		for _, c := range []*exec.Cmd{as, exec.Command(prefix+"objcopy", "-O", "binary", "-j", ".text", object, raw)} {
			if out, err := c.CombinedOutput(); err != nil {
				t.Fatalf("%s: %v: %.500s", name, err, out)
			}
		}
		got, err := os.ReadFile(raw)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s: GNU as makes other words", name)
		}
	}
}

// TestInstructions checks the instruction counts of the inner loops that comments state.
func TestInstructions(t *testing.T) {
	list, err := filesARM64()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		file, routine, label string
		version, want        int // versions are of 1, 2, ... rows, or of 3 and 4 pairs of rows
	}{
		{"dotprod", "tileQ8Dotprod", "block", 8, 137}, {"dotprod", "tileQ8Dotprod", "block", 1, 110},
		{"dotprod", "tileQ4Dotprod", "block", 8, 136}, {"dotprod", "tileQ4Dotprod", "block", 1, 104},
		{"neon", "tileBF16NEON", "inputs", 8, 86}, {"neon", "tileBF16NEON", "inputs", 1, 41},
		{"neon", "tileF16NEON", "inputs", 8, 88}, {"neon", "tileF16NEON", "inputs", 1, 45},
		{"i8mm", "tileNarrowI8MM", "slice", 2, 163}, {"i8mm", "tileMinima32I8MM", "slice", 2, 185},
		{"i8mm", "expandQ8I8MM", "superblock", 1, 246},
	} {
		_, text, _ := strings.Cut(string(list["kernel_"+c.file+"_arm64.s"]), "TEXT ·"+c.routine)
		versions := strings.Split(text, "\tRET\n")
		loop := regexp.MustCompile(`(?m)^(` + c.label + `\d+):$`).FindStringSubmatch(versions[c.version-1])
		if loop == nil {
			t.Fatalf("%s: no loop in version %d", c.routine, c.version)
		}
		_, body, _ := strings.Cut(versions[c.version-1], loop[0])
		body, _, _ = strings.Cut(body, "\tBNE "+loop[1])
		if got := strings.Count(body, "\n\t") + 1; got != c.want {
			t.Errorf("%s, version %d: %d instructions, want %d", c.routine, c.version, got, c.want)
		}
	}
}
