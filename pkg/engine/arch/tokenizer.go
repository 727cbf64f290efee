package arch

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"glossa/pkg/tokenizer"
	"glossa/pkg/tokenizer/hf"
	"glossa/pkg/tokenizer/kinds"
)

// tokenizerReader reads the tokenizer of a Hugging Face directory.
type tokenizerReader struct {
	*opened
	*location
	fsys        fs.FS
	settings    *config // tokenizer_config.json
	startsTexts bool    // the tokenizer puts a token before texts unless its files say otherwise

	parts *tokenizer.Source // of the tokenizer
}

func (w *tokenizerReader) read() (err error) {
	if w.settings, err = readConfig(w.fsys, w.in(tokenizerConfig), maxTokenizerFile); err != nil {
		return err
	}
	if w.Tokenizer, err = w.tokenizer(); err != nil {
		return err
	}
	w.source = func() (*tokenizer.Source, error) { return w.parts, nil }
	if w.Translation != nil {
		w.settings.require([]requiredValue{{"separate_vocabs", "false"}, {"legacy_behaviour", "false"}})
		w.Translation.setLanguages(w.Type, w.Tokenizer, w.settings.text("source_lang", ""), w.settings.text("target_lang", ""))
		if w.Type == mBARTType {
			w.limitMBART()
		}
	}
	if w.Type == pegasusType {
		w.settings.require([]requiredValue{{"offset", "103"}})
	}
	if w.Tokenizer != nil && w.Translation == nil {
		w.Start = w.start()
		if len(w.Start) > 0 {
			w.Empty = w.Start[0]
		}
	}
	if w.family.adjustTokens != nil {
		w.family.adjustTokens(w.opened.config, w.Model)
	}
	if *w.settings.err != nil {
		return fmt.Errorf("%s: %w", w.in(tokenizerConfig), *w.settings.err)
	}
	if *w.opened.config.err != nil {
		return fmt.Errorf("%s: %w", w.location.config, *w.opened.config.err)
	}
	w.Chat, err = w.readChat(w.fsys, w.location)
	return err
}

// limitMBART refuses tokenizers that are not mBART-50's: before it, the language was behind a text.
// A model that writes one language has it as its forced token.
func (w *tokenizerReader) limitMBART() {
	const class = "MBart50Tokenizer"
	if got := w.settings.text("tokenizer_class", w.opened.config.text("tokenizer_class", "")); strings.TrimSuffix(got, "Fast") != class && w.Tokenizer != nil {
		w.settings.reject("tokenizer_class", "%.40q is not supported, only %s", got, class)
	}
	if w.written > 0 {
		w.Translation.Targets = slices.DeleteFunc(w.Translation.Targets, func(l Language) bool { return l.Target != w.written })
	}
}

// start returns the tokens that the model's own tokenizer puts before a text, from its
// files or else by its kind.
func (w *tokenizerReader) start() []int {
	before := []int{}
	if t, ok := w.Tokenizer.(tokenizer.Affixes); ok {
		before, _ = t.Affixes()
	}
	if w.startsTexts || w.settings.has("add_bos_token") {
		add := w.settings.flag("add_bos_token", true)
		switch bos := w.opened.config.id("bos_token_id", w.Empty, w.Spec.Vocab); {
		case add && len(before) == 0:
			before = []int{bos}
		case !add:
			before = nil
		}
	}
	return before
}

// tokenizer reads the first tokenizer that the directory has; nil if it has none.
func (w *tokenizerReader) tokenizer() (tokenizer.Tokenizer, error) {
	if w.Translation != nil {
		return w.translator()
	}
	t, err := w.plain()
	if err != nil || t == nil {
		return nil, err
	}
	if w.Type == xglmType && isFairseqDense(w.opened.config) {
		w.parts.Parts[tokenizer.PartNewline] = strconv.AppendInt(nil, int64(firstOf(w.End, 2)), 10)
		return kinds.Open(w.parts)
	}
	return t, nil
}

