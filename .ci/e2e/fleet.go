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

// atOnce is how many instances of a function may run here. On AWS that is a quota of the
// account, or what the template reserves.
const atOnce = 4

// errThrottled is Lambda's refusal when all instances are busy.
var errThrottled = errors.New("TooManyRequestsException: rate exceeded")

// A Fleet is a Lambda function: instances that run one invocation at a time each, started
// when they are needed, from the program that was built for it, and frozen between
// invocations.
type Fleet struct {
	Family    string
	Principal *Principal
	Memory    int // MB, as the template says
	Timeout   time.Duration

	ctx     context.Context
	options runtimeapi.Options
	most    int
	guard   *guard

	mu    sync.Mutex
	all   []*runtimeapi.Function
	idle  []*runtimeapi.Function
	begun int   // processes of instances that are no more
	peak  int64 // bytes
	inits []time.Duration
}

// newFleet returns the fleet of a function of the templates, none of which runs yet.
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
		Binary: binary, Name: fn.ref(), Timeout: f.Timeout, MemoryMB: f.Memory, Stdout: log, Stderr: log,
		// The address of AWS is the one thing that a deployed function has not. Lambda's own
		// variables cannot be set by a template.
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
			return nil, fmt.Errorf("function %s: Lambda lets nobody set %s", family, name)
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
	one, err := f.take()
	if err != nil {
		return nil, err
	}
	answer, err := one.Invoke(ctx, event)
	if err != nil {
		f.free(one)
		return nil, err
	}
	go func() { // ends with the invocation
		<-answer.Ended()
		f.free(one)
	}()
	return answer, nil
}

// take returns an instance that does nothing, and starts one if there is none.
func (f *Fleet) take() (*runtimeapi.Function, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n := len(f.idle); n > 0 {
		one := f.idle[n-1]
		f.idle = f.idle[:n-1]
		thaw(one.PID())
		return one, nil
	}
	if len(f.all) == f.most {
		return nil, errThrottled
	}
	one, err := runtimeapi.Start(f.ctx, f.options)
	if err == nil {
		f.all, f.inits = append(f.all, one), append(f.inits, one.InitDuration())
	}
	return one, err
}

func (f *Fleet) free(one *runtimeapi.Function) {
	f.mu.Lock()
	defer f.mu.Unlock()
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

// Kill ends all instances, as when their machines are gone.
func (f *Fleet) Kill() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, one := range f.all {
		one.Kill()
	}
}

// Fresh ends all instances that do nothing: the next request starts a new one.
func (f *Fleet) Fresh() error {
	f.mu.Lock()
	for range 100 { // an instance is done a moment after its client has all
		if len(f.idle) == len(f.all) {
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

// retire remembers what is told of an instance.
func (f *Fleet) retire(one *runtimeapi.Function) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.begun += one.Starts()
	f.peak = max(f.peak, peakMemory(one.PID()))
}

// Starts is how many processes were started.
func (f *Fleet) Starts() (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n = f.begun
	for _, one := range f.all {
		n += one.Starts()
	}
	return n
}

// Peak is the most memory that an instance has had, bytes.
func (f *Fleet) Peak() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, one := range f.all {
		f.peak = max(f.peak, peakMemory(one.PID()))
	}
	return f.peak
}

// Init is how long half of the processes took at most from their start to their first
// question for an event.
func (f *Fleet) Init() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.inits) == 0 {
		return 0
	}
	slices.Sort(f.inits)
	return f.inits[len(f.inits)/2]
}

// Close ends all instances; the error says which did not end when they were told to.
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

// programs finds what was built for a function: the program of a family whose arm64 form
// is the very asset that the template deploys.
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
	return "", "", fmt.Errorf("%s: make build made something else than what the template deploys: make synth", fn.name)
}
