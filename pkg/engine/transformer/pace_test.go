package transformer

import (
	"testing"
	"testing/synctest"
	"time"
)

// What is fast after a rest is chosen apart from what is fast in a row, and for few tokens apart from many.
func TestPaceRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		team, p := NewTeam(2), &pace{}
		team.do(false, jobFunc(func(int, int, *barrier) {}))
		row := p.of(team, 20)
		if p.of(team, 31) != row || p.of(team, 32) == row || p.of(team, 1<<20) == row {
			t.Error("16 to 31 tokens have no choice of their own")
		}
		time.Sleep(time.Second)
		if p.of(team, 20) == row {
			t.Error("after a rest the choice is that of passes in a row")
		}
	})
}
