package arch_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/transformer"
	"glossa/pkg/tokenizer"
	"glossa/pkg/tokenizer/sentencepiece"
)

// byteLetters returns the alphabet of byte-level BPE, by byte.
func byteLetters() (letters []string) {
	moved := rune(0x100)
	for b := range rune(256) {
		if b >= '!' && b <= '~' || b >= 0xa1 && b <= 0xac || b >= 0xae {
			letters = append(letters, string(b))
			continue
		}
		letters = append(letters, string(moved))
		moved++
	}
	return letters
}

// byteVocab returns a vocabulary of the bytes, "he", and more.
func byteVocab(more ...string) []byte {
	vocab := map[string]int{}
	for id, piece := range slices.Concat(byteLetters(), []string{"he"}, more) {
		vocab[piece] = id
	}
	raw, err := json.Marshal(vocab)
	if err != nil {
		panic(err)
	}
	return raw
}

// firstAdded is the id of the first additional token of byteVocab.
const firstAdded = 257

// tiny returns a model of a type with vocab tokens, and no tokenizer.
func tiny(t testing.TB, kind string, vocab int) fstest.MapFS {
	t.Helper()
	fsys := bare(t, kind)
	width := openIn(t, fsys, "m").Spec.Width
	tensors(t, fsys, func(all map[string]stored) {
		for name := range all {
			for _, table := range []string{"wte.weight", "embed_tokens.weight", "shared.weight", "lm_head.weight", "embed_out.weight"} {
				if strings.HasSuffix(name, table) {
					all[name] = numbers(len(name), vocab, width)
				}
			}
		}
	})
	set(t, fsys, "config.json", map[string]any{"vocab_size": vocab})
	return fsys
}

func put(fsys fstest.MapFS, name, text string) {
	fsys["m/"+name] = &fstest.MapFile{Data: []byte(text)}
}

// putBytes adds vocab.json and merges.txt.
func putBytes(fsys fstest.MapFS, more ...string) {
	put(fsys, "vocab.json", string(byteVocab(more...)))
	put(fsys, "merges.txt", "#version: 0.2\nh e\n")
}

func TestVocabMerges(t *testing.T) {
	fsys := tiny(t, "gpt2", 300)
	set(t, fsys, "config.json", map[string]any{"bos_token_id": firstAdded, "eos_token_id": firstAdded})
	set(t, fsys, "generation_config.json", map[string]any{"bos_token_id": nil, "eos_token_id": nil})
	putBytes(fsys, "<|endoftext|>")
	m := openIn(t, fsys, "m")
	if ids := m.Tokenizer.EncodeSpecial("he<|endoftext|>"); !slices.Equal(ids, []int{256, firstAdded}) || m.Tokens != firstAdded+1 || m.Empty != firstAdded {
		t.Errorf("%v, %d tokens, empty %d", ids, m.Tokens, m.Empty)
	}

	// GPT-J's tokenizer pads the vocabulary with unused tokens.
	put(fsys, "added_tokens.json", `{"<|extratoken_1|>":258,"<|extratoken_2|>":259}`)
	m = openIn(t, fsys, "m")
	if ids := m.Tokenizer.EncodeSpecial("<|endoftext|><|extratoken_2|>he"); !slices.Equal(ids, []int{257, 259, 256}) || m.Tokens != 258 {
		t.Errorf("%v, %d tokens", ids, m.Tokens)
	}
	put(fsys, "added_tokens.json", `{"<a b>":258}`)
	set(t, fsys, "tokenizer_config.json", map[string]any{"added_tokens_decoder": map[string]any{
		"259": map[string]any{"content": "<c>", "special": true, "rstrip": true},
	}})
	m = openIn(t, fsys, "m")
	if ids := m.Tokenizer.EncodeSpecial("<a b><c> he"); !slices.Equal(ids, []int{258, 259, 256}) || m.Tokens != 260 {
		t.Errorf("%v, %d tokens", ids, m.Tokens)
	}

	for want, change := range map[string]func(fstest.MapFS){
		`m/added_tokens.json: `: func(f fstest.MapFS) { put(f, "added_tokens.json", `{"x":"y"}`) },
		`added_tokens_decoder.x: `: func(f fstest.MapFS) {
			put(f, "tokenizer_config.json", `{"added_tokens_decoder":{"x":{"content":"c"}}}`)
		},
		`added_tokens_decoder.7: `:   func(f fstest.MapFS) { put(f, "tokenizer_config.json", `{"added_tokens_decoder":{"7":{}}}`) },
		`m/vocab.json, with what`:    func(f fstest.MapFS) { put(f, "added_tokens.json", `{"<a>":-1}`) },
		`1001 tokens, the model 300`: func(f fstest.MapFS) { put(f, "added_tokens.json", `{"<a>":1000}`) },
		`merges.txt: line 1: `:       func(f fstest.MapFS) { put(f, "merges.txt", "h") },
		`301 tokens, the model 300`:  func(f fstest.MapFS) { putBytes(f, more(301-firstAdded)...) },
	} {
		fsys := tiny(t, "gpt2", 300)
		putBytes(fsys, "<|endoftext|>")
		change(fsys)
		checkRejected(t, want, fsys, want)
	}
}

