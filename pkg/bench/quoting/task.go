package quoting

import (
	_ "embed"
	"regexp"
	"strings"

	"glossa/pkg/tokenizer"
)

// A Task is a prompt and the answer of a model that follows it.
type Task struct{ Name, Prompt, Answer string }

//go:embed tasks.txt
var tasks string

// Tasks returns tasks on texts of this repository, from answers that only quote to one that
// does not.
func Tasks() (list []Task) {
	for part := range strings.SplitSeq(tasks, "\n=== ") {
		name, rest, _ := strings.Cut(strings.TrimPrefix(part, "=== "), "\n")
		prompt, answer, _ := strings.Cut(rest, "\n--- answer\n")
		list = append(list, Task{name, prompt + "\n", strings.TrimSuffix(answer, "\n")})
	}
	return list
}

// pieces is a tokenizer for texts of a size like that of byte-level vocabularies: letters in
// groups of at most six, with the space before them.
type pieces struct {
	size  int
	ids   map[string]int
	texts []string
}

func newPieces(size int) *pieces { return &pieces{size: size, ids: map[string]int{}} }

var piece = regexp.MustCompile(` ?[A-Za-z]{1,6}|[0-9]{1,3}|\s+|[^A-Za-z0-9\s]{1,2}`)

// Encode implements tokenizer.Tokenizer.
func (p *pieces) Encode(text string) (ids []int) {
	for _, s := range piece.FindAllString(text, -1) {
		id, ok := p.ids[s]
		if !ok {
			id = len(p.texts)
			p.ids[s], p.texts = id, append(p.texts, s)
		}
		ids = append(ids, id)
	}
	return ids
}

// EncodeSpecial implements tokenizer.Tokenizer.
func (p *pieces) EncodeSpecial(text string) []int { return p.Encode(text) }

// Size implements tokenizer.Tokenizer.
func (p *pieces) Size() int { return p.size }

// Piece implements tokenizer.Tokenizer.
func (p *pieces) Piece(id int) string {
	if id < 0 || id >= len(p.texts) {
		return ""
	}
	return p.texts[id]
}

// NewDecoder implements tokenizer.Tokenizer.
func (p *pieces) NewDecoder() tokenizer.Decoder { return p }

// Next implements tokenizer.Decoder.
func (p *pieces) Next(id int) string { return p.Piece(id) }

// Flush implements tokenizer.Decoder.
func (p *pieces) Flush() string { return "" }
