package arch

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"glossa/pkg/chat"
	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/engine/dtype"
	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/transformer"
)

// Keys of __metadata__ of a packed model. A part of the tokenizer is stored as text. A
// part that is not UTF-8 is stored in base64, under a key with that suffix.
const (
	packModelKey     = "glossa.model" // [description]
	packTokenizerKey = "tokenizer"    // the kind; its parts have keys below it: "tokenizer.json"
	packBase64       = ".base64"
)

// description is the description of a packed model, in JSON.
type description struct {
	Type         string                `json:"type"`
	Quant        string                `json:"quant"`           // the format of its weights
	Types        map[string]dtype.Type `json:"types,omitempty"` // of matrices other than BF16, Q8_0 and Q4_0, by the tensor's name
	Source       string                `json:"source"`          // the version of the original
	Spec         *transformer.Spec     `json:"spec"`
	Start        []int                 `json:"start,omitempty"`
	Empty        int                   `json:"empty"`
	End          []int                 `json:"end,omitempty"`
	Suppress     []int                 `json:"suppress,omitempty"`
	Tokens       int                   `json:"tokens"`
	ChatTemplate string                `json:"chat_template,omitempty"` // of older packs: the name of one of package chat's
	Chat         chat.Source           `json:"chat,omitzero"`
	Translation  *Translation          `json:"translation,omitempty"`
	Seq2Seq      *Seq2Seq              `json:"seq2seq,omitempty"`
	Sentence     *Sentence             `json:"sentence,omitempty"`
	Ranking      *Ranking              `json:"ranking,omitempty"`
	Vision       *Vision               `json:"vision,omitempty"`
}

// Pack writes a model as a packed file, in a format, to an empty file. progress is called
// after each tensor with the bytes written so far and in total; its error stops packing.
// m stays open.
func Pack(to io.WriterAt, m *Model, k *kernel.Kernels, format transformer.Format, progress func(done, total int64) error) error {
	layers, err := m.layers(k, format)
	if err != nil {
		return err
	}
	meta, err := m.meta(format, types(layers))
	if err != nil {
		return err
	}
	var tensors []checkpoint.PackTensor
	for _, t := range layers {
		kind := dtype.U8
		if t.Format == transformer.F32 {
			kind = dtype.F32
		}
		tensors = append(tensors, checkpoint.PackTensor{Name: t.Name, Type: kind, Shape: t.Shape})
	}
	heads := headParts(m.Sentence, m.Ranking, m.Vision)
	for i := range heads {
		tensors = append(tensors, heads[i].tensor())
	}
	trie, err := m.packedTrie()
	if err != nil {
		return err
	}
	if trie != nil {
		tensors = append(tensors, checkpoint.PackTensor{Name: packTrie, Type: dtype.U8, Shape: []int{len(trie)}})
	}
	files := m.Run.runTensors()
	w, err := checkpoint.NewPackWriter(to, meta, append(tensors, files...))
	if err != nil {
		return err
	}
	if err := writeTensors(w, layers, progress); err != nil {
		return err
	}
	for i := range heads {
		if err := heads[i].write(w, len(layers)+i); err != nil {
			return err
		}
	}
	if trie != nil { // last: the first answer does not need it
		if err := w.Write(len(tensors)-1, trie); err != nil {
			return err
		}
	}
	if err := m.Run.writeRun(w, len(tensors)); err != nil {
		return err
	}
	return w.Close()
}

// A layerTensor is a tensor of a model's layers, or of those of its encoder of pictures.
type layerTensor struct {
	transformer.PackedTensor
	load func() ([]byte, error)
}

// layers lists the tensors of a model in a format, in the order of the file.
func (m *Model) layers(k *kernel.Kernels, format transformer.Format) (list []layerTensor, err error) {
	add := func(prefix string, s *transformer.Spec, w *transformer.Weights, format transformer.Format) error {
		layout, err := transformer.NewLayout(s, w, k, format)
		if err == nil && w.Await != nil {
			err = w.Await(math.MaxInt)
		}
		if err != nil {
			return err
		}
		for i, t := range layout.Tensors {
			t.Name = prefix + t.Name
			list = append(list, layerTensor{t, func() ([]byte, error) { return layout.Load(i) }})
		}
		return nil
	}
	if err := add("", m.Spec, m.Weights, format); err != nil || m.Vision == nil {
		return list, err
	}
	return list, add(visionPrefix, m.Vision.Spec, m.Vision.Weights, format.Head())
}

