package main

// limits emits the reference of benchmarks: the multiply-adds and the reads that the
// machine can do.
func (t *asm) limits() {
	t.peak("peak", "runs n rounds of 12 independent multiply-adds.", func(i int) {
		t.op("VFMADD231PS", t.v(12), t.v(13), t.v(i))
	})
	t.peak("peakBytes", "runs n rounds of 12 independent byte multiply-adds.", func(i int) {
		if t.wide() {
			t.op("VPDPBUSD", t.v(12), t.v(13), t.v(i))
			return
		}
		t.op("VPMADDUBSW", t.v(12), t.v(13), t.v(14))
		t.op("VPMADDWD", t.v(12), t.v(14), t.v(14))
		t.op("VPADDD", t.v(14), t.v(i), t.v(i))
	})
	if !t.wide() {
		t.peak("peakNibbles", "runs n rounds of 12 independent multiply-adds of bytes and nibbles.", func(i int) {
			t.op("VPMADDUBSW", t.v(12), t.v(13), t.v(14))
			t.op("VPADDW", t.v(14), t.v(i), t.v(i))
		})
	}
	t.read()
}

func (t *asm) peak(name, doc string, op func(i int)) {
	p := "n int"
	t.fn(name, doc, p)
	t.args(p, "CX")
	for i := range 14 {
		t.zero(t.v(i))
	}
	loop := t.next("loop")
	t.label(loop)
	for i := range 12 {
		op(i)
	}
	t.op("DECQ", "CX")
	t.op("JNZ", loop)
	t.ret()
}

// read emits a pass over memory, four cache lines at a time.
func (t *asm) read() {
	p := "p *byte, blocks int"
	t.fn("read", "reads blocks of 256 bytes.", p)
	t.args(p, "SI", "CX")
	for i := range 4 {
		t.zero(t.v(i))
	}
	loop := t.next("loop")
	t.label(loop)
	for i := range 256 / t.bytes() {
		if t.wide() {
			t.op("VPORD", mem(i*t.bytes(), "SI"), t.v(i%4), t.v(i%4))
		} else {
			t.op("VPOR", mem(i*t.bytes(), "SI"), t.v(i%4), t.v(i%4))
		}
	}
	t.op("ADDQ", "$256", "SI")
	t.op("DECQ", "CX")
	t.op("JNZ", loop)
	t.ret()
}
