package responses

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
	"glossa/pkg/wire"
)

// A Store keeps the documents of owners until they expire. Only its owner finds a document:
// for another one it does not exist, which is an [llm.NotFound] error.
type Store interface {
	// Put stores a new document, of UTF-8, which does not change afterwards.
	Put(ctx context.Context, owner, id string, document []byte, expires time.Time) error
	// Get returns a document. It calls room with the size of the document before it reads
	// all of it, and returns its error.
	Get(ctx context.Context, owner, id string, room func(bytes int64) error) ([]byte, error)
	Delete(ctx context.Context, owner, id string) error
}

const (
	// DefaultKeep is the time that OpenAI stores responses for.
	DefaultKeep = 30 * 24 * time.Hour

	// maxStored is the size of what is stored before the model runs, in bytes: stores accept
	// more, for the output.
	maxStored = 3 << 20
	// maxSources is the number of responses whose items one request may refer to. A response
	// has all items before it, so that those of a conversation need one.
	maxSources = 32
)

// A document is a stored response. It has all items that the model read, and not only those
// that were sent with it: so it continues when an earlier one has expired.
type document struct {
	Items    []json.RawMessage `json:"items"`
	Response json.RawMessage   `json:"response"` // as sent
}

// answered is what a document tells of its response.
type answered struct {
	Status string
	Output []json.RawMessage
}

// owner returns the owner of a request's responses.
func (cfg Config) owner(ctx context.Context) string {
	if cfg.Owner == nil {
		return ""
	}
	return cfg.Owner(ctx)
}

var responseID = regexp.MustCompile(`^resp_[0-9a-f]{24}$`)

// find returns a stored response. It reports false if there is none for the sender of a
// request.
func (cfg Config) find(ctx context.Context, id string) (d document, a answered, ok bool, err error) {
	if cfg.Store == nil || !responseID.MatchString(id) {
		return d, a, false, nil
	}
	text, err := cfg.Store.Get(ctx, cfg.owner(ctx), id, func(n int64) error { return httpx.Reserve(ctx, n) })
	if e, is := errors.AsType[*llm.Error](err); is && e.Code == llm.NotFound {
		return d, a, false, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &d)
	}
	if err == nil {
		err = json.Unmarshal(d.Response, &a)
	}
	return d, a, err == nil, err
}

// decode decodes a request, and reads the stored items that it continues or refers to.
func (cfg Config) decode(r *http.Request, table *wire.Table, in any) error {
	if err := httpx.Decode(r, table, in); err != nil {
		return err
	}
	return cfg.recall(r.Context(), in.(*createRequest))
}

// recall reads the stored items that a request continues or refers to.
func (cfg Config) recall(ctx context.Context, c *createRequest) error {
	known, err := cfg.previous(ctx, c)
	if err != nil {
		return err
	}
	wanted := c.references()
	if len(wanted) == 0 {
		return nil
	}
	c.referenced = map[string]json.RawMessage{}
	unknown := map[string]bool{} // wanted, and not found so far
	for _, id := range wanted {
		unknown[id] = true
	}
	take := func(items []json.RawMessage) {
		for _, raw := range items {
			if id := idOf(raw); unknown[id] {
				c.referenced[id] = raw
				delete(unknown, id)
			}
		}
	}
	take(known)
	sources := map[string]bool{}
	for _, id := range slices.Backward(wanted) { // the last response has the items before it, too
		source := sourceOf(id)
		if !unknown[id] || sources[source] {
			continue
		}
		if sources[source] = true; len(sources) > maxSources {
			return wire.Invalid("input", "refers to items of more than %d responses: send the items themselves, or previous_response_id", maxSources)
		}
		d, a, _, err := cfg.find(ctx, source)
		if err != nil {
			return err
		}
		take(d.Items)
		take(a.Output)
	}
	return nil
}

// previous reads the items before those of the input, and returns them.
func (cfg Config) previous(ctx context.Context, c *createRequest) ([]json.RawMessage, error) {
	const path = "previous_response_id"
	if c.PreviousResponseID == nil {
		return nil, nil
	}
	id := *c.PreviousResponseID
	if cfg.Store == nil {
		return nil, unsupported(path, "this server does not store responses: send the earlier items in input")
	}
	d, a, ok, err := cfg.find(ctx, id)
	switch {
	case err != nil:
		return nil, err
	case !ok:
		e := llm.Errorf(noPrevious, "Previous response with id '%.80s' not found.", id)
		e.Param = path
		return nil, e
	case a.Status != completed && a.Status != incomplete:
		return nil, wire.Invalid(path, "that response is %s: continue the one before it", a.Status)
	}
	c.earlier = slices.Concat(d.Items, a.Output)
	return c.earlier, nil
}

// references returns the ids of the items that the input refers to.
func (c *createRequest) references() (ids []string) {
	var list []struct{ Type, ID string }
	if json.Unmarshal(c.Input, &list) != nil { // a text, or items with an error of their own
		return nil
	}
	for _, it := range list {
		if it.Type == typeReference {
			ids = append(ids, it.ID)
		}
	}
	return ids
}

