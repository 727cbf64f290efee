package openaiapi

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"glossa/pkg/llm"
)

// A model that reads text only rejects images by the message or the part that they are in, and others
// take a bounded number of them, wherever the model runs.
func TestCheckImages(t *testing.T) {
	image := llm.Part{Image: &llm.Image{}}
	chat := func(images int) llm.Prompt {
		return llm.Prompt{Messages: []llm.Message{{Role: "system", Parts: []llm.Part{{Text: "a"}}}, {Role: "user", Parts: slices.Repeat([]llm.Part{image}, images)}}}
	}
	text := func(images int) llm.Prompt {
		return llm.Prompt{Parts: append([]llm.Part{{Text: "a"}}, slices.Repeat([]llm.Part{image}, images)...)}
	}
	for _, c := range []struct {
		prompt llm.Prompt
		reads  bool
		want   string
	}{
		{chat(0), false, ""}, {chat(1), false, `messages[1]: the model "m" reads text only, not images`}, {chat(20), true, ""}, {chat(21), true, "key: at most 20 images are allowed"},
		{text(0), false, ""}, {text(1), false, `prompt[1]: the model "m" reads text only, not images`}, {text(20), true, ""}, {text(21), true, "key: at most 20 images are allowed"},
	} {
		for _, local := range []bool{false, true} {
			got := ""
			if err := CheckImages("key", &llm.ModelInfo{Name: "m", InProcess: local, Images: c.reads}, &llm.Request{Prompts: []llm.Prompt{c.prompt}}); err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("%d images, read %v: %q, want %q", len(c.prompt.Parts), c.reads, got, c.want)
			}
		}
	}
}

// The playground checks the limits of images before it sends them.
func TestLimitsOfPage(t *testing.T) {
	page, err := os.ReadFile("../page/js/chat/images.js")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{fmt.Sprintf("images: %d,", MaxImages), fmt.Sprintf("bytes: %d }", MaxImage)} {
		if !strings.Contains(strings.ReplaceAll(string(page), "_", ""), want) {
			t.Errorf("the page's limits have no %q", want)
		}
	}
}
