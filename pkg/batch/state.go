package batch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// A work is the state of a batch as its objects tell it.
type work struct {
	draft
	owner     string
	cancelled time.Time // the zero value: not
	plan      *plan
	seal      *seal
	end       *end
	parts     []progress // of plan.Parts
	missing   bool       // found by choose: a line has no answer and will not get one
}

// progress is how far a part is.
type progress struct {
	claims  int    // attempts so far
	claim   string // key of the last one, or of its last renewal
	answers []commit
}

// A commit is the key of an attempt's answers, which tells their numbers.
type commit struct {
	key          string
	attempt      int
	done, failed int
	notBefore    int64 // milliseconds since 1970; 0: the attempt was not throttled
}

func (w *work) key(name string) string { return "work/" + room(w.owner) + w.ID + "/" + name }

func (w *work) endKey() string { return room(w.owner) + "ended/" + w.ID }

// renewal returns the key of the n-th renewal of a lease. It sorts behind the lease.
func renewal(key string, n int) string { return fmt.Sprintf("%s-%06d", key, n) }

func (w *work) claimKey(part, attempt int) string {
	return w.key(fmt.Sprintf("parts/%05d/claim/%06d", part, attempt))
}

func (w *work) answersKey(part int, c commit) string {
	return w.key(fmt.Sprintf("parts/%05d/answers/%06d-%d-%d-%d", part, c.attempt, c.done, c.failed, c.notBefore))
}

// load reads the state of a batch.
func (b *Batches) load(ctx context.Context, owner, id string) (*work, error) {
	if !validID(batchPrefix, id) {
		return nil, ErrNotFound
	}
	w := &work{owner: owner}
	if err := b.readJSON(ctx, room(owner)+"batches/"+id, &w.draft); err != nil {
		return nil, err
	}
	// The end comes first: what came before it may be deleted at any moment.
	if ok, err := optional(b, ctx, w.endKey(), &w.end); ok || err != nil {
		return w, err
	}
	if _, err := optional(b, ctx, w.key("cancel"), &w.cancelled); err != nil {
		return nil, err
	}
	if err := b.loadPlan(ctx, w); err != nil {
		return nil, err
	}
	if w.plan == nil { // not yet, or no longer
		_, err := optional(b, ctx, w.endKey(), &w.end)
		return w, err
	}
	if _, err := optional(b, ctx, w.key("seal"), &w.seal); err != nil {
		return nil, err
	}
	keys, err := b.cfg.Store.List(ctx, w.key("parts/"))
	if err != nil {
		return nil, err
	}
	w.parts = make([]progress, len(w.plan.Parts))
	for _, key := range keys {
		if err := w.note(key); err != nil {
			return nil, err
		}
	}
	if _, err := optional(b, ctx, w.endKey(), &w.end); err != nil { // the keys are deleted after the end
		return nil, err
	}
	return w, nil
}

// A plan of the longest file takes megabytes, and never changes: those of the last few batches are
// remembered.
const rememberedPlans = 4

// loadPlan reads the plan, if there is one.
func (b *Batches) loadPlan(ctx context.Context, w *work) error {
	b.mu.Lock()
	w.plan = b.plans[w.ID]
	b.mu.Unlock()
	if w.plan != nil {
		return nil
	}
	if _, err := optional(b, ctx, w.key("plan"), &w.plan); w.plan == nil || err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.plans) == rememberedPlans {
		clear(b.plans)
	}
	b.plans[w.ID] = w.plan
	return nil
}

