package arch

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/engine/transformer"
)

// Names of modules.
const (
	denseModule     = "Dense"
	normalizeModule = "Normalize"
	maskModule      = "MultiVectorMask"
)

const (
	metadataFile = "artifact.metadata" // of Stanford's ColBERT
	stanford     = "HF_ColBERT"        // its class
	punctuation  = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
	maxSkipped   = 1024 // words without a vector
)

// sides are the names of the two sides in settings and prompts.
var sides = [2]string{"query", "document"}

// A lateInteraction has the settings of a model with a vector for each token, as the files of
// sentence-transformers, PyLate and Stanford's ColBERT name them. Pairs are those of queries and
// of documents.
type lateInteraction struct {
	prefixes [2]string // texts before the prompt; a token if the tokenizer has it
	lengths  [2]int    // most tokens; 0: the model's
	skipped  [2]bool   // words have no vector
	words    []string
	masked   bool // there is a module MultiVectorMask

	expand        int // of queries, tokens; 0: they are not expanded
	open, attend  bool
	filler        string // "": the token for masked ones
	older, prefix bool   // PyLate's or Stanford's; with prefixes
}

// readStanford looks up the projection of a checkpoint of Stanford's ColBERT.
func (o *opened) readStanford(src *source, s *transformer.Spec) error {
	_, classes, _ := read[[]string](o.config, "architectures", "list of strings")
	t, ok := src.file.Tensor("linear.weight")
	if *o.config.err != nil || len(classes) != 1 || classes[0] != stanford || !ok {
		return *o.config.err
	}
	if len(s.Decoder) > 0 {
		return fmt.Errorf("architectures: %s of %s models is not supported", stanford, o.family.title)
	}
	d, err := projection(t, s.Width)
	if err != nil {
		return err
	}
	d.read(src, "linear", false)
	o.stanford = d
	return src.err
}

// projection returns the matrix of a tensor that reads vectors of a width.
func projection(t *checkpoint.TensorInfo, width int) (*Dense, error) {
	d := &Dense{In: width}
	if len(t.Shape) == 2 {
		d.Out = t.Shape[0]
	}
	if d.Out < 1 || d.Out > maxFFN || d.In*d.Out > maxDense {
		return nil, fmt.Errorf("tensor %.80q: shape %v is not that of a matrix for vectors of %d", t.Name, t.Shape, width)
	}
	return d, nil
}

// multiModule reads a module of a model with a vector for each token, after the transformer.
func (r *sentenceReader) multiModule(_ int, m *module, width int) (int, error) {
	if r.out.Multi == nil {
		r.out.Multi = &MultiVector{}
	}
	out, dir := r.out.Multi, r.beside(m.Path)
	switch m.kind() {
	case denseModule:
		if out.Unit {
			return 0, errors.New("a Dense after Normalize is not supported")
		}
		d, err := r.dense(dir, width, tokensInput)
		if err != nil {
			return 0, err
		}
		out.Steps = append(out.Steps, d)
		return d.Out, nil
	case normalizeModule:
		out.Unit = true
		return width, r.checkTokensInput(dir)
	case maskModule:
		return width, r.readMask(path.Join(dir, configFile))
	case "Dropout":
		return width, nil
	}
	return 0, errors.New("it is not supported after vectors of tokens, only Dense, MultiVectorMask, Normalize and Dropout")
}

// checkTokensInput rejects a Normalize of other vectors than those of tokens.
func (r *sentenceReader) checkTokensInput(dir string) error {
	name := path.Join(dir, configFile)
	c, err := readConfig(r.fsys, name, maxConfigFile)
	if err != nil {
		return err
	}
	c.needs("module_input_name")
	if c.require([]requiredValue{{"module_input_name", tokensInput}, {"module_output_name", tokensInput}}); *c.err != nil {
		return fmt.Errorf("%s: %w", name, *c.err)
	}
	return nil
}

