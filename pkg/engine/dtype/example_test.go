package dtype_test

import (
	"fmt"
	"log"

	"glossa/pkg/engine/dtype"
)

// Blocks of any type with a decoder become float32.
func ExampleType_Decoder() {
	values := make([]float32, 32)
	for i := range values {
		values[i] = float32(i) / 4
	}
	stored, err := dtype.Q4_0.Encoder()(nil, values)
	if err != nil {
		log.Fatal(err)
	}
	count, bytes := dtype.Q4_0.Block()
	fmt.Println(len(stored), "bytes;", count, "values take", bytes)
	dtype.Q4_0.Decoder()(values, stored)
	fmt.Println(values[0], values[31])
	// Output:
	// 18 bytes; 32 values take 18
	// -0 7.75
}

func ExampleToFloat16() {
	half := dtype.ToFloat16(0.1)
	fmt.Printf("%#x %v\n", half, dtype.FromFloat16(half))
	// Output:
	// 0x2e66 0.099975586
}
