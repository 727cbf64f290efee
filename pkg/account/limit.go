package account

import (
	"hash/maphash"
	"sync"
	"time"
)

// Limits of failed logins. An address may fail a few times for each name, so that nobody
// can lock out a user from elsewhere, and more often for all names, because many people
// may share it. A name may fail often from all addresses together: even thousands of
// addresses are not enough to guess a password.
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

// A limit allows burst events and then one in each pause, for each key. Its memory is
// fixed: keys share buckets by a hash with a random seed, so that an attacker cannot
// choose a key in a victim's bucket. It never forgets a key, which an attacker could
// otherwise force.
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

// take counts one event for key. If none is left, it counts nothing and returns the
// time to wait.
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

// A Bucket allows burst events and then one in each pause. The zero Bucket is full. It
// is not safe for concurrent use.
//
// Source: the generic cell rate algorithm, ITU-T I.371, annex A.
type Bucket struct {
	full time.Time // when the whole burst is available again
}

// Take counts one event. If none is left, it counts nothing and returns the time to wait.
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

// Full reports whether the whole burst is available.
func (b *Bucket) Full(now time.Time) bool { return !b.full.After(now) }

// Left returns the number of events allowed now, and the time until the whole burst is available
// again.
func (b *Bucket) Left(now time.Time, burst int, pause time.Duration) (n int, full time.Duration) {
	full = max(0, b.full.Sub(now))
	return max(0, burst-int((full+pause-1)/pause)), full
}
