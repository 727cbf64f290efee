package main

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
)

// asm writes the routines of one instruction set.
type asm struct {
	name   string // suffix of the routines
	lanes  int    // float32 values in a register
	vnni   bool   // uses AVX-VNNI, in addition to AVX2
	reg    string // register letter
	copy   int    // of the operations that sideBySide emits
	first  int    // register 0 of that copy
	tile   int    // rows of x in the widest matrix tile
	decl   bytes.Buffer
	text   bytes.Buffer
	consts [][4]uint32       // one 64-byte row each, repeated
	held   map[uint32]string // constants that registers hold
	labels int
	stored stored // format of keys and values
}

func (t *asm) wide() bool { return t.lanes == 16 }

// v names vector register i.
func (t *asm) v(i int) string { return fmt.Sprintf("%s%d", t.reg, t.first+i) }

// half names the lower half of a vector register.
func (t *asm) half(register string) string {
	if t.wide() {
		return "Y" + register[1:]
	}
	return "X" + register[1:]
}

// bytes is the size of a vector register.
func (t *asm) bytes() int { return t.lanes * 4 }

func (t *asm) op(name string, args ...string) {
	t.text.WriteString(strings.TrimRight("\t"+name+" "+strings.Join(args, ", "), " ") + "\n")
}

func (t *asm) label(name string) { fmt.Fprintf(&t.text, "%s:\n", name) }

// next returns a label that is new in the file.
func (t *asm) next(name string) string {
	t.labels++
	return fmt.Sprintf("%s%d", name, t.labels)
}

// mem is an address off bytes past a register.
func mem(off int, reg string) string {
	if off == 0 {
		return "(" + reg + ")"
	}
	return fmt.Sprintf("%d(%s)", off, reg)
}

func imm(i int) string { return fmt.Sprintf("$%d", i) }

// fn starts a routine. params is a Go parameter list of 8-byte pointers and ints and
// 4-byte float32s; result names the float32 results.
func (t *asm) fn(name, doc, params string, results ...string) {
	full := name + t.name
	sig := fmt.Sprintf("func %s(%s)", full, params)
	if len(results) > 0 {
		sig += " (" + strings.Join(results, ", ") + " float32)"
	}
	fmt.Fprintf(&t.decl, "\n// %s %s\n//\n//go:noescape\n%s\n", full, doc, sig)
	size := 0
	for _, group := range groups(params) {
		for range group.names {
			if group.kind == "float32" {
				size += 4
			} else {
				size = (size+7)&^7 + 8
			}
		}
	}
	if len(results) > 0 {
		size = (size+7)&^7 + 4*len(results)
	}
	fmt.Fprintf(&t.text, "\n// %s\nTEXT ·%s(SB), NOSPLIT, $0-%d\n", sig, full, size)
}

type group struct {
	names []string
	kind  string
}

// groups splits "a, b *float32, n int".
func groups(params string) []group {
	var list []group
	var names []string
	for p := range strings.SplitSeq(params, ",") {
		name, kind, typed := strings.Cut(strings.TrimSpace(p), " ")
		names = append(names, name)
		if typed {
			list, names = append(list, group{names, kind}), nil
		}
	}
	return list
}

// args loads parameters: ints and pointers into the given registers, in order;
// float32s are broadcast into vector registers.
func (t *asm) args(params string, regs ...string) {
	off, i := 0, 0
	for _, g := range groups(params) {
		for _, name := range g.names {
			if g.kind == "float32" {
				t.op("VBROADCASTSS", fmt.Sprintf("%s+%d(FP)", name, off), regs[i])
				off += 4
			} else {
				off = (off + 7) &^ 7
				t.op("MOVQ", fmt.Sprintf("%s+%d(FP)", name, off), regs[i])
				off += 8
			}
			i++
		}
	}
}

func (t *asm) ret() {
	t.op("VZEROUPPER")
	t.op("RET")
}

// c returns the address of a float32 constant, repeated over 64 bytes.
func (t *asm) c(f float64) string { return t.bits(math.Float32bits(float32(f))) }

// bits is the address of a 32-bit constant, repeated over 64 bytes, or the register that
// holds it.
func (t *asm) bits(b uint32) string {
	if r, ok := t.held[b]; ok {
		return r
	}
	return t.words([4]uint32{b, b, b, b})
}

// words is the address of four 32-bit constants, repeated over 64 bytes.
func (t *asm) words(words [4]uint32) string {
	i := slices.Index(t.consts, words)
	if i < 0 {
		i = len(t.consts)
		t.consts = append(t.consts, words)
	}
	return fmt.Sprintf("consts%s<>+%d(SB)", t.name, 64*i)
}

// hold keeps constants in registers from first on, where there are enough of them, while
// body is emitted.
func (t *asm) hold(first int, constants []float64, body func()) {
	if t.wide() {
		held := map[uint32]string{}
		for i, c := range constants {
			t.op("VBROADCASTSS", t.c(c), t.v(first+i))
			held[math.Float32bits(float32(c))] = t.v(first + i)
		}
		t.held = held
		defer func() { t.held = nil }()
	}
	body()
}

