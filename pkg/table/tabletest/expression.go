package tabletest

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"math/big"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// A condition reports whether an item, nil if there is none, meets it.
type condition func(item) bool

// An update changes an item in place.
type update func(item) error

// A parser parses one expression.
type parser struct {
	what   string // "ConditionExpression": for errors
	tokens []string
	r      *request
}

func (r *request) parser(what, text string) *parser {
	return &parser{what, regexp.MustCompile(`[#:]?\w+|<=|\S`).FindAllString(text, -1), r}
}

// next returns the next token, "" at the end.
func (p *parser) next() string {
	if len(p.tokens) == 0 {
		return ""
	}
	t := p.tokens[0]
	p.tokens = p.tokens[1:]
	return t
}

// took consumes the next token if it is the given one, in any case.
func (p *parser) took(token string) bool {
	if len(p.tokens) == 0 || !strings.EqualFold(p.tokens[0], token) {
		return false
	}
	p.tokens = p.tokens[1:]
	return true
}

// want consumes the given tokens.
func (p *parser) want(tokens ...string) error {
	for _, token := range tokens {
		if !p.took(token) {
			return p.syntax(p.next())
		}
	}
	return nil
}

func (p *parser) invalid(format string, args ...any) error {
	return invalid("Invalid " + p.what + ": " + fmt.Sprintf(format, args...))
}

func (p *parser) syntax(token string) error {
	if token == "" {
		token = "<EOF>"
	}
	return p.invalid("Syntax error; token: %q, near: %q", token, token+" "+strings.Join(p.tokens[:min(1, len(p.tokens))], " "))
}

// path parses the name of an attribute. Names other than the keys must be placeholders,
// because many words are reserved.
func (p *parser) path() (string, error) {
	t := p.next()
	if t == "pk" || t == "sk" {
		return t, nil
	}
	if !strings.HasPrefix(t, "#") {
		return "", p.syntax(t)
	}
	name, ok := p.r.ExpressionAttributeNames[t]
	if !ok {
		return "", p.invalid("An expression attribute name used in the document path is not defined; attribute name: %s", t)
	}
	p.r.used[t] = true
	return name, nil
}

// operand parses the name of a value.
func (p *parser) operand() (value, error) {
	t := p.next()
	if !strings.HasPrefix(t, ":") {
		return value{}, p.syntax(t)
	}
	v, ok := p.r.ExpressionAttributeValues[t]
	if !ok {
		return v, p.invalid("An expression attribute value used in expression is not defined; attribute value: %s", t)
	}
	p.r.used[t] = true
	return v, nil
}

// condition parses a whole condition: AND before OR.
func (p *parser) condition() (condition, error) {
	if len(p.tokens) == 0 {
		return nil, p.invalid("The expression can not be empty;")
	}
	c, err := p.or()
	if err == nil && len(p.tokens) > 0 {
		err = p.syntax(p.next())
	}
	return c, err
}

func (p *parser) or() (condition, error) {
	left, err := p.and()
	for err == nil && p.took("OR") {
		var right condition
		was := left
		right, err = p.and()
		left = func(i item) bool { return was(i) || right(i) }
	}
	return left, err
}

func (p *parser) and() (condition, error) {
	left, err := p.term()
	for err == nil && p.took("AND") {
		var right condition
		was := left
		right, err = p.term()
		left = func(i item) bool { return was(i) && right(i) }
	}
	return left, err
}

func (p *parser) term() (condition, error) {
	if p.took("(") {
		c, err := p.or()
		if err == nil {
			err = p.want(")")
		}
		return c, err
	}
	for function, exists := range map[string]bool{"attribute_exists": true, "attribute_not_exists": false} {
		if !p.took(function) {
			continue
		}
		if err := p.want("("); err != nil {
			return nil, err
		}
		name, err := p.path()
		if err == nil {
			err = p.want(")")
		}
		return func(i item) bool { _, ok := i[name]; return ok == exists }, err
	}
	return p.comparison()
}

func (p *parser) comparison() (condition, error) {
	name, err := p.path()
	if err != nil {
		return nil, err
	}
	op := p.next()
	if op != "=" && op != "<=" {
		return nil, p.syntax(op)
	}
	given, err := p.operand()
	if err != nil {
		return nil, err
	}
	kind := given.kind()
	if op == "=" {
		return func(i item) bool { return reflect.DeepEqual(i[name], given) }, nil // a missing attribute equals nothing
	}
	if kind != "N" && kind != "S" && kind != "B" {
		return nil, p.invalid("Incorrect operand type for operator or function; operator: <=, operand type: %s", long(kind))
	}
	return func(i item) bool {
		v := i[name]
		switch {
		case v.kind() != kind:
			return false
		case kind == "N":
			return number(*v.N).Cmp(number(*given.N)) <= 0
		case kind == "S":
			return *v.S <= *given.S
		}
		return bytes.Compare(*v.B, *given.B) <= 0
	}, nil
}

