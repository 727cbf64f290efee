package jinja

import (
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// maxArguments bounds the named arguments of a call and the parameters of a macro.
const maxArguments = 255

// The precedence, from loosest to tightest (jinja2.parser): if-else, or, and, not, comparisons, + and -, ~,
// * / // %, **, signs, then filters and tests behind a primary with its attributes and calls.

func (p *parser) expression() expr {
	defer p.deeper()()
	soft := p.soft
	e := p.or()
	for p.isName("if") {
		p.take()
		p.soft = true
		test := p.or()
		var other expr
		if p.skipName("else") {
			other = p.expression()
		}
		e = &condExpr{test, e, other}
	}
	p.soft = soft
	return e
}

// chain parses operands joined by operators of one level. The tree leans to the left, so each step is a level of nesting.
func (p *parser) chain(operand func() expr, join func(left expr) (expr, bool)) expr {
	e := operand()
	depth := p.depth
	for {
		next, ok := join(e)
		if !ok {
			break
		}
		e = next
		if p.depth++; p.depth > maxNesting {
			p.unsupported(p.peek().at, "the expression has too many operators")
		}
	}
	p.depth = depth
	return e
}

func (p *parser) or() expr {
	return p.chain(p.and, func(left expr) (expr, bool) {
		if !p.skipName("or") {
			return nil, false
		}
		return &logicExpr{left, p.and(), true}, true
	})
}

func (p *parser) and() expr {
	return p.chain(p.not, func(left expr) (expr, bool) {
		if !p.skipName("and") {
			return nil, false
		}
		return &logicExpr{left, p.not(), false}, true
	})
}

func (p *parser) not() expr {
	if p.skipName("not") {
		defer p.deeper()()
		return &notExpr{p.not()}
	}
	return p.comparison()
}

func (p *parser) comparison() expr {
	first := p.sum()
	c := &compareExpr{first: first}
	for {
		t := p.peek()
		op := t.text
		switch {
		case t.kind == tokenOperator && slices.Contains([]string{"==", "!=", "<", "<=", ">", ">="}, op):
			p.take()
		case p.isName("in"):
			p.take()
		case p.isName("not") && p.tokens[p.next+1].kind == tokenName && p.tokens[p.next+1].text == "in":
			p.next += 2
			op = "not in"
		default:
			if len(c.ops) == 0 {
				return first
			}
			return c
		}
		c.at = t.at
		c.ops = append(c.ops, op)
		c.rest = append(c.rest, p.sum())
	}
}

// binary parses a level of binary operators.
func (p *parser) binary(operand func() expr, ops ...string) expr {
	return p.chain(operand, func(left expr) (expr, bool) {
		t := p.peek()
		if t.kind != tokenOperator || !slices.Contains(ops, t.text) {
			return nil, false
		}
		p.take()
		return &binaryExpr{t.at, t.text, left, operand()}, true
	})
}

func (p *parser) sum() expr { return p.binary(p.concat, "+", "-") }

func (p *parser) concat() expr {
	first := p.product()
	if !p.isOp("~") {
		return first
	}
	c := &concatExpr{[]expr{first}}
	for p.skipOp("~") {
		c.parts = append(c.parts, p.product())
	}
	return c
}

func (p *parser) product() expr { return p.binary(p.power, "*", "/", "//", "%") }

func (p *parser) power() expr { return p.binary(func() expr { return p.unary(true) }, "**") }

func (p *parser) unary(filters bool) expr {
	t := p.peek()
	var e expr
	if t.kind == tokenOperator && (t.text == "-" || t.text == "+") {
		p.take()
		defer p.deeper()()
		e = &unaryExpr{t.at, t.text[0], p.unary(false)}
	} else {
		e = p.primary()
	}
	e = p.postfix(e)
	if filters {
		e = p.filters(e)
	}
	return e
}

func (p *parser) primary() expr {
	t := p.take()
	switch t.kind {
	case tokenName:
		switch t.text {
		case "true", "True", "false", "False":
			return &constExpr{verdict(t.text == "true" || t.text == "True")}
		case "none", "None":
			return &constExpr{noneValue(true)}
		}
		p.scan.read(t.text)
		p.loads[t.text]++
		return &nameExpr{p.slot(t.text), &undefined{name: t.text}}
	case tokenString:
		var s strings.Builder
		s.WriteString(t.text)
		for p.peek().kind == tokenString {
			s.WriteString(p.take().text)
		}
		return &constExpr{Trusted(s.String())}
	case tokenInt:
		return &constExpr{p.integer(t)}
	case tokenFloat:
		f, err := strconv.ParseFloat(t.text, 64)
		if err != nil && f == 0 {
			p.fail(t.at, "malformed number "+quote(t.text))
		}
		return &constExpr{floatValue(f, true)}
	case tokenOperator:
		defer p.deeper()()
		switch t.text {
		case "(":
			e := p.tupleIn()
			p.wantOp(")")
			return e
		case "[":
			items := p.list("]")
			return &listExpr{items: items}
		case "{":
			return p.dict(t)
		}
	}
	p.fail(t.at, "unexpected "+describe(t)+", want an expression")
	return nil
}

func (p *parser) integer(t token) Value {
	if len(t.text) > 2000 {
		p.unsupported(t.at, "the number has too many digits")
	}
	b, ok := new(big.Int).SetString(t.text, 0)
	if t.text[0] == '0' && len(t.text) > 1 && isDecimal(t.text[1]) {
		b, ok = new(big.Int), true // only zeros
	}
	if !ok {
		p.fail(t.at, "malformed number "+quote(t.text))
	}
	return bigValue(b, true)
}

// list parses expressions up to a bracket, which it consumes.
func (p *parser) list(end string) []expr {
	var items []expr
	for !p.isOp(end) {
		if len(items) > 0 {
			p.wantOp(",")
			if p.isOp(end) {
				break
			}
		}
		items = append(items, p.expression())
	}
	p.wantOp(end)
	return items
}

func (p *parser) dict(t token) expr {
	d := &dictExpr{at: t.at}
	for !p.isOp("}") {
		if len(d.keys) > 0 {
			p.wantOp(",")
			if p.isOp("}") {
				break
			}
		}
		d.keys = append(d.keys, p.expression())
		p.wantOp(":")
		d.values = append(d.values, p.expression())
	}
	p.wantOp("}")
	return d
}

// tupleIn parses what is between round brackets.
func (p *parser) tupleIn() expr {
	if p.isOp(")") {
		return &listExpr{tuple: true}
	}
	return p.tuple(true, nil)
}

// tuple parses an expression, or several with commas between.
func (p *parser) tuple(conditional bool, ends []string) expr {
	one := p.expression
	if !conditional {
		one = func() expr {
			defer p.deeper()()
			return p.or()
		}
	}
	e := one()
	if !p.isOp(",") {
		return e
	}
	items := []expr{e}
	for p.skipOp(",") {
		t := p.peek()
		if t.kind == tokenPrintEnd || t.kind == tokenBlockEnd || p.isOp(")") || t.kind == tokenName && slices.Contains(ends, t.text) {
			break
		}
		items = append(items, one())
	}
	return &listExpr{items, true}
}

// postfix parses attributes, subscripts and calls.
func (p *parser) postfix(e expr) expr {
	return p.chain(func() expr { return e }, func(left expr) (expr, bool) {
		t := p.peek()
		if t.kind != tokenOperator {
			return nil, false
		}
		switch t.text {
		case ".":
			p.take()
			return p.attribute(left, t), true
		case "[":
			p.take()
			return p.subscript(left, t), true
		case "(":
			return p.call(left), true
		}
		return nil, false
	})
}

func (p *parser) attribute(of expr, dot token) expr {
	t := p.take()
	switch t.kind {
	case tokenName:
		if m := methodsNamed(t.text); !m.known() {
			p.scan.attribute(t.text)
		}
		return &attrExpr{dot.at, of, t.text, methodsNamed(t.text)}
	case tokenInt:
		return &itemExpr{dot.at, of, &constExpr{p.integer(t)}}
	}
	p.fail(t.at, "unexpected "+describe(t)+" after a dot, want a name")
	return nil
}

func (p *parser) subscript(of expr, open token) expr {
	var parts [3]expr
	colons := 0
	for !p.isOp("]") {
		if p.skipOp(":") {
			if colons++; colons > 2 {
				p.fail(open.at, "a slice has at most two colons")
			}
			continue
		}
		if parts[colons] != nil {
			if p.isOp(",") {
				p.unsupported(p.peek().at, "a subscript with a comma is not supported")
			}
			p.wantOp("]")
		}
		parts[colons] = p.expression()
	}
	p.wantOp("]")
	if colons > 0 {
		return &sliceExpr{open.at, of, parts[0], parts[1], parts[2]}
	}
	if parts[0] == nil {
		p.fail(open.at, "the subscript is empty")
	}
	p.mention(parts[0])
	return &itemExpr{open.at, of, parts[0]}
}

// mention notes a constant string that is used as a key.
func (p *parser) mention(e expr) {
	if c, ok := e.(*constExpr); ok && c.value.kind == KindString {
		p.scan.attribute(c.value.str)
	}
}

func (p *parser) call(of expr) expr {
	at := p.peek().at
	c := &callExpr{at, of, p.arguments()}
	if a, ok := of.(*attrExpr); ok && a.name == "get" && len(c.args.pos) > 0 {
		p.mention(c.args.pos[0])
	}
	return c
}

// arguments parses the arguments of a call with their brackets.
func (p *parser) arguments() argList {
	open := p.peek()
	p.wantOp("(")
	var a argList
	invalid := func(bad bool) {
		if bad {
			p.fail(open.at, "the arguments are in the wrong order: positional ones come first, then named ones, then * and **")
		}
	}
	for first := true; !p.isOp(")"); first = false {
		if !first {
			p.wantOp(",")
			if p.isOp(")") {
				break
			}
		}
		switch {
		case p.skipOp("*"):
			invalid(a.dynPos != nil || a.dynNamed != nil)
			a.dynPos = p.expression()
		case p.skipOp("**"):
			invalid(a.dynNamed != nil)
			a.dynNamed = p.expression()
		case p.peek().kind == tokenName && p.tokens[p.next+1].kind == tokenOperator && p.tokens[p.next+1].text == "=":
			invalid(a.dynNamed != nil)
			t := p.take()
			p.take()
			if len(a.names) >= maxArguments {
				p.unsupported(t.at, "the call has more than "+strconv.Itoa(maxArguments)+" named arguments")
			}
			if slices.Contains(a.names, t.text) {
				p.fail(t.at, "the argument "+quote(t.text)+" occurs twice")
			}
			a.names = append(a.names, t.text)
			a.named = append(a.named, p.expression())
		default:
			invalid(a.dynPos != nil || a.dynNamed != nil || len(a.names) > 0)
			a.pos = append(a.pos, p.expression())
		}
	}
	p.wantOp(")")
	return a
}

// filters parses filters, tests and calls behind an expression.
func (p *parser) filters(e expr) expr {
	return p.chain(func() expr { return e }, func(left expr) (expr, bool) {
		switch {
		case p.isOp("|"):
			p.take()
			return &filterExpr{left, p.filterCall()}, true
		case p.isName("is"):
			return p.test(left), true
		case p.isOp("("):
			return p.call(left), true
		}
		return nil, false
	})
}

// filterCalls parses any number of filters, each after a bar.
func (p *parser) filterCalls() []filterCall {
	var list []filterCall
	for p.skipOp("|") {
		list = append(list, p.filterCall())
	}
	return list
}

// dotted parses the name of a filter or a test.
func (p *parser) dotted() token {
	t := p.wantName()
	for p.skipOp(".") {
		t.text += "." + p.wantName().text
	}
	return t
}

func (p *parser) filterCall() filterCall {
	t := p.dotted()
	f := filterCall{at: t.at, name: t.text, fn: filterNamed(t.text)}
	if f.fn == nil && !p.soft {
		p.unsupported(t.at, unknownFilter(t.text))
	}
	if p.isOp("(") {
		f.args = p.arguments()
	}
	switch t.text {
	case "map", "selectattr", "rejectattr", "sort", "groupby", "join", "sum", "min", "max", "unique", "attr":
		for _, e := range f.args.pos {
			p.mention(e)
		}
		for _, e := range f.args.named {
			p.mention(e)
		}
	}
	return f
}

func (p *parser) test(of expr) expr {
	at := p.take().at
	negate := p.skipName("not")
	t := p.dotted()
	e := &testExpr{at: t.at, of: of, name: t.text, test: testNamed(t.text), negate: negate}
	if e.test == nil && !p.soft {
		p.unsupported(t.at, unknownTest(t.text))
	}
	next := p.peek()
	switch {
	case p.isOp("("):
		e.args = p.arguments()
	case next.kind == tokenName && slices.Contains([]string{"else", "or", "and"}, next.text):
	case p.isName("is"):
		p.fail(at, "two tests with 'is' need brackets")
	case next.kind == tokenName, next.kind == tokenString, next.kind == tokenInt, next.kind == tokenFloat, p.isOp("["), p.isOp("{"):
		e.args.pos = []expr{p.postfix(p.primary())}
	}
	return e
}