// more returns n different words.
func more(n int) (words []string) {
	for i := range n {
		words = append(words, fmt.Sprintf("<w%d>", i))
	}
	return words
}

// hfTokenizer returns a tokenizer.json that puts <s> before a text, or nothing.
func hfTokenizer(before bool) string {
	post := "null"
	if before {
		post = `{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<s>","type_id":0}},{"Sequence":{"id":"A","type_id":0}}],"pair":[],` +
			`"special_tokens":{"<s>":{"id":"<s>","ids":[257],"tokens":["<s>"]}}}`
	}
	return `{"added_tokens":[{"id":257,"content":"<s>","special":true},{"id":258,"content":"</s>","special":true}],` +
		`"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false},"post_processor":` + post + `,"decoder":{"type":"ByteLevel"},` +
		`"model":{"type":"BPE","vocab":` + string(byteVocab("<s>", "</s>")) + `,"merges":["h e"]}}`
}

// The start tokens of texts: those of tokenizer.json, unless add_bos_token overrides
// them.
func TestStart(t *testing.T) {
	for _, c := range []struct {
		before bool
		config string
		start  string
		empty  int
	}{
		{false, `{}`, "[]", 258},
		{true, `{}`, "[257]", 257},
		{true, `{"add_bos_token":true}`, "[257]", 257},
		{true, `{"add_bos_token":false}`, "[]", 258},
		{false, `{"add_bos_token":true}`, "[258]", 258},
		{false, `{"add_bos_token":false}`, "[]", 258},
		{false, `{"add_bos_token":null}`, "[]", 258},
	} {
		fsys := tiny(t, "llama", 300)
		set(t, fsys, "config.json", map[string]any{"bos_token_id": 258, "eos_token_id": 258})
		delete(fsys, "m/generation_config.json")
		put(fsys, "tokenizer.json", hfTokenizer(c.before))
		put(fsys, "tokenizer_config.json", c.config)
		m := openIn(t, fsys, "m")
		if fmt.Sprint(m.Start) != c.start || m.Empty != c.empty || m.Tokens != 259 {
			t.Errorf("%v: start %v, empty %d, %d tokens", c, m.Start, m.Empty, m.Tokens)
		}
	}
	fsys := tiny(t, "llama", 258)
	set(t, fsys, "config.json", map[string]any{"bos_token_id": 1, "eos_token_id": 2})
	delete(fsys, "m/generation_config.json")
	put(fsys, "tokenizer.json", hfTokenizer(false))
	checkRejected(t, "small", fsys, "m: the tokenizer has 259 tokens, the model 258")
}

