package budget

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"sync"
	"testing"
	"time"

	"glossa/pkg/account"
	"glossa/pkg/table/tabletest"
)

// TestLedgers is the contract of a [Ledger].
func TestLedgers(t *testing.T) {
	for name, open := range ledgers(t) {
		t.Run(name, func(t *testing.T) { takes(t, open) })
		t.Run(name+" journal", func(t *testing.T) { journal(t, open(), open()) })
	}
}

func takes(t *testing.T, open func() ledgerJournal) {
	ctx, l, account := t.Context(), open(), dayOf("key a", noon())
	for i, step := range []struct {
		least, most, limit int64
		got, left          int64
		err                error
	}{
		{10, 40, 100, 40, 60, nil},
		{10, 40, 100, 40, 20, nil},
		{10, 40, 100, 20, 0, nil}, // less than most
		{1, 1, 100, 0, 0, ErrSpent},
		{1, 10, 105, 5, 0, nil},     // after the limit was raised
		{1, 10, 50, 0, 0, ErrSpent}, // and lowered
		{60, 60, 50, 0, 0, ErrSpent},
	} {
		got, left, err := l.Take(ctx, account, step.least, step.most, step.limit)
		if got != step.got || left != step.left || !errors.Is(err, step.err) {
			t.Errorf("step %d: %d, %d, %v", i, got, left, err)
		}
		l = open() // another process
	}
	for _, n := range []int64{30, -20} { // returned, and charged
		if err := l.Return(ctx, account, n); err != nil {
			t.Error(err)
		}
	}
	if n, err := open().Leased(ctx, account); n != 95 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if n, err := l.Leased(ctx, dayOf("key b", noon())); n != 0 || err != nil {
		t.Errorf("somebody else's: %d, %v", n, err)
	}
	if n, err := l.Leased(ctx, dayOf("key a", noon().AddDate(0, 0, 1))); n != 0 || err != nil {
		t.Errorf("another day's: %d, %v", n, err)
	}
	atOnce(t, open)
}

