// Command gateway measures what glossa itself costs before a remote model: processor
// time of its process for each request and for each frame of a stream, less that of the
// same calls made with the SDK of AWS alone. Beside it stands the standard library's
// httputil.ReverseProxy, which decodes and encodes the JSON both ways, less the same
// calls made with net/http alone. The model is a fake in a process of its own, and so
// are clients: their time does not count.
//
//	gateway [-rounds N] [-requests N] [-streams N] [-frames N] [-pace D] [-profile FILE] > TABLE
//
// It fails if a frame of a stream is lost, merged or out of order.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"time"
)

// A plan says how much is measured.
type plan struct {
	rounds, requests, connections int
	streams, frames               int
	pace                          time.Duration // between the frames of a stream
	profile                       string        // file for a profile of glossa's time; "": none
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "gateway:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 3 && args[0] == "process" { // one of our own
		return process(args[1], args[2])
	}
	p := plan{connections: 16}
	f := flag.NewFlagSet("gateway", flag.ContinueOnError)
	f.IntVar(&p.rounds, "rounds", 7, "rounds, of which the medians are shown")
	f.IntVar(&p.requests, "requests", 4000, "requests of a round")
	f.IntVar(&p.streams, "streams", 512, "streams at the same time")
	f.IntVar(&p.frames, "frames", 100, "frames of a stream")
	f.DurationVar(&p.pace, "pace", 100*time.Millisecond, "time between the frames of a stream")
	f.StringVar(&p.profile, "profile", "", "`file` for a profile of glossa's processor time in the last round of requests; FILE.frames has that of streams")
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() > 0 || min(p.rounds, p.requests, p.streams, p.frames-1) < 1 {
		return errors.New("usage: gateway [-rounds N] [-requests N] [-streams N] [-frames N] [-pace D]")
	}
	return measure(p)
}
