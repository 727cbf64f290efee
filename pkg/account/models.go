package account

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"glossa/pkg/llm"
)

// Models are the only models that a user or a key may use: names, separated by commas. A name
// that ends with * is that of all models whose names begin with the rest. The empty list
// allows all models.
type Models string

const (
	maxModels     = 100  // names of a list
	maxModelBytes = 4096 // bytes of a list
)

// ParseModels parses a list of names, which may have spaces around them.
func ParseModels(text string) (Models, error) {
	var names []string
	for name := range strings.SplitSeq(text, ",") {
		names = append(names, strings.TrimSpace(name))
	}
	m := Models(strings.Join(names, ","))
	return m, m.check()
}

func (m Models) check() error {
	names := strings.Split(string(m), ",")
	switch {
	case m == "":
		return nil
	case len(names) > maxModels || len(m) > maxModelBytes:
		return fmt.Errorf("a list of models must have at most %d names and %d bytes", maxModels, maxModelBytes)
	}
	for _, name := range names {
		stem := strings.TrimSuffix(name, "*")
		switch {
		case name == "":
			return errors.New("a list of models has an empty name")
		case strings.Contains(stem, "*"):
			return fmt.Errorf("invalid model %.80q: * must be at the end", name)
		case strings.ContainsFunc(stem, func(r rune) bool { return r <= ' ' || r == 0x7f }):
			return fmt.Errorf("invalid model %.80q: a name must not contain spaces", name)
		}
	}
	return nil
}

// allows reports whether the list has one of the names of a model.
func (m Models) allows(names ...string) bool {
	if m == "" {
		return true
	}
	for pattern := range strings.SplitSeq(string(m), ",") {
		stem, prefix := strings.CutSuffix(pattern, "*")
		if slices.ContainsFunc(names, func(name string) bool { return name == stem || prefix && strings.HasPrefix(name, stem) }) {
			return true
		}
	}
	return false
}

// Allows reports whether the list has a model, by its name, one of its aliases, or either after
// the family and a slash.
func (m Models) Allows(info *llm.ModelInfo) bool {
	if m == "" {
		return true
	}
	return slices.ContainsFunc(append([]string{info.Name}, info.Aliases...), func(name string) bool {
		return m.allows(name, info.Family+"/"+name)
	})
}

// ModelsFor returns models that hide, from each sender, the models that the sender may not use:
// they are not listed, and opening one returns the same error as a model that does not exist.
// Fallbacks of an allowed model may answer for it.
func ModelsFor(models llm.Models) llm.Models { return allowed{models} }

type allowed struct{ llm.Models }

// MayUse reports whether the sender may use a model: whether its list and that of its team have it.
func MayUse(ctx context.Context, info *llm.ModelInfo) bool { return onlyOf(ctx).Allows(info) }

// List implements [llm.Models].
func (a allowed) List(ctx context.Context) ([]llm.ModelInfo, error) {
	list, err := a.Models.List(ctx)
	only := onlyOf(ctx)
	if err != nil || only == nil {
		return list, err
	}
	return slices.DeleteFunc(slices.Clone(list), func(info llm.ModelInfo) bool { return !only.Allows(&info) }), nil
}

// only are lists of models, of which all must have a model.
type only []Models

// onlyOf returns the lists of the sender and of its team, as far as there are any.
func onlyOf(ctx context.Context) (list only) {
	p, _ := PrincipalOf(ctx)
	for _, b := range p.Bounds() {
		if b.Limits.Models != "" {
			list = append(list, b.Limits.Models)
		}
	}
	return list
}

// Allows reports whether each list has a model.
func (o only) Allows(info *llm.ModelInfo) bool {
	return !slices.ContainsFunc(o, func(m Models) bool { return !m.Allows(info) })
}

// allows reports whether each list has one of the names of a model.
func (o only) allows(names ...string) bool {
	return !slices.ContainsFunc(o, func(m Models) bool { return !m.allows(names...) })
}

// Open implements [llm.Models]. It opens no model that the sender may not use.
func (a allowed) Open(ctx context.Context, name string) (*llm.Model, error) {
	only := onlyOf(ctx)
	if only == nil {
		return a.Models.Open(ctx, name)
	}
	list, err := a.List(ctx)
	if err != nil {
		return nil, err
	}
	if name == "" && len(list) > 0 {
		name = list[0].Family + "/" + list[0].Name
	}
	listed := slices.ContainsFunc(list, func(info llm.ModelInfo) bool {
		return slices.ContainsFunc(append([]string{info.Name}, info.Aliases...), func(n string) bool {
			return name == n || name == info.Family+"/"+n
		})
	})
	if listed || only.allows(name, withoutFamily(name)) {
		model, err := a.Models.Open(ctx, name)
		if err != nil || only.Allows(&model.ModelInfo) {
			return model, err
		}
	}
	if name == "" {
		return nil, &llm.Error{Code: llm.NotFound, Param: "model", Message: "this server has no models"}
	}
	return nil, &llm.Error{Code: llm.NotFound, Param: "model", Message: fmt.Sprintf("the model %.200q does not exist", name)}
}

// withoutFamily returns the part of a name after its family.
func withoutFamily(name string) string {
	_, after, _ := strings.Cut(name, "/")
	return after
}
