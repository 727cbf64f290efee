package e2e

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// A Statement of an IAM policy.
type Statement struct {
	Sid                                          string
	Deny                                         bool
	Actions, NotActions, Resources, NotResources []string
	Condition                                    map[string]map[string][]string // values by operator and key
}

// An Access is a requested action on a resource. Its context holds lists, with one element
// for keys with a single value; a missing key was not sent.
type Access struct {
	Action, Resource string
	Context          map[string][]string
}

func (a Access) String() string { return fmt.Sprintf("%s on %s %v", a.Action, a.Resource, a.Context) }

// ParsePolicy reads a policy document with resolved references. Unsupported elements are
// errors, so that no policy is misinterpreted.
// Source: AWS IAM User Guide, "IAM JSON policy element reference".
func ParsePolicy(document any) (list []Statement, err error) {
	d, ok := document.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("no policy: %v", document)
	}
	if v := d["Version"]; v != "2012-10-17" {
		return nil, fmt.Errorf("a policy of version %v", v)
	}
	for _, v := range asList(d["Statement"]) {
		m, ok := v.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("no statement: %v", v)
		}
		s, err := parseStatement(m)
		if err != nil {
			return nil, fmt.Errorf("statement %v: %w", m["Sid"], err)
		}
		list = append(list, s)
	}
	return list, nil
}

func parseStatement(m map[string]any) (s Statement, err error) {
	for key, v := range m {
		switch key {
		case "Sid":
			s.Sid = fmt.Sprint(v)
		case "Effect":
			if s.Deny = v == "Deny"; !s.Deny && v != "Allow" {
				return s, fmt.Errorf("the effect %v", v)
			}
		case "Action":
			s.Actions = texts(v)
		case "NotAction":
			s.NotActions = texts(v)
		case "Resource":
			s.Resources = texts(v)
		case "NotResource":
			s.NotResources = texts(v)
		case "Principal": // of a bucket's policy, which applies to all
			if fmt.Sprint(v) != "map[AWS:*]" && v != "*" {
				return s, fmt.Errorf("the principal %v", v)
			}
		case "Condition":
			if s.Condition, err = parseCondition(v); err != nil {
				return s, err
			}
		default:
			return s, fmt.Errorf("the element %s is not known here", key)
		}
	}
	if (s.Actions == nil) == (s.NotActions == nil) || (s.Resources == nil) == (s.NotResources == nil) || m["Effect"] == nil {
		return s, fmt.Errorf("an element is missing")
	}
	return s, nil
}

func parseCondition(v any) (map[string]map[string][]string, error) {
	condition := map[string]map[string][]string{}
	operators, _ := v.(map[string]any)
	for operator, keys := range operators {
		condition[operator] = map[string][]string{}
		m, _ := keys.(map[string]any)
		for key, values := range m {
			condition[operator][key] = texts(values)
			for _, value := range condition[operator][key] {
				if strings.Contains(value, "${") {
					return nil, fmt.Errorf("the variable in %s is not known here", value)
				}
			}
		}
		if _, _, ok := comparison(operator); !ok || len(m) == 0 {
			return nil, fmt.Errorf("the condition %s of %v is not known here", operator, keys)
		}
	}
	return condition, nil
}

// asList returns v as a list; a single value becomes a list of one.
func asList(v any) []any {
	if list, ok := v.([]any); ok {
		return list
	}
	return []any{v}
}

func texts(v any) (list []string) {
	for _, one := range asList(v) {
		list = append(list, fmt.Sprint(one))
	}
	return list
}

// Decide reports whether the statements allow an access, and which statement decided: nil
// if none applies. A denial takes precedence.
func Decide(list []Statement, a Access) (allowed bool, by *Statement) {
	for i := range list {
		s := &list[i]
		if !s.applies(a) {
			continue
		}
		if s.Deny {
			return false, s
		}
		if by == nil {
			by = s
		}
	}
	return by != nil, by
}

// applies reports whether the statement matches an access.
func (s *Statement) applies(a Access) bool {
	action := func(pattern string) bool { return like(strings.ToLower(pattern), strings.ToLower(a.Action)) }
	resource := func(pattern string) bool { return like(pattern, a.Resource) }
	switch {
	case s.Actions != nil && !slices.ContainsFunc(s.Actions, action), slices.ContainsFunc(s.NotActions, action),
		s.Resources != nil && !slices.ContainsFunc(s.Resources, resource), slices.ContainsFunc(s.NotResources, resource):
		return false
	}
	for operator, keys := range s.Condition {
		for key, want := range keys {
			got, given := lookUp(a.Context, key)
			if !holds(operator, got, given, want) {
				return false
			}
		}
	}
	return true
}

// lookUp finds a key regardless of case.
func lookUp(context map[string][]string, key string) ([]string, bool) {
	for name, values := range context {
		if strings.EqualFold(name, key) {
			return values, true
		}
	}
	return nil, false
}

// holds reports whether a condition is met: a value of the access must match one of the
// wanted values. With ForAllValues all its values must match, which is also true of none;
// with ForAnyValue one; otherwise there is only one. Negated operators match if no value
// does.
func holds(operator string, got []string, given bool, want []string) bool {
	if operator == "Null" {
		return slices.Contains(want, strconv.FormatBool(!given))
	}
	compare, negated, _ := comparison(operator)
	if strings.HasSuffix(operator, "IfExists") && !given {
		return true
	}
	fits := func(value string) bool {
		return slices.ContainsFunc(want, func(pattern string) bool { return compare(pattern, value) }) != negated
	}
	switch quantifier, _, _ := strings.Cut(operator, ":"); {
	case quantifier == "ForAllValues":
		return !slices.ContainsFunc(got, func(value string) bool { return !fits(value) })
	case quantifier == "ForAnyValue":
		return slices.ContainsFunc(got, fits)
	case !given:
		return negated
	}
	return len(got) == 1 && fits(got[0])
}

// comparison returns how an operator compares a pattern with a value.
func comparison(operator string) (compare func(pattern, value string) bool, negated, ok bool) {
	if _, after, found := strings.Cut(operator, ":"); found {
		operator = after
	}
	operator = strings.TrimSuffix(operator, "IfExists")
	equal := func(a, b string) bool { return a == b }
	switch operator {
	case "Null":
		return equal, false, true
	case "StringEquals":
		return equal, false, true
	case "StringNotEquals":
		return equal, true, true
	case "StringLike", "ArnLike", "ArnEquals":
		return like, false, true
	case "StringNotLike", "ArnNotLike", "ArnNotEquals":
		return like, true, true
	case "IpAddress":
		return within, false, true
	case "NotIpAddress":
		return within, true, true
	case "Bool":
		return strings.EqualFold, false, true
	case "NumericLessThan":
		return func(bound, value string) bool {
			b, err := strconv.ParseFloat(bound, 64)
			v, err2 := strconv.ParseFloat(value, 64)
			return err == nil && err2 == nil && v < b
		}, false, true
	}
	return nil, false, false
}

// within reports whether an address is in a range.
func within(block, address string) bool {
	r, err := netip.ParsePrefix(block)
	a, err2 := netip.ParseAddr(address)
	return err == nil && err2 == nil && r.Contains(a)
}

// like matches a pattern in which * stands for any text and ? for one character.
func like(pattern, s string) bool {
	for pattern != "" {
		switch c := pattern[0]; {
		case c == '*':
			for i := 0; i <= len(s); i++ {
				if like(pattern[1:], s[i:]) {
					return true
				}
			}
			return false
		case s == "" || c != '?' && c != s[0]:
			return false
		}
		pattern, s = pattern[1:], s[1:]
	}
	return s == ""
}
