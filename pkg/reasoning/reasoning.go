// Package reasoning knows the marks that families of models write around their reasoning, and
// separates the stream of a text into reasoning and answer. It knows neither prompts nor
// grammars nor tokens.
//
// Start with [Detect] and [NewReader].
//
// Sources: the chat templates that models are published with; the parsers of vLLM 0.26 and
// ollama of 2026 for what models write.
package reasoning

import "strings"

// Marks are the texts around the reasoning of an answer:
//
//	Open, the reasoning, Close, Answer, the answer
//
// with any white space between them.
type Marks struct {
	Open, Close string

	// Answer begins the answer after Close. It may be missing, as before a call; "" never
	// comes.
	Answer string
	// Header begins calls after Close, and texts where there are tools: the beginning of Answer, or
	// all of it.
	Header string
	// End ends an answer that Answer began; it may be missing.
	End string
	// Label begins the text of an answer after reasoning, of which it is not part; it may be missing.
	Label string
	// Calls begins calls within an answer, which have neither mark; "" never comes.
	Calls string
	// Direct begins an answer without reasoning; it may be missing.
	Direct string
}

// families returns the marks in the order in which Detect looks for them: a template that has
// a later mark may also have an earlier one only if the model writes the earlier.
func families() []Marks {
	return []Marks{
		{
			Open: "<|channel|>analysis<|message|>", Close: "<|end|>", Header: "<|start|>assistant",
			Answer: "<|start|>assistant<|channel|>final<|message|>", Direct: "<|channel|>final<|message|>",
		}, // GPT-OSS
		{Open: "<|channel>thought", Close: "<channel|>"},                               // Gemma 4
		{Open: "<|START_THINKING|>", Close: "<|END_THINKING|>"},                        // Command A
		{Open: "◁think▷", Close: "◁/think▷"},                                           // Kimi
		{Open: "<seed:think>", Close: "</seed:think>"},                                 // Seed-OSS
		{Open: "[THINK]", Close: "[/THINK]"},                                           // Magistral, Ministral 3
		{Open: "<think>", Close: "</think>", Answer: "<response>", End: "</response>"}, // Qwen3, DeepSeek R1, GLM, SmolLM3, Granite 3.3
		{Open: "Here is my thought process:", Close: "Here is my response:"},           // Granite 3.2
	}
}

// Detect returns the marks that the model of a chat template writes. ok is false if the
// template has none of them.
func Detect(template string) (m Marks, ok bool) {
	for _, m := range families() {
		if m.Direct != "" {
			if strings.Contains(template, "<|channel|>") && strings.Contains(template, "analysis") {
				return m, true
			}
			continue
		}
		// A template that only cuts old reasoning off names Close alone.
		if strings.Contains(template, m.Open) || strings.Contains(template, m.Close) {
			if m.Answer != "" && !strings.Contains(template, m.Answer) {
				m.Answer, m.End = "", ""
				if strings.Contains(template, "<|extra_4|>") { // HunYuan, whose template leaves out what the model writes
					m.Answer, m.End, m.Header = "<answer>", "</answer>", "<answer>"
					if label := "助手："; strings.Contains(template, label) { // "assistant:", which the template writes itself
						m.Label = label
					}
				}
			}
			return m, true
		}
	}
	return Marks{}, false
}

// A State is where a text is.
type State uint8

const (
	// Before has had nothing but white space and the beginning of a mark.
	Before State = iota
	// Inside is the reasoning.
	Inside
	// Between is after the reasoning, before the first character of the answer.
	Between
	// Answer is the answer, or a text that has no reasoning.
	Answer
)

// After returns the state of an answer to a prompt: a prompt that ends with Open makes the
// answer begin inside, one that ends with Close turns reasoning off.
func (m *Marks) After(prompt string) State {
	prompt = trimRight(prompt)
	switch {
	case strings.HasSuffix(prompt, m.Close):
		return Between
	case strings.HasSuffix(prompt, m.Open):
		return Inside
	}
	return Before
}

// A Piece is what a chunk of text adds.
type Piece struct{ Reasoning, Text string }

// A Reader separates a text, however it is cut into chunks. It emits text as soon as it cannot
// be part of a mark. White space around reasoning is dropped; that of an answer without
// reasoning is kept.
type Reader struct {
	marks  *Marks
	state  State
	framed bool   // the answer began with the mark Answer
	trim   bool   // white space is dropped: nothing else came after Answer, or after End
	label  bool   // Label may come
	begun  bool   // the reasoning has had a character that is not white space
	held   string // read but not emitted
}

// NewReader returns a reader of an answer that begins in a state.
func NewReader(m *Marks, begin State) *Reader { return &Reader{marks: m, state: begin} }

