package jsonschema

// decode reads a document without a budget.
func decode(raw []byte) (v *value, named bool, err error) { return decodeWithin(nil, raw) }
