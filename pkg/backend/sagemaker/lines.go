package sagemaker

import (
	"bytes"
	"iter"

	"glossa/pkg/backend/remote"
	"glossa/pkg/llm"
)

const maxLine = 16 << 20 // bytes

// lines joins the parts of a stream, which are cut anywhere, and splits them at line
// ends. The last line needs no end. It skips blank lines and the comments of
// server-sent events, which keep connections open.
func lines(parts iter.Seq2[[]byte, error]) iter.Seq2[remote.Payload, error] {
	return func(yield func(remote.Payload, error) bool) {
		var rest []byte // incomplete line
		for part, err := range parts {
			if err != nil {
				yield(remote.Payload{}, err)
				return
			}
			for {
				end := bytes.IndexByte(part, '\n')
				if end < 0 {
					break
				}
				if line := append(rest, part[:end]...); !yieldLine(line, yield) {
					return
				}
				rest, part = nil, part[end+1:]
			}
			if rest = append(rest, part...); len(rest) > maxLine {
				yield(remote.Payload{}, llm.Errorf(llm.Upstream, "the model's answer has a line that is too long"))
				return
			}
		}
		yieldLine(rest, yield)
	}
}

// yieldLine yields a line unless it is blank or a comment.
func yieldLine(line []byte, yield func(remote.Payload, error) bool) bool {
	line = bytes.TrimSuffix(line, []byte("\r"))
	if len(bytes.TrimSpace(line)) == 0 || line[0] == ':' {
		return true
	}
	return yield(remote.Payload{Body: line}, nil)
}
