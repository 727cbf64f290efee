package budget

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

// A Usage is the usage of one model by one principal in one UTC day, or in a month if
// Day is a month.
type Usage struct {
	Day       string  `json:"day" doc:"the day in UTC, as 2026-01-31, or the month, as 2026-01"`
	Principal string  `json:"principal" doc:"who sent the requests; empty where no credentials were required"`
	Model     string  `json:"model" doc:"the model that answered"`
	Requests  int64   `json:"requests" doc:"requests that were answered"`
	Input     int64   `json:"input_tokens" doc:"tokens of prompts"`
	Output    int64   `json:"output_tokens" doc:"generated tokens"`
	Cost      llm.USD `json:"cost,omitzero" doc:"the cost in US dollars, as far as prices are known; absent if it is 0"`
}

// A Journal stores usage.
type Journal interface {
	// Add adds to the stored usage and returns the number of elements added. With an
	// error, more may have been added; the caller keeps and retries the others, so that
	// faults count too much rather than too little.
	Add(ctx context.Context, list []Usage) (int, error)
	// Of returns the usage of the days that begin with a prefix, such as a month.
	Of(ctx context.Context, prefix string) ([]Usage, error)
}

// usage is usage that is not stored yet; its keys have no counts.
type usage map[Usage]*Usage

func (u usage) add(more Usage) {
	key := Usage{Day: more.Day, Principal: more.Principal, Model: more.Model}
	sum, ok := u[key]
	if !ok {
		sum = &Usage{Day: more.Day, Principal: more.Principal, Model: more.Model}
		u[key] = sum
	}
	sum.Requests += more.Requests
	sum.Input += more.Input
	sum.Output += more.Output
	sum.Cost = sum.Cost.Plus(more.Cost)
}

// count counts a request that opened a model. Unknown names are not kept: clients
// could send any number of them.
func (u usage) count(now time.Time, rec *httpx.Record) {
	if rec.Model != "" {
		u.add(Usage{
			Day: now.UTC().Format(time.DateOnly), Principal: rec.Principal, Model: rec.Model,
			Requests: 1, Input: int64(rec.Usage.Input), Output: int64(rec.Usage.Output), Cost: rec.Usage.Cost.USD,
		})
	}
}

// list returns the sums, newest day first.
func (u usage) list() []Usage {
	list := make([]Usage, 0, len(u))
	for _, sum := range u {
		list = append(list, *sum)
	}
	slices.SortFunc(list, func(a, b Usage) int {
		return cmp.Or(cmp.Compare(b.Day, a.Day), cmp.Compare(a.Principal, b.Principal), cmp.Compare(a.Model, b.Model))
	})
	return list
}

// flush stores the usage. Its caller holds chores.
func (b *Budgets) flush(ctx context.Context) error {
	b.mu.Lock()
	list := b.usage.list()
	b.usage = usage{}
	b.mu.Unlock()
	if len(list) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, callPatience)
	defer cancel()
	n, err := b.cfg.Journal.Add(ctx, list)
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, u := range list[n:] {
		b.usage.add(u)
	}
	return err
}

// flushNow stores the usage before it is read.
func (b *Budgets) flushNow(ctx context.Context) error {
	b.chores.Lock()
	defer b.chores.Unlock()
	err := b.flush(ctx)
	if err == nil {
		b.last = b.cfg.Now()
	}
	return err
}

// errCorrupt means that a file or an item was damaged.
var errCorrupt = errors.New("it has no counts")
