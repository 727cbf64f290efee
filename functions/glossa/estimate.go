package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"glossa/pkg/app"
	"glossa/pkg/bench"
	"glossa/pkg/catalog"
	"glossa/pkg/engine/dtype"
	"glossa/pkg/estimate"
	"glossa/pkg/estimate/traffic"
	"glossa/pkg/llm"
	"glossa/pkg/memory"
	"glossa/pkg/price"
)

// simulatedTime is the time of the traffic of --rate.
const simulatedTime = 24 * time.Hour

// estimateOptions holds the command line of estimate.
type estimateOptions struct {
	model, quant   string
	machine        string // a file of measurements; "": this machine is measured
	memory         []int  // MB
	server         string
	request        estimate.Request
	rate           float64 // requests a minute; 0: none
	trace          string  // a file
	seed           uint64
	concurrency    int
	idle           time.Duration
	start          estimate.Start
	arch           string
	against, table string
	prices         map[string]string
	json           bool
}

// estimateCommand returns glossa estimate.
func (p *program) estimateCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "estimate MODEL", Short: "Estimate what a model needs and costs on AWS", Args: positional(1, "MODEL"),
		Long: `Estimate what a model needs and costs before it is deployed: memory, cold start,
time to the first token, tokens a second and price, on Lambda by the size of its
memory, on Managed Instances, and on one EC2 instance or Fargate task.
MODEL is a directory, a GGUF file, a packed model, or a shape of glossa bench.

The speed is that of this machine, which is measured first, or that of
--machine, a file of lines that glossa bench --json prints. A model that was not
measured is scaled from the shape of the most similar size. The speed of more
processors than were measured is extrapolated.

With --rate or --trace, traffic is simulated: instances, cold starts, waiting
and throttled requests, latencies and the bill. --rate is a day of requests that
come at random. --trace names a file with a line for each request: the seconds
from the beginning, the tokens of the prompt and those of the answer.

Prices are those of us-east-1, on demand; --price replaces one.`,
		Example: `  glossa estimate runs/mine
  glossa estimate smollm2-135m --memory 1769,3538 --against 0.035/0.14
  glossa bench --shape smollm2-135m --json > here.jsonl
  glossa estimate model.gguf --machine here.jsonl --rate 20 --prompt 500`,
	}
	o := &estimateOptions{start: estimate.DefaultStart()}
	f := c.Flags()
	f.StringVar(&o.quant, "quant", "", "`format` of the weights: "+strings.Join(dtype.Options(), ", ")+", stored (default stored; for a shape "+dtype.Q8_0.Option()+")")
	f.StringVar(&o.machine, "machine", "", "`file` of measurements, as glossa bench --json prints them (default: measure this machine)")
	sizes := f.String("memory", joined(estimate.MemorySizes()), "`sizes` of Lambda's memory in MB")
	f.StringVar(&o.server, "server", "", "`size` of the machine that is paid by the hour: "+strings.Join(estimate.Machines(), ", ")+" (default: the smallest that the model fits into)")
	f.IntVar(&o.request.Prompt, "prompt", 256, "`tokens` of the prompt of a request")
	f.IntVar(&o.request.Answer, "answer", 128, "`tokens` of the answer to a request")
	f.Float64Var(&o.rate, "rate", 0, "simulate a day with this number of `requests` a minute; 0: none")
	f.StringVar(&o.trace, "trace", "", "simulate the requests of a `file`")
	f.Uint64Var(&o.seed, "seed", 1, "seed of the requests of --rate")
	f.IntVar(&o.concurrency, "concurrency", 1000, "`instances` of the function at once; more requests are throttled")
	f.DurationVar(&o.idle, "idle", 10*time.Minute, "`time` after which Lambda ends an idle instance, which AWS does not document")
	f.DurationVar(&o.start.Platform, "platform", o.start.Platform, "`time` that AWS takes to start an instance, before it reads the program")
	f.DurationVar(&o.start.Init, "init", o.start.Init, "`time` from the start of the program to its first request")
	packageSize := f.String("package-size", "8MB", "`size` of the program's archive")
	packageRate := f.String("package-rate", "100MB", "`bytes` of the program that are read in a second")
	storeRate := f.String("s3-rate", "75MB", "`bytes` of weights that are read from S3 in a second")
	f.StringVar(&o.arch, "arch", "arm64", "`architecture` of Lambda's processors, for prices: arm64 or amd64")
	f.StringVar(&o.against, "against", "", "compare with a `model` whose record has prices, or with dollars for a million tokens of prompts and answers: 0.035/0.14")
	tableFlag(f, &o.table)
	f.StringToStringVar(&o.prices, "price", nil, "replace a price of AWS, in dollars: `NAME=USD`; names are "+strings.Join(priceNames(), ", "))
	f.BoolVar(&o.json, "json", false, "print JSON")
	completeWords(c, "quant", append(dtype.Options(), "stored")...)
	completeWords(c, "server", estimate.Machines()...)
	completeWords(c, "arch", "arm64", "amd64")
	c.RunE = func(c *cobra.Command, args []string) (err error) {
		o.model = args[0]
		if o.memory, err = memorySizes(*sizes); err != nil {
			return err
		}
		if err := o.readStart(*packageSize, *packageRate, *storeRate); err != nil {
			return err
		}
		return p.estimate(c.Context(), o)
	}
	return c
}

