package chat

import (
	"fmt"
	"strings"

	"glossa/pkg/jinja"
	"glossa/pkg/llm"
)

// Pictures returns a template for a model that reads pictures, which its own templates write as a
// mark, such as <image>. A template that takes no parts of messages gets the mark in their text.
func (t *Template) Pictures(mark string) (*Template, error) {
	p := *t
	p.picture, p.nature.pictures = mark, true
	probed := []turn{{role: "user", text: probeUser + probeAnswer, pictures: []int{len(probeUser)}}}
	if text, err := p.try(probed, nil, true); err == nil && strings.Count(text, mark) == 1 && strings.Contains(text, probeUser) {
		return &p, nil
	}
	p.nature.pictures = false
	if text, err := p.try(probed, nil, true); err != nil || strings.Count(text, mark) != 1 {
		return nil, fmt.Errorf("the chat template cannot write a message with an image, which is %s", mark)
	}
	return &p, nil
}

// readPictures returns where the pictures of message i stand in its text.
func (t *Template) readPictures(i int, m *llm.Message) (at []int, err error) {
	bytes := 0
	for _, p := range m.Parts {
		switch {
		case p.Image == nil:
			bytes += len(p.Text)
		case t.picture == "":
			return nil, llm.NoImages(i)
		case m.Role != "user":
			return nil, rejected(i, "only messages of the user may have images")
		default:
			at = append(at, bytes)
		}
	}
	return at, nil
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
		add(m.text[at:next])
		list, at = append(list, jinja.Map(new(jinja.Dict).Set("type", jinja.Trusted("image")))), next
	}
	add(m.text[at:])
	return jinja.List(list...)
}

// imagesOf returns the images of a chat.
func imagesOf(messages []llm.Message) (images []*llm.Image) {
	for _, m := range messages {
		for _, p := range m.Parts {
			if p.Image != nil {
				images = append(images, p.Image)
			}
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
