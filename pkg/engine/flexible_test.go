package engine

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"image"
	"image/png"
	"reflect"
	"strings"
	"testing"

	"glossa/pkg/engine/picture"
	"glossa/pkg/llm"
)

// flexibles are the golden models whose frames have any shape.
var flexibles = []string{"qwen3-vl", "qwen3_5", "qwen2-vl", "qwen2_5-vl"}

// The values of pictures are the original's.
func TestFlexibleValues(t *testing.T) {
	for _, name := range flexibles {
		e, g := openVision(t, name, Config{})
		p, generation := pictures(t, e, g.ask(t))
		generation.member.leave()
		var got []float32
		for _, v := range p.views {
			img, err := picture.Decode(t.Context(), v.Data)
			if err != nil {
				t.Fatal(err)
			}
			frames, err := e.sight.Processor.Frames(t.Context(), img)
			if err != nil || len(frames) != 1 {
				t.Fatalf("%d frames, %v", len(frames), err)
			}
			got = append(got, e.sight.Processor.Values(frames[0], e.sight.Patch, e.sight.Merge)...)
		}
		sum := sha256.New()
		if err := binary.Write(sum, binary.LittleEndian, got); err != nil {
			t.Fatal(err)
		}
		if hex.EncodeToString(sum.Sum(nil)) != g.Pixels {
			t.Errorf("%s: the values of pictures are not the original's", name)
		}
	}
}

// Pictures of sizes that the original does not read are errors, and the smallest one is none.
func TestFlexibleSizes(t *testing.T) {
	e, _ := openVision(t, "qwen3-vl", Config{})
	for _, c := range []struct {
		width, height int
		says          string
	}{
		{1, 1, ""}, {200, 1, ""}, {1, 200, ""},
		{201, 1, "image 1: the image has 201 x 1 pixels: one edge may be at most 200 times the other"},
		{20000, 10, "image 1: the image has 20000 x 10 pixels: one edge may be at most 200 times the other"},
	} {
		var file bytes.Buffer
		if err := png.Encode(&file, image.NewGray(image.Rect(0, 0, c.width, c.height))); err != nil {
			t.Fatal(err)
		}
		ask := &llm.Request{Prompts: []llm.Prompt{{Messages: []llm.Message{{Role: "user", Parts: []llm.Part{{Image: &llm.Image{Type: "image/png", Data: file.Bytes()}}, {Text: "the"}}}}}}, Params: llm.Params{MaxTokens: new(2)}}
		if c.says == "" {
			collect(t, e, ask)
			continue
		}
		if err := failure(t, e, ask); llm.AsError(err).Code != llm.Invalid || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%d x %d: %v", c.width, c.height, err)
		}
	}
}

// A prompt that begins as another does has the places of its own pictures.
func TestFlexiblePrefixes(t *testing.T) {
	for _, name := range flexibles {
		e, g := openVision(t, name, Config{})
		images := []*llm.Image{}
		for _, part := range g.ask(t).Prompts[0].Messages[0].Parts {
			if part.Image != nil {
				images = append(images, part.Image)
			}
		}
		ask := func(image *llm.Image) *llm.Request {
			parts := []llm.Part{{Text: "the fox and the hen and the fox"}, {Image: image}, {Text: "or what"}}
			return &llm.Request{Prompts: []llm.Prompt{{Messages: []llm.Message{{Role: "user", Parts: parts}}}}, Params: llm.Params{Temperature: new(0.0), MaxTokens: new(6), Tokens: new(true), Logprobs: new(0)}}
		}
		for i, image := range images {
			rows, usage := collect(t, e, ask(image))
			fresh, _ := openVision(t, name, Config{PrefixMemory: -1})
			alone, _ := collect(t, fresh, ask(image))
			if !reflect.DeepEqual(rows[0].Tokens, alone[0].Tokens) || e.model.Rewinds() && (usage.Cached > 0) != (i > 0) {
				t.Errorf("%s, image %d: %+v with %d known tokens, %+v without", name, i, rows[0].Tokens, usage.Cached, alone[0].Tokens)
			}
		}
	}
}
