//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"glossa/pkg/host/runtimeapi"
)

// atOnce is the maximum number of instances of a function here. On AWS it is a quota of the
// account, or the reserved concurrency of the template.
const atOnce = 4

// errThrottled is Lambda's refusal when all instances are busy.
var errThrottled = errors.New("TooManyRequestsException: rate exceeded")

// A Fleet is a Lambda function: instances of its program that run one invocation at a time
// each, are started on demand, and are frozen between invocations.
type Fleet struct {
	Family    string
	Principal *Principal
	Memory    int // MB, of the template
	Timeout   time.Duration

	ctx     context.Context
	options runtimeapi.Options
	most    int
	guard   *guard

	mu       sync.Mutex
	all      []*runtimeapi.Function
	idle     []*runtimeapi.Function
	starting int   // instances that are not in all yet
	begun    int   // processes of ended instances
	peak     int64 // bytes
	inits    []time.Duration
	stays    []*Stay
}

// A Stay is an invocation's time on an instance.
type Stay struct {
	Taken, Freed    time.Time // with the start of the instance; Freed is zero while it runs
	Cold, Throttled bool      // it started an instance; it has none
}

// newFleet returns the fleet of a function of the templates, without instances.
func newFleet(ctx context.Context, fn *Resource, family, binary string, by *Principal, endpoint string, log io.Writer) (*Fleet, error) {
	memory, _ := fn.Get("MemorySize").(float64)
	timeout, _ := fn.Get("Timeout").(float64)
	f := &Fleet{Family: family, Principal: by, Memory: int(memory), Timeout: time.Duration(timeout) * time.Second, ctx: ctx, most: atOnce}
	if reserved, ok := fn.Get("ReservedConcurrentExecutions").(float64); ok {
		f.most = int(reserved)
	}
	if f.Memory == 0 || f.Timeout == 0 || fn.Text("Runtime") != "provided.al2023" || fn.Text("Handler") != "bootstrap" {
		return nil, fmt.Errorf("function %s: %v", family, fn.Properties)
	}
	f.options = runtimeapi.Options{
		Binary: binary, Name: fn.ref(), ARN: arnOf("lambda", region, account, "function:"+fn.ref()+":live"), Timeout: f.Timeout, MemoryMB: f.Memory, Stdout: log, Stderr: log,
		// Only the address of AWS differs from a deployed function. Templates cannot set
		// Lambda's own variables.
		Env: []string{
			"AWS_REGION=" + region, "AWS_DEFAULT_REGION=" + region, "AWS_ENDPOINT_URL=" + endpoint,
			"AWS_ACCESS_KEY_ID=" + by.Key, "AWS_SECRET_ACCESS_KEY=" + by.Secret, "AWS_SESSION_TOKEN=" + by.Token,
		},
	}
	var err error
	if f.guard, err = newGuard(); err != nil {
		return nil, err
	}
	variables, _ := fn.Get("Environment", "Variables").(map[string]any)
	size := 0
	for name, value := range variables {
		if size += len(name) + len(fmt.Sprint(value)); strings.HasPrefix(name, "AWS_") {
			return nil, fmt.Errorf("function %s: Lambda does not allow setting %s", family, name)
		}
		f.options.Env = append(f.options.Env, fmt.Sprintf("%s=%v", name, value))
	}
	if size > 4096 { // Lambda Developer Guide, "Lambda quotas"
		return nil, fmt.Errorf("function %s: its environment has %d bytes", family, size)
	}
	return f, nil
}

// Invoke implements [runtimeapi.Invoker].
func (f *Fleet) Invoke(ctx context.Context, event []byte) (*runtimeapi.Response, error) {
	one, stay, err := f.take()
	if err != nil {
		return nil, err
	}
	answer, err := one.Invoke(ctx, event)
	if err != nil {
		f.free(one, stay)
		return nil, err
	}
	go func() { // ends with the invocation
		<-answer.Ended()
		f.free(one, stay)
	}()
	return answer, nil
}

