package catalog

import (
	"encoding/json"
	"fmt"
	"slices"

	"glossa/pkg/table"
)

// A list is the rows of all-models as they are stored. It keeps its format, because
// others read it too, and every unchanged row.
type list struct {
	rows   []json.RawMessage
	native bool // a list of maps; else a JSON string, as upstream has it
}

// listOf decodes the attribute models; nil is a list of no rows.
func listOf(v any) (l list, err error) {
	var b []byte
	switch v := v.(type) {
	case nil:
		return l, nil
	case string:
		b = []byte(v)
	default:
		l.native = true
		if b, err = marshal(v); err != nil {
			return l, err
		}
	}
	if err := decode(b, &l.rows); err != nil {
		return l, fmt.Errorf("%s/%s: /models: %s: fix it first", pk, allSK, reason(err))
	}
	return l, nil
}

// value returns the attribute.
func (l list) value() (any, error) {
	rows := l.rows
	if rows == nil {
		rows = []json.RawMessage{}
	}
	b, err := marshal(rows)
	if err != nil {
		return nil, err
	}
	var v any = string(b)
	if l.native {
		v = nil
		if err := decode(b, &v); err != nil {
			return nil, err
		}
	}
	return v, fits(allSK, table.Item{"pk": pk, "sk": allSK, "models": v})
}

// put replaces the rows of the same models, and appends the others.
func (l list) put(rows []Row) (list, error) {
	l.rows = slices.Clone(l.rows)
	at := map[model]int{}
	for i, raw := range slices.Backward(l.rows) {
		at[modelOf(raw)] = i
	}
	for _, row := range rows {
		b, err := marshal(row)
		if err != nil {
			return l, err
		}
		m := model{row.Family, row.Name}
		if i, ok := at[m]; ok {
			l.rows[i] = b
		} else {
			at[m] = len(l.rows)
			l.rows = append(l.rows, b)
		}
	}
	return l, nil
}

// has reports whether a model has a row.
func (l list) has(m model) bool {
	return slices.ContainsFunc(l.rows, func(raw json.RawMessage) bool { return modelOf(raw) == m })
}

// drop removes the rows of models.
func (l list) drop(models []model) list {
	l.rows = slices.DeleteFunc(slices.Clone(l.rows), func(raw json.RawMessage) bool {
		return slices.Contains(models, modelOf(raw))
	})
	return l
}

// modelOf returns the model of a stored row, or the zero model for an invalid row.
func modelOf(raw json.RawMessage) model {
	var r Row
	_ = json.Unmarshal(raw, &r)
	return model{r.Family, r.Name}
}
