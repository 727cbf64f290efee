// Package estimate says what a model will need before it is deployed: the memory, the time of
// a cold start, the time to the first token, tokens a second, and the cost of requests and of a
// day's traffic, on Lambda by the size of its memory, on Managed Instances, and on one EC2
// instance or Fargate task. It computes from measurements; it measures nothing, reads no files
// and knows no clocks. Memory is planned by packages memory and fit, requests are billed by
// package meter, and prices are those of package price: as a server does it.
//
// A request is a prompt and an answer. Its first token comes with the pass over the prompt, and
// each further one is a pass. Attention is in the measurements only as far as their texts are
// long, so a longer context is slower than it says here.
package estimate

import (
	"errors"
	"fmt"
	"math"
	"time"

	"glossa/pkg/deployment"
	"glossa/pkg/estimate/traffic"
	"glossa/pkg/fit"
	"glossa/pkg/llm"
	"glossa/pkg/memory"
	"glossa/pkg/price"
)

// A Model is what a model needs.
type Model struct {
	Name    string
	Format  string           // of its weights in memory
	Context int              // tokens
	Sizes   map[string]int64 // bytes of the weights by format
	Weights int64            // bytes of those in Format
	Work    Work
	Files   int64                  // bytes that a cold start reads
	Row     func(tokens int) int64 // bytes of a completion of so many tokens, in addition to the weights
}

// Work is the machine's work for a pass.
type Work struct {
	Bytes      int64 // of the weights, which a pass reads
	Operations int64 // multiply-adds of the layers, for each token
}

// A Request is the length of a typical request.
type Request struct {
	Prompt int `json:"prompt_tokens"`
	Answer int `json:"answer_tokens"`
}

// Check rejects a request that the model cannot answer.
func (r Request) Check(context int) error {
	switch {
	case r.Prompt < 1 || r.Answer < 1:
		return errors.New("the prompt and the answer must have a token or more")
	case r.Prompt > context || r.Answer > context-r.Prompt:
		return fmt.Errorf("%d tokens of prompt and %d of answer exceed the context of %d", r.Prompt, r.Answer, context)
	}
	return nil
}

// A Plan is the memory of a model in a machine or a function, in bytes.
type Plan struct {
	Total        int64  `json:"total_bytes"`
	Weights      int64  `json:"weight_bytes"`
	WeightLimit  int64  `json:"weight_limit_bytes"` // of all open models
	Request      int64  `json:"request_bytes"`      // of the typical request
	RequestLimit int64  `json:"request_limit_bytes"`
	Fits         bool   `json:"fits"`
	Reason       string `json:"reason,omitempty"` // why it does not fit, or how answers are shortened
}

// Plan plans a memory of so many bytes as a server with a number of workers does.
func (m *Model) Plan(total int64, workers int, r Request) Plan {
	limits := memory.Limits{Total: total, Bound: total}
	p := Plan{Total: total, Weights: m.Weights, WeightLimit: limits.Weights(), Request: m.Row(r.Prompt + r.Answer)}
	p.RequestLimit = limits.Request(p.WeightLimit, workers)
	switch {
	case p.Weights > p.WeightLimit:
		p.Reason = fmt.Sprintf("weights need %s and may take %s", fit.Bytes(p.Weights), fit.Bytes(p.WeightLimit))
		if format, _, err := fit.Format(m.Sizes, p.WeightLimit); err == nil && format != m.Format {
			p.Reason += "; they fit as " + format
		}
	case m.Row(r.Prompt+1) > p.RequestLimit:
		p.Reason = fmt.Sprintf("the prompt needs %s and a request may take %s", fit.Bytes(m.Row(r.Prompt+1)), fit.Bytes(p.RequestLimit))
	default:
		if p.Fits = true; p.Request > p.RequestLimit {
			p.Reason = fmt.Sprintf("the request needs %s and may take %s: its answer is shortened", fit.Bytes(p.Request), fit.Bytes(p.RequestLimit))
		}
	}
	return p
}

// A Start describes cold starts. The program and its start are billed from the initialisation
// on; weights are read by the first request.
//
// Source: AWS Compute Blog, "AWS Lambda standardizes billing for INIT Phase", since August 2025.
type Start struct {
	Platform    time.Duration // of AWS, before it reads the program
	Package     int64         // bytes of the program
	PackageRate float64       // bytes a second
	Init        time.Duration // from the start of the process to its first question for a request
	StoreRate   float64       // bytes a second at which weights are read from S3
}

// DefaultStart returns a start of this repository's functions. The size and the initialisation
// are the budgets that its tests hold. The rates are assumptions: measurements of others range
// from 400 to 700 Mbit/s for S3.
func DefaultStart() Start {
	return Start{Platform: 100 * time.Millisecond, Package: 8e6, PackageRate: 100e6, Init: 25 * time.Millisecond, StoreRate: 75e6}
}

// check rejects a start that cannot be.
func (s *Start) check() error {
	switch {
	case s.Platform < 0 || s.Init < 0 || s.Platform > traffic.MaxTime || s.Init > traffic.MaxTime:
		return errors.New("the times of a start must not be negative, and at most a year")
	case s.Package < 0 || !positive(s.PackageRate) || !positive(s.StoreRate):
		return errors.New("the size of the program must not be negative, and the rates must be positive")
	}
	return nil
}

func positive(v float64) bool { return v > 0 && !math.IsInf(v, 1) }

// before returns the time before the initialisation, which is not billed, and the rest of a
// cold start: the initialisation and reading a model's files.
func (s *Start) before(files int64) (unbilled, billed time.Duration) {
	unbilled = s.Platform + duration(float64(s.Package)/s.PackageRate)
	return unbilled, s.Init + duration(float64(files)/s.StoreRate)
}

// duration converts seconds, at most a year.
func duration(seconds float64) time.Duration {
	return time.Duration(min(seconds*float64(time.Second), float64(traffic.MaxTime)))
}

// An Estimator estimates for one model, one speed and one typical request.
type Estimator struct {
	Model   *Model
	Speed   *Speed
	Request Request
	Start   Start
	Prices  *price.Table
	Arch    string // of Lambda's processors, as Go spells it
	Workers int    // concurrent requests that a server plans for
	Waiting int    // further requests that may wait at a server

	// Other has the prices of a model to compare with, such as one of Bedrock; nil: none.
	Other *llm.Prices
}

// Check rejects what cannot be estimated.
func (e *Estimator) Check() error {
	if err := e.Request.Check(e.Model.Context); err != nil {
		return err
	}
	if e.Arch != "arm64" && e.Arch != "amd64" {
		return fmt.Errorf("the processors must be arm64 or amd64, not %.20q", e.Arch)
	}
	return e.Start.check()
}

// MemorySizes returns the memories of Lambda that have a whole number of processors, and the
// largest.
func MemorySizes() (list []int) {
	for mb := deployment.MemoryPerVCPU; mb <= deployment.MaxMemory; mb += deployment.MemoryPerVCPU {
		list = append(list, mb)
	}
	return append(list, deployment.MaxMemory)
}

// CheckMemory rejects a size that Lambda does not have.
func CheckMemory(mb int) error {
	if mb < deployment.MinMemory || mb > deployment.MaxMemory {
		return fmt.Errorf("%d MB: Lambda has %d to %d", mb, deployment.MinMemory, deployment.MaxMemory)
	}
	return nil
}

// processors returns the processors of a function.
func processors(mb int) float64 { return float64(mb) / deployment.MemoryPerVCPU }
