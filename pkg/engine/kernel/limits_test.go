package kernel

import "testing"

// Portable code has no measure; assembly counts its operations. Inputs too small to
// measure give 0.
func TestLimits(t *testing.T) {
	data := memory(1000)
	for _, k := range Implementations() {
		read, floats, bytes := k.ReadMemory(data), k.FloatRounds(10), k.ByteRounds(10)
		if k.isa == isaGeneric && (read != 0 || floats != 0 || bytes != 0) {
			t.Errorf("%s: %d bytes, %d and %d operations", k.Name(), read, floats, bytes)
		}
		if (k.isa == isaAVX2 || k.isa == isaAVX512) && (read != 768 || floats < 10*8*2 || bytes <= floats) {
			t.Errorf("%s: %d bytes, %d and %d operations", k.Name(), read, floats, bytes)
		}
		if k.isa >= isaDotprod && (floats < 10*4*2 || bytes <= floats) {
			t.Errorf("%s: %d and %d operations", k.Name(), floats, bytes)
		}
		if nibbles := k.NibbleRounds(10); nibbles != bytes {
			t.Errorf("%s: %d operations with nibbles, %d with bytes", k.Name(), nibbles, bytes)
		}
		if n := k.FloatRounds(20); n != 2*floats {
			t.Errorf("%s: %d operations in 20 rounds, %d in 10", k.Name(), n, floats)
		}
		if k.ReadMemory(data[:255]) != 0 || k.ReadMemory(nil) != 0 || k.FloatRounds(0) != 0 || k.ByteRounds(-1) != 0 || k.NibbleRounds(0) != 0 {
			t.Errorf("%s: something of nothing", k.Name())
		}
	}
}