// keys parses the condition of a query: pk, and the prefix of sk.
func (p *parser) keys() (pk, prefix string, err error) {
	read := func() string {
		var v value
		if err == nil {
			v, err = p.operand()
		}
		if err == nil && v.S == nil {
			err = invalid("One or more parameter values were invalid: Condition parameter type does not match schema type")
		}
		if err != nil {
			return ""
		}
		return *v.S
	}
	if err = p.want("pk", "="); err != nil {
		return "", "", err
	}
	pk = read()
	if err == nil && len(p.tokens) > 0 {
		err = p.want("AND", "begins_with", "(", "sk", ",")
		prefix = read()
		if err == nil {
			err = p.want(")")
		}
	}
	if err == nil && len(p.tokens) > 0 {
		err = p.syntax(p.next())
	}
	return pk, prefix, err
}

// update parses the clauses of an update.
func (p *parser) update() (update, error) {
	var steps []update
	paths, clauses := map[string]bool{}, map[string]bool{}
	for len(p.tokens) > 0 {
		word := strings.ToUpper(p.next())
		if word != "SET" && word != "ADD" && word != "REMOVE" {
			return nil, p.syntax(word)
		}
		if clauses[word] {
			return nil, p.invalid("The %q section can only be used once in an update expression;", word)
		}
		clauses[word] = true
		for more := true; more; more = p.took(",") {
			name, err := p.path()
			switch {
			case err != nil:
				return nil, err
			case name == "pk" || name == "sk":
				return nil, invalid("One or more parameter values were invalid: Cannot update attribute " + name + ". This attribute is part of the key")
			case paths[name]:
				return nil, p.invalid("Two document paths overlap with each other; must remove or rewrite one of these paths; path one: [%s], path two: [%s]", name, name)
			}
			paths[name] = true
			step, err := p.step(word, name)
			if err != nil {
				return nil, err
			}
			steps = append(steps, step)
		}
	}
	if steps == nil {
		return nil, p.invalid("The expression can not be empty;")
	}
	return func(i item) error {
		for _, step := range steps { // each for another attribute, so their order does not matter
			if err := step(i); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// step parses the effect of a clause on one attribute.
func (p *parser) step(word, name string) (update, error) {
	if word == "REMOVE" {
		return func(i item) error { delete(i, name); return nil }, nil
	}
	if word == "SET" {
		if err := p.want("="); err != nil {
			return nil, err
		}
	}
	given, err := p.operand()
	if err != nil {
		return nil, err
	}
	if word == "SET" {
		return func(i item) error { i[name] = given; return nil }, nil
	}
	if given.N == nil {
		return nil, p.invalid("Incorrect operand type for operator or function; operator: ADD, operand type: %s, typeSet: ALLOWED_FOR_ADD_OPERAND", long(given.kind()))
	}
	return func(i item) error {
		was, ok := i[name]
		if ok && was.N == nil {
			return invalid("An operand in the update expression has an incorrect data type")
		}
		sum := number(*given.N)
		if ok {
			sum = new(big.Rat).Add(sum, number(*was.N))
		}
		text, err := decimal(spell(sum))
		i[name] = value{N: &text}
		return err
	}, nil
}

// long returns the name of a type in errors.
func long(kind string) string {
	return cmp.Or(map[string]string{
		"S": "STRING", "N": "NUMBER", "B": "BINARY", "M": "MAP", "L": "LIST", "SS": "STRING_SET", "NS": "NUMBER_SET", "BS": "BINARY_SET",
	}[kind], kind)
}

// unused rejects names and values that no expression uses.
func (r *request) unused() error {
	for _, given := range []struct {
		what string
		keys []string
	}{
		{"ExpressionAttributeNames", slices.Sorted(maps.Keys(r.ExpressionAttributeNames))},
		{"ExpressionAttributeValues", slices.Sorted(maps.Keys(r.ExpressionAttributeValues))},
	} {
		for _, key := range given.keys {
			if !r.used[key] {
				return invalid("Value provided in " + given.what + " unused in expressions: keys: {" + key + "}")
			}
		}
	}
	return nil
}
