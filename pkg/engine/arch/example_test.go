package arch_test

import (
	"fmt"
	"log"
	"os"

	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/transformer"
)

// A path names a directory as Hugging Face publishes models, a GGUF file, a packed model or
// a training run. No weights are read before the engine is made.
func ExampleOpenPath() {
	for _, path := range []string{"testdata/gpt2", "testdata/llama-q8_0-gguf/model.gguf", "../../starter/runs/novels"} {
		m, err := arch.OpenPath(path)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(m.Name(), m.Spec.Context, m.Weights.Elements())
		if err := m.Close(); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// GPT-2 256 14864
	// Llama 256 31904
	// Alpha 256 1333504
}

// Describe reads only what a listing shows.
func ExampleDescribe() {
	info, err := arch.Describe(os.DirFS("testdata"), "llama-q8_0-gguf")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(info.Type, info.Context, info.Parameters)
	// Output:
	// llama 256 31904
}

// Pack writes a model as one file that opens without conversion.
func ExamplePack() {
	m, err := arch.OpenPath("testdata/gpt2")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = m.Close() }()
	file, err := os.CreateTemp("", "*.safetensors")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.Remove(file.Name()) }()
	if err := arch.Pack(file, m, kernel.Best(), transformer.Q8_0, func(done, total int64) error { return nil }); err != nil {
		log.Fatal(err)
	}
	if err := file.Close(); err != nil {
		log.Fatal(err)
	}
	packed, err := arch.OpenPath(file.Name())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(packed.Type, packed.Weights.Elements() == m.Weights.Elements(), packed.Close())
	// Output:
	// gpt2 true <nil>
}
