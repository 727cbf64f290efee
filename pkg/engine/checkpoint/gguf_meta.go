package checkpoint

import (
	"errors"
	"fmt"
	"math"
)

// Meta holds the keys of a file. The values of GGUF have the Go type of the same
// name: uint8 to float64, bool and string, and slices of these; those of safetensors
// are strings.
type Meta map[string]any

// ErrNoKey is the error of the accessors of [Meta] for a missing key.
var ErrNoKey = errors.New("no such key")

// get returns the value of key if it has type T.
func get[T any](m Meta, key string) (v T, err error) {
	value, ok := m[key]
	if !ok {
		return v, fmt.Errorf("key %.80q: %w", key, ErrNoKey)
	}
	if v, ok = value.(T); !ok {
		return v, fmt.Errorf("key %.80q: %T where %T was expected", key, value, v)
	}
	return v, nil
}

// Text returns a string.
func (m Meta) Text(key string) (string, error) { return get[string](m, key) }

// Bool returns a bool.
func (m Meta) Bool(key string) (bool, error) { return get[bool](m, key) }

// Texts returns an array of strings, which must not be changed.
func (m Meta) Texts(key string) ([]string, error) { return get[[]string](m, key) }

// Floats returns an array of float32, which must not be changed.
func (m Meta) Floats(key string) ([]float32, error) { return get[[]float32](m, key) }

// Int returns an integer of any width.
func (m Meta) Int(key string) (int64, error) {
	switch v := m[key].(type) {
	case uint8:
		return int64(v), nil
	case int8:
		return int64(v), nil
	case uint16:
		return int64(v), nil
	case int16:
		return int64(v), nil
	case uint32:
		return int64(v), nil
	case int32:
		return int64(v), nil
	case uint64:
		if v > math.MaxInt64 {
			return 0, fmt.Errorf("key %.80q: %d is beyond int64", key, v)
		}
		return int64(v), nil
	}
	return get[int64](m, key)
}

// Ints returns an array of integers of any width but 64 bits unsigned.
func (m Meta) Ints(key string) ([]int64, error) {
	switch v := m[key].(type) {
	case []uint8:
		return widen(v), nil
	case []int8:
		return widen(v), nil
	case []uint16:
		return widen(v), nil
	case []int16:
		return widen(v), nil
	case []uint32:
		return widen(v), nil
	case []int32:
		return widen(v), nil
	case []int64:
		return widen(v), nil
	}
	return get[[]int64](m, key)
}

func widen[T uint8 | int8 | uint16 | int16 | uint32 | int32 | int64](list []T) []int64 {
	wide := make([]int64, len(list))
	for i, v := range list {
		wide[i] = int64(v)
	}
	return wide
}
