package jinja

import (
	"slices"
	"strings"
)

// A parser makes the tree of a template. It fails by panicking with a failure.
type parser struct {
	tokens []token
	next   int
	depth  int
	slots  map[string]int
	names  []string
	loads  map[string]int // how often a name was read: macros and loops ask what their bodies read
	loops  int            // loops around, within the macro
	soft   bool           // unknown filters and tests fail only when reached, as in Jinja inside of if
	scan   *scanner
}

// maxNesting bounds the depth of the tree, and with it the stack of an execution.
const maxNesting = 500

func (p *parser) fail(at int, message string) {
	panic(failure{fault: Syntax, at: at, message: message})
}

func (p *parser) unsupported(at int, message string) {
	panic(failure{fault: Unsupported, at: at, message: message})
}

func (p *parser) peek() token { return p.tokens[p.next] }

func (p *parser) take() token {
	t := p.tokens[p.next]
	if t.kind != tokenEnd {
		p.next++
	}
	return t
}

// deeper guards a recursive step; call the result when the step ends.
func (p *parser) deeper() func() {
	if p.depth++; p.depth > maxNesting {
		p.unsupported(p.peek().at, "the template is nested too deeply")
	}
	return func() { p.depth-- }
}

func (p *parser) isOp(op string) bool {
	t := p.peek()
	return t.kind == tokenOperator && t.text == op
}

func (p *parser) isName(name string) bool {
	t := p.peek()
	return t.kind == tokenName && t.text == name
}

func (p *parser) skipOp(op string) bool {
	if p.isOp(op) {
		p.next++
		return true
	}
	return false
}

func (p *parser) skipName(name string) bool {
	if p.isName(name) {
		p.next++
		return true
	}
	return false
}

// describe names a token in a message.
func describe(t token) string {
	switch t.kind {
	case tokenEnd:
		return "the end of the template"
	case tokenPrintEnd, tokenBlockEnd:
		return "the end of the tag"
	case tokenString:
		return "the string " + quote(t.text)
	case tokenData:
		return "text"
	}
	return quote(t.text)
}

func (p *parser) wantOp(op string) {
	if !p.skipOp(op) {
		p.fail(p.peek().at, "unexpected "+describe(p.peek())+", want "+quote(op))
	}
}

func (p *parser) wantName() token {
	t := p.peek()
	if t.kind != tokenName {
		p.fail(t.at, "unexpected "+describe(t)+", want a name")
	}
	return p.take()
}

func (p *parser) wantKind(kind tokenKind) {
	t := p.peek()
	if t.kind != kind {
		p.fail(t.at, "unexpected "+describe(t)+", want the end of the tag")
	}
	p.take()
}

// slot returns the number of a name.
func (p *parser) slot(name string) int {
	if n, ok := p.slots[name]; ok {
		return n
	}
	n := len(p.names)
	p.slots[name] = n
	p.names = append(p.names, name)
	return n
}

// body parses statements up to one of the ends, which it consumes, and returns the end's name.
// Without ends it parses to the end of the template.
func (p *parser) body(opener token, ends ...string) ([]stmt, string) {
	defer p.deeper()()
	var list []stmt
	for {
		t := p.take()
		switch t.kind {
		case tokenEnd:
			if len(ends) > 0 {
				p.fail(opener.at, "the block "+opener.text+" has no end; close it with {% "+ends[len(ends)-1]+" %}")
			}
			return list, ""
		case tokenData:
			list = append(list, &dataStmt{t.text})
		case tokenPrintBegin:
			list = append(list, &printStmt{t.at, []expr{p.tuple(true, nil)}})
			p.wantKind(tokenPrintEnd)
		case tokenBlockBegin:
			name := p.wantName()
			if slices.Contains(ends, name.text) {
				return list, name.text
			}
			list = append(list, p.statement(name, ends))
			p.wantKind(tokenBlockEnd)
		}
	}
}

// ended parses a body with one end.
func (p *parser) ended(opener token, end string) []stmt {
	list, _ := p.body(opener, end)
	return list
}

// hard parses a body in which unknown filters are errors.
func (p *parser) hard(f func()) {
	soft := p.soft
	p.soft = false
	f()
	p.soft = soft
}

// printStatement parses expressions with commas between them, which are printed one after the other.
func (p *parser) printStatement(name token) stmt {
	s := &printStmt{at: name.at}
	for p.peek().kind != tokenBlockEnd {
		if len(s.values) > 0 {
			p.wantOp(",")
		}
		s.values = append(s.values, p.expression())
	}
	return s
}