// atOnce takes the whole limit in many goroutines, and no more.
func atOnce(t *testing.T, open func() ledgerJournal) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	var sum int64
	ctx, busy := t.Context(), monthOf("key a", noon())
	for range 8 {
		wg.Go(func() {
			l := open()
			for range 1000 { // more than the limit
				got, _, err := l.Take(ctx, busy, 1, 7, 500)
				mu.Lock()
				sum += got
				mu.Unlock()
				if errors.Is(err, ErrSpent) {
					return
				} else if err != nil && !errors.Is(err, ErrBusy) {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	if sum != 500 {
		t.Errorf("%d of 500 were taken", sum)
	}
}

func journal(t *testing.T, a, b ledgerJournal) {
	day := noon().Format(time.DateOnly)
	list := []Usage{{day, "key a", "m/1:2#x", 1, 2, 3, 1_000_000_000_001}, {day, "", "m", 1, 1, 1, 0}, {day[:8] + "00", "key a", "m", 1, 1, 1, 7}}
	for _, j := range []Journal{a, b} {
		if n, err := j.Add(t.Context(), list[:2]); n != 2 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
	}
	want := []Usage{{day, "", "m", 2, 2, 2, 0}, {day, "key a", "m/1:2#x", 2, 4, 6, 2_000_000_000_002}}
	for _, prefix := range []string{day, day[:7]} {
		if got, err := b.Of(t.Context(), prefix); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%v, %v", got, err)
		}
	}
	if got, err := b.Of(t.Context(), "1999-01"); err != nil || len(got) != 0 {
		t.Errorf("%v, %v", got, err)
	}
}

// A change whose answer is lost is not repeated, and the error says that it may have taken
// effect; a change that a busy table rejected did not.
func TestNothingIsGivenBackTwice(t *testing.T) {
	for fault, want := range map[int]int64{tabletest.Lost: 900, tabletest.Close: 1000, 500: 1000, 400: 1000} {
		service := tabletest.New(t)
		l, account, ctx := NewTable(service.Table()), dayOf("key a", noon()), t.Context()
		if _, _, err := l.Take(ctx, account, 1000, 1000, 1000); err != nil {
			t.Fatal(err)
		}
		service.Fault(func(op string) (int, string) {
			if op != "UpdateItem" {
				return 0, ""
			}
			return fault, map[int]string{400: "ThrottlingException", 500: "InternalServerError"}[fault]
		})
		if err := l.Return(ctx, account, 100); err == nil || errors.Is(err, ErrBusy) != (fault == 400) {
			t.Errorf("fault %d: %v", fault, err)
		}
		service.Fault(nil)
		if n, err := l.Leased(ctx, account); n != want || err != nil {
			t.Errorf("fault %d: %d leased, %v", fault, n, err)
		}
	}
	// Nothing can be returned to an account that the table has deleted.
	l, gone := NewTable(tabletest.New(t).Table()), dayOf("key a", noon())
	if err := l.Return(t.Context(), gone, 100); err == nil {
		t.Error("something is given back to an account that is gone")
	}
	if n, err := l.Leased(t.Context(), gone); n != 0 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if err := l.Return(t.Context(), gone, -20); err != nil {
		t.Errorf("what was used is not charged to it: %v", err)
	}
	// A process does not use tokens that it may have returned.
	for _, err := range []error{errors.New("it broke"), ErrBusy} {
		lease := &lease{at: gone, share: tokenShare, ledger: failing{NewMemory(), err}, now: noon}
		lease.limit.Store(1000)
		if _, e := lease.reserve(t.Context(), 100, 100); e != nil {
			t.Error(e)
		}
		if e := lease.settle(t.Context(), 100, 0); !errors.Is(e, err) {
			t.Error(e)
		}
		if idle := lease.idle.Load(); (idle == 100) != errors.Is(err, ErrBusy) || idle != 0 && idle != 100 {
			t.Errorf("%v: %d idle", err, idle)
		}
	}
}

// failing is a ledger whose Return fails.
type failing struct {
	*Memory
	err error
}

func (f failing) Return(context.Context, Account, int64) error { return f.err }

// A file outlives its process, and a damaged file lets nobody use a budget.
func TestFileLasts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "usage")
	account := dayOf("key a", noon())
	if got, _, err := NewFile(path).Take(t.Context(), account, 1, 7, 10); got != 7 || err != nil {
		t.Fatal(got, err)
	}
	if n, err := NewFile(path).Leased(t.Context(), account); n != 7 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	for _, content := range []string{"", "{", "null", `{"version":2,"leased":{}}`, `{"version":1,"leased":null}`} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		f := NewFile(path)
		got, _, err := f.Take(t.Context(), account, 1, 7, 10)
		if err == nil || got != 0 {
			t.Errorf("%q: %d, %v", content, got, err)
		}
		if _, err := f.Leased(t.Context(), account); err == nil {
			t.Errorf("%q is read", content)
		}
		if b, _ := os.ReadFile(path); string(b) != content {
			t.Errorf("%q was changed", content)
		}
	}
}

func TestBookForgets(t *testing.T) {
	b, now := newBook(), noon()
	b.refund(dayOf("key a", now), -5)
	b.refund(dayOf("key a", now.AddDate(0, 0, -1)), -5)
	b.add([]Usage{{Day: now.AddDate(0, 0, -keepDays-1).Format(time.DateOnly)}, {Day: now.AddDate(0, 0, -keepDays).Format(time.DateOnly)}})
	b.prune(now)
	if len(b.Leased) != 1 || len(b.Usage) != 1 {
		t.Errorf("%v", b)
	}
}

func TestPeriods(t *testing.T) {
	when := time.Date(2026, 12, 31, 23, 59, 59, 999, time.FixedZone("", -3600)) // 2027-01-01T00:59:59Z
	for _, got := range []struct {
		Account
		period, end string
	}{
		{dayOf("p", when), "day#2027-01-01", "2027-01-02T00:00:00Z"},
		{monthOf("p", when), "month#2027-01", "2027-02-01T00:00:00Z"},
		{requestsOf("p", account.Rate{N: 1, Per: time.Minute}, when), "requests#2027-01-01T00:59:00Z", "2027-01-01T01:00:00Z"},
		{requestsOf("p", account.Rate{N: 1, Per: time.Second}, when), "requests#2027-01-01T00:59:50Z", "2027-01-01T01:00:00Z"},
	} {
		if got.Period != got.period || got.End.Format(time.RFC3339) != got.end {
			t.Errorf("%s until %s, want %s, %s", got.Period, got.End, got.period, got.end)
		}
	}
	if d, m := dayOf("p", when), dayOf("p", when.UTC().Add(time.Second)); d != m {
		t.Errorf("%v and %v are two accounts", d, m)
	}
}
