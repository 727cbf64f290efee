package arch

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"glossa/pkg/engine/transformer"
	"glossa/pkg/tokenizer"
)

// A Ranking is how a model scores pairs of texts: a cross-encoder by a classifier, a decoder by the
// logits of two tokens. With one label, a score is the relevance of a document for a query. A
// classifier scores single texts too; one with several labels only classifies.
type Ranking struct {
	MaxTokens int  `json:"max_tokens"`          // of a pair, including those that the tokenizer or the template adds
	Lowercase bool `json:"lowercase,omitempty"` // letters become small before the tokenizer reads a text
	Identity  bool `json:"identity,omitempty"`  // a score is the logit; otherwise its sigmoid

	Pair    []tokenizer.PairPart `json:"pair,omitempty"`    // how two texts are joined; nil for a decoder, and if a classifier reads single texts only
	Head    *RankingHead         `json:"head,omitempty"`    // of a cross-encoder; nil for a decoder
	Classes *Classes             `json:"classes,omitempty"` // of a cross-encoder; nil in files that were packed before they had them

	// Of a decoder: the score is the logit of the token True after the prompt, less that of
	// False, if that is not -1. The prompt is that of the chat template for the roles query
	// and document if ByTemplate is set, or else that of Qwen3-Reranker.
	True       int  `json:"true"`
	False      int  `json:"false"`
	ByTemplate bool `json:"by_template,omitempty"`
}

// A RankingHead computes the logits of the vectors of a text's tokens:
// out(norm(act(dense(pooled)))).
type RankingHead struct {
	Mean  bool              `json:"mean,omitempty"` // pools the mean of all tokens; otherwise the first one
	Late  bool              `json:"late,omitempty"` // with Mean: of what Out reads of each token
	Dense *Dense            `json:"dense"`
	GELU  bool              `json:"gelu,omitempty"` // follows Dense
	Norm  *transformer.Norm `json:"-"`              // (Width), or nil
	Out   *Dense            `json:"out"`            // a row for each label
}

// A classifier names the tensors of a family's classifier, without ".weight" and ".bias". The activation
// is a tanh, with relu a ReLU, with gelu a GELU.
type classifier struct {
	dense, norm, out string
	relu, gelu       bool
	pools            bool // classifier_pooling says what of, by EuroBERT's names
}

// classifierOf returns the classifier of a model_type's class ForSequenceClassification.
func classifierOf(kind string) (names classifier, ok bool) {
	switch kind {
	case "bert", "gte", "new":
		return classifier{dense: "pooler.dense", out: "classifier"}, true
	case "roberta", "xlm-roberta", "camembert", "mpnet", "jina_embeddings_v3":
		return classifier{dense: "classifier.dense", out: "classifier.out_proj"}, true
	case "distilbert":
		return classifier{dense: "pre_classifier", out: "classifier", relu: true}, true
	case "modernbert":
		return classifier{dense: "head.dense", norm: "head.norm", out: "classifier", gelu: true}, true
	case "albert":
		return classifier{dense: "pooler", out: "classifier"}, true
	case "eurobert":
		return classifier{dense: "dense", out: "classifier", gelu: true, pools: true}, true
	case "deberta-v2":
		return classifier{dense: "pooler.dense", out: "classifier", gelu: true}, true
	case "electra":
		return classifier{dense: "classifier.dense", out: "classifier.out_proj", gelu: true}, true
	}
	return names, false
}

// readClassifier looks up the classifier of a cross-encoder, if config.json describes one.
func (o *opened) readClassifier(src *source, s *transformer.Spec, l *layout) error {
	_, classes, _ := read[[]string](o.config, "architectures", "list of strings")
	if *o.config.err != nil || len(classes) == 0 || !strings.HasSuffix(classes[0], "ForSequenceClassification") {
		return *o.config.err
	}
	names, ok := classifierOf(o.Type)
	if !ok {
		return fmt.Errorf("architectures: classifiers of %s models are not supported", o.family.title)
	}
	c, r := o.config, &Ranking{False: -1, Classes: o.config.classes()}
	labels := len(r.Classes.Labels)
	r.Identity = labels == 1 && c.identity()
	bias := true
	h := &RankingHead{Dense: &Dense{In: s.Width, Out: s.Width, Tanh: !names.relu && !names.gelu, ReLU: names.relu}, GELU: names.gelu}
	if names.gelu {
		c.require([]requiredValue{{"pooler_hidden_act", `"gelu"`}}) // of DeBERTa
	}
	if names.pools {
		h.readPooling(c, "late", "bos", "mean")
	}
	if names.norm != "" { // ModernBERT
		bias = c.flag("classifier_bias", false)
		c.require([]requiredValue{{"classifier_activation", `"gelu"`}})
		h.readPooling(c, "cls", "mean")
		norm := (&builder{source: src, spec: s, layout: l}).norm(names.norm, 0)
		h.Norm = &norm
	}
	if *c.err != nil {
		return *c.err
	}
	h.Dense.read(src, names.dense, bias)
	h.Out = &Dense{In: s.Width, Out: labels}
	h.Out.read(src, names.out, true)
	r.Head, o.Ranking = h, r
	return src.err
}