// priceNames lists the names of prices.
func priceNames() (names []string) {
	for _, r := range price.AWS().Rows() {
		names = append(names, r.Name)
	}
	return names
}

func joined(list []int) string {
	var words []string
	for _, n := range list {
		words = append(words, strconv.Itoa(n))
	}
	return strings.Join(words, ",")
}

// memorySizes parses a list of sizes in MB.
func memorySizes(text string) (list []int, err error) {
	for part := range strings.SplitSeq(text, ",") {
		mb, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil {
			return nil, usagef("--memory: %q must be a number of MB", part)
		}
		if err := estimate.CheckMemory(mb); err != nil {
			return nil, usagef("--memory: %w", err)
		}
		list = append(list, mb)
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}

// readStart parses the sizes and rates of a start.
func (o *estimateOptions) readStart(size, rate, store string) error {
	for _, v := range []struct {
		flag, text string
		set        func(int64)
	}{
		{"package-size", size, func(n int64) { o.start.Package = n }},
		{"package-rate", rate, func(n int64) { o.start.PackageRate = float64(n) }},
		{"s3-rate", store, func(n int64) { o.start.StoreRate = float64(n) }},
	} {
		n, err := memory.ParseSize(v.text)
		if err != nil {
			return usagef("--%s: %w", v.flag, err)
		}
		v.set(n)
	}
	return nil
}

// check validates the arguments before anything is measured.
func (o *estimateOptions) check() error {
	switch {
	case o.rate != 0 && o.trace != "":
		return usagef("--rate and --trace exclude each other")
	case o.concurrency < 1:
		return usagef("--concurrency must be a positive integer")
	case o.idle <= 0 || o.idle > traffic.MaxTime:
		return usagef("--idle must be positive, and at most a year")
	case o.server != "" && !slices.Contains(estimate.Machines(), o.server):
		return usagef("--server: %q must be %s", o.server, strings.Join(estimate.Machines(), ", "))
	case o.rate != 0:
		if _, err := traffic.Poisson(o.rate, simulatedTime, o.seed); err != nil {
			return usagef("--rate: %w", err)
		}
	}
	return nil
}

// An estimated is what the command prints.
type estimated struct {
	Model        string               `json:"model"`
	Format       string               `json:"format"`
	Context      int                  `json:"context"`
	Request      estimate.Request     `json:"request"`
	Measured     string               `json:"measured"` // the model or shape of the measurements
	Scaled       bool                 `json:"scaled"`
	Threads      int                  `json:"measured_threads"`
	Batch        int                  `json:"measured_batch"`
	Arch         string               `json:"arch"`
	Prices       []price.Row          `json:"prices"`
	OtherMillion llm.USD              `json:"other_million_tokens_usd,omitempty"`
	Functions    []*estimate.Function `json:"lambda"`
	Servers      []*estimate.Server   `json:"servers"`
	Days         []*estimate.Day      `json:"traffic,omitempty"`
}

// estimate estimates and prints.
func (p *program) estimate(ctx context.Context, o *estimateOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	e := &estimate.Estimator{Request: o.request, Start: o.start, Prices: price.AWS(), Arch: o.arch, Workers: app.DefaultWorkers, Waiting: app.DefaultWorkers * app.WaitingPerWork}
	if err := e.Prices.Replace(o.prices); err != nil {
		return usagef("--price: %w", err)
	}
	if err := p.compare(ctx, o, e); err != nil {
		return err
	}
	m, format, err := o.open()
	if err != nil {
		return err
	}
	defer m.Close()
	e.Model = described(m, format)
	if err := e.Check(); err != nil {
		return usageError{err}
	}
	requests, over, err := o.requests(e.Model.Context)
	if err != nil {
		return err
	}
	list, err := o.measurements(ctx, p, m, format)
	if err != nil {
		return err
	}
	if e.Speed, err = estimate.NewSpeed(list, e.Model, shapeWork(e.Model.Format)); err != nil {
		return err
	}
	out, err := o.all(e, requests, over)
	if err != nil {
		return err
	}
	if o.json {
		return printJSON(p.stdout, out)
	}
	return out.print(p.stdout, e, o)
}

// compare reads the prices to compare with.
func (p *program) compare(ctx context.Context, o *estimateOptions, e *estimate.Estimator) error {
	if o.against == "" {
		return nil
	}
	if in, out, ok := strings.Cut(o.against, "/"); ok {
		input, err := llm.ParseUSD(in)
		output, err2 := llm.ParseUSD(out)
		if err = errors.Join(err, err2); err == nil {
			e.Other, err = catalog.PricesPerMillion(input, output)
			if err != nil {
				return usagef("--against: %w", err)
			}
			return nil
		}
	}
	c, err := p.catalogOf(modelsOptions{table: o.table})
	if err != nil {
		return err
	}
	entry, err := c.Entry(ctx, o.against)
	switch {
	case err != nil:
		return usagef("--against: %q is neither a model nor dollars such as 0.035/0.14: %w", o.against, err)
	case entry.Prices == nil:
		return usagef("--against: the record of %s has no prices", o.against)
	}
	e.Other = entry.Prices
	return nil
}

// requests returns the traffic to simulate and its time; nil: none.
func (o *estimateOptions) requests(context int) (iter.Seq[traffic.Request], time.Duration, error) {
	switch {
	case o.rate != 0:
		arrivals, err := traffic.Poisson(o.rate, simulatedTime, o.seed)
		return o.request.Alike(arrivals), simulatedTime, err
	case o.trace == "":
		return nil, 0, nil
	}
	file, err := os.Open(o.trace)
	if err != nil {
		return nil, 0, err
	}
	defer file.Close()
	list, err := traffic.ParseTrace(file, context)
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w", o.trace, err)
	}
	return slices.Values(list), list[len(list)-1].At, nil
}

