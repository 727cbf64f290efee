package arch

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/tokenizer/gguf"
	"glossa/pkg/tokenizer/hf"
)

// headBytes is how much of a large tokenizer.json a listing reads where reading is slow.
const headBytes = 1 << 20

// checkTokens finds out, without reading weights, why a model could not read texts: it has
// no tokenizer, an unsupported one, or one with more tokens than the model. A packed model
// was checked when it was packed.
//
// Of a tokenizer.json it reads only what [hf.Check] reads, and in a store that is not a
// disk only the beginning: the number of tokens is then checked by [Open].
func (o *opened) checkTokens(fsys fs.FS, p *location) error {
	switch {
	case p.packed:
		return nil
	case p.config == "":
		return o.checkGGUFTokens(p)
	}
	w := tokenizerReader{opened: o, fsys: fsys, location: p}
	if translates(o.Type) || !w.exists(tokenizerFile) {
		return o.checkTokenFiles(fsys, p, &w)
	}
	size, err := checkTokenizerFile(fsys, w.in(tokenizerFile))
	if err != nil {
		return err
	}
	return o.checkSize(w.in(tokenizerFile), size)
}

// checkTokenFiles builds the tokenizer of other files, which are small.
func (o *opened) checkTokenFiles(fsys fs.FS, p *location, w *tokenizerReader) error {
	if err := o.readTokens(fsys, p); err != nil {
		return err
	}
	if o.Tokenizer == nil {
		return fmt.Errorf("%s: it has no tokenizer: add %s", p.dir, w.wanted())
	}
	return o.checkSize(p.dir, o.Tokenizer.Size())
}

// wanted names the files that would make a tokenizer.
func (w *tokenizerReader) wanted() string {
	switch w.Type {
	case m2m100Type:
		return fmt.Sprintf("%s and %s, or %s", vocabFile, pieceFiles[0], tokenizerFile)
	case mBARTType:
		return fmt.Sprintf("%s or %s", pieceFiles[0], tokenizerFile)
	case marianType:
		return fmt.Sprintf("%s and %s", vocabFile, sourceFile)
	}
	return fmt.Sprintf("%s, %s with %s, %s, or %s", tokenizerFile, vocabFile, mergesFile, strings.Join(pieceFiles, ", "), wordPieceFile)
}

// checkSize compares the number of tokens with the model's.
func (o *opened) checkSize(name string, size int) error {
	if size > o.Spec.Vocab {
		return fmt.Errorf("%s: the tokenizer has %d tokens, the model %d: the files belong to different models", name, size, o.Spec.Vocab)
	}
	return nil
}

// checkTokenizerFile checks a tokenizer.json and returns its number of tokens; 0 if it is
// unknown.
func checkTokenizerFile(fsys fs.FS, name string) (size int, err error) {
	f, err := fsys.Open(name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return 0, err
	case info.Size() > maxTokenizerFile:
		return 0, fmt.Errorf("%s: %d bytes, at most %d", name, info.Size(), maxTokenizerFile)
	}
	n := info.Size()
	if _, onDisk := f.(*os.File); !onDisk {
		n = min(n, headBytes)
	}
	raw := make([]byte, n)
	if _, err := io.ReadFull(f, raw); err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	if size, err = hf.Check(raw, n < info.Size()); err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	return size, nil
}

// checkGGUFTokens checks the keys of a GGUF file, which are in memory.
func (o *opened) checkGGUFTokens(p *location) error {
	named := func(err error) error { return fmt.Errorf("checkpoint %s: %w", p.weights, err) }
	k := &ggufKeys{meta: o.file.Meta}
	model, pre := k.text("model"), k.text("pre")
	tokens, err := o.file.Meta.Texts("tokenizer.ggml.tokens")
	switch {
	case k.err != nil:
		return named(k.err)
	case model == "" || model == "none" || model == "no_vocab":
		return named(errors.New("it has no tokenizer: convert the model again with one (tokenizer.ggml.model and tokenizer.ggml.tokens)"))
	case err != nil && !errors.Is(err, checkpoint.ErrNoKey):
		return named(err)
	}
	if err := gguf.Check(model, pre); err != nil {
		return named(err)
	}
	if len(tokens) > o.Spec.Vocab {
		return named(fmt.Errorf("the tokenizer has %d tokens, the model %d: the files belong to different models", len(tokens), o.Spec.Vocab))
	}
	return nil
}