// readMask reads the settings of the module MultiVectorMask.
func (r *sentenceReader) readMask(name string) error {
	c, err := readConfig(r.fsys, name, maxConfigFile)
	if err != nil {
		return err
	}
	r.late.masked = true
	r.late.readWords(c)
	tasks := []string{sides[1]}
	if _, list, ok := read[[]string](c, "skiplist_tasks", "list of strings"); ok {
		tasks = list
	}
	for i, side := range sides {
		r.late.skipped[i] = slices.Contains(tasks, side)
	}
	c.require([]requiredValue{{"keep_only_token_ids", "null"}})
	if *c.err != nil {
		return fmt.Errorf("%s: %w", name, *c.err)
	}
	return nil
}

// readWords reads the words without a vector, and reports whether they are there.
func (l *lateInteraction) readWords(c *config) bool {
	_, words, ok := read[[]string](c, "skiplist_words", "list of strings")
	if ok {
		l.words = words
	}
	if len(words) > maxSkipped {
		c.reject("skiplist_words", "%d, at most %d", len(words), maxSkipped)
	}
	return ok
}

// readLate reads the settings of a model with vectors of tokens.
func (r *sentenceReader) readLate() error {
	name := r.beside(promptsFile)
	c, err := readConfig(r.fsys, name, maxConfigFile)
	if err != nil {
		return err
	}
	l := &r.late
	kind := c.text("model_type", "")
	l.older = kind != "MultiVectorEncoder"
	l.prefix = c.has("query_prefix document_prefix")
	l.prefixes = [2]string{c.text("query_prefix", ""), c.text("document_prefix", "")}
	l.readLengths(c)
	markers := "query_length document_length do_query_expansion attend_to_expansion_tokens attend_to_mask_tokens query_prefix document_prefix skiplist_words"
	if !c.has("query_expansion") && c.has(markers) && c.flag("do_query_expansion", true) {
		l.expand, l.attend = 32, c.flag("attend_to_expansion_tokens attend_to_mask_tokens", false)
		if l.lengths[0] > 0 {
			l.expand = l.lengths[0]
		}
	}
	words := l.masked || l.readWords(c)
	if *c.err != nil {
		return fmt.Errorf("%s: %w", name, *c.err)
	}
	if steps := r.out.Multi.Steps; len(steps) == 1 && steps[0] == r.stanford {
		if err := r.readMetadata(); err != nil {
			return err
		}
	} else if l.older && !words && (kind == "ColBERT" || l.prefix) {
		l.words = strings.Split(punctuation, "")
	}
	if l.older {
		r.out.Multi.Unit = true
	}
	if !l.masked {
		l.skipped[1] = true
	}
	for _, file := range limitFiles {
		if !exists(r.fsys, r.in(file)) {
			continue
		}
		if c, err = readConfig(r.fsys, r.in(file), maxConfigFile); err != nil {
			return err
		}
		l.readLengths(c)
		if *c.err != nil {
			return fmt.Errorf("%s: %w", r.in(file), *c.err)
		}
		break
	}
	return nil
}

// readLengths reads the lengths and the expansion of queries, where c has them.
func (l *lateInteraction) readLengths(c *config) {
	for i, side := range sides {
		l.lengths[i] = c.integer(side+"_length", l.lengths[i], 1, maxContext)
	}
	e := c.object("query_expansion")
	if e == nil {
		return
	}
	e.needs("length", "strategy")
	l.expand, l.attend, l.filler = e.integer("length", 0, 1, maxContext), e.flag("attend", false), e.text("token", "")
	switch strategy := e.text("strategy", "fixed"); strategy {
	case "fixed":
		l.open = false
	case "min":
		l.open = true
	default:
		e.reject("strategy", "%.40q is not supported, only fixed and min", strategy)
	}
}

// readMetadata reads the settings of Stanford's ColBERT.
func (r *sentenceReader) readMetadata() error {
	name := r.beside(metadataFile)
	c, err := readConfig(r.fsys, name, maxConfigFile)
	if err != nil {
		return err
	}
	l := &r.late
	l.prefixes = [2]string{c.text("query_token_id", "[unused0]"), c.text("doc_token_id", "[unused1]")}
	l.lengths[1] = c.integer("doc_maxlen", 0, 1, maxContext)
	l.expand, l.attend = c.integer("query_maxlen", 32, 1, maxContext), c.flag("attend_to_mask_tokens", false)
	if c.flag("mask_punctuation", true) {
		l.words = strings.Split(punctuation, "")
	}
	c.require([]requiredValue{{"similarity", `"cosine"`}})
	if *c.err != nil {
		return fmt.Errorf("%s: %w", name, *c.err)
	}
	l.prefix = true
	return nil
}