func TestChatTemplate(t *testing.T) {
	for _, c := range []struct{ config, file, want string }{
		{`{"chat_template":"a"}`, "", `{"templates":{"default":"a"}}`},
		{`{"chat_template":"a"}`, "b", `{"templates":{"default":"b"}}`},
		{`{"chat_template":[{"name":"rag","template":"a"},{"name":"default","template":"b"},{"name":"tool_use","template":"c"}]}`, "", `{"templates":{"default":"b","tool_use":"c"}}`},
		{`{"chat_template":[{"name":"rag","template":"a"}]}`, "", `{}`},
		{`{"chat_template":null,"bos_token":"<s>","eos_token":{"content":"</s>","lstrip":false},"pad_token":null,"add_bos_token":true}`, "a", `{"templates":{"default":"a"},"tokens":{"bos_token":"\u003cs\u003e","eos_token":"\u003c/s\u003e"}}`},
		{`{}`, "a", `{"templates":{"default":"a"}}`},
		{`{"bos_token":"<s>"}`, "", `{}`},
	} {
		fsys := bare(t, "llama")
		put(fsys, "tokenizer_config.json", c.config)
		if c.file != "" {
			put(fsys, "chat_template.jinja", c.file)
		}
		got, err := json.Marshal(openIn(t, fsys, "m").Chat)
		if err != nil || string(got) != c.want {
			t.Errorf("%.60s: %s, %v, want %s", c.config, got, err, c.want)
		}
		if info, err := arch.Describe(fsys, "m"); err != nil || info.Tokens == nil && !reflect.DeepEqual(info.Chat, openIn(t, fsys, "m").Chat) {
			t.Errorf("%.60s: described as %+v, %v, %v", c.config, info.Chat, info.Tokens, err)
		}
	}
	fsys := bare(t, "llama")
	put(fsys, "chat_template.json", `{"chat_template":"old"}`)
	put(fsys, "additional_chat_templates/tool_use.jinja", "tools")
	put(fsys, "special_tokens_map.json", `{"bos_token":"<b>"}`)
	if c := openIn(t, fsys, "m").Chat; c.Templates["default"] != "old" || c.Templates["tool_use"] != "tools" || c.Tokens["bos_token"] != "<b>" {
		t.Errorf("%+v", c)
	}
	fsys = bare(t, "llama")
	put(fsys, "tokenizer_config.json", `{"chat_template":7}`)
	checkRejected(t, "number", fsys, "m/tokenizer_config.json: chat_template: 7 is neither")
}

// pieces returns a SentencePiece model of the three special pieces and others.
func pieces(more ...string) string {
	field := func(b []byte, n, wire int) []byte { return append(b, byte(n<<3|wire)) }
	text := func(b []byte, n int, s []byte) []byte {
		b = binary.AppendUvarint(field(b, n, 2), uint64(len(s)))
		return append(b, s...)
	}
	var model []byte
	for id, piece := range slices.Concat([]string{"<unk>", "<s>", "</s>"}, more) {
		p := binary.LittleEndian.AppendUint32(field(text(nil, 1, []byte(piece)), 2, 5), math.Float32bits(float32(-id)))
		kind := byte(1)
		switch id {
		case 0:
			kind = 2
		case 1, 2:
			kind = 3
		}
		model = text(model, 1, append(field(p, 3, 0), kind))
	}
	trainer := append(field(nil, 3, 0), 1) // Unigram
	return string(text(model, 2, trainer))
}

func TestPieces(t *testing.T) {
	model := pieces("▁", "a", "b", "▁a")
	fsys := tiny(t, "llama", 300)
	set(t, fsys, "config.json", map[string]any{"bos_token_id": 1, "eos_token_id": 2})
	delete(fsys, "m/generation_config.json")
	put(fsys, "tokenizer.model", model)
	m := openIn(t, fsys, "m")
	if m.Tokens != 7 || !slices.Equal(m.Start, []int{1}) || tokenizer.Decode(m.Tokenizer, m.Tokenizer.Encode("a b")) != "a b" {
		t.Errorf("%d tokens, start %v", m.Tokens, m.Start)
	}
	put(fsys, "tokenizer_config.json", `{"add_bos_token":false,"added_tokens_decoder":{"0":{"content":"<unk>"},"1":{"content":"<s>"}}}`)
	if m := openIn(t, fsys, "m"); len(m.Start) != 0 || m.Empty != 1 {
		t.Errorf("start %v, empty %d", m.Start, m.Empty)
	}
	put(fsys, "added_tokens.json", `{"<pad>":7}`)
	checkRejected(t, "added", fsys, `m/tokenizer.model: the added token 7, "<pad>", requires a tokenizer.json`)

	fsys = tiny(t, "xglm", 300)
	put(fsys, "sentencepiece.bpe.model", model)
	m = openIn(t, fsys, "m")
	if ids := m.Tokenizer.Encode("a"); !slices.Equal(ids, []int{7}) || m.Tokens != 15 || !slices.Equal(m.Start, []int{2}) {
		t.Errorf("XGLM: %v, %d tokens, start %v", ids, m.Tokens, m.Start)
	}
	put(fsys, "sentencepiece.bpe.model", "x")
	checkRejected(t, "XGLM", fsys, "m/sentencepiece.bpe.model: ")
}

