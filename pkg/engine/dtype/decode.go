package dtype

import "encoding/binary"

// The formulas are those of ggml's reference dequantisation. Scales are binary16
// (11 significant bits), multipliers of sub-blocks and quants together have at most
// 12 more, so every product is exact in float32 and only the addition of a minimum
// rounds: whether a compiler fuses it does not change a bit.

// decodeQ8_0 reads blocks of 32: d, then q int8[32]. y = d·q.
func decodeQ8_0(dst []float32, src []byte) { decode8(dst, src, 32) }

// decodeQ8W reads blocks of 128 that are otherwise as those of Q8_0.
func decodeQ8W(dst []float32, src []byte) { decode8(dst, src, WideValues) }

func decode8(dst []float32, src []byte, values int) {
	for ; len(dst) > 0; dst, src = dst[values:], src[2+values:] {
		d, q := float16At(src), src[2:2+values]
		for i, v := range q {
			dst[i] = d * float32(int8(v))
		}
	}
}

// decodeQ4_0 reads blocks of 32: d, then q uint8[16], whose low nibbles are values
// 0 to 15 and high nibbles 16 to 31. y = d·(nibble-8).
func decodeQ4_0(dst []float32, src []byte) {
	for ; len(dst) > 0; dst, src = dst[32:], src[18:] {
		d, q := float16At(src), src[2:18]
		for i, v := range q {
			dst[i] = d * float32(int(v&15)-8)
			dst[i+16] = d * float32(int(v>>4)-8)
		}
	}
}

// decodeQ4_1 reads blocks of 32: d, m, then q as in Q4_0. y = d·nibble + m.
func decodeQ4_1(dst []float32, src []byte) {
	for ; len(dst) > 0; dst, src = dst[32:], src[20:] {
		d, m, q := float16At(src), float16At(src[2:]), src[4:20]
		for i, v := range q {
			dst[i] = d*float32(v&15) + m
			dst[i+16] = d*float32(v>>4) + m
		}
	}
}

// decodeQ5_0 reads blocks of 32: d, h uint32 with the fifth bit of value i at bit
// i, then q as in Q4_0. y = d·(quint-16).
func decodeQ5_0(dst []float32, src []byte) {
	for ; len(dst) > 0; dst, src = dst[32:], src[22:] {
		d, h, q := float16At(src), binary.LittleEndian.Uint32(src[2:]), src[6:22]
		for i, v := range q {
			dst[i] = d * float32(int(v&15)+int(h>>i&1)<<4-16)
			dst[i+16] = d * float32(int(v>>4)+int(h>>(i+16)&1)<<4-16)
		}
	}
}

// decodeQ5_1 reads blocks of 32: d, m, h and q as in Q5_0. y = d·quint + m.
func decodeQ5_1(dst []float32, src []byte) {
	for ; len(dst) > 0; dst, src = dst[32:], src[24:] {
		d, m, h, q := float16At(src), float16At(src[2:]), binary.LittleEndian.Uint32(src[4:]), src[8:24]
		for i, v := range q {
			dst[i] = d*float32(int(v&15)+int(h>>i&1)<<4) + m
			dst[i+16] = d*float32(int(v>>4)+int(h>>(i+16)&1)<<4) + m
		}
	}
}

// subScale unpacks the multipliers of the scale and of the minimum of sub-block j,
// six bits each, from the 12 bytes that Q4_K and Q5_K share.
func subScale(s []byte, j int) (scale, minimum byte) {
	if j < 4 {
		return s[j] & 63, s[j+4] & 63
	}
	return s[j+4]&15 | s[j-4]>>6<<4, s[j+4]>>4 | s[j]>>6<<4
}

// setSubScale writes what [subScale] reads, to bytes that are zero.
func setSubScale(s []byte, j int, scale, minimum byte) {
	if j < 4 {
		s[j] |= scale
		s[j+4] |= minimum
		return
	}
	s[j+4] |= scale&15 | minimum<<4
	s[j-4] |= scale >> 4 << 6
	s[j] |= minimum >> 4 << 6
}

// decodeQ4K reads blocks of 256, eight sub-blocks of 32: d, dmin, s uint8[12],
// q uint8[128]. The low nibbles of 32 bytes are one sub-block, the high ones the
// next. y = d·scale·nibble - dmin·minimum.
func decodeQ4K(dst []float32, src []byte) {
	for ; len(dst) > 0; dst, src = dst[256:], src[144:] {
		d, dmin, s, q := float16At(src), float16At(src[2:]), src[4:16], src[16:144]
		for j := 0; j < 8; j += 2 {
			sc0, mn0 := subScale(s, j)
			sc1, mn1 := subScale(s, j+1)
			d0, m0, d1, m1 := d*float32(sc0), dmin*float32(mn0), d*float32(sc1), dmin*float32(mn1)
			y := dst[32*j:][:64]
			for i, v := range q[16*j:][:32] {
				y[i] = d0*float32(v&15) - m0
				y[i+32] = d1*float32(v>>4) - m1
			}
		}
	}
}

// decodeQ5K reads blocks of 256: d, dmin, s as in Q4_K, h uint8[32], q as in
// Q4_K. Bit j of h[i] is the fifth bit of value i of sub-block j.
func decodeQ5K(dst []float32, src []byte) {
	for ; len(dst) > 0; dst, src = dst[256:], src[176:] {
		d, dmin, s, h, q := float16At(src), float16At(src[2:]), src[4:16], src[16:48], src[48:176]
		for j := 0; j < 8; j += 2 {
			sc0, mn0 := subScale(s, j)
			sc1, mn1 := subScale(s, j+1)
			d0, m0, d1, m1 := d*float32(sc0), dmin*float32(mn0), d*float32(sc1), dmin*float32(mn1)
			y := dst[32*j:][:64]
			for i, v := range q[16*j:][:32] {
				y[i] = d0*float32(v&15|h[i]>>j&1<<4) - m0
				y[i+32] = d1*float32(v>>4|h[i]>>(j+1)&1<<4) - m1
			}
		}
	}
}

// decodeQ6K reads blocks of 256, sixteen sub-blocks of 16: low uint8[128], high
// uint8[64], sc int8[16], d. Each half of 128 values is four quarters of 32: the low
// nibbles of 32 bytes, those of the next 32, the high nibbles of the first and of
// the next; high holds the upper two bits, a quarter each two bits up.
// y = d·sc·(sextet-32).
func decodeQ6K(dst []float32, src []byte) {
	for ; len(dst) > 0; dst, src = dst[256:], src[210:] {
		sc, d := src[192:208], float16At(src[208:])
		for n := range 2 {
			low, high := src[64*n:][:64], src[128+32*n:][:32]
			y := dst[128*n:][:128]
			for k := range 4 {
				for i := range 32 {
					v := low[32*(k&1)+i] >> (4 * (k >> 1)) & 15
					q := int(v|high[i]>>(2*k)&3<<4) - 32
					y[32*k+i] = d * float32(int8(sc[8*n+2*k+i/16])) * float32(q)
				}
			}
		}
	}
}
