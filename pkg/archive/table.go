package archive

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"glossa/pkg/table"
)

// part is the size of the text in one item, in bytes: an item has at most 400 KB, its keys
// and the names of its attributes included.
const part = 380_000

// A Table keeps documents in a DynamoDB table. The first part of a document's text is the
// item pk=KIND#OWNER, sk=ID; the others, sk=ID#1 and so on, exist before it. Their attribute
// "expires" is the table's time to live, in seconds. No read and no deletion lists items.
type Table struct {
	Table *table.Table
	Kind  string           // of the documents: the beginning of the partition keys
	Now   func() time.Time // nil: time.Now
}

func (t *Table) now() time.Time {
	if t.Now == nil {
		return time.Now()
	}
	return t.Now()
}

// key returns the key of a part of a document.
func (t *Table) key(owner, id string, n int) table.Key {
	k := table.Key{PK: t.Kind + "#" + owner, SK: id}
	if n > 0 {
		k.SK += "#" + strconv.Itoa(n)
	}
	return k
}

// Put stores a new document.
func (t *Table) Put(ctx context.Context, owner, id string, text []byte, expires time.Time) error {
	d := document{owner, id, text, expires}
	if err := d.check(); err != nil {
		return err
	}
	parts := split(string(text))
	for n := len(parts) - 1; n >= 0; n-- {
		k := t.key(owner, id, n)
		item := table.Item{"pk": k.PK, "sk": k.SK, "text": parts[n], "expires": expires.Unix()}
		if n == 0 {
			item["bytes"], item["parts"] = int64(len(text)), int64(len(parts))
		}
		if err := t.Table.Put(ctx, item); err != nil {
			return unavailable("put", err)
		}
	}
	return nil
}

// split cuts a text into parts that begin with a whole character.
func split(text string) (parts []string) {
	for len(text) > part {
		n := part
		for n > part-utf8.UTFMax && !utf8.RuneStart(text[n]) {
			n--
		}
		parts, text = append(parts, text[:n]), text[n:]
	}
	return append(parts, text)
}

// first is the item with the beginning of a document.
type first struct {
	text         string
	bytes, parts int64
}

// first reads the first item of a document.
func (t *Table) first(ctx context.Context, owner, id string) (f first, err error) {
	item, err := t.Table.Get(ctx, t.key(owner, id, 0))
	if errors.Is(err, table.ErrNotFound) {
		return f, notFound()
	}
	if err != nil {
		return f, unavailable("get", err)
	}
	f.text, _ = item["text"].(string)
	f.bytes, f.parts = integer(item, "bytes"), integer(item, "parts")
	if f.parts == 0 || integer(item, "expires") <= t.now().Unix() { // another part; the service removes items days later
		return f, notFound()
	}
	if f.parts < 1 || f.parts > MaxDocument/(part-utf8.UTFMax)+1 || f.bytes > MaxDocument {
		return f, unavailable("get", errors.New("the item was changed by hand"))
	}
	return f, nil
}

// integer returns a whole number of an item, 0 if there is none.
func integer(item table.Item, name string) int64 {
	number, _ := item[name].(json.Number)
	n, _ := number.Int64()
	return n
}

// Get returns the text of a document. It calls room with the text's size before it reads
// all of it, and returns its error.
func (t *Table) Get(ctx context.Context, owner, id string, room func(bytes int64) error) ([]byte, error) {
	f, err := t.first(ctx, owner, id)
	if err != nil {
		return nil, err
	}
	if err := room(f.bytes); err != nil {
		return nil, err
	}
	var text strings.Builder
	text.Grow(int(f.bytes))
	text.WriteString(f.text)
	for n := 1; n < int(f.parts); n++ {
		item, err := t.Table.Get(ctx, t.key(owner, id, n))
		if errors.Is(err, table.ErrNotFound) {
			return nil, notFound() // it is being deleted
		}
		if err != nil {
			return nil, unavailable("get", err)
		}
		more, _ := item["text"].(string)
		text.WriteString(more)
	}
	if int64(text.Len()) != f.bytes {
		return nil, unavailable("get", errors.New("the items were changed by hand"))
	}
	return []byte(text.String()), nil
}

// Delete removes a document. If it fails after the first item, nobody can read the others,
// which expire.
func (t *Table) Delete(ctx context.Context, owner, id string) error {
	f, err := t.first(ctx, owner, id)
	if err != nil {
		return err
	}
	for n := range int(f.parts) {
		var there []table.Condition
		if n == 0 {
			there = append(there, table.Present())
		}
		err := t.Table.Delete(ctx, t.key(owner, id, n), there...)
		if errors.Is(err, table.ErrCondition) {
			return notFound() // another request was faster
		}
		if err != nil {
			return unavailable("delete", err)
		}
	}
	return nil
}
