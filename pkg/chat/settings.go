package chat

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"glossa/pkg/jinja"
	"glossa/pkg/llm"
)

// own are the variables that settings cannot replace.
var own = []string{"messages", "tools", "documents", "add_generation_prompt", "raise_exception", "chat_template"}

// globals are the functions of every template.
var globals = []string{"range", "dict", "namespace", "joiner", "cycler", "lipsum", dateSetting}

// dateSetting is the setting with the date that the function of this name writes.
const dateSetting = "strftime_now"

// fixedDate is the date that templates write unless a setting says another: an answer should
// not depend on the day, nor should a cached prompt be lost at midnight. It is that of Llama
// 3.1's template where there is no clock.
var fixedDate = time.Date(2024, time.July, 26, 0, 0, 0, 0, time.UTC)

// settingError returns an error for a setting; name is "" for all of them.
func settingError(name, format string, args ...any) error {
	param := "chat_template_kwargs"
	if name != "" {
		param += "." + name
	}
	return &llm.Error{Code: llm.Invalid, Param: param, Message: fmt.Sprintf(format, args...)}
}

// dateOf returns the date for strftime_now.
func dateOf(settings json.RawMessage) (time.Time, error) {
	if len(settings) == 0 {
		return fixedDate, nil
	}
	var set struct {
		Now *string `json:"strftime_now"`
	}
	switch err := json.Unmarshal(settings, &set); {
	case err != nil:
		return fixedDate, settingError(dateSetting, "must be a date as text: 2026-01-31, or 2026-01-31T12:00:00Z")
	case set.Now == nil:
		return fixedDate, nil
	}
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if at, err := time.Parse(layout, *set.Now); err == nil {
			return at, nil
		}
	}
	return fixedDate, settingError(dateSetting, "must be a date: 2026-01-31, or 2026-01-31T12:00:00Z")
}

// addSettings adds the variables that the client sent. One that the template does not read is
// an error, but for false and null, which turn off what is not there.
func (t *Template) addSettings(vars *jinja.Dict, settings json.RawMessage, tools bool) error {
	if len(settings) == 0 {
		return nil
	}
	v, err := jinja.FromJSON(settings)
	object, ok := v.AsDict()
	if err != nil || !ok {
		return settingError("", "must be an object")
	}
	names := t.program(tools).Names()
	for name, value := range object.All() {
		on, boolean := value.AsBool()
		off := boolean && !on || value.Kind() == jinja.KindNone
		switch {
		case slices.Contains(own, name) || t.tokens[name] != "":
			return settingError(name, "cannot be replaced")
		case name == dateSetting && names.Variable(name):
		case names.Variable(name):
			vars.Set(name, value)
		case !off:
			return settingError(name, "this model's chat template does not read it; it reads %s", t.settings(names))
		}
	}
	return nil
}

// settings lists the variables of a template that settings may set.
func (t *Template) settings(names jinja.Names) string {
	list := slices.DeleteFunc(slices.Clone(names.Variables), func(name string) bool {
		fixed := slices.Contains(own, name) || slices.Contains(globals, name) && name != dateSetting
		return fixed || t.tokens[name] != "" || strings.HasSuffix(name, "_token")
	})
	return cmp.Or(strings.Join(list, ", "), "no setting")
}
