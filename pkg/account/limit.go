package account

import (
	"hash/maphash"
	"sync"
	"time"
)

// Limits of failed logins. A name takes few, whoever tries it; an address takes more,
// as many persons may stand behind it.
const (
	userBurst    = 10
	userPause    = time.Minute
	addressBurst = 50
	addressPause = 10 * time.Second
)

// buckets is the size of a limit's table.
const buckets = 1 << 14

// A limit lets something happen burst times and then once in each pause, for each
// of the keys. Its memory is fixed: keys share buckets by a hash that is another in
// each process, so that nobody can choose with whom, and nothing needs to be
// forgotten, which an attacker could bring about.
//
// Source: the generic cell rate algorithm, ITU-T I.371, annex A.
type limit struct {
	burst int
	pause time.Duration
	seed  maphash.Seed

	mu   sync.Mutex
	full [buckets]time.Time // when the bucket has its whole burst again
}

func newLimit(burst int, pause time.Duration) *limit {
	return &limit{burst: burst, pause: pause, seed: maphash.MakeSeed()}
}

// take counts one for key. If there is none left it counts nothing and returns how
// long to wait.
func (l *limit) take(key string, now time.Time) (wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	full := l.bucket(key)
	if full.Before(now) {
		*full = now
	}
	if wait = full.Sub(now) - time.Duration(l.burst-1)*l.pause; wait > 0 {
		return wait
	}
	*full = full.Add(l.pause)
	return 0
}

// giveBack undoes a take.
func (l *limit) giveBack(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	full := l.bucket(key)
	*full = full.Add(-l.pause)
}

func (l *limit) bucket(key string) *time.Time {
	return &l.full[maphash.String(l.seed, key)%buckets]
}