// State returns the state after what was pushed.
func (r *Reader) State() State { return r.state }

// Push reads the next chunk and returns what it adds.
func (r *Reader) Push(text string) (out Piece) {
	r.held += text
	for r.step(&out) {
	}
	return out
}

// End ends the text and returns what was held back.
func (r *Reader) End() (out Piece) {
	switch r.state {
	case Inside:
		if text := trimRight(r.held); text != "" {
			out.Reasoning = text
		}
	case Before, Answer:
		out.Text = r.held
	case Between:
		out.Text = trimLeft(r.held)
	}
	r.held = ""
	return out
}

// Stop makes the rest of the text the answer, without another look for marks, and returns what
// was held back.
func (r *Reader) Stop() (out Piece) {
	out = r.End()
	r.state, r.framed, r.trim, r.label = Answer, false, false, false
	return out
}

// Closes reports whether text, read next, would end the reasoning and begin the answer at
// once.
func (r *Reader) Closes(text string) bool {
	if r.state != Inside {
		return false
	}
	all := r.held + text
	at := strings.Index(all, r.marks.Close)
	return at >= 0 && trimLeft(all[at+len(r.marks.Close):]) != ""
}

// step reads what it can of the held text. It reports whether there is more to do.
func (r *Reader) step(out *Piece) bool {
	switch r.state {
	case Before:
		return r.before(out)
	case Inside:
		return r.inside(out)
	case Between:
		return r.between(out)
	}
	return r.answer(out)
}

// answer emits the answer, without the mark that ends it.
func (r *Reader) answer(out *Piece) bool {
	end, label := r.marks.End, r.marks.Label
	if r.trim {
		r.held = trimLeft(r.held)
		r.trim = r.held == ""
	}
	if r.label && len(r.held) < len(label) && strings.HasPrefix(label, r.held) {
		return false
	}
	if r.label {
		r.held, r.label = strings.TrimPrefix(r.held, label), false
	}
	if !r.framed || end == "" {
		out.Text += r.held
		r.held = ""
		return false
	}
	at, calls := strings.Index(r.held, end), r.marks.Calls
	if call := strings.Index(r.held, calls); calls != "" && call >= 0 && (at < 0 || call < at) {
		r.framed = false
		return true
	}
	if at >= 0 {
		out.Text += trimRight(r.held[:at])
		r.held, r.framed, r.trim = r.held[at+len(end):], false, true
		return r.held != ""
	}
	n := len(trimRight(r.held[:len(r.held)-max(partial(r.held, end), partial(r.held, calls))]))
	out.Text += r.held[:n]
	r.held = r.held[n:]
	return false
}

// before looks for the mark that begins the text.
func (r *Reader) before(out *Piece) bool {
	text := trimLeft(r.held)
	for _, mark := range []string{r.marks.Open, r.marks.Direct} {
		switch {
		case mark == "":
		case strings.HasPrefix(text, mark):
			r.held, r.state = text[len(mark):], Inside
			if mark == r.marks.Direct {
				r.state = Between
			}
			return true
		case strings.HasPrefix(mark, text):
			return false // more may come
		}
	}
	r.state = Answer
	return true
}

// inside emits reasoning up to Close.
func (r *Reader) inside(out *Piece) bool {
	if !r.begun {
		r.held = trimLeft(r.held)
		r.begun = r.held != ""
	}
	if at := strings.Index(r.held, r.marks.Close); at >= 0 {
		out.Reasoning += trimRight(r.held[:at])
		r.held, r.state = r.held[at+len(r.marks.Close):], Between
		return true
	}
	n := len(trimRight(r.held[:len(r.held)-partial(r.held, r.marks.Close)]))
	out.Reasoning += r.held[:n]
	r.held = r.held[n:]
	return false
}

// between drops white space and Answer.
func (r *Reader) between(*Piece) bool {
	r.held = trimLeft(r.held)
	mark := r.marks.Answer
	switch {
	case r.held == "":
		return false
	case mark == "":
	case strings.HasPrefix(r.held, mark):
		r.held, r.framed, r.trim = r.held[len(mark):], true, true
	case strings.HasPrefix(mark, r.held):
		return false
	}
	r.state, r.label = Answer, true
	return true
}

// partial returns the length of the longest end of text that begins a mark but is not all of
// it.
func partial(text, mark string) int {
	for n := min(len(text), len(mark)-1); n > 0; n-- {
		if strings.HasSuffix(text, mark[:n]) {
			return n
		}
	}
	return 0
}

const space = " \t\r\n"

func trimLeft(text string) string  { return strings.TrimLeft(text, space) }
func trimRight(text string) string { return strings.TrimRight(text, space) }