func TestM2M100(t *testing.T) {
	const vocab = `{"<s>":0,"<pad>":1,"</s>":2,"<unk>":3,"▁":4,"a":5,"b":6,"▁a":7}`
	fsys := tiny(t, "m2m_100", 116)
	put(fsys, "vocab.json", vocab)
	if m := openIn(t, fsys, "m"); m.Tokenizer != nil {
		t.Error("a tokenizer of vocab.json alone")
	}
	put(fsys, "sentencepiece.bpe.model", pieces("▁", "a", "b", "▁a"))
	m := openIn(t, fsys, "m")
	known, ok := m.Tokenizer.(*sentencepiece.M2M100)
	if !ok || m.Tokens != 116 || m.Start != nil {
		t.Fatalf("%T, %d tokens, start %v", m.Tokenizer, m.Tokens, m.Start)
	}
	if id, ok := known.Language("en"); !ok || id != 8+18 || len(known.Languages()) != 100 {
		t.Errorf("en is %d", id)
	}
	put(fsys, "vocab.json", "{}")
	checkRejected(t, "vocab", fsys, "m/vocab.json, sentencepiece.bpe.model: ")
}

// A line feed is </s> in fairseq's dense models, which GPT-2's tokenizer does not have.
func TestFairseqDense(t *testing.T) {
	fsys := tiny(t, "fairseq-dense", 300)
	set(t, fsys, "config.json", map[string]any{"bos_token_id": 258, "eos_token_id": 260})
	set(t, fsys, "generation_config.json", map[string]any{"bos_token_id": nil, "eos_token_id": nil})
	putBytes(fsys, "<|endoftext|>")
	m := openIn(t, fsys, "m")
	if ids := m.Tokenizer.Encode("he\n\nhe"); !slices.Equal(ids, []int{256, 260, 256}) || m.Tokens != 261 || m.Empty != 260 || len(m.End) != 0 {
		t.Errorf("%v, %d tokens, empty %d, end %v", ids, m.Tokens, m.Empty, m.End)
	}
	set(t, fsys, "config.json", map[string]any{"newlinemode": nil})
	if ids := openIn(t, fsys, "m").Tokenizer.Encode("\n"); !slices.Equal(ids, []int{260}) {
		t.Errorf("by tokenizer_class: %v", ids)
	}
	set(t, fsys, "config.json", map[string]any{"newlinemode": "n", "tokenizer_class": "XGLMTokenizer"})
	if m := openIn(t, fsys, "m"); slices.Equal(m.Tokenizer.Encode("\n"), []int{260}) || len(m.End) != 1 {
		t.Errorf("XGLM: %v", m.End)
	}
}

func FuzzOpen(f *testing.F) {
	var weights []*fstest.MapFile
	for i, name := range []string{"gpt2", "gptj", "gpt_neox", "llama", "xglm", "m2m_100"} {
		fsys := bare(f, name)
		weights = append(weights, fsys["m/model.safetensors"])
		f.Add(byte(i), fsys["m/config.json"].Data, fsys["m/generation_config.json"].Data, []byte(`{"add_bos_token":true,"chat_template":"x"}`))
	}
	f.Fuzz(func(t *testing.T, kind byte, config, generation, settings []byte) {
		fsys := fstest.MapFS{
			"m/config.json": {Data: config}, "m/generation_config.json": {Data: generation}, "m/tokenizer_config.json": {Data: settings},
			"m/model.safetensors": weights[int(kind)%len(weights)],
		}
		_, _ = arch.Detect(fsys, "m")
		m, err := arch.Open(fsys, "m")
		if err != nil {
			if !strings.Contains(err.Error(), "m/") {
				t.Errorf("%v does not name the file", err)
			}
			return
		}
		defer m.Close()
		checkModel(t, m)
	})
}

// checkModel checks the invariants of an opened model.
func checkModel(t *testing.T, m *arch.Model) {
	t.Helper()
	if m.Tokens < 1 || m.Tokens > m.Spec.Vocab || m.Empty < 0 || m.Empty >= m.Spec.Vocab || m.Bytes(transformer.F32) < 4*m.Weights.Elements() {
		t.Errorf("%d tokens of %d, empty %d", m.Tokens, m.Spec.Vocab, m.Empty)
	}
	for _, id := range slices.Concat(m.Start, m.End) {
		if id < 0 || id >= m.Spec.Vocab {
			t.Errorf("token %d of %d", id, m.Spec.Vocab)
		}
	}
	if err := m.Spec.Check(); err != nil || len(m.Weights.Decoder) != len(m.Spec.Decoder) {
		t.Errorf("%+v: %v", *m.Spec, err)
	}
	if n, err := readAll(m.Weights); err == nil && n != m.Weights.Elements() {
		t.Errorf("%d values of %d", n, m.Weights.Elements())
	}
}
