package main

// attention emits the two halves of a head.
func (t *neon) attention() {
	t.dots()
	t.weighted()
}

// dots takes four keys at a time, then one. A key's products go to two accumulators by
// turns on either path, so a score does not depend on the number of keys.
func (t *neon) dots() {
	p := "dst, q, keys *float32, n, d int, scale float32"
	t.fn("dots", "computes dst[i] = scale * q·keys[i]; keys (n, d).", p)
	t.args(p, "R0 R1 R2 R3 R4", 30)
	for _, keys := range [][]string{{"R2", "R8", "R9", "R10"}, {"R2"}} {
		t.whole("R3", len(keys), func() {
			for i, key := range keys[1:] {
				t.op("ADD", "R4<<2", keys[i], key)
			}
			t.dotsBody(keys)
			if len(keys) > 1 {
				t.op("FMOVQ.P", "F0", "16(R0)")
			} else {
				t.op("FMOVS.P", "F0", "4(R0)")
			}
			t.op("MOVD", keys[len(keys)-1], "R2")
		})
	}
	t.ret()
}

// dotsBody leaves scale * q·key of each key in the lanes of V0, and the pointers behind
// the keys.
func (t *neon) dotsBody(keys []string) {
	for _, r := range seq(0, 2*len(keys)) {
		t.zero(r)
	}
	t.op("MOVD", "R1", "R6")
	t.op("MOVD", "R4", "R5")
	t.loop("R5", 2, 0, append([]string{"R6"}, keys...), func(b block) {
		q := vec(16 + b.unit)
		b.load("R6", q)
		for i, key := range keys {
			k := vec(18 + 2*i + b.unit)
			b.load(key, k)
			t.fma(vec(2*i+b.unit), q, k)
		}
	})
	for _, key := range keys {
		t.op("ADD", "R5<<2", key, key)
	}
	for i := range keys {
		t.do3("fadd", vec(i), vec(2*i), vec(2*i+1))
	}
	if len(keys) == 4 {
		t.do3("faddp", 0, 0, 1)
		t.do3("faddp", 2, 2, 3)
		t.do3("faddp", 0, 0, 2)
	} else {
		t.sum(0)
	}
	t.do3("fmul", 0, 0, 30)
}

// weighted keeps up to sixteen vectors of dst in registers over all values.
func (t *neon) weighted() {
	p := "dst, p, values *float32, n, d int"
	t.fn("weighted", "computes dst = Σ p[i]*values[i]; values (n, d).", p)
	t.args(p, "R0 R1 R2 R3 R4")
	t.op("LSL", "$2", "R4", "R5")
	for _, width := range []int{16, 8, 4, 1} {
		t.whole("R4", width*lane4, func() { t.columns(width, block{t: t}) })
	}
	done := t.next("done")
	t.op("CBZ", "R4", done)
	t.columns(1, block{t: t, count: "R4", masked: true})
	t.label(done)
	t.ret()
}

// columns adds up width vectors of every row of values, or the rest of them.
func (t *neon) columns(width int, b block) {
	acc := seq(0, width)
	for _, r := range acc {
		t.zero(r)
	}
	t.op("MOVD", "R1", "R6")
	t.op("MOVD", "R2", "R7")
	t.op("MOVD", "R3", "R8")
	loop, done := t.next("loop"), t.next("done")
	t.op("CBZ", "R8", done)
	t.label(loop)
	t.op("FMOVS.P", "4(R6)", "F16")
	if b.masked {
		b.load("R7", 24)
		t.fmaLane(0, 24, 16, 0)
	} else {
		t.stream("R7", 0, seq(24, min(width, 8)), acc, 16, 0)
	}
	t.op("ADD", "R5", "R7")
	t.op("SUBS", "$1", "R8", "R8")
	t.op("BNE", loop)
	t.label(done)
	if b.masked {
		b.store(0, "R0")
		return
	}
	t.storeQ("R0", 0, acc...)
	t.advance(width*vecBytes, "R0", "R2")
}

// stream adds to each accumulator the vector that lies in its place past the pointer,
// times one lane of b. The vectors pass through the given registers.
func (t *neon) stream(pointer string, off int, through, acc []vec, b vec, lane int) {
	for len(acc) > 0 {
		n := min(len(through), len(acc))
		t.loadQ(pointer, off, through[:n]...)
		for i, r := range acc[:n] {
			t.fmaLane(r, through[i], b, lane)
		}
		off, acc = off+n*vecBytes, acc[n:]
	}
}
