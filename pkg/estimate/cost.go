package estimate

import (
	"fmt"
	"math"
	"strings"
	"time"

	"glossa/pkg/deployment"
	"glossa/pkg/llm"
	"glossa/pkg/meter"
	"glossa/pkg/price"
)

// million is the number of tokens that costs are compared for.
const million = 1_000_000

// A Function is the estimate for Lambda with a size of memory. Times are in seconds.
type Function struct {
	MemoryMB        int      `json:"memory_mb"`
	Processors      float64  `json:"vcpus"`
	Plan            Plan     `json:"memory"`
	FirstToken      float64  `json:"first_token_seconds"`
	Latency         float64  `json:"latency_seconds"`
	TokensPerSecond float64  `json:"tokens_per_second"`
	ColdStart       float64  `json:"cold_start_seconds"` // before the first request is worked on, with the weights
	ColdFirstToken  float64  `json:"cold_first_token_seconds"`
	TooLong         bool     `json:"too_long,omitempty"` // the request takes more than Lambda allows
	Request         llm.USD  `json:"request_usd"`        // warm
	ColdRequest     llm.USD  `json:"cold_request_usd"`
	Million         llm.USD  `json:"million_tokens_usd"`        // of prompts and answers, warm
	OfOther         *float64 `json:"times_other_usd,omitempty"` // the cost of a request as a multiple of the other model's

	first, latency, unbilled, start time.Duration
}

// Function estimates a size of memory, in MB.
func (e *Estimator) Function(mb int) (*Function, error) {
	if err := CheckMemory(mb); err != nil {
		return nil, err
	}
	f := &Function{MemoryMB: mb, Processors: processors(mb), Plan: e.Model.Plan(int64(mb)<<20, e.Workers, e.Request)}
	f.first, f.latency = e.Speed.Time(f.Processors, e.Request, 1)
	unbilled, billed := e.Start.before(e.Model.Files)
	f.unbilled, f.start = unbilled, unbilled+billed
	f.FirstToken, f.Latency, f.ColdStart = f.first.Seconds(), f.latency.Seconds(), f.start.Seconds()
	f.ColdFirstToken = f.ColdStart + f.FirstToken
	f.TokensPerSecond = 1 / e.Speed.Pass(f.Processors, 1)
	f.TooLong = billed+f.latency > deployment.MaxTimeout
	computer := e.computer(mb)
	f.Request, f.ColdRequest = computer.Cost(f.latency), computer.Cost(billed+f.latency)
	f.Million = e.perMillion(f.Request)
	if other := e.other(); other > 0 {
		f.OfOther = new(float64(f.Request) / float64(other))
	}
	return f, nil
}

// computer returns the prices of a function, as a function itself counts them.
func (e *Estimator) computer(mb int) *meter.Computer {
	return &meter.Computer{MiB: int64(mb), GBSecond: e.Prices.Of(price.LambdaSecond(e.Arch)), Request: e.Prices.Of(price.LambdaRequest)}
}

// perMillion returns the cost of a million tokens of requests that cost so much.
func (e *Estimator) perMillion(request llm.USD) llm.USD {
	return dollars(float64(request) * million / float64(e.Request.Prompt+e.Request.Answer))
}

// dollars rounds picodollars, at most those that can be added without overflow.
func dollars(pico float64) llm.USD {
	const most = float64(math.MaxInt64 / 4)
	return llm.USD(math.Round(min(pico, most)))
}

// other returns what the other model takes for a request, 0 if there is none.
func (e *Estimator) other() llm.USD {
	return e.Other.Cost(llm.Usage{Input: e.Request.Prompt, Output: e.Request.Answer}, 1).USD
}

// OtherMillion returns the cost of a million tokens with the other model, 0 if there is none.
func (e *Estimator) OtherMillion() llm.USD { return e.perMillion(e.other()) }

// A machine is a size of EC2's general family with Graviton3, whose processors are cores.
//
// Source: Amazon EC2 User Guide, specifications of m7g.
type machine struct {
	name string
	vcpu int
	gib  int64
}

func machines() []machine {
	return []machine{{"m7g.large", 2, 8}, {"m7g.xlarge", 4, 16}, {"m7g.2xlarge", 8, 32}, {"m7g.4xlarge", 16, 64}}
}

// Machines lists the sizes of servers.
func Machines() (names []string) {
	for _, m := range machines() {
		names = append(names, m.name)
	}
	return names
}

