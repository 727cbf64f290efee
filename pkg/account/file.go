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

// maxAge is the age at which a file is read again, even if it seems unchanged.
const maxAge = 5 * time.Second

// maxTokens is the number of tokens of a user that a [File] keeps; the oldest are deleted.
const maxTokens = 1000

// A File is a [Store] in a local JSON file, for one machine. Several processes may use
// it: a change replaces the whole file under a lock, and a changed file is read again.
type File struct {
	path string

	mu   sync.Mutex
	info fs.FileInfo // of the file that was read; nil: none yet
	when time.Time   // time of the last read
	list credentials
	err  error // the error of the last read
}

var _ Store = (*File)(nil)

// credentials are the contents of a file.
type credentials map[reference]Credential

type reference struct {
	kind Kind
	id   string
}

// NewFile returns the store in a file, which the first Add creates.
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
	return list.ofKind(kind), nil
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

// current returns the current contents of the file. Callers must not change them.
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

// same reports whether a file is unchanged.
func same(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size() && a.Mode() == b.Mode()
}

// change edits the file under the lock. It also deletes tokens that are no longer of
// use.
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

// ofKind returns the credentials of a kind, sorted by name, then by age.
func (list credentials) ofKind(kind Kind) []Credential {
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

// prune deletes expired tokens, those of deleted users, and the oldest ones of users
// with too many.
func (list credentials) prune(now time.Time) {
	maps.DeleteFunc(list, func(at reference, c Credential) bool {
		user, ok := list[reference{User, c.Name}]
		return at.kind == Token && (c.expired(now) || !ok || c.Created.Before(user.Created))
	})
	for _, c := range list.excess() {
		delete(list, reference{Token, c.ID})
	}
}

// excess returns the oldest tokens of users with too many.
func (list credentials) excess() (old []Credential) {
	tokens := list.ofKind(Token)
	for i, c := range tokens {
		if newer := i + maxTokens; newer < len(tokens) && tokens[newer].Name == c.Name {
			old = append(old, c)
		}
	}
	return old
}