// missing returns the error of a reference at path to an unknown item.
func missing(path, id string) error {
	e := llm.Errorf(noItem, "Item with id '%.80s' not found. Items are only stored with their response, if its `store` is true. Send the item itself instead.", id)
	e.Param = path
	return e
}

// The ids of items name their response, so that a reference finds it: PREFIX_, the 24 digits
// of the response, and 6 of the item's number, from 0.
func itemID(kind, response string, n int) string {
	prefix := map[string]string{
		typeMessage: "msg", typeReasoning: "rs", typeFunctionCall: "fc", typeFunctionOutput: "fco", typeCustomCall: "ctc", typeCustomOutput: "ctco",
	}[kind]
	return fmt.Sprintf("%s_%s%06x", prefix, strings.TrimPrefix(response, "resp_"), n)
}

// sourceOf returns the id of the response that introduced an item, or "" if the item is not
// from here.
func sourceOf(item string) string {
	_, digits, _ := strings.Cut(item, "_")
	if len(digits) != 30 {
		return ""
	}
	return "resp_" + digits[:24]
}

func idOf(item json.RawMessage) string {
	var peek struct{ ID string }
	if json.Unmarshal(item, &peek) != nil {
		return ""
	}
	return peek.ID
}

// items returns all items of a request that was translated, each with an id and a type, and
// the number of those that came with it.
func (c *createRequest) items(response string) (list []json.RawMessage, own int, err error) {
	input, err := c.turn()
	if err != nil {
		return nil, 0, err
	}
	list = slices.Clone(c.earlier)
	for n, raw := range input {
		var peek struct{ Type, ID string }
		if json.Unmarshal(raw, &peek) == nil && peek.Type == typeReference {
			raw = c.referenced[peek.ID]
		}
		if raw, err = identified(raw, response, n); err != nil {
			return nil, 0, err
		}
		list = append(list, raw)
	}
	return list, len(input), nil
}

// identified returns an item of the input with an id, a type and parts in place of a text,
// as clients expect to read it. It adds what is missing and changes nothing else.
func identified(raw json.RawMessage, response string, n int) (json.RawMessage, error) {
	var it inputItem
	var members map[string]json.RawMessage
	if err := errors.Join(json.Unmarshal(raw, &it), json.Unmarshal(raw, &members)); err != nil {
		return nil, err
	}
	add, kind := map[string]any{}, it.Type
	if kind == "" {
		kind = typeMessage
		add["type"] = kind
	}
	if it.ID == "" {
		add["id"] = itemID(kind, response, n)
	}
	if kind == typeMessage && it.Content[0] == '"' {
		part := map[string]any{"type": "input_text", "text": it.Content}
		if it.Role == "assistant" {
			part = map[string]any{"type": outputText, "text": it.Content, "annotations": []any{}, "logprobs": []any{}}
		}
		add["content"] = []any{part}
	}
	if kind == typeMessage && it.Status == "" {
		add["status"] = completed
	}
	if len(add) == 0 {
		return raw, nil
	}
	whole := map[string]any{}
	for name, value := range members {
		whole[name] = value
	}
	maps.Copy(whole, add)
	return encoded(whole)
}

// encoded returns v as JSON, whose texts have no more escapes than they need.
func encoded(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// prepare decides whether an answer is stored when it is complete.
func (cfg Config) prepare(ctx context.Context, c *createRequest, a *answer) error {
	if cfg.Store == nil || !or(c.Store, true) {
		return nil
	}
	items, own, err := c.items(a.ID)
	if err != nil {
		return err
	}
	head, err := encoded(a.response)
	if err != nil {
		return err
	}
	size := len(head)
	for _, raw := range items {
		size += len(raw)
	}
	switch {
	case size <= maxStored:
	case c.Store == nil: // the answer says so
		return nil
	default:
		return wire.Invalid("store", "the conversation has %d bytes, and up to %d are stored: send false", size, maxStored)
	}
	a.before, a.Store = own, true
	a.keep = func() bool { return cfg.keep(ctx, items, a) }
	return nil
}

// keep stores a complete answer, and reports whether it could.
func (cfg Config) keep(ctx context.Context, items []json.RawMessage, a *answer) bool {
	response, err := encoded(a.response)
	if err != nil {
		cfg.failed(err)
		return false
	}
	text, err := encoded(document{items, response})
	if err == nil {
		err = cfg.Store.Put(ctx, cfg.owner(ctx), a.ID, bytes.ToValidUTF8(text, []byte("\ufffd")), time.Unix(a.CreatedAt, 0).Add(cfg.Keep))
	}
	if err != nil && ctx.Err() == nil {
		cfg.failed(err)
	}
	return err == nil
}

func (cfg Config) failed(err error) {
	if cfg.Failed != nil {
		cfg.Failed(err)
	}
}
