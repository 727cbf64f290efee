package account

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"sync"
	"time"
)

// maxAge is when a file is read again whatever the file system says of it.
const maxAge = 5 * time.Second

// maxTokens is how many tokens of a user a [File] keeps; the oldest go.
const maxTokens = 1000

// A File is a [Store] in a local file of JSON, for one machine. Several processes
// may use it: a change replaces the whole file under a lock, and a file that
// changed is read again.
type File struct {
	path string

	mu   sync.Mutex
	info fs.FileInfo // of the file that was read; nil: none was
	when time.Time   // it was read
	list credentials
	err  error // what was wrong with it
}

var _ Store = (*File)(nil)

// credentials are what a file holds.
type credentials map[reference]Credential

type reference struct {
	kind Kind
	id   string
}

// NewFile returns the store in a file, which the first Add makes.
func NewFile(path string) *File { return &File{path: path} }

// Get implements [Store].
func (f *File) Get(_ context.Context, kind Kind, id string) (Credential, error) {
	list, err := f.current()
	if err != nil {
		return Credential{}, err
	}
	c, ok := list[reference{kind, id}]
	if !ok {
		return Credential{}, ErrNotFound
	}
	return c, nil
}

// List implements [Store].
func (f *File) List(_ context.Context, kind Kind) ([]Credential, error) {
	list, err := f.current()
	if err != nil {
		return nil, err
	}
	return list.of(kind), nil
}

// Add implements [Store].
func (f *File) Add(ctx context.Context, c Credential) error {
	if err := c.check(); err != nil {
		return err
	}
	return f.change(ctx, func(list credentials) error {
		at := reference{c.Kind, c.ID}
		if _, ok := list[at]; ok {
			return ErrExists
		}
		list[at] = c
		return nil
	})
}

// Delete implements [Store].
func (f *File) Delete(ctx context.Context, kind Kind, id string) error {
	return f.change(ctx, func(list credentials) error {
		at := reference{kind, id}
		if _, ok := list[at]; !ok {
			return ErrNotFound
		}
		delete(list, at)
		return nil
	})
}

// SetLimits implements [Store].
func (f *File) SetLimits(ctx context.Context, kind Kind, id string, limits Limits) error {
	return f.change(ctx, func(list credentials) error {
		c, ok := list[reference{kind, id}]
		if !ok {
			return ErrNotFound
		}
		c.Limits = limits
		list[reference{kind, id}] = c
		return c.check()
	})
}

// current returns what the file holds now. Nobody may change it.
func (f *File) current() (credentials, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	info, err := os.Stat(f.path)
	if err != nil {
		f.info = nil
		return nil, err
	}
	now := time.Now()
	if f.info == nil || !same(info, f.info) || now.Sub(f.when) >= maxAge {
		f.list, f.err = read(f.path)
		f.info, f.when = info, now
	}
	return f.list, f.err
}

// same tells whether a file is as it was.
func same(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size() && a.Mode() == b.Mode()
}

// change edits the file while no other process does. Tokens that are of no use any
// more go with the occasion.
func (f *File) change(ctx context.Context, edit func(credentials) error) error {
	return EditPrivate(ctx, f.path, func(b []byte) ([]byte, error) {
		list := credentials{}
		if b != nil {
			var err error
			if list, err = decode(b); err != nil {
				return nil, fmt.Errorf("%s: %w", f.path, err)
			}
		}
		if err := edit(list); err != nil {
			return nil, err
		}
		list.prune(time.Now())
		return list.encode()
	})
}

// of returns the credentials of a kind by name, then by age.
func (list credentials) of(kind Kind) []Credential {
	var some []Credential
	for at, c := range list {
		if at.kind == kind {
			some = append(some, c)
		}
	}
	slices.SortFunc(some, func(a, b Credential) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
	})
	return some
}

// prune deletes the tokens that expired, those of users who are gone, and the
// oldest of users who have too many.
func (list credentials) prune(now time.Time) {
	maps.DeleteFunc(list, func(at reference, c Credential) bool {
		user, ok := list[reference{User, c.Name}]
		return at.kind == Token && (c.expired(now) || !ok || c.Created.Before(user.Created))
	})
	tokens := list.of(Token)
	for i, c := range tokens {
		if newer := i + maxTokens; newer < len(tokens) && tokens[newer].Name == c.Name {
			delete(list, reference{Token, c.ID})
		}
	}
}
