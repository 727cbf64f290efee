package publish

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"glossa/pkg/llm"
)

// The announced bytes and the number of an owner's uploads count against the owner;
// uploads that are too old are deleted.
func TestSessionQuota(t *testing.T) {
	each(t, func(t *testing.T, p *place) {
		s, data := begin(t, p, "m", 1)
		p.MaxBytes = int64(2*len(data)) + 900
		if _, err := p.Begin(t.Context(), upload(t, "m", 1), 0, ""); err != nil { // nothing has arrived yet, but it counts
			t.Fatal(err)
		}
		_, err := p.Begin(t.Context(), upload(t, "m", 1), 0, "")
		p.same(t, err, llm.Full, "checkpoint")
		p.same(t, p.Chunk(t.Context(), "x", 0, 1, bytes.NewReader(make([]byte, p.MaxBytes))), llm.Full, "checkpoint")
		if err := p.Abort(t.Context(), s.ID); err != nil {
			t.Fatal(err)
		}
		last, _ := begin(t, p, "m", 1)
		p.MaxBytes = 0
		p.sendAll(t, last, data)
		p.MaxBytes = int64(3*len(data)) + 1000 // room for the parts, but not for the model
		_, _, err = p.Complete(t.Context(), last.ID)
		p.same(t, err, llm.Full, "checkpoint")
		if got := p.arrived(t, last.ID); len(got) != len(last.Parts) {
			t.Error(got)
		}
		p.MaxBytes = 0
		p.age(t, Lasts+time.Hour)
		if _, err := p.Begin(t.Context(), upload(t, "m", 1), 0, ""); err != nil {
			t.Fatal(err)
		}
		if got := p.leftovers(t); len(got) != 1 {
			t.Errorf("left behind: %v", got)
		}
		for i := 1; i < maxOwnSessions; i++ {
			if _, err := p.Begin(t.Context(), upload(t, "m", 1), 0, ""); err != nil {
				t.Fatal(err)
			}
		}
		_, err = p.Begin(t.Context(), upload(t, "m", 1), 0, "")
		p.same(t, err, llm.Overloaded, "")
	})
}

// An upload expires a day after its latest part.
func TestExpires(t *testing.T) {
	each(t, func(t *testing.T, p *place) {
		s, data := begin(t, p, "m", 1)
		expires := func() time.Duration { // after what Begin announced
			t.Helper()
			now, err := p.Session(t.Context(), s.ID)
			if err != nil {
				t.Fatal(err)
			}
			return now.Expires.Sub(s.Expires).Round(time.Hour)
		}
		p.age(t, 20*time.Hour)
		if got := expires(); got != -20*time.Hour {
			t.Errorf("without a new part: %v", got)
		}
		if err := p.send(t, s, 0, data); err != nil {
			t.Fatal(err)
		}
		if got := expires(); got != 0 {
			t.Errorf("after a new part: %v", got)
		}
	})
}

// Whatever one owner has begun, another can begin and complete uploads with the same
// names, and neither sees, changes or ends the other's.
func TestSessionOwners(t *testing.T) {
	each(t, func(t *testing.T, p *place) {
		ann, bob := llm.WithOwner(t.Context(), "key ann"), llm.WithOwner(t.Context(), "key bob")
		p.MaxBytes = 1 << 20
		huge := upload(t, "m", 1)
		huge.Size = p.MaxBytes - 4096
		s, err := p.Begin(ann, huge, 0, "") // nearly all the room, under the name that bob wants
		if err != nil {
			t.Fatal(err)
		}
		for i := 1; i < maxOwnSessions; i++ {
			if err := p.Chunk(ann, fmt.Sprint("x", i), 0, 1, strings.NewReader("x")); err != nil {
				t.Fatal(err)
			}
		}
		p.same(t, p.Chunk(ann, "y", 0, 1, strings.NewReader("x")), llm.Overloaded, "")
		if err := p.Chunk(ann, "x1", 1, 2, strings.NewReader("x")); err != nil { // it is in progress
			t.Error(err)
		}
		list, err := p.Sessions(ann)
		if err != nil || len(list) != maxOwnSessions {
			t.Fatalf("%d uploads, %v", len(list), err)
		}
		_, err = p.Session(bob, s.ID)
		p.same(t, err, llm.NotFound, "id")
		_, _, err = p.Complete(bob, s.ID)
		p.same(t, err, llm.NotFound, "id")
		p.same(t, p.Part(bob, s.ID, 0, strings.NewReader("x")), llm.NotFound, "id")
		for _, one := range list {
			p.same(t, p.Abort(bob, one.ID), llm.NotFound, "id")
		}
		p.same(t, p.Assemble(bob, "x1", 2, upload(t, "m", 1)), llm.NotFound, "uploadId")
		if list, err := p.Sessions(bob); err != nil || len(list) != 0 {
			t.Error(list, err)
		}

		data := golden(t)
		if err := p.Chunk(bob, "x1", 0, 1, bytes.NewReader(data)); err != nil {
			t.Fatal(err)
		}
		if list, err := p.Sessions(bob); err != nil || len(list) != 1 || list[0].Arrived != int64(len(data)) || list[0].Name != "" {
			t.Errorf("%+v %v", list, err)
		}
		if err := p.Assemble(bob, "x1", 1, upload(t, "m", 7)); err != nil || !slices.Equal(p.list(t), []string{"m@7"}) {
			t.Error(err, p.list(t))
		}
		if list, err := p.Sessions(bob); err != nil || len(list) != 0 {
			t.Error(list, err)
		}
		list, err = p.Sessions(ann)
		for _, one := range list {
			err = errors.Join(err, p.Abort(ann, one.ID))
		}
		if err != nil || len(list) != maxOwnSessions {
			t.Error(len(list), err)
		}
		if list, err := p.Sessions(ann); err != nil || len(list) != 0 {
			t.Error(list, err)
		}
	})
}