func (p *parser) statement(name token, ends []string) stmt {
	switch name.text {
	case "if":
		return p.ifStatement(name)
	case "for":
		return p.forStatement(name)
	case "set":
		return p.setStatement(name)
	case "macro":
		return p.macroStatement(name)
	case "call":
		return p.callStatement(name)
	case "filter":
		s := &filterBlock{at: name.at}
		s.filter = []filterCall{p.filterCall()}
		s.filter = append(s.filter, p.filterCalls()...)
		p.wantKind(tokenBlockEnd)
		p.scoped(func() { s.body = p.ended(name, "endfilter") })
		return s
	case "generation":
		p.wantKind(tokenBlockEnd)
		s := &generationStmt{}
		p.scoped(func() { s.body = p.ended(name, "endgeneration") })
		return s
	case "with":
		return p.withStatement(name)
	case "print":
		return p.printStatement(name)
	case "break", "continue":
		if p.loops == 0 {
			p.fail(name.at, quote(name.text)+" outside of a loop")
		}
		if name.text == "break" {
			return &jumpStmt{flowBreak}
		}
		return &jumpStmt{flowContinue}
	case "include", "import", "from", "extends", "block":
		p.unsupported(name.at, "{% "+name.text+" %} is not supported: a chat template is one file")
	case "autoescape", "trans", "do", "debug":
		p.unsupported(name.at, "{% "+name.text+" %} is not supported")
	}
	message := "unknown statement " + quote(name.text)
	if len(ends) > 0 {
		message += ", want {% " + strings.Join(ends, " %} or {% ") + " %} or a statement"
	}
	p.fail(name.at, message)
	return nil
}

// scoped parses what has its own scope.
func (p *parser) scoped(f func()) {
	p.scan.push()
	p.hard(f)
	p.scan.pop()
}

func (p *parser) ifStatement(name token) stmt {
	s := &ifStmt{}
	soft := p.soft
	p.soft = true
	var branches []map[string]bool
	for {
		s.tests = append(s.tests, p.tuple(false, nil))
		p.wantKind(tokenBlockEnd)
		p.scan.push()
		body, end := p.body(name, "elif", "else", "endif")
		branches = append(branches, p.scan.pop())
		s.bodies = append(s.bodies, body)
		if end == "else" {
			p.wantKind(tokenBlockEnd)
			p.scan.push()
			s.other = p.ended(name, "endif")
			p.scan.bindCommon(append(branches, p.scan.pop()))
		}
		if end != "elif" {
			break
		}
	}
	p.soft = soft
	return s
}

func (p *parser) forStatement(name token) stmt {
	s := &forStmt{at: name.at}
	p.scan.push()
	defer p.scan.pop()
	s.target = p.target(false)
	if !p.skipName("in") {
		p.fail(p.peek().at, "unexpected "+describe(p.peek())+", want 'in'")
	}
	p.scan.outside(func() { s.iter = p.tuple(false, []string{"recursive"}) })
	p.scan.bindTarget(p, s.target)
	p.hard(func() {
		if p.skipName("if") {
			s.test = p.expression()
		}
		s.recursive = p.skipName("recursive")
		p.wantKind(tokenBlockEnd)
		s.loop = p.slot("loop")
		p.scan.bind("loop")
		before := p.loads["loop"]
		p.loops++
		body, end := p.body(name, "else", "endfor")
		p.loops--
		s.body, s.usesLoop = body, p.loads["loop"] > before
		if end == "else" {
			p.wantKind(tokenBlockEnd)
			s.other = p.ended(name, "endfor")
		}
	})
	return s
}

func (p *parser) setStatement(name token) stmt {
	t := p.target(true)
	if p.skipOp("=") {
		s := &setStmt{target: t, value: p.tuple(true, nil)}
		p.scan.bindTarget(p, t)
		return s
	}
	s := &setBlock{target: t, filter: p.filterCalls()}
	p.wantKind(tokenBlockEnd)
	p.scoped(func() { s.body = p.ended(name, "endset") })
	p.scan.bindTarget(p, t)
	return s
}

func (p *parser) withStatement(name token) stmt {
	s := &withStmt{}
	p.scan.push()
	for p.peek().kind != tokenBlockEnd {
		if len(s.targets) > 0 {
			p.wantOp(",")
		}
		s.targets = append(s.targets, p.target(false))
		p.wantOp("=")
		s.values = append(s.values, p.expression())
	}
	p.take()
	for _, t := range s.targets {
		p.scan.bindTarget(p, t)
	}
	p.hard(func() { s.body = p.ended(name, "endwith") })
	p.scan.pop()
	return s
}

