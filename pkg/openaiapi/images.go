package openaiapi

import (
	"encoding/base64"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"

	"glossa/pkg/llm"
	"glossa/pkg/wire"
)

// Limits of images. Source: Amazon Bedrock API Reference, Message: at most 20 images, each
// of 3.75 MB.
const (
	MaxImages = 20 // of a request
	MaxImage  = 3_750_000
)

// imageTypes are the media types that all providers read. Models in the process read the first two.
var imageTypes = []string{"image/jpeg", "image/png", "image/gif", "image/webp"}

// Base64 decodes the image in base64 at path.
func Base64(path, data string) (*llm.Image, error) {
	head, err := base64.StdEncoding.DecodeString(data[:min(len(data)/4*4, 684)]) // what tells the type
	if err != nil {
		return nil, wire.Invalid(path, "the image is not valid base64")
	}
	return Image(path, "data:"+http.DetectContentType(head)+";base64,"+data)
}

// Image decodes the image of a URL at path, which must be in the URL itself.
func Image(path, url string) (*llm.Image, error) {
	scheme, rest, _ := strings.Cut(url, ":")
	switch scheme = strings.ToLower(scheme); {
	case scheme == "http" || scheme == "https":
		return nil, wire.Invalid(path, "the server does not fetch images: send the image itself, as data:image/png;base64,...")
	case scheme != "data":
		return nil, wire.Invalid(path, "must be a data URL: data:image/png;base64,...")
	}
	kind, data, _ := strings.Cut(rest, ",")
	kind, isBase64 := strings.CutSuffix(strings.ToLower(kind), ";base64")
	if kind == "image/jpg" {
		kind = "image/jpeg" // its common misspelling
	}
	switch {
	case !isBase64:
		return nil, wire.Invalid(path, "must be base64: data:image/png;base64,...")
	case !slices.Contains(imageTypes, kind):
		return nil, wire.Invalid(path, "must be image/jpeg or image/png, or for remote models image/gif or image/webp, not %.40q", kind)
	case base64.StdEncoding.DecodedLen(len(data)) > MaxImage+2: // of which padding may be 2
		return nil, wire.Invalid(path, "the image must not exceed %d bytes", MaxImage)
	}
	b, err := base64.StdEncoding.DecodeString(data)
	switch got := http.DetectContentType(b); {
	case err != nil || len(b) == 0:
		return nil, wire.Invalid(path, "the image is not valid base64")
	case len(b) > MaxImage:
		return nil, wire.Invalid(path, "the image must not exceed %d bytes", MaxImage)
	case got != kind:
		return nil, wire.Invalid(path, "the data is not of the type %s", kind)
	}
	return &llm.Image{Type: kind, Data: b}, nil
}

// CheckImages returns an error if a request, whose images come under the key, has too many of them, or
// has any and the model reads text only.
func CheckImages(key string, model *llm.ModelInfo, req *llm.Request) error {
	n := 0
	for in, i := range places(req.Prompts[0]) {
		if !model.Images {
			e := llm.NoImages(in, i)
			e.Message = fmt.Sprintf("the model %q reads text only, not images", model.Name)
			return e
		}
		if n++; n > MaxImages {
			return wire.Invalid(key, "at most %d images are allowed", MaxImages)
		}
	}
	return nil
}

// places yields for each image of a prompt where it is, as [llm.NoImages] says it.
func places(p llm.Prompt) iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		for i, part := range p.Parts {
			if part.Image != nil && !yield("prompt", i) {
				return
			}
		}
		for i, m := range p.Messages {
			for _, part := range m.Parts {
				if part.Image != nil && !yield("messages", i) {
					return
				}
			}
		}
	}
}
