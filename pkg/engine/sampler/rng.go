package sampler

// Uniform returns the random number in [0, 1) of a step of a row. It is a pure function
// of its arguments (a counter-based generator, Salmon et al. 2011), so that a row's text
// depends neither on other rows nor on the number of attempts at a step.
func Uniform(seed uint64, row, step int) float64 {
	x := mix(seed)
	x = mix(x ^ uint64(row))
	x = mix(x ^ uint64(step))
	return float64(x>>11) / (1 << 53)
}

// mix is the output function of SplitMix64 (Steele et al. 2014) after one step.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
