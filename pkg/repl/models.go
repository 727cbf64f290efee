package repl

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"glossa/pkg/llm"
	"glossa/pkg/spelling"
)

// cannotChat returns why a model cannot chat, "" if it can.
func cannotChat(info llm.ModelInfo) string {
	switch {
	case info.Task == llm.TaskEmbed:
		return "embeds texts"
	case info.Task == llm.TaskRerank:
		return "ranks documents"
	case info.Task == llm.TaskClassify:
		return "classifies texts"
	case info.InProcess && !info.Streaming:
		return "translates" // all other models in the process stream
	}
	return ""
}

// chatModels returns the names of the models that can chat.
func (s *session) chatModels(ctx context.Context) (names []string) {
	return Chatting(ctx, s.Models)
}

// Chatting returns the names of the models that can chat.
func Chatting(ctx context.Context, models llm.Models) (names []string) {
	infos, err := models.List(ctx)
	if err != nil {
		return nil // the caller has nothing to offer
	}
	for _, info := range infos {
		if cannotChat(info) == "" {
			names = append(names, info.Name)
		}
	}
	return names
}

// open switches to another model and keeps the conversation. The name "" means the first
// model that can chat.
func (s *session) open(ctx context.Context, name string) error {
	if name == "" {
		if names := s.chatModels(ctx); len(names) > 0 {
			name = names[0]
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	model, err := s.Models.Open(ctx, name)
	if err != nil {
		cancel()
		return s.unknown(ctx, name, err)
	}
	why := cannotChat(model.ModelInfo)
	if _, err := llm.As[llm.Translator](model); err == nil {
		why = "translates"
	}
	if why != "" {
		cancel()
		return fmt.Errorf("%s %s: it cannot chat%s", model.Name, why, s.instead(ctx))
	}
	if s.release != nil {
		s.release()
	}
	s.model, s.release = model, cancel
	return nil
}

// unknown adds the names that exist to an error that says that name does not.
func (s *session) unknown(ctx context.Context, name string, err error) error {
	if e, ok := errors.AsType[*llm.Error](err); !ok || e.Code != llm.NotFound {
		return err
	}
	if hint := FileHint(name); hint != "" {
		return fmt.Errorf("there is no model %q: %s", name, hint)
	}
	names := s.chatModels(context.WithoutCancel(ctx))
	if near := nearest(name, names); near != "" {
		return fmt.Errorf("there is no model %q: did you mean %s?", name, near)
	}
	return fmt.Errorf("there is no model %q%s", name, s.instead(ctx))
}

// FileHint says how to name the model in a local file or directory. It returns "" if name is not
// like a path.
func FileHint(name string) string {
	stem, file := strings.CutSuffix(name, ".gguf")
	if !file {
		stem, file = strings.CutSuffix(name, ".safetensors")
	}
	slashed := filepath.ToSlash(name)
	if !file && !filepath.IsAbs(name) && !strings.HasPrefix(slashed, "./") && !strings.HasPrefix(slashed, "../") {
		return ""
	}
	if filepath.Base(name) == "model.safetensors" {
		stem = filepath.Dir(name) // of a model that is a directory
	}
	return fmt.Sprintf("a model in a file or directory is named by --checkpoints, the directory that holds it, and its name there: --checkpoints %s %s", filepath.Dir(stem), filepath.Base(stem))
}

// instead lists the models that can chat, as the end of an error.
func (s *session) instead(ctx context.Context) string {
	const most = 8
	names := s.chatModels(context.WithoutCancel(ctx))
	switch {
	case len(names) == 0:
		return ""
	case len(names) > most:
		return fmt.Sprintf("; use %s or another of %d: /models or glossa models lists them", strings.Join(names[:most], ", "), len(names))
	}
	return "; use " + anyOf(names)
}

// anyOf joins names: "a", "a or b", "a, b or c".
func anyOf(names []string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// describe describes the open model.
func (s *session) describe() string {
	about := s.model.Name
	if s.model.Context > 0 {
		about += fmt.Sprintf(", context of %d tokens", s.model.Context)
	}
	if s.model.Run != nil {
		about += ": continues what you write, since it was not trained on conversations"
	}
	return about
}

// greet says which model answers.
func (s *session) greet() {
	s.note(s.describe())
	s.note("/help lists the commands, Ctrl-D leaves")
}

// listModels prints all models, with the reason why one cannot chat.
func (s *session) listModels(ctx context.Context) error {
	infos, err := s.Models.List(ctx)
	if err != nil {
		return err
	}
	for _, info := range infos {
		mark, about := " ", info.Description
		if info.Name == s.model.Name {
			mark = "*"
		}
		if why := cannotChat(info); why != "" {
			about = why + ", cannot chat"
		}
		s.remark(strings.TrimRight(fmt.Sprintf("%s %-24s %s", mark, info.Name, about), " "))
	}
	return nil
}

// nearest returns the name that word probably means: one that it begins, or that it is
// like. It returns "" if there is none.
func nearest(word string, names []string) (near string) {
	word = strings.ToLower(word)
	for _, name := range names {
		if len(word) > 1 && strings.HasPrefix(strings.ToLower(name), word) {
			return name
		}
	}
	best := max(1, len(word)/3) + 1
	for _, name := range names {
		if off := spelling.Distance(word, strings.ToLower(name)); off < best {
			near, best = name, off
		}
	}
	return near
}
