package publish

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"glossa/pkg/fair"
	"glossa/pkg/llm"
)

// A line is a set of claims on a pool of 100 bytes, which report when they are granted.
type line struct {
	t *testing.T
	fair.Pool
	granted  []string
	releases map[string]func()
	mu       sync.Mutex
}

// claim claims in a goroutine, which ends when the claim is answered.
func (l *line) claim(ctx context.Context, sender string, n int64) {
	go func() {
		c, err := take(llm.WithSender(ctx, sender), &l.Pool, n, 100)
		l.mu.Lock()
		defer l.mu.Unlock()
		name := fmt.Sprintf("%s %d", sender, n)
		if e, ok := errors.AsType[*llm.Error](err); ok {
			name += " " + string(e.Code)
		} else if err != nil {
			name += " " + err.Error()
		}
		l.granted = append(l.granted, name)
		if err == nil {
			l.releases[name] = c.Release
		}
	}()
	synctest.Wait()
}

// giveBack releases a granted claim.
func (l *line) giveBack(name string) {
	l.mu.Lock()
	release := l.releases[name]
	l.mu.Unlock()
	if release == nil {
		l.t.Fatalf("%s was not granted", name)
	}
	release()
	synctest.Wait()
}

// expect compares the answers since the last call.
func (l *line) expect(want ...string) {
	l.t.Helper()
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	if slices.Sort(l.granted); !slices.Equal(l.granted, want) {
		l.t.Errorf("got %q, want %q", l.granted, want)
	}
	l.granted = nil
}

// holds reports whether at least n bytes of a pool are used: if not, it grants one more
// byte within n.
func holds(p *fair.Pool, n int64) bool {
	c, err := p.Claim("another", 1, fair.Limits{Total: n})
	defer c.Release()
	return err != nil || !c.Granted()
}

// A sender has at most half of the memory, and uploads that do not fit wait in order.
func TestAllowance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &line{t: t, releases: map[string]func(){}}
		ctx := t.Context()
		l.claim(ctx, "a", 30)
		l.claim(ctx, "a", 20)
		l.claim(ctx, "a", 1) // more than half
		l.claim(ctx, "b", 40)
		l.expect("a 20", "a 30", "b 40")
		l.claim(ctx, "c", 15) // more than the pool
		l.claim(ctx, "d", 5)  // it fits, but overtakes nobody
		l.expect()
		l.giveBack("a 30")
		l.giveBack("a 30") // once
		l.expect("a 1", "c 15", "d 5")
		if !holds(&l.Pool, 81) || holds(&l.Pool, 82) {
			t.Error("81 bytes are not used")
		}
		l.claim(ctx, "e", 700) // alone
		left, leave := context.WithCancel(ctx)
		l.claim(left, "f", 5)
		leave()
		l.expect("f 5 context canceled")
		for _, name := range []string{"a 20", "a 1", "b 40", "c 15"} {
			l.giveBack(name)
		}
		l.expect()
		l.giveBack("d 5")
		l.expect("e 700")
		l.claim(ctx, "g", 1)
		time.Sleep(patience - time.Millisecond)
		l.expect()
		time.Sleep(time.Millisecond)
		l.expect("g 1 overloaded")
		l.claim(ctx, "h", 1)
		l.giveBack("e 700")
		l.expect("h 1")
		l.giveBack("h 1")
		if holds(&l.Pool, 1) {
			t.Error("bytes are used")
		}
		l.claim(ctx, "a", 100)
		for range maxWaiting + 1 {
			l.claim(ctx, "a", 1)
		}
		l.expect("a 1 overloaded", "a 100")
	})
}