// all computes the estimate.
func (o *estimateOptions) all(e *estimate.Estimator, requests iter.Seq[traffic.Request], over time.Duration) (*estimated, error) {
	out := &estimated{
		Model: e.Model.Name, Format: e.Model.Format, Context: e.Model.Context, Request: e.Request, Arch: e.Arch, Prices: e.Prices.Rows(),
		Measured: e.Speed.Shape, Scaled: e.Speed.Scaled, Threads: e.Speed.Threads, Batch: e.Speed.Batch, OtherMillion: e.OtherMillion(),
	}
	cheapest := llm.USD(0)
	for _, mb := range o.memory {
		f, err := e.Function(mb)
		if err != nil {
			return nil, err
		}
		out.Functions = append(out.Functions, f)
		if !f.Plan.Fits {
			continue
		}
		if !f.TooLong && (cheapest == 0 || f.Request < cheapest) {
			cheapest = f.Request
		}
		if requests != nil {
			d, err := e.FunctionDay(f, requests, o.concurrency, o.idle)
			if err != nil {
				return nil, err
			}
			out.Days = append(out.Days, d)
		}
	}
	var err error
	if out.Servers, err = e.Servers(o.server, cheapest); err != nil || requests == nil {
		return out, err
	}
	for _, s := range out.Servers {
		if !s.Plan.Fits {
			continue
		}
		d, err := e.ServerDay(s, requests, over)
		if err != nil {
			return nil, err
		}
		out.Days = append(out.Days, d)
	}
	return out, nil
}

// measuredThreads returns numbers of threads to measure: the powers of two, and all processors.
func measuredThreads() (list []int) {
	for n := 1; n < runtime.GOMAXPROCS(0); n *= 2 {
		list = append(list, n)
	}
	return append(list, runtime.GOMAXPROCS(0))
}

// measurements reads the file of measurements, or measures this machine.
func (o *estimateOptions) measurements(ctx context.Context, p *program, m *bench.Model, format string) ([]estimate.Measurement, error) {
	if o.machine == "" {
		return o.measure(ctx, p, m, format)
	}
	file, err := os.Open(o.machine)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	list, err := estimate.ParseMachine(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.machine, err)
	}
	return list, nil
}
