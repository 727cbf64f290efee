package checkpoint_test

import (
	"bytes"
	"fmt"
	"log"
	"os"

	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/engine/dtype"
)

// Open reads the header of a GGUF or safetensors file, or of the index of several.
func ExampleOpen() {
	file, err := checkpoint.Open(os.DirFS("../arch/testdata/gpt2-gguf"), "model.gguf")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	name, err := file.Meta.Text("general.architecture")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(name, len(file.Tensors), "tensors")
	tensor, _ := file.Tensor("token_embd.weight")
	fmt.Println(tensor.Type, tensor.Shape)
	values, err := file.Float32(tensor.Name, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(values) == tensor.Elements())
	// Output:
	// gpt2 29 tensors
	// F32 [261 16]
	// true
}

// WriteGGUF quantises the rows of a tensor as they are written.
func ExampleWriteGGUF() {
	var out bytes.Buffer
	err := checkpoint.WriteGGUF(&out, checkpoint.Meta{"general.name": "ramp"}, []checkpoint.GGUFTensor{{
		Name: "w", Type: dtype.Q8_0, Shape: []int{2, 32},
		Read: func(dst []float32, from int) error {
			for i := range dst {
				dst[i] = float32(from + i)
			}
			return nil
		},
	}})
	if err != nil {
		log.Fatal(err)
	}
	file, err := checkpoint.OpenGGUF(bytes.NewReader(out.Bytes()), int64(out.Len()), "ramp.gguf")
	if err != nil {
		log.Fatal(err)
	}
	values, err := file.Float32("w", nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(file.Tensors[0].Size, values[31], values[63])
	// Output:
	// 68 31.00586 63.003906
}

// A tensor of several gigabytes is best read in parts.
func ExampleFile_Values() {
	file, err := checkpoint.Open(os.DirFS("../arch/testdata/gpt2"), "model.safetensors")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	part := make([]float32, 4)
	if err := file.Values(file.Tensors[0].Name, 8, part); err != nil {
		log.Fatal(err)
	}
	fmt.Println(file.Tensors[0].Name, len(part))
	// Output:
	// h.0.attn.c_attn.bias 4
}