// Uploads take their memory from the pools and return it, even if they fail.
func TestMemoryIsShared(t *testing.T) {
	each(t, func(t *testing.T, p *place) {
		u := upload(t, "m", 1)
		used := false
		u.Progress = func(int64, int64) { used = holds(&p.memory.weights, u.Size/2) }
		put(t, p, u)
		if !used || holds(&p.memory.weights, 1) {
			t.Errorf("half of a checkpoint of %d is held while it is packed: %v; something afterwards: %v", u.Size, used, !used)
		}
		broken := upload(t, "m", 2).of(golden(t)[:1500])
		p.expect(t, p.Put(t.Context(), broken), llm.Invalid, "checkpoint", "m@1")
		if holds(&p.memory.weights, 1) {
			t.Error("bytes are held after an error")
		}
		p.Memory = 400
		p.expect(t, p.Put(t.Context(), upload(t, "m", 2)), llm.Invalid, "checkpoint", "m@1")
		p.Memory = 3 << 20
		var group sync.WaitGroup
		for i := range 8 {
			group.Go(func() {
				if err := p.Put(llm.WithSender(t.Context(), fmt.Sprint(i%3)), upload(t, fmt.Sprint("n", i), 1)); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		if holds(&p.memory.weights, 1) {
			t.Error("bytes are held afterwards")
		}
	})
}

// withHeader returns a GGUF model whose header has n more bytes, a multiple of 32 up to 16 MiB.
func withHeader(t testing.TB, n int) []byte {
	t.Helper()
	const fixed, textType = 24, 8 // bytes before the first key
	data, le := ggufOf(t), binary.LittleEndian
	out := le.AppendUint64(bytes.Clone(data[:16]), le.Uint64(data[16:])+1)
	out = append(le.AppendUint64(out, 12), "test.comment"...)
	out = le.AppendUint64(le.AppendUint32(out, textType), uint64(n-32))
	return append(append(out, make([]byte, n-32)...), data[fixed:]...)
}

// Headers take their memory from the pool, and are rejected if they would take too much.
func TestMemoryOfHeaders(t *testing.T) {
	each(t, func(t *testing.T, p *place) {
		const more = 1 << 20
		for _, c := range []struct {
			data []byte
			held int64 // at least
		}{
			{withHeader(t, more), ggufCopies * more},
			{packOf(t), packCopies * int64(binary.LittleEndian.Uint64(packOf(t)))},
		} {
			u := Upload{Name: "m"}.of(c.data)
			used := false
			u.Progress = func(int64, int64) { used = holds(&p.memory.weights, c.held) && !holds(&p.memory.weights, c.held+4<<20) }
			p.Memory = 0
			put(t, p, u)
			if !used || holds(&p.memory.weights, 1) {
				t.Errorf("%.4q: %d bytes are held while it is packed: %v; something afterwards: %v", c.data, c.held, used, holds(&p.memory.weights, 1))
			}
			p.Memory = 2*c.held - 2
			p.expect(t, p.Put(t.Context(), u), llm.Invalid, "checkpoint", "m@-1")
			if holds(&p.memory.weights, 1) {
				t.Errorf("%.4q: bytes are held after an error", c.data)
			}
		}
	})
}

// A body of any size takes little memory with a directory, and its announced size with a
// bucket; it can be read until it is closed.
func TestSpool(t *testing.T) {
	each(t, func(t *testing.T, p *place) {
		data := bytes.Repeat([]byte("0123456789abcdef"), 5*pieceSize/32) // two pieces and a half
		s, err := p.Spool(t.Context(), bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range []int64{0, 7, pieceSize - 3, 2*pieceSize - 1, int64(len(data)) - 9} {
			b := make([]byte, min(pieceSize+9, int64(len(data))-at))
			if n, err := s.ReadAt(b, at); n != len(b) || err != nil || !bytes.Equal(b, data[at:at+int64(n)]) {
				t.Errorf("at %d: %d bytes, %v", at, n, err)
			}
		}
		if n, err := s.ReadAt(make([]byte, 20), s.Size()-9); n != 9 || err == nil {
			t.Error(n, err)
		}
		want := int64(0)
		if p.s3 != nil {
			want = s.Size()
		}
		held := want == 0 || holds(&p.memory.bodies, want)
		if s.Size() != int64(len(data)) || !held || holds(&p.memory.bodies, want+1) || len(p.leftovers(t)) != 0 {
			t.Errorf("%d bytes, not as many in memory, %v", s.Size(), p.leftovers(t))
		}
		if err := s.Close(); err != nil || holds(&p.memory.bodies, 1) || p.open != 0 || p.bytes != 0 {
			t.Error(err, p.open, p.bytes)
		}
		p.MaxBytes = int64(len(data)) - 1
		_, err = p.Spool(t.Context(), bytes.NewReader(data), int64(len(data)))
		p.expect(t, err, llm.Invalid, "checkpoint")
		p.MaxBytes = 0
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := p.Spool(ctx, bytes.NewReader(data), int64(len(data))); !errors.Is(err, context.Canceled) || holds(&p.memory.bodies, 1) || p.open != 0 {
			t.Error(err, p.open)
		}
	})
}
