package main

// A block is the input of one pass of a loop's body: one vector, or the first lanes of
// one. Unrolled bodies of a loop have separate registers.
type block struct {
	t      *neon
	unit   int    // its number among the unrolled ones
	first  vec    // its registers begin here
	count  string // the remaining elements, 1 to 3, if masked
	masked bool
}

// r is register i of the block.
func (b block) r(i int) vec { return b.first + vec(i) }

// load reads the block's vector, or its lanes and zeros.
func (b block) load(pointer string, dst vec) {
	t := b.t
	if !b.masked {
		t.op("FMOVQ", mem(b.unit*vecBytes, pointer), dst.f())
		return
	}
	two, done := t.next("two"), t.next("done")
	t.op("TBNZ", "$1", b.count, two)
	t.op("FMOVS", mem(0, pointer), dst.f())
	t.op("B", done)
	t.label(two)
	t.op("FMOVD", mem(0, pointer), dst.f())
	t.op("TBZ", "$0", b.count, done)
	t.op("ADD", "$8", pointer, "R15")
	t.op("VLD1", "(R15)", dst.s(2))
	t.label(done)
}

// store writes the block's vector, or its lanes.
func (b block) store(src vec, pointer string) {
	t := b.t
	if !b.masked {
		t.op("FMOVQ", src.f(), mem(b.unit*vecBytes, pointer))
		return
	}
	two, done := t.next("two"), t.next("done")
	t.op("TBNZ", "$1", b.count, two)
	t.op("FMOVS", src.f(), mem(0, pointer))
	t.op("B", done)
	t.label(two)
	t.op("FMOVD", src.f(), mem(0, pointer))
	t.op("TBZ", "$0", b.count, done)
	t.op("ADD", "$8", pointer, "R15")
	t.op("VST1", src.s(2), "(R15)")
	t.label(done)
}

// clip zeroes the lanes past the rest.
func (b block) clip(r vec) {
	if !b.masked {
		return
	}
	b.mask()
	b.t.op("VAND", maskReg.b16(), r.b16(), r.b16())
}

// mask sets the bits of the rest in the mask.
func (b block) mask() {
	t := b.t
	t.op("MOVD", "$"+t.symbol("tail")+"+16(SB)", "R15")
	t.op("SUB", b.count+"<<2", "R15", "R15")
	t.op("FMOVQ", mem(0, "R15"), maskReg.f())
}

// loop runs body over the elements that a register counts: units vectors side by side,
// each with its own registers from V0 on, then vector by vector, then the rest. Pointers
// advance but for the rest, which stays in the register.
func (t *neon) loop(count string, units, registers int, pointers []string, body func(b block)) {
	if units > 1 {
		t.whole(count, units*lane4, func() {
			for i := range units {
				body(block{t: t, unit: i, first: vec(i * registers)})
			}
			t.advance(units*vecBytes, pointers...)
		})
	}
	t.whole(count, lane4, func() {
		body(block{t: t})
		t.advance(vecBytes, pointers...)
	})
	done := t.next("done")
	t.op("CBZ", count, done)
	body(block{t: t, count: count, masked: true})
	t.label(done)
}

// whole runs body as often as the count holds step, and leaves the remainder in it.
func (t *neon) whole(count string, step int, body func()) {
	again, end := t.next("loop"), t.next("end")
	t.op("SUBS", imm(step), count, count)
	t.op("BLT", end)
	t.label(again)
	body()
	t.op("SUBS", imm(step), count, count)
	t.op("BGE", again)
	t.label(end)
	t.op("ADD", imm(step), count)
}
