package budget

import "maps"

// A sweep deletes those of many things that are of no use any more. It does so when there are twice
// as many as the last time left, so that an addition costs the same on average, however many there
// are.
type sweep struct{ at int }

// leastSwept is the least number of things of which some are deleted.
const leastSwept = 128

// due reports whether n things are to be swept.
func (s *sweep) due(n int) bool { return n >= max(s.at, leastSwept) }

// done says that n things are left.
func (s *sweep) done(n int) { s.at = 2 * n }

// swept deletes those of all that are over, if that is due.
func swept[K comparable, V any](s *sweep, all map[K]V, over func(K, V) bool) {
	if s.due(len(all)) {
		maps.DeleteFunc(all, over)
		s.done(len(all))
	}
}
