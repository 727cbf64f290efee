package repl

// prompt asks for a line.
const prompt = "> "

// An input is where lines come from.
type input interface {
	Line(prompt string) (string, error)
}

// A line is one line of input, or the error that came instead.
type line struct {
	text string
	err  error
}

// A prompter reads lines in a goroutine, because reading a terminal cannot be
// interrupted. The goroutine ends with its line.
type prompter struct {
	in      input
	lines   chan line
	reading bool
}

func newPrompter(in input) *prompter { return &prompter{in: in, lines: make(chan line, 1)} }

// next asks for a line, unless one was asked for and not yet received, and returns the
// channel on which it comes.
func (p *prompter) next() <-chan line {
	if !p.reading {
		p.reading = true
		go func() {
			text, err := p.in.Line(prompt)
			p.lines <- line{text, err}
		}()
	}
	return p.lines
}
