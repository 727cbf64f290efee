package kernel

import (
	"math"
	"unsafe"
)

// bytesOf returns the memory of x as four times as many bytes.
func bytesOf(x []float32) []int8 {
	return unsafe.Slice((*int8)(unsafe.Pointer(unsafe.SliceData(x))), 4*len(x))
}

// panels returns n panels of keys, of which the first has a slot.
func (kv KV) panels(slot, n int) []float32 {
	size := kv.Format.panel(kv.Dim)
	return kv.Keys[slot/keyPanel*size:][:n*size]
}

// shrunk is the largest head whose key is rounded before it is spread over its panel.
const shrunk = 512

// storeBytes writes a key and a value to a slot of a KV in KVQ8.
func (k *Kernels) storeBytes(kv KV, slot int, key, value []float32) {
	panel, lane, stride := kv.panels(slot, 1), slot%keyPanel, valueStride(kv.Dim)
	scales := panel[KVQ8.words(keyPanel*kv.Dim):][:2*keyPanel]
	column := bytesOf(panel)[lane:]
	scales[keyPanel+lane] = k.shrink(bytesOf(kv.Values)[slot*stride:][:kv.Dim], value)
	if kv.Dim > shrunk {
		scales[lane] = shrinkGeneric(column, key, keyPanel)
		return
	}
	var row [shrunk]int8
	scales[lane] = k.shrink(row[:kv.Dim], key)
	for j, b := range row[:kv.Dim] {
		column[j*keyPanel] = b
	}
}

// shrink is shrinkGeneric of numbers that lie one after another.
func (k *Kernels) shrink(dst []int8, x []float32) float32 {
	if len(x) == 0 || len(x)%keyPanel > 0 {
		return shrinkGeneric(dst, x, 1)
	}
	return shrinkAll(k.isa, dst, x)
}

// shrinkGeneric sets dst, whose numbers are a step apart, to x divided by a scale, rounded to
// nearest, half to even, and returns the scale. It is that of activations: NaN if a number is not
// finite, and 0 if all are below 2**-100; dst is zero then.
func shrinkGeneric(dst []int8, x []float32, step int) float32 {
	const (
		positive = 1<<31 - 1
		infinite = 0x7f800000
		small    = 0x0d800000 // 2**-100
		whole    = 3 << 22    // float32 numbers near it have no fraction
	)
	var most uint32
	for _, v := range x {
		most = max(most, math.Float32bits(v)&positive)
	}
	if most >= infinite || most < small {
		for i := range x {
			dst[i*step] = 0
		}
		if most < small {
			return 0
		}
		return float32(math.NaN())
	}
	largest := math.Float32frombits(most)
	inverse := 127 / largest
	for i, v := range x {
		dst[i*step] = int8(math.Float32bits(float32(v*inverse)+whole) - math.Float32bits(whole))
	}
	return largest / 127
}

// scaleValues multiplies the exponentials of rows by the scales of the values of their block, whose keys
// are in panels, of so many tokens. Those of later tokens may be written meanwhile.
func (k *Kernels) scaleValues(a *Attention, scores, panels []float32, dim, rows, tokens int) {
	size := KVQ8.panel(dim)
	for at := 0; at < tokens; at += keyPanel {
		n := min(keyPanel, tokens-at)
		copy(a.scales[at:at+n], panels[(at/keyPanel+1)*size-keyPanel:][:n])
	}
	for r := range rows {
		mul(k.isa, scores[r*attendBlock:][:a.counts[r]], a.scales[:a.counts[r]])
	}
}

// copyBytes is copyRun for KVQ8.
func (kv KV) copyBytes(from KV, to, at, n int) {
	whole := n / keyPanel
	copy(kv.panels(to, whole), from.panels(at, whole))
	if rest := n % keyPanel; rest > 0 {
		dst, src := kv.panels(to+n-rest, 1), from.panels(at+n-rest, 1)
		first := KVQ8.words(keyPanel * kv.Dim)
		for j := 0; j < keyPanel*kv.Dim; j += keyPanel {
			copy(bytesOf(dst)[j:j+rest], bytesOf(src)[j:])
		}
		for j := first; j < len(dst); j += keyPanel {
			copy(dst[j:j+rest], src[j:])
		}
	}
	stride := valueStride(kv.Dim)
	copy(bytesOf(kv.Values)[to*stride:(to+n)*stride], bytesOf(from.Values)[at*stride:])
}
