package e2e

import (
	"fmt"
	"strconv"
	"strings"
)

// resolve returns a value in which all functions of CloudFormation are replaced by their
// results. Source: AWS CloudFormation, "Intrinsic function reference".
func (s *Stacks) resolve(stack string, v any) (any, error) {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i := range v {
			var err error
			if out[i], err = s.resolve(stack, v[i]); err != nil {
				return nil, err
			}
		}
		return out, nil
	case map[string]any:
		for name, argument := range v {
			if len(v) == 1 && (name == "Ref" || name == "Condition" || strings.HasPrefix(name, "Fn::")) {
				return s.call(stack, name, argument)
			}
		}
		out := map[string]any{}
		for name := range v {
			var err error
			if out[name], err = s.resolve(stack, v[name]); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
		return out, nil
	}
	return v, nil
}

// call returns the result of a function.
func (s *Stacks) call(stack, name string, argument any) (any, error) {
	list, _ := argument.([]any)
	switch {
	case name == "Ref":
		return s.named(stack, fmt.Sprint(argument))
	case name == "Fn::GetAtt" && len(list) == 2:
		r := s.resources[stack+"/"+fmt.Sprint(list[0])]
		if r == nil {
			return nil, fmt.Errorf("there is no resource %v", list[0])
		}
		return r.attribute(fmt.Sprint(list[1]))
	case name == "Fn::ImportValue":
		export, err := s.resolve(stack, argument)
		if err != nil {
			return nil, err
		}
		of, ok := s.exports[fmt.Sprint(export)].(reference)
		if !ok {
			return nil, fmt.Errorf("nobody exports %v", export)
		}
		return s.resolve(of.stack, of.value)
	case name == "Fn::GetStackOutput":
		of, _ := argument.(map[string]any)
		from := fmt.Sprint(of["StackName"])
		v, ok := s.outputs[from+"/"+fmt.Sprint(of["OutputName"])]
		if !ok {
			return nil, fmt.Errorf("nobody has the output %v", of)
		}
		return s.resolve(from, v)
	case name == "Fn::Join" && len(list) == 2:
		return s.join(stack, fmt.Sprint(list[0]), list[1])
	case name == "Fn::Sub":
		return s.substitute(stack, argument)
	case name == "Fn::Split" && len(list) == 2:
		text, err := s.resolve(stack, list[1])
		var parts []any
		for part := range strings.SplitSeq(fmt.Sprint(text), fmt.Sprint(list[0])) {
			parts = append(parts, part)
		}
		return parts, err
	case name == "Fn::Select" && len(list) == 2:
		from, err := s.resolve(stack, list[1])
		parts, _ := from.([]any)
		i, _ := strconv.Atoi(fmt.Sprint(list[0]))
		if err == nil && i >= len(parts) {
			err = fmt.Errorf("there is no element %d of %v", i, from)
		}
		if err != nil {
			return nil, err
		}
		return parts[i], nil
	}
	return nil, fmt.Errorf("%s of %v is not known here", name, argument)
}

// named returns the value of Ref to a resource or to a pseudo parameter.
func (s *Stacks) named(stack, name string) (any, error) {
	pseudo := map[string]string{
		"AWS::Region": region, "AWS::AccountId": account, "AWS::Partition": partition, "AWS::URLSuffix": "amazonaws.com", "AWS::StackName": stack,
	}
	if v, ok := pseudo[name]; ok {
		return v, nil
	}
	if r := s.resources[stack+"/"+name]; r != nil {
		return s.refOf(r)
	}
	return nil, fmt.Errorf("nothing is called %s", name)
}

func (s *Stacks) join(stack, between string, list any) (any, error) {
	v, err := s.resolve(stack, list)
	if err != nil {
		return nil, err
	}
	values, ok := v.([]any)
	if !ok {
		return nil, fmt.Errorf("Fn::Join of %v", v)
	}
	var parts []string
	for _, part := range values {
		parts = append(parts, fmt.Sprint(part))
	}
	return strings.Join(parts, between), nil
}

// substitute replaces ${NAME}, ${NAME.ATTRIBUTE} and ${!LITERAL}.
func (s *Stacks) substitute(stack string, argument any) (any, error) {
	text, own := argument, map[string]any{}
	if list, ok := argument.([]any); ok && len(list) == 2 {
		text = list[0]
		own, _ = list[1].(map[string]any)
	}
	var out strings.Builder
	rest := fmt.Sprint(text)
	for {
		before, after, ok := strings.Cut(rest, "${")
		out.WriteString(before)
		if !ok {
			return out.String(), nil
		}
		name, after, ok := strings.Cut(after, "}")
		if !ok {
			return nil, fmt.Errorf("Fn::Sub of %v", text)
		}
		rest = after
		var v any
		var err error
		attribute, isAttribute := "", false
		if value, given := own[name]; given {
			v, err = s.resolve(stack, value)
		} else if literal, ok := strings.CutPrefix(name, "!"); ok {
			v = "${" + literal + "}"
		} else if name, attribute, isAttribute = strings.Cut(name, "."); isAttribute {
			v, err = s.call(stack, "Fn::GetAtt", []any{name, attribute})
		} else {
			v, err = s.named(stack, name)
		}
		if err != nil {
			return nil, err
		}
		fmt.Fprint(&out, v)
	}
}
