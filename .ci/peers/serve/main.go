// Command serve measures glossa's server and llama.cpp's under the same load: the same GGUF file,
// the same prompts and the same number of clients, which stream completions one after another. It
// prints tokens a second, the time to the first token and the time between tokens as a table.
//
//	serve -glossa PROGRAM -llama PROGRAM -model FILE [-clients 1,4,16,64] [-prompt N] [-answer N] [-requests N] [-threads N] > TABLE
//
// Prompts are new, or each client asks three in turn again and again. It fails if an answer does
// not have the tokens that were asked for.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
)

// A plan sets what is measured.
type plan struct {
	glossa, llama, model string
	clients              []int
	prompt, answer       int // tokens, each a byte of text
	requests             int // of a client
	threads              int
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "serve:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	p := plan{}
	f := flag.NewFlagSet("serve", flag.ContinueOnError)
	f.StringVar(&p.glossa, "glossa", "", "the `program` glossa")
	f.StringVar(&p.llama, "llama", "", "the `program` llama-server")
	f.StringVar(&p.model, "model", "", "a GGUF `file` whose tokens are bytes, see glossa bench --save")
	clients := f.String("clients", "1,4,16,64", "`numbers` of clients")
	f.IntVar(&p.prompt, "prompt", 240, "tokens of a prompt")
	f.IntVar(&p.answer, "answer", 64, "tokens of an answer")
	f.IntVar(&p.requests, "requests", 4, "requests of a client, after those that are not measured")
	f.IntVar(&p.threads, "threads", runtime.NumCPU(), "threads of a server")
	if err := f.Parse(args); err != nil {
		return err
	}
	for n := range strings.SplitSeq(*clients, ",") {
		v, err := strconv.Atoi(n)
		if err != nil || v < 1 {
			return fmt.Errorf("-clients %q: numbers, separated by commas", *clients)
		}
		p.clients = append(p.clients, v)
	}
	if f.NArg() > 0 || p.glossa == "" || p.llama == "" || p.model == "" || min(p.prompt, p.answer, p.requests, p.threads) < 1 {
		return errors.New("needs -glossa, -llama and -model, and positive numbers")
	}
	return measure(&p)
}

// measure prints a row for each number of clients and kind of prompts. Each server is measured twice,
// once before the other and once after it: memory that is new to a virtual machine is slow, and the
// first one gets it.
func measure(p *plan) error {
	model, err := prepare(p.model)
	if err != nil {
		return err
	}
	defer os.RemoveAll(model.dir)
	fmt.Println(heading)
	for _, clients := range p.clients {
		var results [2][2]result // by server and kind of prompts
		for _, i := range []int{0, 1, 1, 0} {
			if err := measureServer(p, model, clients, servers[i], &results[i]); err != nil {
				return err
			}
		}
		for repeated, kind := range []string{"new", "repeated"} {
			fmt.Println(row(clients, kind, &results[0][repeated], &results[1][repeated]))
		}
	}
	return nil
}

// servers start what is compared.
var servers = [2]func(*plan, files, int) (*server, error){startGlossa, startLlama}

// measureServer adds the loads of a server to its results, by kind of prompts.
func measureServer(p *plan, model files, clients int, start func(*plan, files, int) (*server, error), results *[2]result) error {
	s, err := start(p, model, clients)
	if err != nil {
		return err
	}
	for repeated := range results {
		var r result
		if r, err = load(p, s, clients, repeated == 1); err != nil {
			break
		}
		results[repeated].add(&r)
	}
	if err := errors.Join(err, s.stop()); err != nil {
		return fmt.Errorf("%s, %d clients: %w", s.name, clients, err)
	}
	return nil
}
