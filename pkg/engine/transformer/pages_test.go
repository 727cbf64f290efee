package transformer_test

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/transformer"
	"glossa/pkg/engine/transformer/transformertest"
)

// A shelf records what a model does with the experts of a file.
type shelf struct {
	mu                        sync.Mutex
	brought, checked, dropped map[int]int // how often, by page
	order                     []int       // the pages that were brought
	damaged                   int         // a page; 0: none
}

var errDamaged = errors.New("the expert is damaged")

func (s *shelf) count(of *map[int]int, page int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if *of == nil {
		*of = map[int]int{}
	}
	(*of)[page]++
}

func (s *shelf) Bring(page int) {
	s.count(&s.brought, page)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.order = append(s.order, page)
}

func (s *shelf) Drop(page int) { s.count(&s.dropped, page) }

func (s *shelf) Check(page int) error {
	if s.count(&s.checked, page); page == s.damaged {
		return errDamaged
	}
	return nil
}

// tensorOf is a tensor of an expert, whose name begins with that of the expert.
type tensorOf struct {
	expert string
	bytes  int
}

// leastRecent returns the hits and the bytes in memory after uses of experts, two at a time, that
// keep the last used ones in memory.
func leastRecent(uses []string, size map[string]int64, limit int64) (hits, held int64) {
	var recent []string // the last used first
	for i := 0; i < len(uses); i += 2 {
		for _, expert := range uses[i : i+2] {
			if at := slices.Index(recent, expert); at >= 0 {
				hits++
				recent = slices.Delete(recent, at, at+1)
			} else {
				held += size[expert]
			}
			recent = slices.Insert(recent, 0, expert)
		}
		for held > limit && len(recent) > 2 {
			held -= size[recent[len(recent)-1]]
			recent = recent[:len(recent)-1]
		}
	}
	return hits, held
}

// mixture returns a decoder of three layers with eight experts each, of which a token uses two,
// and its packed weights. Their tensors are numbered from 1 on; pages are those of experts.
func mixture(t *testing.T) (spec *transformer.Spec, w *transformer.Weights, pages map[int]tensorOf) {
	t.Helper()
	spec, _ = plain(32, 3, 50)
	spec.Kinds[0].FeedForward = transformer.FeedForward{
		Width: 48, Activation: transformer.SiLU, Gated: true, Experts: &transformer.Experts{Count: 8, Used: 2, Renormalised: true},
	}
	file, page := packedFile(t, spec, transformertest.New(spec, 7).Weights), 0
	pages = map[int]tensorOf{}
	w = must(transformer.Unpack(spec, func(name string, _ int, expert bool) (transformer.StoredTensor, bool) {
		s, ok := file[name]
		if ok {
			page++
			s.Page = page
		}
		if ok && expert {
			pages[page] = tensorOf{name[:strings.LastIndex(name, ".expert.")+len(".expert.0")], len(s.Bytes())}
		}
		if strings.Contains(name, ".expert.") != expert {
			t.Errorf("%s: expert is %v", name, expert)
		}
		return s, ok
	}))
	return spec, w, pages
}

// decodeEach returns copies of the logits after each of some tokens.
func decodeEach(m *transformer.Model, tokens []int) (list [][]float32, err error) {
	p, cache := m.NewPass(nil), m.NewCache(len(tokens))
	for _, id := range tokens {
		logits, err := p.Forward([]transformer.Sequence{{Cache: cache, Tokens: []int{id}, Logits: 1}})
		if err != nil {
			return nil, err
		}
		list = append(list, slices.Clone(logits))
	}
	return list, nil
}

