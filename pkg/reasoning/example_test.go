package reasoning_test

import (
	"fmt"

	"glossa/pkg/reasoning"
)

// A stream is separated as its chunks come.
func ExampleReader() {
	marks, _ := reasoning.Detect("{{ '<think>\n\n</think>' }}")
	r := reasoning.NewReader(&marks, marks.After("<|im_start|>assistant\n"))
	for _, chunk := range []string{"<thi", "nk>\nTwo and two", "</think", ">\n\nFour"} {
		fmt.Printf("%+q\n", r.Push(chunk))
	}
	// Output:
	// {"" ""}
	// {"Two and two" ""}
	// {"" ""}
	// {"" "Four"}
}
