// Command grammar measures the time of the masks of MaskBench's schemas on one processor,
// and prints a table that compares it with another engine's for the same schemas and tokens.
//
//	grammar measure MASKBENCH WORK [TOKENIZER.JSON] > RESULT
//	grammar table RESULT [RESULT]
//
// It writes the schemas and the tokens of the valid instances to WORK, for the other engine.
// Without a tokenizer it uses the vocabulary of the starter model novels.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"

	"glossa/pkg/engine/arch"
	"glossa/pkg/starter"
	"glossa/pkg/tokenizer"
	"glossa/pkg/tokenizer/hf"
)

// A result holds the measurements of one engine; times are in microseconds.
type result struct {
	Engine     string
	Vocabulary string // its name
	Tokens     int
	Once       float64 // to prepare the vocabulary, once
	Schemas    int     // number of schemas
	Accepted   int
	Instances  int // valid ones
	Outside    int // valid ones that are not generated, because of long numbers or texts
	Wrong      int // valid ones that a mask rejected

	Compile []float64 // by schema
	First   []float64 // the first mask of a schema, with its compilation
	Mask    []float64 // by token
	Step    []float64 // a mask and accepting the token
	Tight   []float64 // masks with few tokens left beyond those of the instance
}

// work is the input of the other engine.
type work struct {
	Name      string
	Tokenizer string // its file
	Schemas   []*task
}

// A task is a schema and the tokens of its valid instances, formatted as glossa writes JSON.
type task struct {
	File   string
	Schema string
	Texts  [][]int // null if the schema is not accepted
	valid  []json.RawMessage
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "grammar:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) >= 2 && args[0] == "table":
		return table(os.Stdout, args[1:])
	case (len(args) == 3 || len(args) == 4) && args[0] == "measure":
	default:
		return errors.New("usage: grammar measure MASKBENCH WORK [TOKENIZER.JSON], grammar table RESULT [RESULT]")
	}
	file := ""
	if len(args) == 4 {
		file = args[3]
	}
	return measureAll(args[1], args[2], file)
}

// measureAll measures the schemas of a directory, prints the result and writes the work.
func measureAll(dir, to, file string) error {
	name, t, err := open(file)
	if err != nil {
		return err
	}
	tasks, err := read(dir)
	if err != nil {
		return err
	}
	w, vocabulary := &work{Name: name, Tokenizer: file, Schemas: tasks}, pieces(t)
	runtime.GOMAXPROCS(1)
	runtime.GC()
	r, err := measure(w, vocabulary, t)
	if err != nil {
		return err
	}
	raw, err := json.Marshal(w)
	if err != nil {
		return err
	}
	if err := os.WriteFile(to, raw, 0o666); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(r)
}

// open reads a tokenizer.json; "" means the starter's tokenizer.
func open(file string) (name string, t tokenizer.Tokenizer, err error) {
	if file == "" {
		m, err := arch.OpenAny(starter.Runs(), "novels")
		if err != nil {
			return "", nil, err
		}
		return "the starter model novels", m.Tokenizer, nil
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		return "", nil, err
	}
	t, err = hf.Parse(raw)
	return "Llama 3", t, err
}

// pieces returns the bytes that each token adds in the middle of a text.
func pieces(t tokenizer.Tokenizer) []string {
	list := make([]string, t.Size())
	for id := range list {
		list[id] = t.NewDecoder().Next(id)
	}
	return list
}
