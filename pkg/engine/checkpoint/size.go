package checkpoint

import (
	"fmt"
	"math"

	"glossa/pkg/engine/dtype"
)

// sizeOf returns the size of a tensor in bytes. It rejects shapes that overflow and rows
// that are not whole blocks.
func sizeOf(t dtype.Type, shape []int) (int64, error) {
	values, bytes := t.Block()
	if values == 0 {
		return 0, fmt.Errorf("type %.40q is not supported", string(t))
	}
	n, err := product(shape)
	if err != nil {
		return 0, err
	}
	row := 1
	if len(shape) > 0 {
		row = shape[len(shape)-1]
	}
	if row%values != 0 {
		return 0, fmt.Errorf("shape %v: rows of %d values are not whole blocks of %d, as %s has", shape, row, values, t)
	}
	blocks := int64(n / values)
	if blocks > math.MaxInt64/int64(bytes) {
		return 0, fmt.Errorf("shape %v is impossible", shape)
	}
	return blocks * int64(bytes), nil
}
