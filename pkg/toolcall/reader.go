package toolcall

import "strings"

// A Piece is what a chunk of text adds to an answer: text, then pieces of calls.
type Piece struct {
	Text  string
	Calls []Call
}

// A Call is a call, or the next piece of one.
type Call struct {
	Index     int
	Name      string // of a call's first piece
	Arguments string // JSON
}

// A Reader separates calls from text, however the text is cut into chunks. It emits a name as
// soon as it is complete, arguments as they arrive, and text as soon as it cannot be part of
// a call; white space before a call that follows text is part of neither. If text deviates
// from the syntax, the rest of it is text, and a call that has begun stays incomplete.
type Reader struct {
	syntax *Syntax
	tagged func(tool, parameter string) bool // see [Strings]

	out   Piece
	back  string // what was read before a name: text, if none follows
	held  string // read but not emitted: it may belong to a call
	stage stage
	count int  // calls begun
	head  Head // of the call that begins
	name  string
	args  argumentReader
}

// A stage is the next part of an answer.
type stage uint8

const (
	inText      stage = iota // text, and perhaps calls after it
	opening                  // a head of the first call, or Text: the first bytes of the answer
	inName                   // a name and Middle
	inArguments              // the arguments
	ending                   // End
	afterCall                // Between and Call, or Close
	afterCalls               // the rest is text
)

// NewReader returns a reader of answers in a syntax. written reports whether the value of a
// tool's parameter is a string that a [Tagged] syntax writes as it is.
func NewReader(s *Syntax, written func(tool, parameter string) bool) *Reader {
	r := &Reader{syntax: s, tagged: written}
	if !s.Anywhere {
		r.stage = opening
	}
	return r
}

// Push reads the next chunk and returns what it adds. Of the last chunk, nothing is held.
func (r *Reader) Push(text string, last bool) Piece {
	r.out = Piece{}
	r.held += text
	for r.step() {
	}
	if last && r.count == 0 {
		r.giveUp() // no call has begun
	}
	return r.out
}

// step reads what it can of the held text. It reports whether there is more to do.
func (r *Reader) step() bool {
	if r.held == "" && r.stage != inArguments {
		return false
	}
	switch r.stage {
	case inText:
		return r.text()
	case opening:
		return r.open()
	case inName:
		return r.readName()
	case inArguments:
		return r.arguments()
	case ending:
		return r.expect([]string{r.syntax.End}, func(int) { r.stage = afterCall })
	case afterCall:
		return r.next()
	}
	return r.giveUp()
}

// giveUp emits what is held as text, and everything after it.
func (r *Reader) giveUp() bool {
	r.out.Text += r.back + r.held
	r.stage, r.back, r.held = afterCalls, "", ""
	return false
}

// text emits text up to the first trigger.
func (r *Reader) text() bool {
	if at := strings.Index(r.held, r.syntax.Trigger); at >= 0 {
		r.out.Text += trim(r.held[:at])
		r.held, r.stage = r.held[at:], opening
		return true
	}
	keep := ends(r.held, r.syntax.Trigger)
	n := len(trim(r.held[:len(r.held)-keep]))
	r.out.Text += r.held[:n]
	r.held = r.held[n:]
	return false
}

// trim removes white space at the end of a text.
func trim(text string) string { return strings.TrimRight(text, " \t\r\n") }

// ends returns the length of the longest end of text that begins a mark but is not all of it.
func ends(text, mark string) int {
	for n := min(len(text), len(mark)-1); n > 0; n-- {
		if strings.HasSuffix(text, mark[:n]) {
			return n
		}
	}
	return 0
}

// expect reads the longest of some texts and calls found with its number.
func (r *Reader) expect(texts []string, found func(i int)) bool {
	longest := -1
	for i, text := range texts {
		switch {
		case !strings.HasPrefix(r.held, text):
			if strings.HasPrefix(text, r.held) {
				return false // more may come
			}
		case longest < 0 || len(text) > len(texts[longest]):
			longest = i
		}
	}
	if longest < 0 {
		return r.giveUp()
	}
	r.held = r.held[len(texts[longest]):]
	found(longest)
	return true
}

// open reads what begins the first call, or an answer that is text.
func (r *Reader) open() bool {
	heads := r.syntax.Heads()
	var texts []string
	for _, head := range heads {
		texts = append(texts, head.Call)
	}
	if r.syntax.Text != "" {
		texts = append(texts, r.syntax.Text)
	}
	return r.expect(texts, func(i int) {
		if i == len(heads) {
			r.stage = afterCalls
			return
		}
		r.stage, r.head, r.back = inName, heads[i], heads[i].Call
	})
}

// readName reads a name and Middle.
func (r *Reader) readName() bool {
	n := 0
	for n < len(r.held) && IsName(r.held[n]) {
		n++
	}
	middle := r.head.Middle
	rest := r.held[n:]
	switch {
	case rest == "" && n > 0: // the name may go on
		return false
	case strings.HasPrefix(rest, middle) && n > 0:
		r.begin(r.held[:n])
		r.held = rest[len(middle):]
		return true
	case strings.HasPrefix(middle, rest) && (n > 0 || rest == ""):
		return false
	}
	return r.giveUp()
}

// begin begins a call.
func (r *Reader) begin(name string) {
	r.out.Calls = append(r.out.Calls, Call{Index: r.count, Name: name})
	r.count++
	r.name, r.stage, r.back, r.args = name, inArguments, "", argumentReader{}
}

// emit adds to the arguments of the call that has begun last.
func (r *Reader) emit(arguments string) {
	if arguments == "" {
		return
	}
	if last := len(r.out.Calls) - 1; last >= 0 && r.out.Calls[last].Index == r.count-1 {
		r.out.Calls[last].Arguments += arguments
		return
	}
	r.out.Calls = append(r.out.Calls, Call{Index: r.count - 1, Arguments: arguments})
}

// next reads what follows a call.
func (r *Reader) next() bool {
	another := r.syntax.Between + r.syntax.Call
	texts := []string{another, r.syntax.Close}
	if r.syntax.Close == "" {
		texts = texts[:1]
	}
	return r.expect(texts, func(i int) {
		r.stage, r.head, r.back = inName, Head{another, r.syntax.Middle}, another
		if i == 1 {
			r.stage, r.back = afterCalls, ""
		}
	})
}