// take returns an idle instance, and starts one if there is none.
func (f *Fleet) take() (one *runtimeapi.Function, stay *Stay, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	stay = &Stay{Taken: time.Now()}
	f.stays = append(f.stays, stay)
	if n := len(f.idle); n > 0 {
		one = f.idle[n-1]
		f.idle = f.idle[:n-1]
		thaw(one.PID())
		return one, stay, nil
	}
	if len(f.all)+f.starting >= f.most {
		stay.Throttled = true
		return nil, stay, errThrottled
	}
	stay.Cold = true
	options := f.options
	f.starting++
	f.mu.Unlock() // instances start side by side
	one, err = runtimeapi.Start(f.ctx, options)
	f.mu.Lock()
	f.starting--
	if err == nil {
		f.all, f.inits = append(f.all, one), append(f.inits, one.InitDuration())
	}
	return one, stay, err
}

func (f *Fleet) free(one *runtimeapi.Function, stay *Stay) {
	f.mu.Lock()
	defer f.mu.Unlock()
	stay.Freed = time.Now()
	f.peak = max(f.peak, peakMemory(one.PID()))
	if slices.Contains(f.all, one) {
		f.idle = append(f.idle, one)
		var pids []int
		for _, any := range f.all {
			pids = append(pids, any.PID())
		}
		f.guard.watch(pids)
		freeze(one.PID())
	}
}

// Stays returns the invocations since the last call. None of them may still be running.
func (f *Fleet) Stays() (list []Stay) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.stays {
		list = append(list, *s)
	}
	f.stays = nil
	return list
}

// Kill kills all instances, as if their machines had failed.
func (f *Fleet) Kill() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, one := range f.all {
		one.Kill()
	}
}

// Fresh ends all idle instances: the next request starts a new one.
func (f *Fleet) Fresh() error {
	f.mu.Lock()
	for range 100 { // an instance becomes idle a moment after its client has the whole answer
		if len(f.idle) == len(f.all) && f.starting == 0 {
			break
		}
		f.mu.Unlock()
		time.Sleep(10 * time.Millisecond)
		f.mu.Lock()
	}
	list := f.idle
	f.idle = nil
	f.all = slices.DeleteFunc(f.all, func(one *runtimeapi.Function) bool { return slices.Contains(list, one) })
	f.mu.Unlock()
	var errs []error
	for _, one := range list {
		f.retire(one)
		thaw(one.PID())
		errs = append(errs, one.Close())
	}
	return errors.Join(errs...)
}

// retire records the statistics of an instance.
func (f *Fleet) retire(one *runtimeapi.Function) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.begun += one.Starts()
	f.peak = max(f.peak, peakMemory(one.PID()))
}

// Starts returns the number of started processes.
func (f *Fleet) Starts() (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n = f.begun
	for _, one := range f.all {
		n += one.Starts()
	}
	return n
}

// Peak returns the peak memory of an instance, bytes.
func (f *Fleet) Peak() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, one := range f.all {
		f.peak = max(f.peak, peakMemory(one.PID()))
	}
	return f.peak
}

// Init returns the median time of the processes from their start to their first request for
// an event.
func (f *Fleet) Init() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.inits) == 0 {
		return 0
	}
	slices.Sort(f.inits)
	return f.inits[len(f.inits)/2]
}

// Close ends all instances. The error names those that did not stop on SIGTERM.
func (f *Fleet) Close() error {
	f.mu.Lock()
	list := f.all
	f.all, f.idle = nil, nil
	f.mu.Unlock()
	var errs []error
	for _, one := range list {
		thaw(one.PID())
		if err := one.Close(); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", f.Family, err))
		}
	}
	return errors.Join(append(errs, f.guard.close())...)
}

// programs finds the program of a function: that of the family whose arm64 build is the
// asset in the template.
func programs(s *Stacks, fn *Resource, dist, arch string) (family, binary string, err error) {
	asset, _ := fn.Metadata["aws:asset:path"].(string)
	deployed, err := os.ReadFile(filepath.Join(s.dir, asset, "bootstrap"))
	if err != nil {
		return "", "", err
	}
	architectures := fn.List("Architectures")
	if len(architectures) != 1 {
		return "", "", fmt.Errorf("the architectures of %s: %v", fn.name, architectures)
	}
	built, err := filepath.Glob(filepath.Join(dist, fmt.Sprint(architectures[0]), "*", "bootstrap"))
	if err != nil {
		return "", "", err
	}
	for _, file := range built {
		if text, err := os.ReadFile(file); err == nil && hexHash(text) == hexHash(deployed) {
			family = filepath.Base(filepath.Dir(file))
			return family, filepath.Join(dist, arch, family, "bootstrap"), nil
		}
	}
	return "", "", fmt.Errorf("%s: make build made a program that the template does not deploy: run make synth", fn.name)
}
