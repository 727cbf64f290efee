package main

import (
	"regexp"
	"slices"
	"testing"
)

// Every line of weights is brought ahead once, those of headers and of scales too: one that is not
// is waited for.
func TestPrefetchedLines(t *testing.T) {
	brought := regexp.MustCompile(`PREFETCHT0 \d+\(` + rW + `\)|PREFETCHT1 \S*\(` + rFar + `\)`)
	for _, k := range slices.Concat(byteKinds, codedKinds) {
		for _, as := range []func() *asm{
			func() *asm { return &asm{name: "AVX2", lanes: 8, reg: "Y"} },
			func() *asm { return &asm{name: "VNNI", lanes: 8, reg: "Y", vnni: true} },
			func() *asm { return &asm{name: "AVX512", lanes: 16, reg: "Z"} },
		} {
			for n := 1; n <= as().packedTile(); n++ {
				to := as()
				to.panel(k, n)
				if got := len(brought.FindAll(to.text.Bytes(), -1)); got != linesOf(k) {
					t.Errorf("%s, %s, %d rows: %d lines of %d are brought", to.name, k.kind, n, got, linesOf(k))
				}
			}
		}
	}
}

// linesOf is the number of lines of a superblock that code is written for: those of a part or of a
// slice stand for all.
func linesOf(k packed) int {
	switch {
	case k.coding != nil && k.coding.headed():
		return (k.bytes + headerBytes) / 64
	case k.parts() > 1:
		return partLines + 1
	}
	return k.bytes / 64
}