// optional reads an object that may be missing.
func optional[T any](b *Batches, ctx context.Context, key string, v *T) (ok bool, err error) {
	err = b.readJSON(ctx, key, v)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// note adds the key of a claim or of answers.
func (w *work) note(key string) error {
	var part int
	name := strings.TrimPrefix(key, w.key("parts/"))
	number, rest, _ := strings.Cut(name, "/")
	if _, err := fmt.Sscanf(number, "%d", &part); err != nil || part >= len(w.parts) {
		return fmt.Errorf("object %s: unknown part", key)
	}
	p := &w.parts[part]
	if text, ok := strings.CutPrefix(rest, "claim/"); ok {
		p.claim = key // sorted: the last is the highest
		_, err := fmt.Sscanf(text, "%d", &p.claims)
		return err
	}
	c := commit{key: key}
	if _, err := fmt.Sscanf(rest, "answers/%d-%d-%d-%d", &c.attempt, &c.done, &c.failed, &c.notBefore); err != nil {
		return fmt.Errorf("object %s: %w", key, err)
	}
	p.answers = append(p.answers, c)
	return nil
}

// counts returns the answered lines. Attempts at the same lines, of which one outlived its
// lease, are counted twice until the batch ends, but never beyond the part.
func (p *progress) counts(lines int) (done, failed int) {
	for _, c := range p.answers {
		done, failed = done+c.done, failed+c.failed
	}
	done = min(done, lines)
	return done, min(failed, lines-done)
}

// open reports whether the last attempt has not committed its answers.
func (p *progress) open() bool {
	return p.claims > 0 && (len(p.answers) == 0 || p.last().attempt < p.claims)
}

// last returns the commit of the highest attempt.
func (p *progress) last() (last commit) {
	for _, c := range p.answers {
		if c.attempt >= last.attempt {
			last = c
		}
	}
	return last
}

// lost returns how many attempts ended without anything: without a commit, because the process
// was killed, or with an empty one, because a line took longer than the attempt; and how many of
// them since the last commit that has something.
func (p *progress) lost() (all, since int) {
	fruitful, last := 0, 0
	for _, c := range p.answers {
		if c.done+c.failed > 0 || c.notBefore > 0 {
			fruitful++
			last = max(last, c.attempt)
		}
	}
	return p.claims - fruitful, p.claims - last
}

// A seal fixes which answers count. It is written once, before the files are assembled, so
// that an answer that comes later does not make the files differ.
type seal struct {
	Parts  [][]string `json:"parts"` // keys of answers, by part; of two answers to a line the first counts
	Status Status     `json:"status"`
	Output string     `json:"output"` // ids of the files to write
	Errors string     `json:"errors"`
	At     time.Time  `json:"at"`
}

// An end is the final state.
type end struct {
	Status    Status    `json:"status"`
	Counts    Counts    `json:"counts"`
	Cancelled time.Time `json:"cancelled,omitzero"`
	At        time.Time `json:"at"`
	Output    string    `json:"output,omitempty"`
	Errors    string    `json:"errors,omitempty"`
	Problems  []Problem `json:"problems,omitempty"`
}

// state returns the batch for its owner.
func (w *work) state() Batch {
	s := Batch{Order: w.Order, ID: w.ID, Created: w.Created, Expires: w.Expires, Status: Validating, Cancelled: w.cancelled}
	if e := w.end; e != nil {
		s.Status, s.Counts, s.Cancelled, s.Ended = e.Status, e.Counts, e.Cancelled, e.At
		s.Output, s.Errors, s.Problems = e.Output, e.Errors, e.Problems
		return s
	}
	if w.plan != nil {
		s.Status = InProgress
		s.Counts = Counts{Total: w.plan.total(), Failed: len(w.plan.Broken)}
		for i := range w.parts {
			done, failed := w.parts[i].counts(len(w.plan.Parts[i]))
			s.Counts.Completed += done
			s.Counts.Failed += failed
		}
	}
	if !w.cancelled.IsZero() {
		s.Status = Cancelling
	}
	if w.seal != nil {
		s.Status = Finalizing
	}
	return s
}

// A record is an answered line in the answers of an attempt.
type record struct {
	Line   int             `json:"line"`
	Failed bool            `json:"failed,omitempty"`
	Out    json.RawMessage `json:"out"`
}

// A result is a line of the files of answers and errors, as OpenAI writes them.
type result struct {
	ID       string    `json:"id"`
	CustomID *string   `json:"custom_id"`
	Response *response `json:"response"`
	Error    *fault    `json:"error"`
}

type response struct {
	Status    int             `json:"status_code"`
	RequestID string          `json:"request_id"`
	Body      json.RawMessage `json:"body"`
}

type fault struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Line    int    `json:"line,omitempty"`
	Param   string `json:"param,omitempty"`
}

// newResult returns the result of a line; its id is the same whoever makes it.
func (w *work) newResult(line int, customID string) result {
	r := result{ID: fmt.Sprintf("batch_req_%s%05d", strings.TrimPrefix(w.ID, batchPrefix), line)}
	if customID != "" {
		r.CustomID = &customID
	}
	return r
}