func (w *tokenizerReader) plain() (tokenizer.Tokenizer, error) {
	if w.exists(tokenizerFile) {
		return w.open(tokenizer.KindHF, part{tokenizer.PartJSON, tokenizerFile})
	}
	if w.exists(vocabFile) && w.exists(mergesFile) {
		return w.vocabMerges()
	}
	for _, name := range pieceFiles {
		if !w.exists(name) {
			continue
		}
		kind := tokenizer.KindSentencePiece
		switch w.Type {
		case xglmType:
			kind = tokenizer.KindXGLM
		case pegasusType:
			kind = tokenizer.KindPegasus
		}
		w.startsTexts = w.Type == llamaType
		t, err := w.open(kind, part{tokenizer.PartModel, name})
		if err != nil {
			return nil, err
		}
		return t, w.checkAdded(t, name)
	}
	if w.exists(wordPieceFile) {
		return w.words()
	}
	return nil, nil
}

// words reads BERT's vocab.txt, by the settings of its tokenizer.
func (w *tokenizerReader) words() (tokenizer.Tokenizer, error) {
	raw, err := w.load(wordPieceFile)
	if err != nil {
		return nil, err
	}
	b := hf.Bert{Lowercase: w.settings.flag("do_lower_case", true), Chinese: w.settings.flag("tokenize_chinese_chars", true)}
	if w.settings.has("strip_accents") {
		strip := w.settings.flag("strip_accents", false)
		b.StripAccents = &strip
	}
	if b.Vocab, err = hf.ParseVocab(raw); err == nil {
		raw, err = b.JSON()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", w.in(wordPieceFile), err)
	}
	w.parts = &tokenizer.Source{Kind: tokenizer.KindHF, Parts: map[string][]byte{tokenizer.PartJSON: raw}}
	t, err := kinds.Open(w.parts)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", w.in(wordPieceFile), err)
	}
	return t, w.checkAdded(t, wordPieceFile)
}

// pieceFiles are the names of SentencePiece's models.
var pieceFiles = []string{"sentencepiece.bpe.model", "tokenizer.model", "spiece.model"}

func (w *tokenizerReader) exists(name string) bool { return exists(w.fsys, w.in(name)) }

func (w *tokenizerReader) load(name string) ([]byte, error) {
	return readFile(w.fsys, w.in(name), maxTokenizerFile)
}

// A part of a tokenizer is a file.
type part struct{ name, file string }

// open makes a tokenizer from files.
func (w *tokenizerReader) open(kind string, parts ...part) (tokenizer.Tokenizer, error) {
	source, names := &tokenizer.Source{Kind: kind, Parts: map[string][]byte{}}, []string{}
	for _, p := range parts {
		raw, err := w.load(p.file)
		if err != nil {
			return nil, err
		}
		source.Parts[p.name] = raw
		names = append(names, p.file)
	}
	t, err := kinds.Open(source)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", w.in(strings.Join(names, ", ")), err)
	}
	w.parts = source
	return t, nil
}

// translator reads the tokenizer of Marian, M2M100, NLLB or mBART-50.
func (w *tokenizerReader) translator() (tokenizer.Tokenizer, error) {
	kind, model := tokenizer.KindM2M100, pieceFiles[0]
	if w.Type == marianType {
		kind, model = tokenizer.KindMarian, sourceFile
	}
	switch {
	case w.exists(vocabFile) && w.exists(model):
		return w.open(kind, part{tokenizer.PartVocab, vocabFile}, part{tokenizer.PartModel, model})
	case w.Type == mBARTType && w.exists(model):
		return w.open(tokenizer.KindMBART50, part{tokenizer.PartModel, model})
	case w.Type != marianType && w.exists(tokenizerFile):
		return w.open(tokenizer.KindHF, part{tokenizer.PartJSON, tokenizerFile})
	}
	return nil, nil
}

