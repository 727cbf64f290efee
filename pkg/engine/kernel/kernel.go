// Package kernel multiplies matrices and applies the element-wise operations of
// transformers in float32; weights may also be quantised or bfloat16 ([Packed]). It
// knows slices and shapes; it refuses to know models, files and threads.
//
// The pure-Go code in the files generic*.go is the specification and is always
// compiled. The instruction-set tiers (assembly written by gen/main.go) hold to it
// within the rounding that the tests state; products with quantised weights, to the bit. Build tag purego leaves the assembly out.
//
// Formulas: LayerNorm, Ba et al. 2016; RMSNorm, Zhang and Sennrich 2019; GELU (both
// forms), Hendrycks and Gimpel 2016; rotary embedding, Su et al. 2021; AdamW,
// Loshchilov and Hutter 2019. Q8_0 and Q4_0: ggml's reference quantisation and GGUF.
package kernel

//go:generate go run ./gen

import (
	"fmt"
	"strings"
)

// An isa is an instruction set.
type isa uint8

// The instruction sets, of each architecture slowest first.
const (
	isaGeneric isa = iota
	isaAVX2        // with FMA and F16C
	isaAVX512      // F with VNNI; CPUs without VNNI take AVX2
	isaNEON
	isaDotprod // NEON with SDOT, for quantised weights
)

var isaNames = [...]string{isaGeneric: "generic", isaAVX2: "avx2", isaAVX512: "avx512", isaNEON: "neon", isaDotprod: "dotprod"}

// Kernels is one implementation, that is one instruction set, of every operation.
// It is immutable and safe for concurrent use. No operation allocates. Slices that
// are too short for the stated shapes panic, as indexing does.
//
// NaN and infinity follow IEEE 754 through the stated formula: a NaN that enters an
// output's formula makes that output NaN.
type Kernels struct{ isa isa }

// Name returns the name of the instruction set: "generic", "avx2", "avx512", "neon"
// or "dotprod".
func (k *Kernels) Name() string { return isaNames[k.isa] }

// Implementations returns what this CPU can run, generic first, fastest last.
func Implementations() []*Kernels {
	var list []*Kernels
	for _, i := range supported() {
		list = append(list, &Kernels{isa: i})
	}
	return list
}

// Best returns the fastest implementation that this CPU can run.
func Best() *Kernels {
	list := supported()
	return &Kernels{isa: list[len(list)-1]}
}

// ByName returns the implementation of that name, if this CPU can run it.
func ByName(name string) (*Kernels, error) {
	var names []string
	for _, k := range Implementations() {
		if k.Name() == name {
			return k, nil
		}
		names = append(names, k.Name())
	}
	return nil, fmt.Errorf("kernel: no implementation %q on this CPU (available: %s)", name, strings.Join(names, ", "))
}
