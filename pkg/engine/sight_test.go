package engine

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"glossa/pkg/chat"
	"hash/crc32"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"glossa/pkg/engine/arch"
	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/engine/kernel"
	"glossa/pkg/engine/transformer"
	"glossa/pkg/llm"
)

const visionData = "arch/testdata/vision"

// visions are the golden models that read pictures.
var visions = []string{"idefics3", "smolvlm", "gemma3-4b", "gemma3-wide", "llava", "llava-siglip", "qwen3-vl", "qwen3_5", "qwen2-vl", "qwen2_5-vl"}

// A visionGolden is what the original computes of a chat with pictures.
type visionGolden struct {
	dir     string
	file    *checkpoint.File
	Content []string // the texts; empty ones stand for pictures
	Pixels  string   // of the digest of their values, if frames have any shape
}

func openVision(t testing.TB, name string, cfg Config) (*Engine, *visionGolden) {
	t.Helper()
	m, err := arch.Open(os.DirFS(visionData), name)
	if err != nil {
		t.Fatal(err)
	}
	e, err := New(m, cfg)
	if err != nil {
		t.Fatal(err)
	}
	g := &visionGolden{dir: path.Join(visionData, name)}
	raw, err := os.ReadFile(path.Join(g.dir, "golden.json"))
	if err == nil {
		err = json.Unmarshal(raw, g)
	}
	if err == nil {
		g.file, err = checkpoint.Open(os.DirFS(g.dir), "golden.safetensors")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.file.Close(); err != nil {
			t.Error(err)
		}
	})
	return e, g
}

// ask returns the chat with its pictures.
func (g *visionGolden) ask(t testing.TB) *llm.Request {
	t.Helper()
	m, n := llm.Message{Role: "user"}, 0
	for _, text := range g.Content {
		if text != "" {
			m.Parts = append(m.Parts, llm.Part{Text: text})
			continue
		}
		raw, err := os.ReadFile(path.Join(g.dir, strconv.Itoa(n)+".png"))
		if err != nil {
			t.Fatal(err)
		}
		m.Parts, n = append(m.Parts, llm.Part{Image: &llm.Image{Type: "image/png", Data: raw}}), n+1
	}
	return &llm.Request{Prompts: []llm.Prompt{{Messages: []llm.Message{m}}}, Params: llm.Params{Temperature: new(0.0), MaxTokens: new(12), Tokens: new(true)}}
}

