package train

import (
	"fmt"
	"math/bits"
)

// windowAt returns a start in 0..n-1 for a row of a step. It depends only on its
// arguments, so that resuming needs no state.
func windowAt(seed uint64, step, row, n int) int {
	h := mix(mix(mix(seed)+uint64(step)) + uint64(row))
	hi, _ := bits.Mul64(h, uint64(n))
	return int(hi)
}

// mix is the output function of SplitMix64 (Steele et al. 2014).
func mix(z uint64) uint64 {
	z += 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// split splits ids into the training part and the held-out end.
func split(ids []int, c *Config) (train, val []int32, err error) {
	all := make([]int32, len(ids))
	for i, id := range ids {
		all[i] = int32(id)
	}
	cut := len(all) - int(float64(len(all))*c.ValFraction)
	train, val = all[:cut], all[cut:]
	if len(train) < c.BlockSize+1 {
		return nil, nil, fmt.Errorf("the text has %d tokens to train on; a context (blockSize) of %d needs at least %d", len(train), c.BlockSize, c.BlockSize+1)
	}
	return train, val, nil
}