// file returns the assembly with its data.
func (t *asm) file() []byte {
	var out bytes.Buffer
	out.WriteString(header + "#include \"textflag.h\"\n\n")
	sym := "consts" + t.name + "<>"
	for i, b := range t.consts {
		for j := range 8 {
			low, high := b[2*j%4], b[2*j%4+1]
			fmt.Fprintf(&out, "DATA %s+%d(SB)/8, $%#x\n", sym, 64*i+8*j, uint64(high)<<32|uint64(low))
		}
	}
	if len(t.consts) > 0 {
		fmt.Fprintf(&out, "GLOBL %s(SB), RODATA|NOPTR, $%d\n", sym, 64*len(t.consts))
	}
	if bytes.Contains(t.text.Bytes(), []byte("tailAVX2<>")) {
		for j := range 8 {
			v := "-1"
			if j >= 4 {
				v = "0"
			}
			fmt.Fprintf(&out, "DATA tailAVX2<>+%d(SB)/8, $%s\n", 8*j, v)
		}
		out.WriteString("GLOBL tailAVX2<>(SB), RODATA|NOPTR, $64\n")
	}
	out.Write(t.text.Bytes())
	return out.Bytes()
}

// Masks: the first CX lanes, in K1 or Y15.

func (t *asm) setMask(count string) {
	if t.wide() {
		t.op("MOVQ", count, "CX")
		t.op("MOVL", "$1", "AX")
		t.op("SHLL", "CX", "AX")
		t.op("DECL", "AX")
		t.op("KMOVW", "AX", "K1")
		return
	}
	t.op("MOVQ", "$8", "AX")
	t.op("SUBQ", count, "AX")
	t.op("LEAQ", "tailAVX2<>(SB)", "R15")
	t.op("VMOVUPS", "(R15)(AX*4)", "Y15")
}

// load reads a vector, or its masked lanes and zeros.
func (t *asm) load(addr, dst string, masked bool) {
	switch {
	case !masked:
		t.op("VMOVUPS", addr, dst)
	case t.wide():
		t.op("VMOVUPS.Z", addr, "K1", dst)
	default:
		t.op("VMASKMOVPS", addr, "Y15", dst)
	}
}

// store writes a vector, or its masked lanes.
func (t *asm) store(src, addr string, masked bool) {
	switch {
	case !masked:
		t.op("VMOVUPS", src, addr)
	case t.wide():
		t.op("VMOVUPS", src, "K1", addr)
	default:
		t.op("VMASKMOVPS", src, "Y15", addr)
	}
}

// clip zeroes the lanes outside the mask.
func (t *asm) clip(r string, masked bool) {
	switch {
	case !masked:
	case t.wide():
		t.op("VMOVAPS.Z", r, "K1", r)
	default:
		t.op("VANDPS", "Y15", r, r)
	}
}

func (t *asm) zero(r string) {
	if t.wide() {
		t.op("VPXORD", r, r, r)
	} else {
		t.op("VXORPS", r, r, r)
	}
}

// loop runs body over CX elements, then once over the masked rest; pointers advance.
func (t *asm) loop(pointers []string, body func(masked bool)) {
	t.loopBy(1, pointers, func() { body(false) })
	done := t.next("done")
	t.op("TESTQ", "CX", "CX")
	t.op("JZ", done)
	t.setMask("CX")
	body(true)
	t.label(done)
}

// loopBy runs body over n vectors at a time while CX has as many elements; pointers advance.
func (t *asm) loopBy(n int, pointers []string, body func()) {
	main, tail := t.next("loop"), t.next("tail")
	t.label(main)
	t.op("CMPQ", "CX", imm(n*t.lanes))
	t.op("JLT", tail)
	body()
	for _, p := range pointers {
		t.op("ADDQ", imm(n*t.bytes()), p)
	}
	t.op("SUBQ", imm(n*t.lanes), "CX")
	t.op("JMP", main)
	t.label(tail)
}

// sideBySide emits n copies of body, each with registers of its own, an operation of each in turn. The
// processor looks ahead some hundred operations, which chains of dependent ones do not fill.
func (t *asm) sideBySide(n, registers int, body func()) {
	before := bytes.Clone(t.text.Bytes())
	var copies [][]string
	for i := range n {
		t.text.Reset()
		t.copy, t.first = i, i*registers
		body()
		copies = append(copies, slices.Collect(strings.Lines(t.text.String())))
	}
	t.copy, t.first = 0, 0
	t.text.Reset()
	t.text.Write(before)
	for i := range copies[0] {
		for _, lines := range copies {
			t.text.WriteString(lines[i])
		}
	}
}

// sum adds up the lanes of register 0 into X0, using register 1.
func (t *asm) sum() { t.reduce("VADDPS") }

func (t *asm) reduce(op string) {
	if t.wide() {
		t.op("VEXTRACTF64X4", "$1", "Z0", "Y1")
		t.op(op, "Y1", "Y0", "Y0")
	}
	t.op("VEXTRACTF128", "$1", "Y0", "X1")
	t.op(op, "X1", "X0", "X0")
	t.op("VMOVHLPS", "X0", "X0", "X1")
	t.op(op, "X1", "X0", "X0")
	t.op("VMOVSHDUP", "X0", "X1")
	t.op(op, "X1", "X0", "X0")
}