func (g *visionGolden) floats(t testing.TB, name string) []float32 {
	t.Helper()
	v, err := g.file.Float32(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// farthest returns the largest difference of two lists.
func farthest(t testing.TB, what string, got, want []float32) (most float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, want %d", what, len(got), len(want))
	}
	for i := range want {
		if d := math.Abs(float64(got[i] - want[i])); !(d <= most) {
			most = d
		}
	}
	return most
}

// Pictures have the features of the original, and the chat with them has its tokens and logits.
func TestVision(t *testing.T) {
	for _, name := range visions {
		for _, k := range kernel.Implementations() {
			t.Run(name+"/"+k.Name(), func(t *testing.T) {
				e, g := openVision(t, name, Config{Kernels: k})
				p, generation := pictures(t, e, g.ask(t))
				defer generation.member.leave()
				ids := g.ints(t, "ids")
				image := ids[p.views[0].at]
				for i, id := range p.ids {
					if id < 0 {
						id = image
					}
					if len(p.ids) != len(ids) || id != ids[i] {
						t.Fatalf("tokens %v, want %v", p.ids, ids)
					}
				}
				vectors, err := generation.look(t.Context(), p, 0, len(ids))
				if err != nil {
					t.Fatal(err)
				}
				if d := farthest(t, "features", vectors, g.floats(t, "features")); !(d <= 1e-4) {
					t.Errorf("features are %.3g from the original's", d)
				}
				want, cache := g.floats(t, "logits"), e.model.NewCache(len(ids))
				cache.Grids = p.grids()
				logits, err := e.model.NewPass(nil).Forward([]transformer.Sequence{{Cache: cache, Tokens: p.ids, Logits: len(want) / e.model.Vocab, Vectors: vectors}})
				if err != nil {
					t.Fatal(err)
				}
				if d := farthest(t, "logits", logits, want); !(d <= 1e-4) {
					t.Errorf("logits are %.3g from the original's", d)
				}
			})
		}
	}
}

// A chat whose system has pictures too has the tokens of the original.
func TestVisionRoles(t *testing.T) {
	for _, name := range []string{"idefics3", "smolvlm", "gemma3-4b", "llava"} {
		e, g := openVision(t, name, Config{})
		var want struct {
			Chat []struct {
				Role    string
				Content []string
			}
			IDs []int
		}
		raw, err := os.ReadFile(path.Join(g.dir, "roles.json"))
		if err == nil {
			err = json.Unmarshal(raw, &want)
		}
		if err != nil {
			t.Fatal(err)
		}
		var messages []llm.Message
		for _, m := range want.Chat {
			out := llm.Message{Role: m.Role}
			for _, c := range m.Content {
				part := llm.Part{Text: c}
				if strings.HasSuffix(c, ".png") {
					if raw, err = os.ReadFile(path.Join(g.dir, c)); err != nil {
						t.Fatal(err)
					}
					part = llm.Part{Image: &llm.Image{Type: "image/png", Data: raw}}
				}
				out.Parts = append(out.Parts, part)
			}
			messages = append(messages, out)
		}
		p, generation := pictures(t, e, &llm.Request{Prompts: []llm.Prompt{{Messages: messages}}})
		generation.member.leave()
		got, image := slices.Clone(p.ids), want.IDs[p.views[0].at]
		for i, id := range got {
			if id < 0 {
				got[i] = image
			}
		}
		if !slices.Equal(got, want.IDs) {
			t.Errorf("%s: tokens %v, want %v", name, got, want.IDs)
		}
	}
}

// pictures returns the prompt of a request, and a generation of it that has not begun.
func pictures(t testing.TB, e *Engine, req *llm.Request) (*prompt, *generation) {
	t.Helper()
	params := req.Effective()
	s, err := e.newSettings(req, &params)
	if err != nil {
		t.Fatal(err)
	}
	prompts, err := e.encodePrompts(t.Context(), req.Prompts, s)
	if err != nil {
		t.Fatal(err)
	}
	g := e.newGeneration(s, prompts)
	g.member = e.lanes.join("", nil)
	return prompts[0], g
}

func (g *visionGolden) ints(t testing.TB, name string) (list []int) {
	t.Helper()
	raw, err := g.file.Raw(name)
	if err != nil {
		t.Fatal(err)
	}
	data := make([]byte, raw.Size())
	if _, err := raw.ReadAt(data, 0); err != nil {
		t.Fatal(err)
	}
	for chunk := range slices.Chunk(data, 8) {
		list = append(list, int(chunk[0])|int(chunk[1])<<8)
	}
	return list
}

// A request's text is the original's greedy one, also when the engine knows its beginning.
func TestVisionGreedy(t *testing.T) {
	for _, name := range visions {
		e, g := openVision(t, name, Config{})
		req := g.ask(t)
		e.ends = map[int]bool{}
		for again := range 3 {
			rows, usage := collect(t, e, req)
			var got []int
			for _, token := range rows[0].Tokens {
				got = append(got, token.ID)
			}
			if want := g.ints(t, "greedy"); !slices.Equal(got, want) {
				t.Errorf("%s: tokens %v, want %v", name, got, want)
			}
			if n := len(g.ints(t, "ids")); usage.Input != n || e.model.Rewinds() && (usage.Cached == n-1) != (again > 0) {
				t.Errorf("%s: %d tokens, %d of them known, want %d", name, usage.Input, usage.Cached, n)
			}
		}
	}
}

// Logits are the same to the bit however a prompt is divided into passes, and by however many
// workers, also where windows have dropped tokens.
func TestVisionDivided(t *testing.T) {
	for _, name := range visions {
		e, g := openVision(t, name, Config{})
		p, generation := pictures(t, e, g.ask(t))
		defer generation.member.leave()
		if m := e.model; m.Mutual > 0 && m.RingTokens() >= len(p.ids) {
			t.Errorf("%s: no ring of %d tokens is full with %d", name, m.RingTokens(), len(p.ids))
		}
		var want []float32
		for _, step := range []int{len(p.ids), prefillChunk, 7, 1} {
			team := transformer.NewTeam(1 + step%3)
			pass := e.model.NewPass(team)
			pass.ShareAll = true
			cache, got := e.model.NewCache(len(p.ids)), []float32(nil)
			cache.Grids = p.grids()
			for at := 0; at < len(p.ids); {
				end := generation.whole(p, at, min(at+step, len(p.ids)))
				vectors, err := generation.look(t.Context(), p, at, end)
				if err != nil {
					t.Fatal(err)
				}
				logits, err := pass.Forward([]transformer.Sequence{{Cache: cache, Tokens: p.ids[at:end], Logits: end - at, Vectors: vectors}})
				if err != nil {
					t.Fatal(err)
				}
				got, at = append(got, logits...), end
			}
			team.Close()
			if want == nil {
				want = got
			} else if !slices.Equal(got, want) {
				t.Errorf("%s: passes of %d tokens give other logits", name, step)
			}
		}
	}
}

// Chats with pictures that differ only in these do not take each other's computed beginning.
func TestVisionPrefixes(t *testing.T) {
	for _, name := range visions {
		e, g := openVision(t, name, Config{})
		if e.model.Rewinds() {
			e.drafting = draftAlways
		}
		req, other := g.ask(t), g.ask(t)
		req.Logprobs, other.Logprobs = new(0), new(0)
		first, _ := collect(t, e, req)
		parts := other.Prompts[0].Messages[0].Parts
		for i, part := range parts {
			if part.Image != nil {
				parts[i].Image = &llm.Image{Type: "image/png", Data: negative(t, part.Image.Data)}
				break
			}
		}
		second, usage := collect(t, e, other)
		p, generation := pictures(t, e, req)
		generation.member.leave()
		if usage.Cached > p.views[0].at {
			t.Errorf("%s: %d tokens are those of another picture, which begins at %d", name, usage.Cached, p.views[0].at)
		}
		both, _ := collect(t, e, &llm.Request{Prompts: slices.Concat(req.Prompts, other.Prompts), Params: req.Params})
		fresh, _ := openVision(t, name, Config{PrefixMemory: -1})
		alone, _ := collect(t, fresh, other)
		same := func(a, b llm.Chunk) bool { return reflect.DeepEqual(a.Tokens, b.Tokens) }
		if !same(both[0], first[0]) || !same(both[1], second[0]) || !same(alone[0], second[0]) || same(first[0], second[0]) {
			t.Errorf("%s: %+v and %+v alone, %+v and %+v together, %+v without a cache", name, first[0], second[0], both[0], both[1], alone[0])
		}
	}
}

// negative returns a PNG of the inverse colours.
func negative(t testing.TB, data []byte) []byte {
	t.Helper()
	img, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	out := image.NewRGBA(img.Bounds())
	for y := range img.Bounds().Dy() {
		for x := range img.Bounds().Dx() {
			r, g, b, _ := img.At(x, y).RGBA()
			out.Set(x, y, color.RGBA{255 - uint8(r>>8), 255 - uint8(g>>8), 255 - uint8(b>>8), 255})
		}
	}
	var to bytes.Buffer
	if err := png.Encode(&to, out); err != nil {
		t.Fatal(err)
	}
	return to.Bytes()
}

// Pictures that cannot be read, and prompts that cannot have any, are errors before anything is
// computed.
func TestVisionRefuses(t *testing.T) {
	e, g := openVision(t, "idefics3", Config{MaxMemory: 64 << 20})
	fine := g.ask(t).Prompts[0].Messages[0].Parts[0].Image
	if fine == nil {
		t.Fatal("the chat does not begin with a picture")
	}
	huge := slices.Clone(fine.Data)
	copy(huge[16:24], []byte{0, 0, 0x4e, 0x20, 0, 0, 0x4e, 0x20}) // 20,000 by 20,000
	binary.BigEndian.PutUint32(huge[29:], crc32.ChecksumIEEE(huge[12:29]))
	broken := slices.Clone(fine.Data)
	broken[60] ^= 0xff
	chat := func(role string, images ...[]byte) *llm.Request {
		m := llm.Message{Role: role, Parts: []llm.Part{{Text: "What is this?"}}}
		for _, data := range images {
			m.Parts = append(m.Parts, llm.Part{Image: &llm.Image{Type: "image/png", Data: data}})
		}
		return &llm.Request{Prompts: []llm.Prompt{{Messages: []llm.Message{m}}}, Params: llm.Params{MaxTokens: new(3)}}
	}
	echo := g.ask(t)
	echo.Echo = new(true)
	for what, c := range map[string]struct {
		req  *llm.Request
		code llm.Code
		says string
	}{
		"not a picture": {chat("user", []byte("GIF89a, a file of another kind")), llm.Invalid, "only PNG and JPEG are read"},
		"empty":         {chat("user", []byte{}), llm.Invalid, "the image"},
		"huge":          {chat("user", huge), llm.Invalid, "20000"},
		"broken":        {chat("user", broken), llm.Invalid, "the image"},
		"assistant's":   {chat("assistant", fine.Data), llm.Unsupported, "no images in messages of the role assistant"},
		"too many":      {chat("user", slices.Repeat([][]byte{fine.Data}, 12)...), llm.TooLong, "512"},
		"echo":          {echo, llm.Unsupported, "not echoed"},
	} {
		t.Run(what, func(t *testing.T) {
			err := failure(t, e, c.req)
			if got := llm.AsError(err); got.Code != c.code || !strings.Contains(got.Message, c.says) {
				t.Errorf("%s, %v; want %s and %q", got.Code, err, c.code, c.says)
			}
		})
	}
	if _, _, err := e.Embed(t.Context(), &llm.EmbedRequest{Prompts: g.ask(t).Prompts}); llm.AsError(err).Code != llm.Unsupported {
		t.Errorf("embedding a picture: %v", err)
	}
	small, _ := openVision(t, "smolvlm", Config{MaxMemory: 256 << 10})
	if err := failure(t, small, g.ask(t)); llm.AsError(err).Code != llm.Invalid || !strings.Contains(err.Error(), "MiB of memory") {
		t.Errorf("little memory: %v", err)
	}
}

// An engine takes the memory that its listing says, of which the encoder and what follows it are a part.
func TestVisionBytes(t *testing.T) {
	for _, name := range visions {
		for _, format := range []transformer.Format{transformer.F32, transformer.Q8_0} {
			m, err := arch.Open(os.DirFS(visionData), name)
			if err != nil {
				t.Fatal(err)
			}
			e, err := New(m, Config{Format: format})
			if err != nil {
				t.Fatal(err)
			}
			if got, want := e.Bytes(), m.Bytes(format); got != want || m.Vision.HeadBytes() == 0 {
				t.Errorf("%s, %v: %d bytes, the listing says %d", name, format, got, want)
			}
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// leaver is the context of a client that leaves when it has been asked for a number of times.
type leaver struct {
	context.Context
	asked, last int
}

func (l *leaver) Err() error {
	if l.asked++; l.asked > l.last {
		return context.Canceled
	}
	return nil
}

// A picture whose client leaves while it is read is not a broken one.
func TestVisionLeaving(t *testing.T) {
	e, g := openVision(t, "smolvlm", Config{})
	p, generation := pictures(t, e, g.ask(t))
	generation.member.leave()
	data, last := len(p.views[0].Data), 0
	for ; ; last++ {
		_, err := generation.see(&leaver{Context: t.Context(), last: last}, p.views[0])
		if err == nil {
			break
		}
		if _, ours := errors.AsType[*llm.Error](err); ours || !errors.Is(err, context.Canceled) || last > data {
			t.Fatalf("left after %d checks: %v", last, err)
		}
	}
	if last < data/64 {
		t.Errorf("%d checks while %d bytes are read", last, data)
	}
}

// Of a prompt that is cut, a frame that has lost inputs is dropped whole.
func TestVisionTruncated(t *testing.T) {
	for _, name := range []string{"idefics3", "smolvlm", "gemma3-4b", "qwen3-vl"} {
		contexts := []int{70, 75, 80, 90}
		if name == "qwen3-vl" {
			contexts = []int{30, 40, 50, 60}
		}
		for _, context := range contexts {
			e, g := openVision(t, name, Config{Context: context})
			req := g.ask(t)
			if err := failure(t, e, req); llm.AsError(err).Code != llm.TooLong {
				t.Errorf("%s: %v", name, err)
			}
			req.Truncate = new(0)
			p, generation := pictures(t, e, req)
			generation.member.leave()
			n := inputsOf(p)
			for _, id := range p.ids {
				if id < 0 {
					n--
				}
			}
			if n != 0 || len(p.ids) > context {
				t.Errorf("%s: %d tokens, %d inputs too few of %d frames", name, len(p.ids), n, len(p.views))
			}
			for _, v := range p.views {
				if ids := p.ids[v.at : v.at+v.n]; !slices.Equal(ids, v.inputIDs(v.frame, v.n)) {
					t.Errorf("%s: frame %d is not at %d", name, v.frame, v.at)
				}
			}
			if rows, usage := collect(t, e, req); len(rows[0].Tokens) == 0 || !usage.Truncated {
				t.Errorf("%s: %+v, %+v", name, rows[0], usage)
			}
		}
	}
}

// inputsOf returns the number of inputs of the pictures of p.
func inputsOf(p *prompt) (n int) {
	for _, v := range p.views {
		n += v.n
	}
	return n
}

// The archive keeps what precedes the first picture.
func TestVisionArchived(t *testing.T) {
	ids := make([]int, 3*blockTokens)
	a := &archivedTexts{}
	if n := len(a.links(prefixKey{}, ids)); n != 3 {
		t.Errorf("%d blocks without a picture", n)
	}
	ids[2*blockTokens-1] = -5
	if n := len(a.links(prefixKey{}, ids)); n != 1 {
		t.Errorf("%d blocks before a picture in the second", n)
	}
}

// A picture's inputs end a draft.
func TestLookupPicture(t *testing.T) {
	l := newLookup(16)
	for _, id := range []int{7, 1, 2, 3, -4 << 40, -5 << 40, 9, 1, 2} {
		l.add(id)
	}
	if got := l.draft(nil, 4); !slices.Equal(got, []int{3}) {
		t.Errorf("drafted %v, want 3", got)
	}
}

// A prompt with images has as many tokens as its answer counts.
func TestVisionTokenize(t *testing.T) {
	for _, name := range visions {
		e, g := openVision(t, name, Config{})
		req := g.ask(t)
		parts, err := e.template.Render(t.Context(), &chat.Chat{Messages: req.Prompts[0].Messages, Open: true})
		if err != nil {
			t.Fatal(err)
		}
		tokens, err := e.Tokenize(t.Context(), parts, false)
		inputs := 0
		for _, token := range tokens {
			if token.ID == -1 {
				inputs++
			}
		}
		p, generation := pictures(t, e, req)
		generation.member.leave()
		if err != nil || len(tokens) != len(p.ids) || inputs != inputsOf(p) {
			t.Errorf("%s: %d tokens and %d inputs, want %d, %v", name, len(tokens), inputs, len(p.ids), err)
		}
	}
}
