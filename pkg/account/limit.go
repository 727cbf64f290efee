package account

import (
	"hash/maphash"
	"sync"
	"time"
)

// Limits of failed logins. An address takes few for each name, so that nobody can lock a
// user out from elsewhere, and more for all names, as many persons may stand behind it. A
// name takes many from all addresses together: somebody who has thousands of them still
// gets no further with a password.
const (
	pairBurst    = 10
	pairPause    = time.Minute
	addressBurst = 50
	addressPause = 10 * time.Second
	nameBurst    = 1000
	namePause    = 10 * time.Second
)

// buckets is the size of a limit's table.
const buckets = 1 << 14

// A limit lets something happen burst times and then once in each pause, for each
// of the keys. Its memory is fixed: keys share buckets by a hash that is another in
// each process, so that nobody can choose with whom, and nothing needs to be
// forgotten, which an attacker could bring about.
type limit struct {
	burst int
	pause time.Duration
	seed  maphash.Seed

	mu   sync.Mutex
	full [buckets]Bucket
}

func newLimit(burst int, pause time.Duration) *limit {
	return &limit{burst: burst, pause: pause, seed: maphash.MakeSeed()}
}

// take counts one for key. If there is none left it counts nothing and returns how
// long to wait.
func (l *limit) take(key string, now time.Time) (wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bucket(key).Take(now, l.burst, l.pause)
}

// giveBack undoes a take.
func (l *limit) giveBack(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.bucket(key)
	b.full = b.full.Add(-l.pause)
}

func (l *limit) bucket(key string) *Bucket {
	return &l.full[maphash.String(l.seed, key)%buckets]
}

// A Bucket lets something happen burst times and then once in each pause. The zero
// Bucket is full. It is not for many at once.
//
// Source: the generic cell rate algorithm, ITU-T I.371, annex A.
type Bucket struct {
	full time.Time // when it has its whole burst again
}

// Take counts one. If there is none left it counts nothing and returns how long to wait.
func (b *Bucket) Take(now time.Time, burst int, pause time.Duration) (wait time.Duration) {
	if b.full.Before(now) {
		b.full = now
	}
	if wait = b.full.Sub(now) - time.Duration(burst-1)*pause; wait > 0 {
		return wait
	}
	b.full = b.full.Add(pause)
	return 0
}

// Left returns how many may happen now, and when the whole burst may again.
func (b *Bucket) Left(now time.Time, burst int, pause time.Duration) (n int, full time.Duration) {
	full = max(0, b.full.Sub(now))
	return max(0, burst-int((full+pause-1)/pause)), full
}
