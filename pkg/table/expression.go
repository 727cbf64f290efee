package table

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// A Condition is a precondition of a write.
type Condition struct {
	attribute string // "": the item itself
	op        string // "present", "absent", "=", "<="
	value     any
}

// Absent requires that there is no item with the key.
func Absent() Condition { return Condition{op: "absent"} }

// Present requires that there is an item with the key.
func Present() Condition { return Condition{op: "present"} }

// Missing requires that the item lacks an attribute, or that there is no item.
func Missing(attribute string) Condition { return Condition{attribute: attribute, op: "absent"} }

// Equal requires that an attribute has this value.
func Equal(attribute string, value any) Condition { return Condition{attribute, "=", value} }

// AtMost requires that an attribute is a number of at most n, or missing.
func AtMost(attribute string, n int64) Condition { return Condition{attribute, "<=", n} }

// expression collects the names and values that expressions refer to.
type expression struct {
	names  map[string]string
	values map[string]any
}

func newExpression() *expression {
	return &expression{names: map[string]string{}, values: map[string]any{}}
}

// require adds conditions to a request, and all that its expressions refer to. The service
// takes no empty members.
func (e *expression) require(request map[string]any, list []Condition) error {
	condition, err := e.conditions(list)
	if err != nil {
		return err
	}
	if condition != "" {
		request["ConditionExpression"] = condition
	}
	if len(e.names) > 0 {
		request["ExpressionAttributeNames"] = e.names
	}
	if len(e.values) > 0 {
		request["ExpressionAttributeValues"] = e.values
	}
	return nil
}

// name returns the placeholder of an attribute.
func (e *expression) name(attribute string) string {
	for short, long := range e.names {
		if long == attribute {
			return short
		}
	}
	short := "#a" + strconv.Itoa(len(e.names))
	e.names[short] = attribute
	return short
}

// value returns the placeholder of a value.
func (e *expression) value(v any) (string, error) {
	a, err := encodeValue(v, 0)
	if err != nil {
		return "", err
	}
	short := ":v" + strconv.Itoa(len(e.values))
	e.values[short] = a
	return short, nil
}

// conditions joins conditions; "" if there are none.
func (e *expression) conditions(list []Condition) (string, error) {
	var parts []string
	for _, c := range list {
		name := "pk" // every item has it
		if c.attribute != "" {
			name = e.name(c.attribute)
		}
		switch c.op {
		case "absent":
			parts = append(parts, "attribute_not_exists("+name+")")
			continue
		case "present":
			parts = append(parts, "attribute_exists("+name+")")
			continue
		}
		value, err := e.value(c.value)
		if err != nil {
			return "", fmt.Errorf("condition of %q: %w", c.attribute, err)
		}
		part := name + " " + c.op + " " + value
		if c.op == "<=" {
			part = "(attribute_not_exists(" + name + ") OR " + part + ")"
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, " AND "), nil
}

// change formats the clauses of a change.
func (e *expression) change(c Change) (string, error) {
	var add, set, remove []string
	for _, attribute := range slices.Sorted(maps.Keys(c.Add)) {
		value, err := e.value(c.Add[attribute])
		if err != nil {
			return "", err
		}
		add = append(add, e.name(attribute)+" "+value)
	}
	for _, attribute := range slices.Sorted(maps.Keys(c.Set)) {
		value, err := e.value(c.Set[attribute])
		if err != nil {
			return "", fmt.Errorf("%q: %w", attribute, err)
		}
		set = append(set, e.name(attribute)+" = "+value)
	}
	for _, attribute := range c.Remove {
		remove = append(remove, e.name(attribute))
	}
	var clauses []string
	for _, clause := range []struct {
		word  string
		parts []string
	}{{"ADD", add}, {"SET", set}, {"REMOVE", remove}} {
		if len(clause.parts) > 0 {
			clauses = append(clauses, clause.word+" "+strings.Join(clause.parts, ", "))
		}
	}
	if clauses == nil {
		return "", fmt.Errorf("a change of nothing")
	}
	return strings.Join(clauses, " "), nil
}
