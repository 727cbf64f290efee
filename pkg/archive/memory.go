package archive

import (
	"container/list"
	"context"
	"sync"
	"time"

	"glossa/pkg/llm"
)

// The bounds of a [Memory].
const (
	DefaultTotal = 256 << 20   // bytes
	sharers      = 4           // an owner may fill this part of the total
	overhead     = 512         // bytes of a document, besides its texts
	sweepEvery   = time.Minute // removes expired documents, which nobody can read
)

// A Memory keeps documents in this process. An owner has a quarter of its bytes, and one
// that needs more loses the least recently used documents; so does the owner with the most
// bytes if all owners together need more. The zero value works. It is safe for concurrent
// use.
type Memory struct {
	Total int64            // bytes; 0: [DefaultTotal]
	Now   func() time.Time // nil: time.Now

	mu     sync.Mutex
	swept  time.Time // when expired documents were removed
	bytes  int64
	owners map[string]*owned
}

// owned holds the documents of one owner.
type owned struct {
	bytes int64
	byID  map[string]*list.Element
	used  list.List // of *document, the most recently used first
}

func (m *Memory) now() time.Time {
	if m.Now == nil {
		return time.Now()
	}
	return m.Now()
}

func (m *Memory) total() int64 {
	if m.Total == 0 {
		return DefaultTotal
	}
	return m.Total
}

// Put stores a new document, which must not change afterwards.
func (m *Memory) Put(_ context.Context, owner, id string, text []byte, expires time.Time) error {
	d := document{owner, id, text, expires}
	if err := d.check(); err != nil {
		return err
	}
	n := size(&d)
	if n > m.total()/sharers {
		return llm.Errorf(llm.Full, "the document has %d bytes: an owner has %d", n, m.total()/sharers)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.owners[d.owner]
	if s == nil {
		if m.owners == nil {
			m.owners = map[string]*owned{}
		}
		s = &owned{byID: map[string]*list.Element{}}
		m.owners[d.owner] = s
	}
	if at, ok := s.byID[d.id]; ok {
		m.remove(s, at)
	}
	m.sweep()
	for s.bytes+n > m.total()/sharers {
		m.remove(s, s.used.Back())
	}
	for m.bytes+n > m.total() {
		most := m.largest()
		m.remove(most, most.used.Back())
	}
	m.owners[d.owner] = s // it may have lost its last document
	s.byID[d.id] = s.used.PushFront(&d)
	s.bytes += n
	m.bytes += n
	return nil
}

// Get returns the text of a document. It calls room with the text's size first, and
// returns its error.
func (m *Memory) Get(_ context.Context, owner, id string, room func(bytes int64) error) ([]byte, error) {
	d := m.find(owner, id)
	if d == nil {
		return nil, notFound()
	}
	if err := room(int64(len(d.text))); err != nil {
		return nil, err
	}
	return d.text, nil
}

// Delete removes a document.
func (m *Memory) Delete(_ context.Context, owner, id string) error {
	if m.find(owner, id) == nil {
		return notFound()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.owners[owner]
	if s == nil || s.byID[id] == nil { // another request was faster
		return notFound()
	}
	m.remove(s, s.byID[id])
	return nil
}

// find returns a document, and notes its use.
func (m *Memory) find(owner, id string) *document {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.owners[owner]
	if s == nil || s.byID[id] == nil {
		return nil
	}
	at := s.byID[id]
	d := at.Value.(*document)
	if !m.now().Before(d.expires) {
		m.remove(s, at)
		return nil
	}
	s.used.MoveToFront(at)
	return d
}

// sweep removes expired documents, from time to time. The caller holds mu.
func (m *Memory) sweep() {
	now := m.now()
	if now.Sub(m.swept) < sweepEvery {
		return
	}
	m.swept = now
	for _, s := range m.owners {
		for at := s.used.Back(); at != nil; {
			next := at.Prev()
			if !now.Before(at.Value.(*document).expires) {
				m.remove(s, at)
			}
			at = next
		}
	}
}

// remove removes a document. The caller holds mu.
func (m *Memory) remove(s *owned, at *list.Element) {
	d := at.Value.(*document)
	s.used.Remove(at)
	delete(s.byID, d.id)
	s.bytes -= size(d)
	m.bytes -= size(d)
	if s.used.Len() == 0 {
		delete(m.owners, d.owner)
	}
}

// largest returns the owner with the most bytes. The caller holds mu.
func (m *Memory) largest() (most *owned) {
	for _, s := range m.owners {
		if most == nil || s.bytes > most.bytes {
			most = s
		}
	}
	return most
}

// size returns the bytes that a document takes.
func size(d *document) int64 { return int64(len(d.owner)+len(d.id)+len(d.text)) + overhead }