// managedInstances is the number of instances that Managed Instances start, one in each zone.
//
// Source: AWS Lambda Developer Guide, "Scaling Lambda Managed Instances".
const managedInstances = 3

// A Server is the estimate for machines that are paid by the hour. Requests share them.
type Server struct {
	Name            string   `json:"name"`
	Instances       int      `json:"instances"`
	Processors      int      `json:"vcpus"`       // of each
	Plan            Plan     `json:"memory"`      // of each
	Hour            llm.USD  `json:"hour_usd"`    // of all
	Fee             llm.USD  `json:"request_usd"` // in addition
	FirstToken      float64  `json:"first_token_seconds"`
	TokensPerSecond float64  `json:"tokens_per_second"`    // of one request alone
	Rows            int      `json:"concurrent_requests"`  // of each instance, where it has its highest throughput
	Capacity        float64  `json:"requests_per_minute"`  // at most, of all
	Million         llm.USD  `json:"million_tokens_usd"`   // of prompts and answers, at capacity
	BreakEven       *float64 `json:"break_even,omitempty"` // requests a minute from which it costs less than the other model; nil: never
	BreakEvenLambda *float64 `json:"break_even_lambda"`    // the same for Lambda's cheapest size; nil: never
	queue           int      // requests that wait
}

// Servers estimates EC2, Managed Instances and Fargate with a size of [Machines], "" for the
// smallest that the model fits into. cheapest is what a request costs on Lambda; 0: it does not
// fit there.
func (e *Estimator) Servers(size string, cheapest llm.USD) ([]*Server, error) {
	m, err := e.machine(size)
	if err != nil {
		return nil, err
	}
	hour := e.Prices.Of(price.EC2MediumHour).Times(int64(m.vcpu)) / 2
	managed := hour.Plus(dollars(float64(hour) * float64(e.Prices.Of(price.ManagedFee)) / float64(llm.Dollar))).Times(managedInstances)
	fargate := e.Prices.Of(price.FargateVCPU).Times(int64(m.vcpu)).Plus(e.Prices.Of(price.FargateMemory).Times(m.gib))
	list := []*Server{
		{Name: "EC2 " + m.name, Instances: 1, Hour: hour, queue: e.Waiting},
		{Name: "Managed Instances " + m.name, Instances: managedInstances, Hour: managed, Fee: e.Prices.Of(price.LambdaRequest)},
		{Name: fmt.Sprintf("Fargate %d vCPU, %d GB", m.vcpu, m.gib), Instances: 1, Hour: fargate, queue: e.Waiting},
	}
	for _, s := range list {
		s.Processors, s.Plan = m.vcpu, e.Model.Plan(m.gib<<30, e.Workers, e.Request)
		e.fill(s, cheapest)
	}
	return list, nil
}

// machine returns a size by its name, or the smallest that fits; if none fits, the largest.
func (e *Estimator) machine(size string) (m machine, err error) {
	for _, m = range machines() {
		if m.name == size || size == "" && e.Model.Plan(m.gib<<30, e.Workers, e.Request).Fits {
			return m, nil
		}
	}
	if size != "" {
		return m, fmt.Errorf("unknown size %.40q: must be %s", size, strings.Join(Machines(), ", "))
	}
	return m, nil
}

// fill computes the speed and the costs of a server. It serves as many requests at once as
// were measured together: what more would gain is not known.
func (e *Estimator) fill(s *Server, cheapest llm.USD) {
	first, _ := e.Speed.Time(float64(s.Processors), e.Request, 1)
	s.Rows = max(1, min(e.Workers, e.Speed.Batch))
	_, all := e.Speed.Time(float64(s.Processors), e.Request, s.Rows)
	s.FirstToken, s.TokensPerSecond = first.Seconds(), 1/e.Speed.Pass(float64(s.Processors), 1)
	s.Capacity = float64(s.Instances*s.Rows) / max(all, time.Nanosecond).Minutes()
	s.Million = e.perMillion(dollars(float64(s.Hour)/60/s.Capacity) + s.Fee)
	s.BreakEven, s.BreakEvenLambda = s.breakEven(e.other()), s.breakEven(cheapest)
}

// breakEven returns the requests a minute from which the server costs less than a price for
// each, nil if it never does: each costs more here, or the server cannot answer so many.
func (s *Server) breakEven(other llm.USD) *float64 {
	if other <= s.Fee {
		return nil
	}
	rate := float64(s.Hour) / 60 / float64(other-s.Fee)
	if rate > s.Capacity {
		return nil
	}
	return &rate
}
