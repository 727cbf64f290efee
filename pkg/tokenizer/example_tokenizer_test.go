package tokenizer_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strings"

	"glossa/pkg/tokenizer"
)

// A decoder turns a stream of ids into text. UTF8 holds a rune back until all of its bytes
// have come.
func ExampleDecoder() {
	t, err := open("hf/testdata/gpt2.tokenizer.json")
	if err != nil {
		log.Fatal(err)
	}
	var text tokenizer.UTF8
	decoder := t.NewDecoder()
	for _, id := range t.Encode("nß") {
		fmt.Printf("%d %q\n", id, text.Write(decoder.Next(id)))
	}
	fmt.Printf("%q\n", text.Write(decoder.Flush())+text.Flush())
	// Output:
	// 77 "n"
	// 127 ""
	// 253 "ß"
	// ""
}

// Special tokens in a text are ordinary text unless the caller asks for them.
func ExampleTokenizer() {
	t, err := open("hf/testdata/gpt2.tokenizer.json")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(t.EncodeSpecial("<|endoftext|>"))
	fmt.Println(len(t.Encode("<|endoftext|>")) > 1)
	if s, ok := t.(tokenizer.Specials); ok {
		fmt.Println(s.SpecialTokens())
	}
	// Output:
	// [1000]
	// true
	// map[<|endoftext|>:1000 <|end|>:1001]
}

// A collector encodes no more of a long text than its limits ask for.
func ExampleCollector() {
	t, err := open("hf/testdata/gpt2.tokenizer.json")
	if err != nil {
		log.Fatal(err)
	}
	long := strings.Repeat("hello ", 1_000_000)

	limited := tokenizer.Collector{Max: 1024}
	err = limited.Add(context.Background(), t, long, false)
	if e, ok := errors.AsType[*tokenizer.LimitError](err); ok {
		fmt.Println("too long for", e.Max)
	}

	last := tokenizer.Collector{Keep: 3}
	if err := last.Add(context.Background(), t, long, false); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%q\n", tokenizer.Decode(t, last.IDs()))
	// Output:
	// too long for 1024
	// "ello "
}

// The bytes of tokens are the vocabulary of package grammar. Those of byte-level tokenizers
// may be parts of runes.
func ExampleTokenBytes() {
	t, err := open("hf/testdata/gpt2.tokenizer.json")
	if err != nil {
		log.Fatal(err)
	}
	tokens, err := tokenizer.TokenBytes(t)
	if err != nil {
		log.Fatal(err)
	}
	for _, id := range t.Encode("a ß") {
		fmt.Printf("%q ", tokens[id])
	}
	// Output:
	// "a" " " "\xc3" "\x9f"
}