// readPooling reads which tokens the head pools; names are those of what is supported, the default first.
func (h *RankingHead) readPooling(c *config, names ...string) {
	pooling := c.text("classifier_pooling clf_pooling", names[0])
	if !slices.Contains(names, pooling) {
		c.reject("classifier_pooling", "%.40q is not supported, only %s", pooling, strings.Join(names, " and "))
	}
	h.Late = pooling == "late"
	h.Mean = h.Late || pooling == "mean"
}

// read looks up the tensors of a matrix. name may be empty.
func (d *Dense) read(src *source, name string, bias bool) {
	if name != "" {
		name += "."
	}
	d.Weight = src.matrix(name+"weight", d.Out, d.In, false).rows(0, d.Out)
	if bias {
		b := src.vector(name+"bias", d.Out).rows(0, d.Out)
		d.Bias = &b
	}
}

// identity reports whether a classifier's score is its logit. As in sentence-transformers,
// functions that are not torch's are ignored.
func (c *config) identity() bool {
	name := c.text("sbert_ce_default_activation_function", "")
	if own := c.object("sentence_transformers"); own != nil {
		name = own.text("activation_fn", name)
	}
	if !strings.HasPrefix(name, "torch.") {
		return false
	}
	switch name[strings.LastIndex(name, ".")+1:] {
	case "Sigmoid":
		return false
	case "Identity":
		return true
	}
	c.reject("activation_fn", "%.60q is not supported, only Sigmoid and Identity", name)
	return false
}

// readRanking reads how a reranker reads pairs, and returns false if the model is none.
func (o *opened) readRanking(fsys fs.FS, p *location) (bool, error) {
	if o.Ranking == nil && len(o.Spec.Decoder) == 0 {
		return false, nil
	}
	logits, err := o.rankingModules(fsys, p)
	if err == nil && logits == nil && o.namedReranker(p) {
		logits, err = o.qwenReranker()
	}
	if err != nil {
		return false, err
	}
	if o.Ranking == nil && logits == nil {
		return false, nil
	}
	reader := &sentenceReader{opened: o, location: p, fsys: fsys, out: &Sentence{}}
	if err := reader.limits(0); err != nil {
		return false, err
	}
	if logits != nil {
		o.Ranking = logits
		logits.Identity = o.config.identity()
	}
	r := o.Ranking
	r.MaxTokens, r.Lowercase = reader.out.MaxTokens, reader.out.Lowercase
	if *o.config.err != nil {
		return false, fmt.Errorf("%s: %w", p.config, *o.config.err)
	}
	if o.Tokenizer == nil || r.Head == nil {
		return true, nil
	}
	return true, r.readPair(fsys, p, o)
}

// namedReranker reports whether a directory is one of Qwen3-Reranker, whose files do not
// distinguish it from a model that chats.
func (o *opened) namedReranker(p *location) bool {
	return o.Type == "qwen3" && o.Ranking == nil && strings.Contains(strings.ToLower(path.Base(cmp.Or(p.modules, p.dir))), "reranker")
}

// qwenReranker returns how Qwen3-Reranker scores: by its tokens yes and no.
func (o *opened) qwenReranker() (*Ranking, error) {
	r := &Ranking{}
	if o.Tokenizer == nil {
		return r, nil
	}
	for _, answer := range []struct {
		word string
		id   *int
	}{{"yes", &r.True}, {"no", &r.False}} {
		ids := o.Tokenizer.Encode(answer.word)
		if len(ids) != 1 || ids[0] >= o.Spec.Vocab {
			return nil, fmt.Errorf("a reranker needs the word %q as a token, but its tokenizer has none", answer.word)
		}
		*answer.id = ids[0]
	}
	return r, nil
}

