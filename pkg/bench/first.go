package bench

import (
	"cmp"
	"math"
	"time"

	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/transformer"
)

// enough is the total duration of repeated opening of a model.
const enough = 2 * time.Second

// FirstToken returns the time from the name of a model to the logits after one token,
// including reading everything that serving needs, such as the tokenizer. It is the
// median of several times, after one that is not counted. The number of threads is the
// last of cfg's, or the default.
func FirstToken(name string, cfg Config) (time.Duration, error) {
	if cfg.Kernels == nil {
		cfg.Kernels = kernel.Best()
	}
	threads := 1
	if n := len(cfg.Threads); n > 0 {
		threads = cfg.Threads[n-1]
	}
	team := transformer.NewTeam(threads)
	defer team.Close()
	var times []float64
	for begin := time.Now(); len(times) <= cmp.Or(cfg.Repeat, 5) && (len(times) < 2 || time.Since(begin) < enough); {
		took, err := firstToken(name, cfg, team)
		if err != nil {
			return 0, err
		}
		times = append(times, took.Seconds())
	}
	return time.Duration(Median(times[1:]) * float64(time.Second)), nil
}

func firstToken(name string, cfg Config, team *transformer.Team) (time.Duration, error) {
	begin := time.Now()
	m, err := Open(name)
	if err != nil {
		return 0, err
	}
	defer m.Close()
	model, err := transformer.New(m.Spec, m.Weights, cfg.Kernels, cfg.Format)
	if err != nil {
		return 0, err
	}
	model.StoreKV(cfg.KV)
	_, err = model.NewPass(team).Forward([]transformer.Sequence{{Cache: model.NewCache(1), Tokens: []int{0}, Logits: 1}})
	took := time.Since(begin)
	if err == nil && m.Weights.Await != nil {
		err = m.Weights.Await(math.MaxInt) // the next run must not share the machine with this one
	}
	return took, err
}
