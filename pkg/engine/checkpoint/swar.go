package checkpoint

import "math/bits"

// firstNonDigit returns how many of the eight bytes of v, lowest first, precede the first
// one above 9.
func firstNonDigit(v uint64) uint {
	// Adding 0x76 sets the top bit of a byte above 9. A carry can only come from a
	// byte above 0x89, whose own top bit is set and which lies below.
	return uint(bits.TrailingZeros64(((v+0x7676767676767676)|v)&0x8080808080808080)) / 8
}

// eightDigits returns the number whose decimal digits are the bytes of v, the
// lowest byte first: pairs, then fours, then eight.
func eightDigits(v uint64) uint64 {
	v = v*10 + v>>8
	const mask = 0x000000ff000000ff
	const high = 100 + 1000000<<32
	const low = 1 + 10000<<32
	return ((v&mask)*high + (v>>16&mask)*low) >> 32
}
