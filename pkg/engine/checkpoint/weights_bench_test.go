package checkpoint_test

import "testing"

// BenchmarkFloat32 reports bytes of float32 per second; blocks of zeros take the same
// time as others.
func BenchmarkFloat32(b *testing.B) {
	const rows, row = 256, 1024
	for _, kind := range []struct {
		number        uint32
		values, bytes int // of a block
	}{{0, 1, 4}, {1, 1, 2}, {30, 1, 2}, {2, 32, 18}, {8, 32, 34}, {12, 256, 144}, {13, 256, 176}, {14, 256, 210}} {
		data := gguf(3, 1, 0).tensor("x", kind.number, 0, row, rows).data(rows * row / kind.values * kind.bytes)
		f, err := openBytes(data)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(string(f.Tensors[0].Type), func(b *testing.B) {
			b.SetBytes(4 * rows * row)
			var dst []float32
			for b.Loop() {
				if dst, err = f.Float32("x", dst); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkStored reports stored bytes per second.
func BenchmarkStored(b *testing.B) {
	const rows, row = 256, 1024
	for _, kind := range []struct {
		number        uint32
		values, bytes int // of a block
	}{{30, 1, 2}, {2, 32, 18}, {8, 32, 34}} {
		dst := make([]byte, rows*row/kind.values*kind.bytes)
		f, err := openBytes(gguf(3, 1, 0).tensor("x", kind.number, 0, row, rows).data(len(dst)))
		if err != nil {
			b.Fatal(err)
		}
		b.Run(string(f.Tensors[0].Type), func(b *testing.B) {
			b.SetBytes(int64(len(dst)))
			for b.Loop() {
				if err := f.Stored("x", 0, dst); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
