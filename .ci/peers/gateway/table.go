package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
)

// Goals for a request and a frame, in microseconds.
const (
	goalRequest = "60"
	goalFrame   = "10"
)

// table prints the measurements.
func table(out io.Writer, p plan, r *result) {
	request, frame := r.request, r.frame
	fmt.Fprintf(out, "# What the gateway costs\n\n"+
		"Written by `make bench-gateway`: %s, %s on %d processors. Processor time of the process that serves, in\n"+
		"microseconds, medians of rounds in which all take turns; clients and the model, a fake, are other processes.\n\n"+
		"Requests: %d a round over %d connections, bodies of a kilobyte both ways. glossa authenticates, routes, translates from\n"+
		"OpenAI's chats to Anthropic's on Bedrock and back, and writes its line of metrics. The peer is the standard library's\n"+
		"httputil.ReverseProxy, which decodes and encodes the JSON both ways and does nothing else.\n\n",
		runtime.Version(), processor(), runtime.NumCPU(), p.requests, p.connections)
	fmt.Fprintf(out, "| a request | glossa | ReverseProxy with JSON | goal |\n|---|---:|---:|---:|\n")
	row(out, "all of it", request["glossa"], request["proxy"], "")
	row(out, "the call alone: by the SDK's client, by net/http", request[bySDK], request[byHTTP], "")
	row(out, "what the gateway adds to it", request["glossa"]-request[bySDK], request["proxy"]-request[byHTTP], goalRequest)
	row(out, "to the call as glossa makes it (pkg/backend/awsrest)", request["glossa"]-request[byOwn], request["proxy"]-request[byHTTP], "")
	row(out, "of it a net/http server that answers alone", request["nothing"], request["nothing"], "")
	fmt.Fprintf(out, "\nStreams: %d at the same time of %d frames, one each %v; medians of three rounds. No frame was lost, merged\n"+
		"or out of order. What opening a stream costs is shared out among its frames.\n\n", p.streams, p.frames, p.pace)
	fmt.Fprintf(out, "| a frame of a stream | glossa | ReverseProxy with JSON | goal |\n|---|---:|---:|---:|\n")
	row(out, "all of it", frame["glossa"], frame["proxy"], "")
	row(out, "the call alone: by the SDK's client, by net/http", frame[bySDK], frame[byHTTP], "")
	row(out, "what the gateway adds to it", frame["glossa"]-frame[bySDK], frame["proxy"]-frame[byHTTP], goalFrame)
	row(out, "to the call as glossa makes it", frame["glossa"]-frame[byOwn], frame["proxy"]-frame[byHTTP], "")
	row(out, "from the model to the client, p50 (wall time)", r.middle["glossa"], r.middle["proxy"], "")
	row(out, "from the model to the client, p99 (wall time)", r.slowest["glossa"], r.slowest["proxy"], "")
	row(out, "between two frames, beyond the model's pace, p99 (wall time)", r.gaps["glossa"], r.gaps["proxy"], "40000")
}

func row(out io.Writer, name string, glossa, proxy float64, goal string) {
	fmt.Fprintf(out, "| %s | %.1f | %.1f | %s |\n", name, glossa, proxy, goal)
}

// processor returns the processor's name from /proc/cpuinfo, else the architecture.
func processor() string {
	b, _ := os.ReadFile("/proc/cpuinfo") // Linux only
	for line := range strings.Lines(string(b)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}
