package batch

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"unicode/utf8"

	"glossa/pkg/internal/osfile"
)

// A plan divides the input into parts. It is made once.
type plan struct {
	Parts    [][]span  `json:"parts"`
	Broken   []Problem `json:"broken,omitempty"`   // lines that cannot run
	Problems []Problem `json:"problems,omitempty"` // why the batch fails as a whole
}

// A span is the place of a line in the input, in bytes.
type span struct {
	Line   int   `json:"l"` // from 1
	Offset int64 `json:"o"`
	Bytes  int64 `json:"n"`
}

func (p *plan) total() int {
	n := len(p.Broken)
	for _, part := range p.Parts {
		n += len(part)
	}
	return n
}

// plan reads the input.
func (b *Batches) plan(ctx context.Context, owner string, o Order) (*plan, error) {
	r, err := b.cfg.Store.Open(ctx, room(owner)+"content/"+o.Input, 0, -1)
	if errors.Is(err, ErrNotFound) {
		return &plan{Problems: []Problem{{Code: "input_deleted", Message: "the input file was deleted", Param: "input_file_id"}}}, nil
	}
	if err != nil {
		return nil, err
	}
	defer r.Close()
	s := &scan{cfg: &b.cfg, endpoint: o.Endpoint, seen: map[[16]byte]int{}}
	in := bufio.NewReaderSize(r, 64<<10)
	for {
		text, n, err := s.read(in)
		if err != nil && err != io.EOF { //nolint:errorlint // bufio returns it unwrapped
			return nil, err
		}
		if n > 0 {
			s.add(text, n)
		}
		if err != nil || len(s.p.Problems) > 0 {
			break
		}
	}
	if s.p.total() == 0 && len(s.p.Problems) == 0 {
		s.p.Problems = []Problem{{Code: "empty_file", Message: "the input file has no lines", Param: "input_file_id"}}
	}
	return &s.p, nil
}

// A scan makes a plan line by line.
type scan struct {
	p        plan
	cfg      *Config
	endpoint string
	seen     map[[16]byte]int // the line of each custom_id, by its hash
	line     int
	offset   int64
	bytes    int64 // of the last part
}