// added lists the tokens that tokenizer_config.json and added_tokens.json add, by id.
func (w *tokenizerReader) added() ([]hf.AddedToken, error) {
	byID := map[int]hf.AddedToken{}
	if w.exists(addedFile) {
		raw, err := w.load(addedFile)
		if err != nil {
			return nil, err
		}
		var ids map[string]int
		if err := json.Unmarshal(raw, &ids); err != nil {
			return nil, fmt.Errorf("%s: %w", w.in(addedFile), err)
		}
		for content, id := range ids {
			byID[id] = hf.AddedToken{ID: id, Content: content, Special: true}
		}
	}
	if described := w.settings.object("added_tokens_decoder"); described != nil {
		for name := range described.fields {
			_, token, ok := read[hf.AddedToken](described, name, "token")
			id, err := strconv.Atoi(name)
			if err != nil || !ok || token.Content == "" {
				described.reject(name, "no id of a token with content")
				break
			}
			token.ID = id
			byID[id] = token
		}
	}
	list := make([]hf.AddedToken, 0, len(byID))
	for _, token := range byID {
		list = append(list, token)
	}
	slices.SortFunc(list, func(a, b hf.AddedToken) int { return cmp.Compare(a.ID, b.ID) })
	return list, *w.settings.err
}

// checkAdded rejects tokens that a SentencePiece model does not have.
func (w *tokenizerReader) checkAdded(t tokenizer.Tokenizer, name string) error {
	list, err := w.added()
	if err != nil {
		return err
	}
	for _, token := range list {
		if token.ID >= t.Size() {
			return fmt.Errorf("%s: the added token %d, %.40q, requires a %s", w.in(name), token.ID, token.Content, tokenizerFile)
		}
	}
	return nil
}

// vocabMerges reads GPT-2's two files, with the tokens that other files add.
func (w *tokenizerReader) vocabMerges() (tokenizer.Tokenizer, error) {
	w.startsTexts = w.Type == bartType
	list, err := w.added()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", w.in(tokenizerConfig), err)
	}
	t, err := w.open(tokenizer.KindGPT2, part{tokenizer.PartVocab, vocabFile}, part{tokenizer.PartMerges, mergesFile})
	if err != nil {
		return nil, err
	}
	prefix := w.settings.flag("add_prefix_space", false)
	if len(list) == 0 && !prefix {
		return t, nil
	}
	raw, err := compose(t, w.parts.Parts[tokenizer.PartVocab], w.parts.Parts[tokenizer.PartMerges], list, prefix)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", w.in(vocabFile), err)
	}
	w.parts = &tokenizer.Source{Kind: tokenizer.KindHF, Parts: map[string][]byte{tokenizer.PartJSON: raw}}
	if t, err = kinds.Open(w.parts); err != nil {
		return nil, fmt.Errorf("%s, with what is added to it: %w", w.in(vocabFile), err)
	}
	return t, nil
}

// compose writes a tokenizer.json from GPT-2's two files and added tokens.
func compose(t tokenizer.Tokenizer, vocab, merges []byte, list []hf.AddedToken, prefix bool) ([]byte, error) {
	known := map[int]bool{}
	for _, token := range list {
		known[token.ID] = true
	}
	if specials, ok := t.(tokenizer.Specials); ok {
		for content, id := range specials.SpecialTokens() {
			if !known[id] {
				list = append(list, hf.AddedToken{ID: id, Content: content, Special: true})
			}
		}
	}
	lines := []string{}
	for line := range strings.Lines(string(merges)) {
		if line = strings.TrimRight(line, "\r\n"); line != "" && !strings.HasPrefix(line, "#version") {
			lines = append(lines, line)
		}
	}
	if !json.Valid(vocab) {
		return nil, errors.New("not JSON")
	}
	type object map[string]any
	step := object{"type": "ByteLevel", "add_prefix_space": prefix, "trim_offsets": true, "use_regex": true}
	return json.Marshal(object{
		"version": "1.0", "added_tokens": list, "normalizer": nil, "pre_tokenizer": step, "post_processor": nil, "decoder": step,
		"model": object{"type": "BPE", "vocab": json.RawMessage(vocab), "merges": lines},
	})
}
