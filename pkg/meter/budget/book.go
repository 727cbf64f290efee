package budget

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"time"

	"glossa/pkg/account"
)

// keepDays is the number of days that usage is kept.
const keepDays = 400

// maxBook is the size of a file beyond which it loses its oldest usage, in bytes: half of
// what [account.EditPrivate] accepts.
const maxBook = 8 << 20

// maxLeased is the size of the leases in a file beyond which it accepts no further accounts, in bytes.
// Those that it has can always be charged.
const maxLeased = maxBook / 2

// errFull means that a file has no place for another account.
var errFull = errors.New("it has leases of too many users and keys: use a table")

// A book is a ledger and a journal as a JSON document.
type book struct {
	Version int              `json:"version"`
	Leased  map[string]entry `json:"leased"` // by principal and period, separated by a space
	Usage   []Usage          `json:"usage"`
}

type entry struct {
	Leased int64     `json:"leased"`
	End    time.Time `json:"end"`
}

const bookVersion = 1

func newBook() *book { return &book{Version: bookVersion, Leased: map[string]entry{}} }

func (at Account) key() string { return at.Principal + " " + at.Period }

func (b *book) take(at Account, least, most, limit int64) (got, left int64, err error) {
	e := b.Leased[at.key()]
	left = max(0, limit-e.Leased)
	if left < least {
		return 0, left, ErrSpent
	}
	got = min(most, left)
	b.Leased[at.key()] = entry{e.Leased + got, at.End}
	return got, left - got, nil
}

func (b *book) refund(at Account, n int64) {
	e := b.Leased[at.key()]
	b.Leased[at.key()] = entry{e.Leased - n, at.End}
}

// leasedBytes returns about how many bytes of a file the leases need.
func (b *book) leasedBytes() (n int) {
	for key := range b.Leased {
		n += len(key) + len(`"":{"leased":1000000000,"end":"2026-01-31T00:00:00Z"},`)
	}
	return n
}

// add adds to the usage.
func (b *book) add(list []Usage) {
	sums := usage{}
	for _, u := range append(b.Usage, list...) {
		sums.add(u)
	}
	b.Usage = sums.list()
}

// prune deletes expired entries.
func (b *book) prune(now time.Time) {
	for key, e := range b.Leased {
		if now.After(e.End) {
			delete(b.Leased, key)
		}
	}
	first := now.UTC().AddDate(0, 0, -keepDays).Format(time.DateOnly)
	for i, u := range b.Usage { // newest first
		if u.Day < first {
			b.Usage = b.Usage[:i]
			break
		}
	}
}

func (b *book) of(prefix string) (list []Usage) {
	for _, u := range b.Usage {
		if strings.HasPrefix(u.Day, prefix) {
			list = append(list, u)
		}
	}
	return list
}

// A Memory is a [Ledger] and a [Journal] in memory.
type Memory struct {
	mu    sync.Mutex
	book  *book
	now   time.Time // or earlier
	swept sweep
}

// NewMemory returns an empty one.
func NewMemory() *Memory { return &Memory{book: newBook()} }

// Take implements [Ledger].
func (m *Memory) Take(_ context.Context, at Account, least, most, limit int64) (got, left int64, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if t := at.earliest(); t.After(m.now) {
		m.now = t
	}
	if m.swept.due(len(m.book.Leased)) {
		m.book.prune(m.now)
		m.swept.done(len(m.book.Leased))
	}
	return m.book.take(at, least, most, limit)
}

// Return implements [Ledger].
func (m *Memory) Return(_ context.Context, at Account, n int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.book.refund(at, n)
	return nil
}

// Leased implements [Ledger].
func (m *Memory) Leased(_ context.Context, at Account) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.book.Leased[at.key()].Leased, nil
}

// Add implements [Journal].
func (m *Memory) Add(_ context.Context, list []Usage) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.book.add(list)
	return len(list), nil
}

// Of implements [Journal].
func (m *Memory) Of(_ context.Context, prefix string) ([]Usage, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.book.of(prefix), nil
}

// A File is a [Ledger] and a [Journal] in a JSON file, for one machine, like
// [account.File] for credentials and with the same lock. Each change is durable when
// it returns.
type File struct{ path string }

// NewFile returns a ledger in a file, which the first change creates.
func NewFile(path string) *File { return &File{path} }

// Take implements [Ledger].
func (f *File) Take(ctx context.Context, at Account, least, most, limit int64) (got, left int64, err error) {
	err = f.edit(ctx, func(b *book) (err error) {
		b.prune(time.Now()) // a file that is full of what is over is not
		if _, ok := b.Leased[at.key()]; !ok && b.leasedBytes() > maxLeased {
			return fmt.Errorf("%s: %w", f.path, errFull)
		}
		got, left, err = b.take(at, least, most, limit)
		return err
	})
	if err != nil {
		got = 0
	}
	return got, left, err
}

// Return implements [Ledger].
func (f *File) Return(ctx context.Context, at Account, n int64) error {
	return f.edit(ctx, func(b *book) error {
		b.refund(at, n)
		return nil
	})
}

// Leased implements [Ledger].
func (f *File) Leased(_ context.Context, at Account) (int64, error) {
	b, err := f.read()
	return b.Leased[at.key()].Leased, err
}

// Add implements [Journal].
func (f *File) Add(ctx context.Context, list []Usage) (int, error) {
	err := f.edit(ctx, func(b *book) error {
		b.add(list)
		return nil
	})
	if err != nil {
		return 0, err
	}
	return len(list), nil
}

// Of implements [Journal].
func (f *File) Of(_ context.Context, prefix string) ([]Usage, error) {
	b, err := f.read()
	return b.of(prefix), err
}

func (f *File) read() (*book, error) {
	content, err := account.ReadPrivate(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return newBook(), nil
	}
	if err != nil {
		return newBook(), err
	}
	return f.decode(content)
}

func (f *File) decode(content []byte) (*book, error) {
	b := newBook()
	if content == nil {
		return b, nil
	}
	b.Version = 0
	if err := json.Unmarshal(content, b); err != nil || b.Version != bookVersion || b.Leased == nil {
		return newBook(), fmt.Errorf("%s: %w", f.path, errCorrupt)
	}
	return b, nil
}

func (f *File) edit(ctx context.Context, change func(*book) error) error {
	return account.EditPrivate(ctx, f.path, func(content []byte) ([]byte, error) {
		b, err := f.decode(content)
		if err != nil {
			return nil, err
		}
		if err := change(b); err != nil {
			return nil, err
		}
		b.prune(time.Now())
		out, err := json.Marshal(b)
		for err == nil && len(out) > maxBook && len(b.Usage) > 0 {
			b.Usage = b.Usage[:len(b.Usage)*3/4] // newest first
			out, err = json.Marshal(b)
		}
		return append(out, '\n'), err
	})
}
