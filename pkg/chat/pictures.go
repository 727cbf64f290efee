package chat

import (
	"fmt"
	"slices"
	"strings"

	"glossa/pkg/jinja"
	"glossa/pkg/llm"
)

// A picture stands in the text of a turn.
type picture struct {
	at    int // bytes of the text before it
	image *llm.Image
}

// Pictures returns a template for a model that reads pictures, which its own templates write as a
// mark, such as <image>. A template that takes no parts of messages gets the mark in their text.
func (t *Template) Pictures(mark string) (*Template, error) {
	p := *t
	n := &p.nature
	p.picture, n.pictures = mark, true
	if user := []turn{pictured("user")}; !p.views(user, nil) {
		if n.pictures = false; !p.views(user, nil) {
			return nil, fmt.Errorf("the chat template cannot write a message with an image, which is %s", mark)
		}
	}
	// A message that the template does not take becomes one of the user.
	n.systemViews = !n.system || p.views([]turn{pictured("system"), {role: "user", text: probeSystem}}, nil)
	call, result, tools := probeCall(), pictured("tool"), []llm.Tool(nil)
	if !n.calls {
		call = turn{role: "assistant", text: probeSystem}
	}
	if n.tools {
		tools = []llm.Tool{probedTool()}
	}
	result.id, result.name = probeCallID, probeTool
	n.resultViews = !n.results || p.views([]turn{{role: "user", text: probeSystem}, call, result}, tools)
	return &p, nil
}

// pictured returns a message with a picture for a probe.
func pictured(role string) turn {
	return turn{role: role, text: probeUser + probeAnswer, pictures: []picture{{at: len(probeUser)}}}
}

// views reports whether the template writes the picture of a chat, and the text around it.
func (t *Template) views(turns []turn, tools []llm.Tool) bool {
	text, err := t.try(turns, tools, true)
	return err == nil && strings.Count(text, t.picture) == 1 && strings.Contains(text, probeUser) && strings.Contains(text, probeAnswer)
}

// readParts returns the text of message i and the pictures in it.
func (t *Template) readParts(i int, m *llm.Message) (string, []picture, error) {
	var text strings.Builder
	var pictures []picture
	for _, p := range m.Parts {
		switch {
		case p.Tokens != nil:
			return "", nil, rejected(i, "token ids could spell the marks between messages: send text")
		case p.Image == nil:
			text.WriteString(p.Text)
		case t.picture == "":
			return "", nil, llm.NoImages("messages", i)
		case m.Role == "system" && !t.nature.systemViews, m.Role == "tool" && !t.nature.resultViews, m.Role == "assistant":
			return "", nil, rejected(i, "the model's chat template writes no images in messages of the role %s", m.Role)
		default:
			pictures = append(pictures, picture{text.Len(), p.Image})
		}
	}
	return text.String(), pictures, nil
}

// shifted returns pictures in a text that follows another of a number of bytes.
func shifted(pictures []picture, bytes int) []picture {
	out := slices.Clone(pictures)
	for i := range out {
		out[i].at += bytes
	}
	return out
}

// parts returns the content of a turn with pictures as a list.
func (t *Template) parts(m *turn) jinja.Value {
	var list []jinja.Value
	add := func(text string) {
		if text != "" {
			list = append(list, jinja.Map(new(jinja.Dict).Set("type", jinja.Trusted("text")).Set("text", jinja.String(text))))
		}
	}
	at := 0
	for _, next := range m.pictures {
		add(m.text[at:next.at])
		list, at = append(list, jinja.Map(new(jinja.Dict).Set("type", jinja.Trusted("image")))), next.at
	}
	add(m.text[at:])
	return jinja.List(list...)
}

// imagesOf returns the images of a chat, in the order in which the template reads its messages.
func imagesOf(turns []turn) (images []*llm.Image) {
	for _, m := range turns {
		for _, p := range m.pictures {
			images = append(images, p.image)
		}
	}
	return images
}

// insert replaces the marks that the template wrote by images.
func (t *Template) insert(parts []llm.Part, images []*llm.Image) (out []llm.Part, err error) {
	written := 0
	for _, p := range parts {
		for p.Special {
			before, after, found := strings.Cut(p.Text, t.picture)
			if !found {
				break
			}
			if before != "" {
				out = append(out, llm.Part{Text: before, Special: true})
			}
			if written < len(images) {
				out = append(out, llm.Part{Text: t.picture, Special: true, Image: images[written]})
			}
			written, p.Text = written+1, after
		}
		if p.Text != "" {
			out = append(out, p)
		}
	}
	if written != len(images) {
		return nil, &llm.Error{Code: llm.Invalid, Param: "messages", Message: fmt.Sprintf("the model's chat template writes %d of the %d images of this chat", written, len(images))}
	}
	return out, nil
}
