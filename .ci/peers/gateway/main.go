// Command gateway measures glossa's own cost in front of a remote model: processor time of
// its process for each request and for each frame of a stream, minus that of the same calls
// made directly with the AWS SDK. It compares this with the standard library's
// httputil.ReverseProxy, which decodes and encodes the JSON both ways, minus the same calls
// made directly with net/http. The fake model and the clients run in other processes, so
// their time does not count.
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

// A plan sets the number and size of measurements.
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
	if len(args) == 3 && args[0] == "process" { // a worker process
		return process(args[1], args[2])
	}
	p := plan{connections: 16}
	f := flag.NewFlagSet("gateway", flag.ContinueOnError)
	f.IntVar(&p.rounds, "rounds", 7, "rounds; the medians are shown")
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
