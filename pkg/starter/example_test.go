package starter_test

import (
	"fmt"
	"log"

	"glossa/pkg/engine/arch"
	"glossa/pkg/starter"
)

// The models are directories of an embedded file system.
func Example() {
	for _, name := range starter.Names() {
		m, err := arch.OpenAny(starter.Runs(), name)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(name, m.Name(), m.Spec.Context)
	}
	// Output:
	// novels Alpha 256
	// abc Alpha 256
	// chords Alpha 128
	// forms Alpha 256
	// phrases M2M100 256
	// tools Qwen3 1024
	// sentences BERT 128
}