// Experts that stay in their file give the same results, however few fit into memory. Each is
// checked once.
func TestPages(t *testing.T) {
	spec, w, pages := mixture(t)
	all, chosen, packed := w.ExpertBytes(spec, transformer.Stored)
	if !packed || chosen != all/4 {
		t.Fatalf("experts of %d bytes, %d of a token, packed: %v", all, chosen, packed)
	}
	tokens := make([]int, 40)
	for i := range tokens {
		tokens[i] = i * 7 % 50
	}
	whole := must(transformer.New(spec, w, kernel.Best(), transformer.Stored))
	if _, ok := whole.ExpertUse(); ok {
		t.Error("experts in memory are said to be in a file")
	}
	want := must(decodeEach(whole, tokens))
	size, uses := map[string]int64{}, []string{} // of each pass and layer
	for _, p := range pages {
		size[p.expert] += int64(p.bytes)
	}
	for _, limit := range []int64{0, chosen, 2 * chosen, all, 2 * all} {
		s := &shelf{}
		w.Pages, w.PageMemory = s, limit
		m := must(transformer.New(spec, w, kernel.Best(), transformer.Stored))
		if got := must(decodeEach(m, tokens)); !slices.EqualFunc(got, want, slices.Equal) {
			t.Errorf("limit %d: other results", limit)
		}
		if limit == 0 { // all are brought each time
			for _, page := range s.order {
				if e := pages[page].expert; len(uses) == 0 || uses[len(uses)-1] != e {
					uses = append(uses, e)
				}
			}
		}
		use, ok := m.ExpertUse()
		if !ok || use.Hits+use.Misses != int64(len(tokens)*len(spec.Decoder)*2) || use.Limit != min(limit, all) {
			t.Errorf("limit %d: %+v", limit, use)
		}
		if hits, held := leastRecent(uses, size, limit); use.Hits != hits || use.Bytes != held {
			t.Errorf("limit %d: %+v, want %d hits and %d bytes", limit, use, hits, held)
		}
		if m.Bytes() != whole.Bytes()-all+min(limit, all) {
			t.Errorf("limit %d: the model takes %d bytes, whole %d", limit, m.Bytes(), whole.Bytes())
		}
		for page, n := range s.brought {
			if s.checked[page] != 1 || n-s.dropped[page] > 1 || n < s.dropped[page] || pages[page].bytes == 0 {
				t.Errorf("limit %d: page %d was brought %d times, dropped %d times, checked %d times", limit, page, n, s.dropped[page], s.checked[page])
			}
		}
		if limit >= all && (len(s.dropped) > 0 || use.Misses > 24) {
			t.Errorf("limit %d: %+v, %d pages dropped", limit, use, len(s.dropped))
		}
	}
}

// Passes that run at the same time share the memory of experts.
func TestPagesTogether(t *testing.T) {
	spec, w, _ := mixture(t)
	want := must(decodeEach(must(transformer.New(spec, w, kernel.Best(), transformer.Stored)), []int{1, 2, 3, 4, 5, 6, 7, 8}))
	_, chosen, _ := w.ExpertBytes(spec, transformer.Stored)
	w.Pages, w.PageMemory = &shelf{}, chosen
	m := must(transformer.New(spec, w, kernel.Best(), transformer.Stored))
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			if got, err := decodeEach(m, []int{1, 2, 3, 4, 5, 6, 7, 8}); err != nil || !slices.EqualFunc(got, want, slices.Equal) {
				t.Errorf("other results: %v", err)
			}
		})
	}
	group.Wait()
	if use, _ := m.ExpertUse(); use.Bytes > chosen || use.Hits+use.Misses != 4*8*6 {
		t.Errorf("%+v", use)
	}
}

// A damaged expert ends the first pass that uses it, and all later ones.
func TestPagesDamaged(t *testing.T) {
	spec, w, pages := mixture(t)
	damaged := 0
	for page := range pages {
		s := &shelf{damaged: page}
		w.Pages, w.PageMemory = s, 1<<20
		m := must(transformer.New(spec, w, kernel.Best(), transformer.Stored))
		_, err := decodeEach(m, []int{0, 9, 17})
		if s.checked[page] == 0 { // no token chose it
			if err != nil || m.Failed() != nil {
				t.Errorf("page %d was not used: %v, %v", page, err, m.Failed())
			}
			continue
		}
		damaged++
		if !errors.Is(err, errDamaged) || !errors.Is(m.Failed(), errDamaged) {
			t.Errorf("page %d: %v, then %v", page, err, m.Failed())
		}
		if _, err := decodeEach(m, []int{0}); !errors.Is(err, errDamaged) {
			t.Errorf("page %d, a later pass: %v", page, err)
		}
	}
	if damaged == 0 || damaged == len(pages) {
		t.Errorf("%d of %d pages were used", damaged, len(pages))
	}
}

// Experts in another format and models without experts cannot stay in a file.
func TestPagesRefused(t *testing.T) {
	spec, w, _ := mixture(t)
	w.Pages = &shelf{}
	if _, err := transformer.New(spec, w, kernel.Best(), transformer.Q8_0); err == nil || !strings.Contains(err.Error(), "decoder.0.expert.0.up: in q8_0 it cannot stay in the file, which has f32") {
		t.Error(err)
	}
	if _, _, packed := w.ExpertBytes(spec, transformer.Q8_0); packed {
		t.Error("experts are said to be packed in another format")
	}
	spec, w = plain(32, 1, 50)
	w = unpacked(t, spec, w)
	w.Pages = &shelf{}
	if _, err := transformer.New(spec, w, kernel.Best(), transformer.Stored); err == nil || !strings.Contains(err.Error(), "no experts") {
		t.Error(err)
	}
}
