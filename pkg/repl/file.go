package repl

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"glossa/pkg/llm"
)

// Bounds of saved conversations.
const (
	savedVersion = 1
	maxSaved     = 16 << 20 // bytes
)

// A saved is a conversation in a file. Its messages have the form of OpenAI's chat
// completions.
type saved struct {
	Version    int            `json:"glossa_chat"` // of this format
	Model      string         `json:"model"`
	Parameters map[string]any `json:"parameters,omitempty"`
	Messages   []message      `json:"messages"`
}

// A message is one message of a saved conversation.
type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// saved returns the conversation for a file.
func (s *session) saved() *saved {
	v := &saved{Version: savedVersion, Model: s.model.Name, Parameters: map[string]any{}, Messages: []message{}}
	for _, row := range params() {
		if value := row.get(&s.Params); value != nil {
			v.Parameters[row.name] = value
		}
	}
	if s.System != "" {
		v.Messages = append(v.Messages, message{"system", s.System})
	}
	for _, t := range s.turns {
		v.Messages = append(v.Messages, message{"user", t.question}, message{"assistant", t.answer})
	}
	return v
}

// save writes the conversation to a file, which may hold an earlier one but nothing else.
func (s *session) save(_ context.Context, path string) error {
	if path == "" {
		s.note("/save needs a file: /save FILE")
		return nil
	}
	if err := s.write(expand(path)); err != nil {
		s.note(err.Error())
		return nil
	}
	s.note(fmt.Sprintf("saved %d %s to %s", len(s.turns), plural("turn", len(s.turns)), path))
	return nil
}

// write replaces the file at path as a whole.
func (s *session) write(path string) (err error) {
	if _, err := readSaved(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s exists and is not a saved conversation: choose another name", path)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(s.saved()); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".chat-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(b.Bytes())
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// load continues the conversation in a file, with its model and its parameters. It changes
// nothing unless all of the file is valid.
func (s *session) load(ctx context.Context, path string) error {
	if path == "" {
		s.note("/load needs a file: /load FILE")
		return nil
	}
	v, err := readSaved(expand(path))
	if err != nil {
		s.note(err.Error())
		return nil
	}
	p, err := v.params()
	if err != nil {
		s.note(fmt.Sprintf("%s: %v", path, err))
		return nil
	}
	system, turns, err := v.turns()
	if err != nil {
		s.note(fmt.Sprintf("%s: %v", path, err))
		return nil
	}
	s.Params, s.System, s.turns = p, system, turns
	if v.Model != s.model.Name {
		if err := s.open(ctx, v.Model); err != nil {
			s.note(fmt.Sprintf("%v; continuing with %s", err, s.model.Name))
		}
	}
	s.note(fmt.Sprintf("loaded %d %s; %s", len(turns), plural("turn", len(turns)), s.describe()))
	if len(turns) > 0 {
		last := turns[len(turns)-1]
		s.remark(prompt + last.question + "\n" + last.answer)
	}
	return nil
}

// readSaved reads a file and checks its form.
func readSaved(path string) (*saved, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a file", path)
	case info.Size() > maxSaved:
		return nil, fmt.Errorf("%s is larger than %d MiB", path, maxSaved>>20)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var version struct {
		Version *int `json:"glossa_chat"`
	}
	if err := json.Unmarshal(b, &version); err != nil || version.Version == nil {
		return nil, fmt.Errorf("%s is not a conversation that /save wrote", path)
	}
	if *version.Version != savedVersion {
		return nil, fmt.Errorf("%s has version %d of the format, this program reads version %d", path, *version.Version, savedVersion)
	}
	var v saved
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("%s: %s", path, strings.TrimPrefix(err.Error(), "json: "))
	}
	return &v, nil
}

// params returns the parameters of the file.
func (v *saved) params() (p llm.Params, err error) {
	for name, value := range v.Parameters {
		b, err := json.Marshal(value)
		if err != nil {
			return p, err
		}
		if err := Set(&p, name+"="+string(b)); err != nil {
			return p, err
		}
	}
	return p, nil
}

// turns returns the conversation of the file: perhaps a system message, then questions and
// answers in turn.
func (v *saved) turns() (system string, turns []turn, err error) {
	rest := v.Messages
	if len(rest) > 0 && rest[0].Role == "system" {
		system, rest = rest[0].Content, rest[1:]
	}
	for i, m := range rest {
		want := [...]string{"user", "assistant"}[i%2]
		if m.Role != want {
			return "", nil, fmt.Errorf("messages[%d]: the role must be %s, not %q", i+len(v.Messages)-len(rest), want, m.Role)
		}
		if want == "user" {
			turns = append(turns, turn{question: m.Content})
		} else {
			turns[len(turns)-1].answer = m.Content
		}
	}
	if len(rest)%2 == 1 {
		return "", nil, errors.New("the last question has no answer")
	}
	return system, turns, nil
}
