package arch

import (
	"errors"
	"fmt"
	"slices"

	"glossa/pkg/engine/transformer"
)

// A Sparse is how a model weighs the tokens of its vocabulary for a text. Tokens without a
// positive weight are left out.
type Sparse struct {
	// Token weighs each token of the text: relu(w·x + b), and of a token that occurs several times
	// the largest (BGE-M3, Chen et al. 2024, sec. 3.1). It is (1, Width).
	Token *Dense `json:"token,omitempty"`
	Omit  []int  `json:"omit,omitempty"` // tokens without a weight

	// Masked, if Token is nil, predicts tokens from the vector of each token of the text. Their
	// weights are log(1+relu(logit)) (SPLADE, Formal et al. 2021, sec. 3.1).
	Masked *MaskedHead `json:"masked,omitempty"`
	Sum    bool        `json:"sum,omitempty"`   // the sum over the text; otherwise the largest
	Twice  bool        `json:"twice,omitempty"` // log(1+log(1+relu(logit)))
}

// A MaskedHead is norm(gelu(dense(x))). The head of a transformer.Spec with MaskedHead follows.
type MaskedHead struct {
	Dense *Dense            `json:"dense"` // (Width, Width)
	Norm  *transformer.Norm `json:"-"`     // (Width)
}

// A MultiVector is how a model makes a vector for each token of a text (ColBERT, Khattab and
// Zaharia 2020, sec. 3.2).
type MultiVector struct {
	Steps []*Dense `json:"steps,omitempty"` // of each token's vector, one after the other
	Unit  bool     `json:"unit,omitempty"`  // vectors have length 1
	// SkipFirst leaves out the first token of a text (BGE-M3).
	SkipFirst bool `json:"skip_first,omitempty"`

	Query    Side `json:"query"`
	Document Side `json:"document"`
}

// A Side is how queries, or documents, are read.
type Side struct {
	MaxTokens int   `json:"max_tokens"`       // of a text, with all that is added to it
	Marker    []int `json:"marker,omitempty"` // tokens before the prompt, after those that begin a text
	Omit      []int `json:"omit,omitempty"`   // tokens without a vector, such as punctuation

	// Expand fills shorter texts up to this number of tokens with the token Filler. Fillers have
	// vectors, and read the text; only if Attend is set are they read.
	Expand int  `json:"expand,omitempty"`
	Filler int  `json:"filler,omitempty"`
	Attend bool `json:"attend,omitempty"`
}

// Bounds of descriptions.
const (
	maxMarker = 64
	maxOmit   = 4096
)

// Width returns the length of each vector.
func (m *MultiVector) Width(spec *transformer.Spec) int {
	if n := len(m.Steps); n > 0 {
		return m.Steps[n-1].Out
	}
	return spec.Width
}

// parts lists the tensors of the head.
func (s *Sparse) parts(list []headPart) []headPart {
	if s == nil {
		return list
	}
	if s.Token != nil {
		list = s.Token.parts(list, "sparse.token")
	}
	if h := s.Masked; h != nil {
		list = normParts(h.Dense.parts(list, "sparse.dense"), "sparse.norm", h.Dense.Out, &h.Norm)
	}
	return list
}

// parts lists the tensors of the steps.
func (m *MultiVector) parts(list []headPart) []headPart {
	if m == nil {
		return list
	}
	for i, d := range m.Steps {
		list = d.parts(list, fmt.Sprintf("multi.%d", i))
	}
	return list
}

// check rejects a description that the engine cannot compute.
func (s *Sparse) check(spec *transformer.Spec) error {
	switch {
	case s == nil && !spec.MaskedHead:
		return nil
	case s == nil || (s.Masked != nil) != spec.MaskedHead:
		return errors.New("the head for masked tokens is not used, or missing")
	case (s.Token != nil) == (s.Masked != nil) || s.Token != nil && (s.Sum || s.Twice):
		return errors.New("one of token and masked is needed")
	case s.Token != nil:
		if err := s.Token.check(spec.Width, 1); err != nil {
			return fmt.Errorf("token: %w", err)
		}
	case s.Masked.Dense == nil || s.Masked.Dense.Out != spec.Width:
		return errors.New("masked: no matrix of the model's width")
	default:
		if err := s.Masked.Dense.check(spec.Width, spec.Width); err != nil {
			return fmt.Errorf("masked: %w", err)
		}
	}
	return checkTokens("omit", s.Omit, maxOmit, spec)
}

// check rejects a description that the engine cannot compute.
func (m *MultiVector) check(s *Sentence, spec *transformer.Spec) error {
	if m == nil {
		return nil
	}
	if len(m.Steps) > maxModules {
		return fmt.Errorf("%d steps", len(m.Steps))
	}
	width := spec.Width
	for i, d := range m.Steps {
		if d == nil {
			return fmt.Errorf("step %d: missing", i)
		}
		if err := d.check(width, maxFFN); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
		width = d.Out
	}
	around := len(s.Before) + len(s.After)
	if err := m.Query.check(around, spec); err != nil {
		return fmt.Errorf("query: %w", err)
	}
	if err := m.Document.check(around, spec); err != nil {
		return fmt.Errorf("document: %w", err)
	}
	return nil
}

// check rejects texts that cannot be read; the tokenizer adds around tokens to each.
func (s *Side) check(around int, spec *transformer.Spec) error {
	around += len(s.Marker)
	switch {
	case s.MaxTokens <= around || s.MaxTokens > spec.Context:
		return fmt.Errorf("texts of at most %d tokens, %d of which are added, in a context of %d", s.MaxTokens, around, spec.Context)
	case s.Expand < 0 || s.Expand > s.MaxTokens || s.Filler < 0 || s.Filler >= spec.Vocab:
		return fmt.Errorf("texts of %d tokens, filled up to %d with token %d of %d", s.MaxTokens, s.Expand, s.Filler, spec.Vocab)
	}
	if err := s.fills(around, spec); err != nil {
		return err
	}
	if err := checkTokens("marker", s.Marker, maxMarker, spec); err != nil {
		return err
	}
	return checkTokens("omit", s.Omit, maxOmit, spec)
}

// fills rejects fillers that the transformer cannot compute.
func (s *Side) fills(around int, spec *transformer.Spec) error {
	if s.Expand == 0 || s.Attend && len(spec.Decoder) == 0 {
		return nil
	}
	if len(spec.Decoder) > 0 || spec.RelativeBuckets > 0 || len(spec.Kinds[0].Attention.Slopes) > 0 {
		return errors.New("the expansion of queries needs an encoder without biases by distance")
	}
	least := max(1, around) // tokens that are read
	for _, k := range spec.Kinds {
		if w := k.Attention.Window; w > 0 && s.Expand-w >= least {
			return fmt.Errorf("queries are expanded to %d tokens, beyond the window of %d", s.Expand, w)
		}
	}
	return nil
}

// checkTokens rejects a list of too many tokens, or of unknown ones.
func checkTokens(name string, list []int, most int, spec *transformer.Spec) error {
	if len(list) > most {
		return fmt.Errorf("%s: %d tokens, at most %d", name, len(list), most)
	}
	if i := slices.IndexFunc(list, func(id int) bool { return id < 0 || id >= spec.Vocab }); i >= 0 {
		return fmt.Errorf("%s: token %d is not below %d", name, list[i], spec.Vocab)
	}
	return nil
}