// visionPrefix begins the names of the tensors of an encoder of pictures.
const visionPrefix = "vision."

// writeTensors reads and writes all tensors, several at a time.
func writeTensors(w *checkpoint.PackWriter, layers []layerTensor, progress func(done, total int64) error) error {
	var next atomic.Int64
	var mu sync.Mutex // guards the following variables
	var failed error
	done, total := int64(0), int64(0)
	for _, t := range layers {
		total += t.Size
	}
	note := func(i int, err error) {
		mu.Lock()
		defer mu.Unlock()
		if done += layers[i].Size; err == nil && failed == nil {
			err = progress(done, total)
		}
		if err != nil {
			failed = errors.Join(failed, err)
			next.Store(int64(len(layers)))
		}
	}
	transformer.Concurrently(min(runtime.GOMAXPROCS(0), len(layers)), func(int) {
		for i := int(next.Add(1)) - 1; i < len(layers); i = int(next.Add(1)) - 1 {
			data, err := layers[i].load()
			if err == nil {
				err = w.Write(i, data)
			}
			note(i, err)
		}
	})
	return failed
}

// packedTrie returns the vocabulary in its binary form; nil for a model without
// structured output.
func (m *Model) packedTrie() ([]byte, error) {
	if m.Tokenizer == nil || m.Translation != nil || m.Sentence != nil || m.Ranking != nil {
		return nil, nil
	}
	v, err := m.Vocabulary()()
	if err != nil {
		return nil, nil // structured output fails with this error later
	}
	return v.AppendBinary(nil)
}

// types returns the types of the matrices whose shapes do not tell them.
func types(layers []layerTensor) map[string]dtype.Type {
	list := map[string]dtype.Type{}
	for _, t := range layers {
		switch t.Format {
		case transformer.F32, transformer.BF16, transformer.Q8_0, transformer.Q4_0:
		default:
			list[t.Name] = t.Format.Type()
		}
	}
	return list
}

// meta returns the metadata of a packed model.
func (m *Model) meta(format transformer.Format, types map[string]dtype.Type) (map[string]string, error) {
	d := description{
		Type: m.Type, Quant: format.String(), Types: types, Source: m.Version, Spec: m.Spec, Start: m.Start, Empty: m.Empty, End: m.End, Suppress: m.Suppress, Tokens: m.Tokens,
		Chat: m.Chat, Translation: m.Translation, Seq2Seq: m.Seq2Seq, Sentence: m.Sentence, Ranking: m.Ranking, Vision: m.Vision,
	}
	if err := d.checkTask(); err != nil {
		return nil, err
	}
	raw, err := json.Marshal(d)
	if err != nil {
		return nil, err
	}
	meta := map[string]string{packModelKey: string(raw)}
	if m.Run != nil {
		if raw, err = json.Marshal(m.Run); err != nil {
			return nil, err
		}
		meta[packRunKey] = string(raw)
	}
	if m.source == nil || m.Tokenizer == nil {
		return meta, nil
	}
	src, err := m.source()
	if err != nil {
		return nil, err
	}
	meta[packTokenizerKey] = src.Kind
	for name, part := range src.Parts {
		if key := packTokenizerKey + "." + name; utf8.Valid(part) {
			meta[key] = string(part)
		} else {
			meta[key+packBase64] = base64.StdEncoding.EncodeToString(part)
		}
	}
	return meta, nil
}

// maxDescription bounds the description of a packed model, in bytes of JSON. Decoded it
// takes many times as much.
const maxDescription = 1 << 20

// decodeDescription decodes a description of a version and rejects unknown fields.
func decodeDescription(version, text string) (*description, error) {
	if len(text) > maxDescription {
		return nil, fmt.Errorf("%d bytes, at most %d", len(text), maxDescription)
	}
	if version == checkpoint.PackVersion1 {
		old, err := decodeStrictly[descriptionV1](text)
		if err != nil {
			return nil, err
		}
		return old.description()
	}
	d, err := decodeStrictly[description](text)
	if err != nil {
		return nil, err
	}
	if d.Spec == nil {
		return nil, errors.New("no spec")
	}
	return d, nil
}

// decodeStrictly decodes one JSON object and rejects fields that T does not have.
func decodeStrictly[T any](text string) (*T, error) {
	v := new(T)
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("more than an object")
	}
	return v, nil
}