// finishLate describes how queries and documents are read. Without a tokenizer, which a listing
// does not read, there are only the lengths.
func (r *sentenceReader) finishLate() error {
	l, out, most := &r.late, r.out.Multi, r.out.MaxTokens
	for i, side := range []*Side{&out.Query, &out.Document} {
		side.MaxTokens = most
		if n := l.lengths[i]; n > 0 {
			side.MaxTokens = min(most, n)
		}
		if i == 0 && l.expand > 0 {
			side.Expand, side.Attend = l.expand, l.attend
			if side.MaxTokens = max(side.MaxTokens, l.expand); !l.open {
				side.MaxTokens = l.expand
			}
		}
		if r.Tokenizer == nil {
			continue
		}
		if l.prefix {
			r.readPrefix(side, i)
		}
		for _, word := range l.words {
			if id, ok := r.tokenOf(word); ok && l.skipped[i] {
				side.Omit = append(side.Omit, id)
			}
		}
		if side.Expand > 0 {
			id, err := r.fillerToken()
			if err != nil {
				return err
			}
			side.Filler = id
		}
	}
	if r.Tokenizer == nil {
		return nil
	}
	return out.check(r.out, r.Spec)
}

// readPrefix makes the prefix of a side a token, if the tokenizer has it, or else the beginning
// of its prompt. A token stands after those that begin a text (PyLate, insert_prefix_token).
func (r *sentenceReader) readPrefix(side *Side, i int) {
	prefix, name := r.late.prefixes[i], sides[i]
	prompt := strings.TrimPrefix(r.out.Prompts[name], prefix)
	whole, ok := r.tokenOf(prefix)
	if first, _, _ := strings.Cut(prefix, " "); !ok {
		whole, ok = r.tokenOf(first)
	}
	if ok {
		side.Marker, prefix = []int{whole}, ""
	}
	r.out.Prompts[name] = prefix + prompt
}

// tokenOf returns the token with a spelling.
func (r *sentenceReader) tokenOf(spelling string) (int, bool) {
	if r.spellings == nil {
		r.spellings = map[string]int{}
		for id := r.Tokenizer.Size() - 1; id >= 0; id-- {
			r.spellings[r.Tokenizer.Piece(id)] = id
		}
	}
	id, ok := r.spellings[spelling]
	return id, ok && spelling != ""
}

// fillerToken returns the token that queries are expanded with.
func (r *sentenceReader) fillerToken() (int, error) {
	if r.late.filler != "" {
		if id, ok := r.tokenOf(r.late.filler); ok {
			return id, nil
		}
		return 0, fmt.Errorf("%s: query_expansion.token: the tokenizer has no %.40q", r.dir, r.late.filler)
	}
	id, ok, err := r.specialToken("mask_token", "[MASK]", "<mask>")
	if err == nil && !ok {
		id, ok, err = r.specialToken("eos_token")
	}
	if err == nil && !ok {
		err = fmt.Errorf("%s: queries are expanded with the token for masked ones, and the tokenizer has none", r.dir)
	}
	return id, err
}

// specialToken returns the token that tokenizer_config.json names by a key, or else the first
// of some spellings that the tokenizer has.
func (r *sentenceReader) specialToken(key string, others ...string) (id int, ok bool, err error) {
	c, err := readConfig(r.fsys, r.in(tokenizerConfig), maxTokenizerFile)
	if err != nil {
		return 0, false, err
	}
	_, raw := c.find(key)
	if raw != nil && raw[0] == '{' {
		c, key = c.object(key), "content"
	}
	if name := c.text(key, ""); name != "" {
		others = []string{name}
	}
	if *c.err != nil {
		return 0, false, fmt.Errorf("%s: %w", r.in(tokenizerConfig), *c.err)
	}
	for _, spelling := range others {
		if id, ok = r.tokenOf(spelling); ok {
			return id, true, nil
		}
	}
	return 0, false, nil
}
