package policy

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"glossa/pkg/partition"
)

// A Template holds the parts of a CloudFormation template that the rules read.
type Template struct {
	Resources map[string]*Resource
	Outputs   map[string]Output
}

// A Resource is a resource of a template.
type Resource struct {
	Type                                string
	Properties                          map[string]any
	DeletionPolicy, UpdateReplacePolicy string
	DependsOn                           []string
	UpdatePolicy                        map[string]any
}

// An Output is an output of a template. Other stacks import outputs that have an export
// name.
type Output struct {
	Value  any
	Export struct{ Name string }
}

// Parse reads a template.
func Parse(text []byte) (t Template, err error) {
	err = json.Unmarshal(text, &t)
	return t, err
}

// of returns the names of the resources of a type, in order.
func (t Template) of(kind string) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(t.Resources)) {
		if t.Resources[name].Type == kind {
			names = append(names, name)
		}
	}
	return names
}

// first returns the name of the first resource of a type; without any, one that no resource has.
func (t Template) first(kind string) string { return append(t.of(kind), "nothing")[0] }

// get follows the keys into the properties. It returns nil if a key is missing.
func (r *Resource) get(keys ...string) any {
	var v any = r.Properties
	for _, key := range keys {
		m, _ := v.(map[string]any)
		v = m[key]
	}
	return v
}

// list returns a property that is a list.
func (r *Resource) list(keys ...string) []any {
	l, _ := r.get(keys...).([]any)
	return l
}

// objects returns the elements of a list that are objects.
func objects(list []any) (found []map[string]any) {
	for _, v := range list {
		if m, ok := v.(map[string]any); ok {
			found = append(found, m)
		}
	}
	return found
}

// values returns v as a list; a single value becomes a list of one.
func values(v any) []any {
	if list, ok := v.([]any); ok {
		return list
	}
	if v == nil {
		return nil
	}
	return []any{v}
}

// text formats a value that may contain functions of CloudFormation. Values known only at
// deployment become ${NAME} or ${NAME.ATTRIBUTE} of the resource in its own stack.
func (t *Templates) text(v any) string {
	if t.Region == "" {
		return t.evaluate(v)
	}
	return strings.NewReplacer(t.Region, "${AWS::Region}", "arn:"+partition.Of(t.Region).Name+":", "arn:${AWS::Partition}:").Replace(t.evaluate(v))
}

func (t *Templates) evaluate(v any) string {
	m, ok := v.(map[string]any)
	if !ok || len(m) != 1 {
		return fmt.Sprint(v)
	}
	for function, argument := range m {
		list, _ := argument.([]any)
		switch function {
		case "Ref":
			return fmt.Sprintf("${%v}", argument)
		case "Fn::GetAtt":
			if len(list) == 2 {
				return fmt.Sprintf("${%v.%v}", list[0], list[1])
			}
		case "Fn::ImportValue":
			return t.imported(fmt.Sprint(argument))
		case "Fn::GetStackOutput":
			return t.output(argument)
		case "Fn::Join":
			if len(list) == 2 {
				var parts []string
				for _, part := range values(list[1]) {
					parts = append(parts, t.text(part))
				}
				return strings.Join(parts, fmt.Sprint(list[0]))
			}
		case "Fn::Sub":
			return t.substituted(argument)
		}
	}
	return fmt.Sprintf("%v", v) // equals no expected value
}

func (t *Templates) imported(name string) string {
	for _, template := range []Template{t.Data, t.API, t.Watch} {
		for _, out := range template.Outputs {
			if out.Export.Name == name {
				return t.text(out.Value)
			}
		}
	}
	return "there is no export " + name
}

// output returns the value of an output that only one stack has: its name follows from the value.
func (t *Templates) output(argument any) string {
	of, _ := argument.(map[string]any)
	name := fmt.Sprint(of["OutputName"])
	for _, template := range []Template{t.Data, t.API} {
		if out, ok := template.Outputs[name]; ok {
			return t.text(out.Value)
		}
	}
	return "there is no output " + name
}

func (t *Templates) substituted(argument any) string {
	list := values(argument)
	body := fmt.Sprint(list[0])
	if len(list) == 2 {
		variables, _ := list[1].(map[string]any)
		for name, value := range variables {
			body = strings.ReplaceAll(body, "${"+name+"}", t.text(value))
		}
	}
	return body
}

// texts formats one value or many, in order.
func (t *Templates) texts(v any) (list []string) {
	for _, value := range values(v) {
		list = append(list, t.text(value))
	}
	slices.Sort(list)
	return list
}
