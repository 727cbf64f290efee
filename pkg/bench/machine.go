package bench

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/transformer"
)

// Sizes of a measurement of some ten milliseconds.
const (
	largestBuffer = 512 << 20 // bytes, larger than caches
	enoughBytes   = 192 << 20 // minimum that each thread reads in a try
	enoughRounds  = 1 << 20   // of multiply-adds in a try
	tries         = 3         // of which the fastest counts
)

// A Limit is the measured limit of a machine; 0 is unknown.
type Limit struct {
	Bandwidth  float64 // bytes read a second
	Operations float64 // operations a second of a format's products, two a multiply-add
}

// A machine measures its limits with a number of threads.
type machine struct {
	limit   Limit // the highest so far
	kernels *kernel.Kernels
	threads int
	memory  []byte
	format  transformer.Format // of the weights
}

// measure raises the limits to the current ones of the machine.
func (m *machine) measure() {
	for range tries {
		m.limit.Bandwidth = max(m.limit.Bandwidth, m.inParallel(m.read))
		m.limit.Operations = max(m.limit.Operations, m.inParallel(m.multiply))
	}
}

// read reads the thread's part of the memory until it has read enough.
func (m *machine) read(thread int) (total int64) {
	n := len(m.memory)
	part := m.memory[n*thread/m.threads : n*(thread+1)/m.threads]
	for total < enoughBytes {
		got := m.kernels.ReadMemory(part)
		if got == 0 {
			return 0
		}
		total += int64(got)
	}
	return total
}

func (m *machine) multiply(int) int64 {
	switch m.format {
	case transformer.F32, transformer.BF16, transformer.F16:
		return m.kernels.FloatRounds(enoughRounds)
	case transformer.Q4_0:
		return m.kernels.NibbleRounds(enoughRounds)
	}
	return m.kernels.ByteRounds(enoughRounds)
}

// inParallel runs work on all threads at once and returns the total work of a second.
func (m *machine) inParallel(work func(thread int) int64) float64 {
	var ready atomic.Int32
	var total atomic.Int64
	var done sync.WaitGroup
	begin := func(thread int) {
		ready.Add(1)
		for ready.Load() < int32(m.threads) {
			runtime.Gosched()
		}
		total.Add(work(thread))
	}
	for i := 1; i < m.threads; i++ {
		done.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			begin(i)
		})
	}
	for ready.Load() < int32(m.threads-1) {
		runtime.Gosched()
	}
	start := time.Now()
	begin(0)
	done.Wait()
	return float64(total.Load()) / time.Since(start).Seconds()
}

// touch makes the system allocate every page of memory.
func touch(memory []byte) {
	for i := 0; i < len(memory); i += 4096 {
		memory[i] = 1
	}
}
