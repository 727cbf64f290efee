package main

// scan emits a step of a recurrence of states, row by row: each is a head's for one of its inputs.
func (t *asm) scan() {
	p := "h, b, c, x, y *float32, rows, n int, decay float32"
	t.fn("scan", "computes h = decay*h + x*b and y = h·c, for rows of n values of h.", p)
	decay, x := t.v(4), t.v(3)
	t.args(p, "DI", "SI", "DX", "R8", "R9", "R10", "R11", decay)
	rows, done := t.next("rows"), t.next("done")
	t.label(rows)
	t.op("TESTQ", "R10", "R10")
	t.op("JZ", done)
	t.op("MOVQ", "DI", "R12")
	t.op("MOVQ", "SI", "R13")
	t.op("MOVQ", "DX", "BX")
	t.op("MOVQ", "R11", "CX")
	t.op("VBROADCASTSS", "(R8)", x)
	t.zero(t.v(0))
	t.loop([]string{"R12", "R13", "BX"}, func(m bool) {
		t.load("(R12)", t.v(5), m)
		t.load("(R13)", t.v(6), m)
		t.load("(BX)", t.v(7), m)
		t.op("VMULPS", decay, t.v(5), t.v(5))
		t.op("VFMADD231PS", t.v(6), x, t.v(5))
		t.store(t.v(5), "(R12)", m)
		t.op("VFMADD231PS", t.v(7), t.v(5), t.v(0))
	})
	t.sum()
	t.op("VMOVSS", "X0", "(R9)")
	t.op("ADDQ", "$4", "R8")
	t.op("ADDQ", "$4", "R9")
	t.op("LEAQ", "(DI)(R11*4)", "DI")
	t.op("DECQ", "R10")
	t.op("JMP", rows)
	t.label(done)
	t.ret()
}
