package kernel

import (
	"flag"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/cpu"
)

// each runs a test on every implementation of this CPU.
func each(t *testing.T, test func(t *testing.T, k *Kernels)) {
	t.Helper()
	for _, k := range Implementations() {
		t.Run(k.Name(), func(t *testing.T) { test(t, k) })
	}
}

func random(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

func source() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

// closeTo reports whether got is want within an absolute tolerance; NaN equals NaN.
func closeTo(got float32, want, tolerance float64) bool {
	if math.IsNaN(want) {
		return got != got
	}
	if math.IsInf(want, 0) || math.Abs(want) > math.MaxFloat32 {
		return math.IsInf(float64(got), int(math.Copysign(1, want)))
	}
	return math.Abs(float64(got)-want) <= tolerance
}

// tiers lists the required instruction sets on a known machine, such as an emulator.
var tiers = flag.String("tiers", "", "the instruction sets that must be there, separated by commas")

func TestEveryTierListed(t *testing.T) {
	var names []string
	for _, k := range Implementations() {
		names = append(names, k.Name())
	}
	want := []string{"generic"}
	if assembly {
		if cpu.X86.HasAVX2 && cpu.X86.HasFMA && cpu.X86.HasF16C {
			want = append(want, "avx2")
			if cpu.X86.HasAVXVNNI {
				want = append(want, "avxvnni")
			}
		}
		if cpu.X86.HasAVX512F && cpu.X86.HasAVX512VNNI {
			want = append(want, "avx512")
			if cpu.X86.HasAVX512BF16 {
				want = append(want, "avx512bf16")
			}
			if hasAMX() {
				want = append(want, "amx")
			}
		}
		if runtime.GOARCH == "arm64" {
			want = append(want, "neon") // every arm64 has it
			if cpu.ARM64.HasASIMDDP {
				want = append(want, "dotprod")
				if cpu.ARM64.HasI8MM {
					want = append(want, "i8mm")
				}
			}
		}
	}
	if !slices.Equal(names, want) {
		t.Errorf("implementations %q, want %q", names, want)
	}
	if *tiers != "" && *tiers != strings.Join(names, ",") {
		t.Errorf("implementations %q, want %s", names, *tiers)
	}
	if got := Best().Name(); got != want[len(want)-1] {
		t.Errorf("best is %q, want %q", got, want[len(want)-1])
	}
}

// Asking for an implementation costs nothing, and what one has learnt is not lost.
func TestOneOfEach(t *testing.T) {
	if allocated := testing.AllocsPerRun(9, func() { Best() }); allocated > 0 {
		t.Errorf("Best allocates %v times", allocated)
	}
	list := Implementations()
	list[0] = nil // the caller's own list
	for i, k := range Implementations() {
		if i > 0 && k != list[i] || k == nil {
			t.Errorf("implementation %d is another one than before", i)
		}
	}
	if best, err := ByName(Best().Name()); best != Best() || err != nil {
		t.Errorf("ByName returns another implementation than Best, %v", err)
	}
}

func TestByName(t *testing.T) {
	for _, k := range Implementations() {
		got, err := ByName(k.Name())
		if err != nil || got.Name() != k.Name() {
			t.Errorf("ByName(%q) = %v, %v", k.Name(), got, err)
		}
	}
	if _, err := ByName("mmx"); err == nil {
		t.Error("no error for an unknown name")
	}
}

func matMulReference(x, w []float32, n, rows, cols int) (out, size []float64) {
	out, size = make([]float64, n*rows), make([]float64, n*rows)
	for i := range n {
		for r := range rows {
			for c := range cols {
				p := float64(x[i*cols+c]) * float64(w[r*cols+c])
				out[i*rows+r] += p
				size[i*rows+r] += math.Abs(p)
			}
		}
	}
	return out, size
}

func TestMatMul(t *testing.T) {
	each(t, func(t *testing.T, k *Kernels) {
		r := source()
		for _, s := range [][3]int{{1, 1, 1}, {1, 33, 7}, {2, 31, 16}, {3, 64, 17}, {5, 128, 128}, {12, 100, 30}, {13, 32, 257}, {97, 65, 300}, {200, 40, 513}} {
			n, rows, cols := s[0], s[1], s[2]
			x, w := random(r, n*cols), random(r, rows*cols)
			dst := make([]float32, n*rows+1)
			dst[n*rows] = 42
			k.MatMul(dst, x, n, Pack(w, rows, cols))
			want, size := matMulReference(x, w, n, rows, cols)
			for i := range want {
				if !closeTo(dst[i], want[i], 1e-6*size[i]+1e-30) {
					t.Fatalf("n %d rows %d cols %d: element %d is %g, want %g", n, rows, cols, i, dst[i], want[i])
				}
			}
			if dst[n*rows] != 42 {
				t.Fatalf("n %d rows %d cols %d: wrote past the end", n, rows, cols)
			}
		}
	})
}

func TestMatMulBatchInvariant(t *testing.T) {
	each(t, func(t *testing.T, k *Kernels) {
		const most, rows, cols = 40, 77, 300
		r := source()
		x, w := random(r, most*cols), Pack(random(r, rows*cols), rows, cols)
		alone := make([]float32, most*rows)
		for i := range most {
			k.MatMul(alone[i*rows:], x[i*cols:], 1, w)
		}
		for n := 1; n <= most; n++ {
			dst := make([]float32, n*rows)
			k.MatMul(dst, x, n, w)
			if !slices.Equal(dst, alone[:n*rows]) {
				t.Fatalf("n %d differs from one row at a time", n)
			}
		}
	})
}

func TestMatMulPropagatesNaN(t *testing.T) {
	each(t, func(t *testing.T, k *Kernels) {
		const rows, cols = 40, 19
		for _, n := range []int{1, 2, 14} {
			x, w := random(source(), n*cols), random(source(), rows*cols)
			x[3], w[5*cols+3] = float32(math.NaN()), 0
			dst := make([]float32, n*rows)
			k.MatMul(dst, x, n, Pack(w, rows, cols))
			for i, v := range dst {
				if (v != v) != (i < rows) {
					t.Fatalf("n %d: element %d is %g", n, i, v)
				}
			}
		}
	})
}

func TestPackTransposed(t *testing.T) {
	const rows, cols = 70, 45
	w := random(source(), rows*cols)
	wt := make([]float32, len(w))
	for r := range rows {
		for c := range cols {
			wt[c*rows+r] = w[r*cols+c]
		}
	}
	a := Pack(w, rows, cols)
	each(t, func(t *testing.T, k *Kernels) {
		c, d := NewMatrix(rows, cols), NewMatrix(rows, cols)
		k.Load(c, w)
		k.LoadTransposed(d, wt)
		if !slices.Equal(a.data, c.data) || !slices.Equal(a.data, d.data) {
			t.Error("the fast packers differ from the plain ones")
		}
	})
	row := make([]float32, cols)
	a.Row(row, 69)
	if !slices.Equal(row, w[69*cols:]) {
		t.Error("Row differs from the row that was packed")
	}
}

func TestGEMM(t *testing.T) {
	each(t, func(t *testing.T, k *Kernels) {
		r, s := source(), NewScratch()
		for _, shape := range [][3]int{{1, 1, 1}, {7, 33, 5}, {12, 32, 16}, {97, 300, 65}, {13, 260, 270}, {64, 32, 40}} {
			m, n, depth := shape[0], shape[1], shape[2]
			for mode := range 8 {
				testGEMM(t, k, s, r, m, n, depth, mode&1 != 0, mode&2 != 0, mode&4 != 0)
			}
		}
	})
}

func testGEMM(t *testing.T, k *Kernels, s *Scratch, r *rand.Rand, m, n, depth int, ta, tb, acc bool) {
	t.Helper()
	const pad = 3
	view := func(rows, cols int, transposed bool) (View, func(i, j int) float64) {
		if transposed {
			rows, cols = cols, rows
		}
		v := View{Data: random(r, rows*(cols+pad)-pad), Stride: cols + pad, Transposed: transposed}
		return v, func(i, j int) float64 {
			if transposed {
				i, j = j, i
			}
			return float64(v.Data[i*v.Stride+j])
		}
	}
	a, at := view(m, depth, ta)
	b, bt := view(depth, n, tb)
	c := random(r, m*(n+pad)-pad)
	before := slices.Clone(c)
	k.GEMM(s, c, n+pad, a, b, m, n, depth, acc)
	for i := range m {
		for j := range n {
			want, size := 0.0, 0.0
			if acc {
				want = float64(before[i*(n+pad)+j])
				size = math.Abs(want)
			}
			for p := range depth {
				want += at(i, p) * bt(p, j)
				size += math.Abs(at(i, p) * bt(p, j))
			}
			if got := c[i*(n+pad)+j]; !closeTo(got, want, 3e-7*size) {
				t.Fatalf("(%d, %d, %d) ta %v tb %v acc %v: c[%d, %d] = %g, want %g", m, n, depth, ta, tb, acc, i, j, got, want)
			}
		}
		for j := n; j < n+pad && i < m-1; j++ {
			if at := i*(n+pad) + j; c[at] != before[at] {
				t.Fatalf("wrote outside c")
			}
		}
	}
}