// read reads a line of n bytes, and of its text no more than a line may have.
func (s *scan) read(in *bufio.Reader) (text []byte, n int64, err error) {
	for {
		piece, err := in.ReadSlice('\n')
		n += int64(len(piece))
		if n <= int64(s.cfg.MaxLine)+1 { // the newline is not counted
			text = append(text, piece...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return text, n, err
		}
	}
}

// partBytes is the size at which a part is full, in bytes.
const partBytes = 8 << 20

func (s *scan) add(text []byte, n int64) {
	at := span{Line: s.line + 1, Offset: s.offset, Bytes: n}
	s.line, s.offset = s.line+1, s.offset+n
	if n <= int64(s.cfg.MaxLine)+1 && len(bytes.TrimSpace(text)) == 0 {
		return
	}
	if s.p.total() == s.cfg.MaxLines {
		s.p = plan{Problems: []Problem{{Code: "too_many_requests", Message: fmt.Sprintf("the input file has more than %d requests", s.cfg.MaxLines), Param: "input_file_id"}}}
		return
	}
	if problem := s.check(text, n); problem != nil {
		problem.Line = at.Line
		s.p.Broken = append(s.p.Broken, *problem)
		return
	}
	last := len(s.p.Parts) - 1
	if last < 0 || len(s.p.Parts[last]) == s.cfg.PartLines || s.bytes+n > partBytes {
		s.p.Parts, s.bytes = append(s.p.Parts, nil), 0
		last++
	}
	s.p.Parts[last], s.bytes = append(s.p.Parts[last], at), s.bytes+n
}

// maxCustomID is the longest custom_id, in bytes.
const maxCustomID = 512

// check returns why a line cannot run, nil if it can.
func (s *scan) check(text []byte, n int64) *Problem {
	if n > int64(s.cfg.MaxLine)+1 {
		return &Problem{Code: "line_too_long", Message: fmt.Sprintf("the line has more than %d bytes", s.cfg.MaxLine)}
	}
	if !utf8.Valid(text) {
		return &Problem{Code: "invalid_json_line", Message: "the line is not valid UTF-8"}
	}
	line, err := parse(text)
	if err != nil {
		return &Problem{Code: "invalid_json_line", Message: "the line is not a JSON object with the keys custom_id, method, url and body"}
	}
	bad := func(param, format string, args ...any) *Problem {
		id := line.CustomID
		if len(id) > maxCustomID {
			id = ""
		}
		return &Problem{ID: id, Code: "invalid_request", Message: fmt.Sprintf(format, args...), Param: param}
	}
	if key, problem := checkKeys(text); problem != "" {
		return bad(key, "%s", problem)
	}
	var body struct {
		Stream json.RawMessage `json:"stream"`
	}
	switch {
	case line.CustomID == "":
		return bad("custom_id", "custom_id must be a string that is not empty")
	case len(line.CustomID) > maxCustomID:
		return bad("custom_id", "custom_id must have at most %d bytes", maxCustomID)
	case line.Method != "POST":
		return bad("method", "method must be POST")
	case line.URL != s.endpoint:
		return bad("url", "url must be %s, the endpoint of the batch", s.endpoint)
	case !bytes.HasPrefix(bytes.TrimSpace(line.Body), []byte("{")) || json.Unmarshal(line.Body, &body) != nil:
		return bad("body", "body must be an object")
	case string(body.Stream) == "true":
		return bad("body.stream", "the answers of a batch are not streamed")
	}
	hash := [16]byte(hashOf(line.CustomID))
	if first := s.seen[hash]; first > 0 {
		problem := bad("custom_id", "custom_id is also that of line %d", first)
		problem.Code = "duplicate_custom_id"
		return problem
	}
	s.seen[hash] = s.line
	return nil
}

func hashOf(s string) []byte {
	sum := sha256.Sum256([]byte(s))
	return sum[:16]
}

// parse reads a line. The first one may have a byte order mark.
func parse(text []byte) (line Line, err error) {
	return line, json.Unmarshal(osfile.Unmarked(text), &line)
}

// maxKey bounds an unknown key in a message, in bytes.
const maxKey = 80

// checkKeys returns the first key that is wrong in a line that parse accepted, and why. encoding/json ignores
// the case of keys, all but the last of equal ones, and unknown ones: a parameter outside of the body would
// be lost.
func checkKeys(text []byte) (key, problem string) {
	seen := map[string]bool{}
	for key := range keys(text) {
		switch key {
		case "custom_id", "method", "url", "body":
		default:
			key = strings.ToValidUTF8(key[:min(len(key), maxKey)], "")
			return key, fmt.Sprintf("unknown key %q: a line has the keys custom_id, method, url and body, and body has the parameters of the request", key)
		}
		if seen[key] {
			return key, key + " appears twice"
		}
		seen[key] = true
	}
	return "", ""
}

// keys returns the keys of an object in their order. The text is valid JSON, so nothing else is decoded.
func keys(text []byte) iter.Seq[string] {
	return func(yield func(string) bool) {
		depth, next := 0, false // next: the next string is a key of the object
		for i := 0; i < len(text); i++ {
			switch text[i] {
			case '{', '[':
				depth++
				next = depth == 1
			case '}', ']':
				depth--
			case ',':
				next = depth == 1
			case '"':
				from := i
				for i++; text[i] != '"'; i++ {
					if text[i] == '\\' {
						i++ // the next one is escaped
					}
				}
				if !next {
					continue
				}
				next = false
				var key string
				if json.Unmarshal(text[from:i+1], &key) != nil || !yield(key) {
					return
				}
			}
		}
	}
}