func (p *parser) macroStatement(name token) stmt {
	id := p.wantName()
	reserved(p, id)
	p.scan.bind(id.text)
	s := &macroStmt{name: p.slot(id.text)}
	p.scan.push()
	s.def = p.signature(id.text)
	p.macroBody(s.def, name, "endmacro")
	return s
}

func (p *parser) callStatement(name token) stmt {
	s := &callStmt{at: name.at}
	p.scan.push()
	if p.isOp("(") {
		s.def = p.signature("caller")
	} else {
		s.def = &macroDef{name: "caller"}
	}
	p.scan.outside(func() {
		at := p.peek().at
		call, ok := p.expression().(*callExpr)
		if !ok {
			p.fail(at, "want a call of a macro after {% call %}")
		}
		s.call = call
	})
	p.macroBody(s.def, name, "endcall")
	return s
}

// signature parses the parameters of a macro.
func (p *parser) signature(name string) *macroDef {
	def := &macroDef{name: name}
	p.wantOp("(")
	for !p.isOp(")") {
		if len(def.params) > 0 {
			p.wantOp(",")
		}
		t := p.wantName()
		reserved(p, t)
		var value expr
		if p.skipOp("=") {
			value = p.expression()
		} else if len(def.defaults) > 0 && def.defaults[len(def.defaults)-1] != nil {
			p.fail(t.at, "the parameter "+quote(t.text)+" without a default follows one with a default")
		}
		if len(def.names) >= maxArguments {
			p.unsupported(t.at, "the macro has more than "+itoa(maxArguments)+" parameters")
		}
		if slices.Contains(def.names, t.text) {
			p.fail(t.at, "the parameter "+quote(t.text)+" occurs twice")
		}
		if t.text == "caller" {
			def.explicitCaller = true
			if value == nil {
				p.fail(t.at, "the parameter 'caller' needs a default")
			}
		}
		def.names = append(def.names, t.text)
		def.params = append(def.params, p.slot(t.text))
		def.defaults = append(def.defaults, value)
		p.scan.bind(t.text)
	}
	p.wantOp(")")
	return def
}

// macroBody parses a macro's body in the scope that the caller opened, and closes the scope.
func (p *parser) macroBody(def *macroDef, name token, end string) {
	p.wantKind(tokenBlockEnd)
	for _, special := range []string{"caller", "kwargs", "varargs"} {
		p.scan.bind(special)
	}
	caller, kwargs, varargs := p.loads["caller"], p.loads["kwargs"], p.loads["varargs"]
	loops := p.loops
	p.loops = 0
	p.hard(func() { def.body = p.ended(name, end) })
	p.loops = loops
	def.usesCaller = p.loads["caller"] > caller
	def.usesKwargs = p.loads["kwargs"] > kwargs && !slices.Contains(def.names, "kwargs")
	def.usesVarargs = p.loads["varargs"] > varargs && !slices.Contains(def.names, "varargs")
	def.caller, def.kwargs, def.varargs = p.slot("caller"), p.slot("kwargs"), p.slot("varargs")
	p.scan.pop()
}

// reserved refuses to bind a constant.
func reserved(p *parser, t token) {
	switch t.text {
	case "true", "false", "none", "True", "False", "None":
		p.fail(t.at, "cannot assign to "+quote(t.text))
	}
}

// target parses what a statement assigns to.
func (p *parser) target(attributes bool) target {
	first := p.onePart(attributes)
	if !p.isOp(",") {
		return first
	}
	t := target{at: first.at, tuple: true, parts: []target{first}}
	for p.skipOp(",") {
		if k := p.peek(); k.kind == tokenBlockEnd || p.isOp("=") || p.isName("in") {
			break
		}
		t.parts = append(t.parts, p.onePart(attributes))
	}
	return t
}

func (p *parser) onePart(attributes bool) target {
	if at := p.peek().at; p.skipOp("(") {
		defer p.deeper()()
		t := target{at: at, tuple: true}
		comma := false
		for !p.isOp(")") {
			t.parts = append(t.parts, p.onePart(attributes))
			if !p.skipOp(",") {
				break
			}
			comma = true
		}
		p.wantOp(")")
		if len(t.parts) == 1 && !comma {
			return t.parts[0]
		}
		return t
	}
	name := p.wantName()
	reserved(p, name)
	t := target{at: name.at, slot: p.slot(name.text)}
	if attributes && p.skipOp(".") {
		t.attr = p.wantName().text
		p.scan.attribute(t.attr)
	}
	return t
}