// readPair reads how the tokenizer joins the texts of a pair.
func (r *Ranking) readPair(fsys fs.FS, p *location, o *opened) error {
	t, ok := o.Tokenizer.(tokenizer.Pairs)
	if ok {
		r.Pair = t.Pair()
	}
	if r.Pair == nil && r.Ranks() {
		return fmt.Errorf("%s: the tokenizer does not say how it joins two texts", p.dir)
	}
	c, err := readConfig(fsys, p.in(tokenizerConfig), maxTokenizerFile)
	if err != nil {
		return err
	}
	c.require([]requiredValue{{"truncation_side", `"right"`}})
	_, inputs, listed := read[[]string](c, "model_input_names", "list of strings")
	if *c.err != nil {
		return fmt.Errorf("%s: %w", p.in(tokenizerConfig), *c.err)
	}
	// Only the tokenizer of BERT and ELECTRA gives types to the model if its files do not say so (transformers,
	// model_input_names).
	types, class := o.Spec.TokenTypes, "PreTrainedTokenizer"
	if o.Type == "bert" || o.Type == "electra" {
		class = "BertTokenizer"
	}
	name := strings.TrimSuffix(c.text("tokenizer_class", class), "Fast")
	typed := types > 0 && (name == "BertTokenizer" || name == "ElectraTokenizer")
	if listed {
		typed = types > 0 && slices.Contains(inputs, "token_type_ids")
	}
	for i := range r.Pair {
		part := &r.Pair[i]
		if !typed {
			part.Type = 0
		}
		if part.Type < 0 || part.Type > 1 || typed && part.Type >= types || i > 0 && part.Type < r.Pair[i-1].Type {
			return fmt.Errorf("%s: the tokenizer gives a token of a pair type %d, of %d types", p.dir, part.Type, types)
		}
		if part.ID >= o.Spec.Vocab {
			return fmt.Errorf("%s: the tokenizer adds token %d to a pair, which is not below %d", p.dir, part.ID, o.Spec.Vocab)
		}
	}
	if added := len(r.Pair) - 2; r.MaxTokens < added+2 {
		return fmt.Errorf("%s: pairs have at most %d tokens, %d of which the tokenizer adds", p.dir, r.MaxTokens, added)
	}
	return nil
}

// rankingModules reads modules.json of a reranker: a Transformer, and for a decoder then a
// LogitScore. It returns nil if there is none of the latter.
func (o *opened) rankingModules(fsys fs.FS, p *location) (*Ranking, error) {
	if !exists(fsys, p.beside(modulesFile)) {
		return nil, nil
	}
	list, err := readModules(fsys, p.beside(modulesFile))
	if err != nil {
		return nil, err
	}
	var out *Ranking
	for i, m := range list {
		switch kind := m.kind(); {
		case i == 0 && kind == "Transformer":
		case i == 1 && kind == "LogitScore" && o.Ranking == nil && fs.ValidPath(path.Join(".", m.Path)):
			if out, err = o.logitScore(fsys, path.Join(p.beside(m.Path), configFile)); err != nil {
				return nil, err
			}
		case o.Ranking != nil || out != nil:
			return nil, fmt.Errorf("%s: module %d, %.80q: it is not supported in a reranker", p.beside(modulesFile), i, m.Type)
		}
	}
	return out, nil
}

// logitScore reads the settings of the module LogitScore.
func (o *opened) logitScore(fsys fs.FS, name string) (*Ranking, error) {
	if !exists(fsys, name) {
		return nil, errors.New(name + ": missing")
	}
	c, err := readConfig(fsys, name, maxConfigFile)
	if err != nil {
		return nil, err
	}
	r := &Ranking{ByTemplate: true, True: c.integer("true_token_id", 0, 0, o.Spec.Vocab-1), False: c.integer("false_token_id", -1, 0, o.Spec.Vocab-1)}
	c.needs("true_token_id")
	c.require([]requiredValue{{"module_input_name", `"causal_logits"`}})
	if *c.err != nil {
		return nil, fmt.Errorf("%s: %w", name, *c.err)
	}
	return r, nil
}
