package arch

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/tokenizer"
	"glossa/pkg/tokenizer/gguf"
)

// ggufKeys are the keys tokenizer.ggml.* of a file. After an error its methods return
// zero values.
type ggufKeys struct {
	meta checkpoint.Meta
	err  error // the first
}

// key reads a key that may be absent.
func key[T any](k *ggufKeys, name string, get func(checkpoint.Meta, string) (T, error)) (v T, ok bool) {
	v, err := get(k.meta, "tokenizer.ggml."+name)
	if k.err == nil && err != nil && !errors.Is(err, checkpoint.ErrNoKey) {
		k.err = err
	}
	return v, err == nil
}

func (k *ggufKeys) text(name string) string {
	v, _ := key(k, name, checkpoint.Meta.Text)
	return v
}

func (k *ggufKeys) id(name string) *int64 {
	if v, ok := key(k, name, checkpoint.Meta.Int); ok {
		return &v
	}
	return nil
}

func (k *ggufKeys) flag(name string) *bool {
	if v, ok := key(k, name, checkpoint.Meta.Bool); ok {
		return &v
	}
	return nil
}

// bytes returns an array of bytes, signed or unsigned.
func (k *ggufKeys) bytes(name string) []byte {
	list, _ := key(k, name, checkpoint.Meta.Ints)
	out := make([]byte, len(list))
	for i, v := range list {
		out[i] = byte(v)
	}
	return out
}

// read returns the keys of a tokenizer.
func (k *ggufKeys) read() *gguf.Vocabulary {
	g := &gguf.Vocabulary{
		Model: k.text("model"), Pre: k.text("pre"),
		BOS: k.id("bos_token_id"), EOS: k.id("eos_token_id"), EOT: k.id("eot_token_id"),
		Unknown: k.id("unknown_token_id"), Padding: k.id("padding_token_id"),
		AddBOS: k.flag("add_bos_token"), AddEOS: k.flag("add_eos_token"), AddSpacePrefix: k.flag("add_space_prefix"),
		RemoveExtraWhitespaces: k.flag("remove_extra_whitespaces"), Charsmap: k.bytes("precompiled_charsmap"),
		Lowercase: k.flag("normalizer.lowercase"), StripAccents: k.flag("normalizer.strip_accents"),
	}
	if name, err := k.meta.Text("general.name"); err == nil {
		g.Name = name
	}
	g.Tokens, _ = key(k, "tokens", checkpoint.Meta.Texts)
	g.Types, _ = key(k, "token_type", checkpoint.Meta.Ints)
	g.Scores, _ = key(k, "scores", checkpoint.Meta.Floats)
	g.Merges, _ = key(k, "merges", checkpoint.Meta.Texts)
	return g
}

// GGUFVocabulary returns the keys tokenizer.ggml.* of a GGUF file with the keys meta, for
// gguf.New. The file's architecture may be an unsupported one, or none.
func GGUFVocabulary(meta checkpoint.Meta) (*gguf.Vocabulary, error) {
	k := &ggufKeys{meta: meta}
	g := k.read()
	if k.err != nil {
		return nil, k.err
	}
	return g, nil
}

// readGGUFTokens reads the tokens of a GGUF file.
func (o *opened) readGGUFTokens() error {
	k := &ggufKeys{meta: o.file.Meta}
	g := k.read()
	if err := o.readGGUFEnds(k, g); err != nil {
		return err
	}
	if len(o.Spec.Decoder) == 0 { // an encoder's texts have both, unless the file says otherwise
		g.AddBOS, g.AddEOS = cmp.Or(g.AddBOS, new(true)), cmp.Or(g.AddEOS, new(true))
	}
	if g.Model != "" && g.Model != "none" && g.Model != "no_vocab" {
		t, err := gguf.New(g)
		if err != nil {
			return err
		}
		o.Tokenizer = t
		o.source = g.Source
		if a, ok := t.(tokenizer.Affixes); ok {
			o.Start, _ = a.Affixes()
		}
	}
	switch {
	case o.Seq2Seq != nil:
		o.Start, o.Seq2Seq.End = nil, firstOf(o.End, 1)
		if o.Seq2Seq.End >= o.Spec.Vocab {
			return fmt.Errorf("tokenizer.ggml.eos_token_id: missing, in a vocabulary of %d", o.Spec.Vocab)
		}
	case len(o.Start) > 0:
		o.Empty = o.Start[0]
	case g.BOS != nil:
		o.Empty = int(min(max(*g.BOS, -1), maxVocab)) // checked with the rest
	case len(o.End) > 0:
		o.Empty = o.End[0]
	}
	var err error
	o.Chat, err = o.readGGUFChat()
	return err
}

// readGGUFEnds reads the tokens that end a text, a turn and a message, and those that no text has.
func (o *opened) readGGUFEnds(k *ggufKeys, g *gguf.Vocabulary) error {
	for _, name := range []string{"eos_token_id", "eot_token_id", "eom_token_id"} {
		id := k.id(name)
		if id == nil {
			continue
		}
		if *id < 0 || *id >= int64(o.Spec.Vocab) {
			return fmt.Errorf("tokenizer.ggml.%s: token %d is not below %d", name, *id, o.Spec.Vocab)
		}
		if !slices.Contains(o.End, int(*id)) {
			o.End = append(o.End, int(*id))
		}
	}
	suppressed, _ := key(k, "suppress_tokens", checkpoint.Meta.Ints)
	if len(suppressed) > maxEnds {
		return fmt.Errorf("tokenizer.ggml.suppress_tokens: %d tokens, at most %d are supported", len(suppressed), maxEnds)
	}
	for _, id := range suppressed {
		if id < 0 || id >= int64(o.Spec.Vocab) {
			return fmt.Errorf("tokenizer.ggml.suppress_tokens: token %d is not below %d", id, o.Spec.Vocab)
		}
		o.Suppress = append(o.Suppress, int(id))
	}
	for _, id := range g.Ends() { // those of tokens that the model lacks are rejected later
		if !slices.Contains(o.End, id) {
			o.End = append(o.End, id)
		}
	}
	return k.err
}
