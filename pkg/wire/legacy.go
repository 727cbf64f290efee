package wire

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"sync"

	"glossa/pkg/llm"
)

// Remotely sets in rows what becomes of the named parameters, and of those inside of
// them, where a remote model answers. It returns rows.
func Remotely(rows []Parameter, remote string, names ...string) []Parameter {
	for i := range rows {
		p := &rows[i]
		if p.Disposition == Honoured && slices.ContainsFunc(names, func(name string) bool {
			return p.Name == name || strings.HasPrefix(p.Name, name+".")
		}) {
			p.Remote = remote
		}
	}
	return rows
}

// Refuse returns an error for the first raw field of the struct that v points to which
// has a row for what is refused, and whose value is not neutral. Table is what the names
// of its keys begin with in rows, path where it is in the body.
func Refuse(rows []Parameter, v any, table, path string) error {
	value := reflect.ValueOf(v).Elem()
	for _, f := range rawOf(value.Type()) {
		name, raw := f.name, value.Field(f.index).Bytes()
		if len(raw) == 0 || string(raw) == "null" {
			continue
		}
		row := refused(rows, table, name)
		if row == nil {
			continue
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, raw); err != nil || !slices.Contains(row.Neutral, compact.String()) {
			return &llm.Error{Code: llm.Unsupported, Param: path + name, Message: row.refusal()}
		}
	}
	return nil
}

// refused returns the row of what is refused under the name table+name, nil if none is.
func refused(rows []Parameter, table, name string) *Parameter {
	for i := range rows {
		row := &rows[i]
		if rest, ok := strings.CutPrefix(row.Name, table); ok && rest == name && row.Disposition == Refused {
			return row
		}
	}
	return nil
}

// A rawField is a field of a struct that keeps the JSON that was sent, and its key.
type rawField struct {
	index int
	name  string
}

// raws has the raw fields of each struct that was met, see [forms].
var raws sync.Map // by reflect.Type

func rawOf(t reflect.Type) []rawField {
	if list, ok := raws.Load(t); ok {
		return list.([]rawField)
	}
	var list []rawField
	for i := range t.NumField() {
		if f := t.Field(i); f.Type == reflect.TypeFor[json.RawMessage]() {
			list = append(list, rawField{i, f.Tag.Get("json")})
		}
	}
	raws.Store(t, list)
	return list
}
