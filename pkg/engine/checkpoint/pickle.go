package checkpoint

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// A torchTensor is a tensor as data.pkl describes it.
type torchTensor struct {
	name, storage, key string // storage is the class, key the name of the file in data/
	offset             int    // of its first value in the storage
	shape, stride      []int
}

// Bounds of a pickle.
const (
	maxPickleStack = 1 << 18 // values on the stack, and in the memo
	maxPickleName  = 1 << 10 // bytes of a name
)

// The values of a pickle: bool, int, string and the following.
type (
	pickleMark  struct{}                     // the begin of a tuple or of items
	pickleClass string                       // "torch FloatStorage"
	pickleTuple []any                        // of values
	pickleDict  struct{ items []pickleItem } // a dict or an OrderedDict
	pickleStore struct{ class, key string }
)

// A pickleItem is an item of a dict.
type pickleItem struct {
	key   string
	value any
}

// An unpickler runs the operations of protocol 2 that torch.save needs for a state_dict. There
// are no other objects than tensors, numbers, texts, tuples and dicts, so nothing can be
// executed.
//
// Source: CPython's pickletools; torch/serialization.py.
type unpickler struct {
	data  []byte
	stack []any
	memo  map[uint32]any
}

// unpickleTensors returns the tensors of a state_dict, in their order.
func unpickleTensors(data []byte) ([]torchTensor, error) {
	u := &unpickler{data: data, memo: map[uint32]any{}}
	for at := len(data); ; {
		done, err := u.step()
		if err != nil {
			return nil, fmt.Errorf("offset %d: %w", at-len(u.data), err)
		}
		if done {
			break
		}
	}
	if len(u.stack) != 1 {
		return nil, fmt.Errorf("%d values at the end", len(u.stack))
	}
	dict, ok := u.stack[0].(*pickleDict)
	if !ok {
		return nil, errors.New("it is not a state_dict")
	}
	tensors := make([]torchTensor, 0, len(dict.items))
	for _, e := range dict.items {
		t, ok := e.value.(*torchTensor)
		if !ok {
			return nil, fmt.Errorf("%.80q is not a tensor", e.key)
		}
		named := *t
		named.name = e.key
		tensors = append(tensors, named)
	}
	return tensors, nil
}

var errPickle = errors.New("the values do not fit the operation")

// step runs one operation; done is true at the end.
func (u *unpickler) step() (done bool, err error) {
	op, err := u.bytes(1)
	if err != nil {
		return false, err
	}
	if len(u.stack) > maxPickleStack || len(u.memo) > maxPickleStack {
		return false, fmt.Errorf("more than %d values", maxPickleStack)
	}
	switch op[0] {
	case '.':
		return true, nil
	case 0x80: // the protocol
		version, err := u.bytes(1)
		if err == nil && version[0] != 2 {
			err = fmt.Errorf("protocol %d is not supported, only 2", version[0])
		}
		return false, err
	case 'q', 'r', 'h', 'j':
		return false, u.remember(op[0])
	case 'K', 'M', 'J', 0x8a, 0x88, 0x89, 'N', 'X', 'c':
		v, err := u.constant(op[0])
		u.stack = append(u.stack, v)
		return false, err
	case '(':
		u.stack = append(u.stack, pickleMark{})
	case '}':
		u.stack = append(u.stack, &pickleDict{})
	case ')', 't', 0x85, 0x86, 0x87:
		return false, u.tuple(op[0])
	case 's', 'u':
		return false, u.setItems(op[0] == 'u')
	case 'Q', 'R', 'b':
		return false, u.build(op[0])
	default:
		return false, fmt.Errorf("operation %q is not one of those of a state_dict", op[0])
	}
	return false, nil
}

// bytes takes the next n bytes.
func (u *unpickler) bytes(n int) ([]byte, error) {
	if n > len(u.data) {
		return nil, errors.New("unexpected end")
	}
	out := u.data[:n]
	u.data = u.data[n:]
	return out, nil
}

// remember runs the operations of the memo.
func (u *unpickler) remember(op byte) error {
	size := 1
	if op == 'r' || op == 'j' {
		size = 4
	}
	raw, err := u.bytes(size)
	if err != nil {
		return err
	}
	index := binary.LittleEndian.Uint32(append(bytes.Clone(raw), 0, 0, 0)[:4])
	if op == 'h' || op == 'j' {
		v, ok := u.memo[index]
		if !ok {
			return fmt.Errorf("value %d was not remembered", index)
		}
		u.stack = append(u.stack, v)
		return nil
	}
	if len(u.stack) == 0 {
		return errPickle
	}
	u.memo[index] = u.stack[len(u.stack)-1]
	return nil
}

// constant reads a number, a text or the name of a class.
func (u *unpickler) constant(op byte) (any, error) {
	switch op {
	case 0x88, 0x89:
		return op == 0x88, nil
	case 'N':
		return nil, nil
	case 'c':
		return u.class()
	case 'K', 'M', 'J':
		size := map[byte]int{'K': 1, 'M': 2, 'J': 4}[op]
		raw, err := u.bytes(size)
		if err != nil {
			return nil, err
		}
		n := binary.LittleEndian.Uint32(append(bytes.Clone(raw), 0, 0, 0)[:4])
		if op == 'J' {
			return int(int32(n)), nil
		}
		return int(n), nil
	case 0x8a:
		return u.long()
	}
	raw, err := u.bytes(4)
	if err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint32(raw)
	if n > maxPickleName {
		return nil, fmt.Errorf("a text of %d bytes, at most %d", n, maxPickleName)
	}
	text, err := u.bytes(int(n))
	return string(text), err
}

// long reads an integer of several bytes.
func (u *unpickler) long() (any, error) {
	size, err := u.bytes(1)
	if err != nil {
		return nil, err
	}
	raw, err := u.bytes(int(size[0]))
	if err != nil {
		return nil, err
	}
	n := uint64(0)
	for i, b := range raw {
		if i >= 8 && b != 0 {
			return nil, errors.New("an integer is too large")
		}
		n |= uint64(b) << (8 * min(i, 7))
	}
	if n > math.MaxInt64 || len(raw) > 0 && len(raw) <= 8 && raw[len(raw)-1] >= 0x80 {
		return nil, errors.New("an integer is negative or too large")
	}
	return int(n), nil
}

// class reads the two lines of a class or function.
func (u *unpickler) class() (any, error) {
	var parts [2]string
	for i := range parts {
		end := bytes.IndexByte(u.data[:min(len(u.data), maxPickleName)], '\n')
		if end < 0 {
			return nil, errors.New("the name of a class does not end")
		}
		parts[i], u.data = string(u.data[:end]), u.data[end+1:]
	}
	name := parts[0] + " " + parts[1]
	switch {
	case name == "collections OrderedDict", name == "torch._utils _rebuild_tensor_v2":
	case parts[0] == "torch" && torchTypes[parts[1]] != "":
	default:
		return nil, fmt.Errorf("%.80q is not supported: only tensors of numbers are, none of which is ever executed", name)
	}
	return pickleClass(name), nil
}

// pop takes the last value.
func (u *unpickler) pop() (any, error) {
	if len(u.stack) == 0 {
		return nil, errPickle
	}
	v := u.stack[len(u.stack)-1]
	u.stack = u.stack[:len(u.stack)-1]
	return v, nil
}

// popMarked takes the values after the last mark, and the mark.
func (u *unpickler) popMarked() ([]any, error) {
	for i := len(u.stack) - 1; i >= 0; i-- {
		if _, ok := u.stack[i].(pickleMark); ok {
			values := append([]any(nil), u.stack[i+1:]...)
			u.stack = u.stack[:i]
			return values, nil
		}
	}
	return nil, errPickle
}

// tuple puts a tuple on the stack.
func (u *unpickler) tuple(op byte) (err error) {
	var values []any
	switch op {
	case ')':
	case 't':
		if values, err = u.popMarked(); err != nil {
			return err
		}
	default:
		n := int(op - 0x84)
		if n > len(u.stack) {
			return errPickle
		}
		values = append(values, u.stack[len(u.stack)-n:]...)
		u.stack = u.stack[:len(u.stack)-n]
	}
	u.stack = append(u.stack, pickleTuple(values))
	return nil
}

// setItems adds one item or several to a dict.
func (u *unpickler) setItems(several bool) (err error) {
	var values []any
	if several {
		values, err = u.popMarked()
	} else if len(u.stack) >= 2 {
		values = append(values, u.stack[len(u.stack)-2:]...)
		u.stack = u.stack[:len(u.stack)-2]
	}
	if err != nil || len(values)%2 != 0 || len(u.stack) == 0 {
		return errPickle
	}
	dict, ok := u.stack[len(u.stack)-1].(*pickleDict)
	if !ok {
		return errPickle
	}
	for i := 0; i < len(values); i += 2 {
		key, ok := values[i].(string)
		if !ok {
			return errors.New("a key is not a text")
		}
		if len(dict.items) >= maxPickleStack {
			return fmt.Errorf("more than %d values", maxPickleStack)
		}
		dict.items = append(dict.items, pickleItem{key, values[i+1]})
	}
	return nil
}

// build makes a storage, a tensor or a dict, or sets the attributes of a dict, which are
// ignored.
func (u *unpickler) build(op byte) error {
	last, err := u.pop()
	if err != nil {
		return err
	}
	if op == 'Q' {
		store, err := newStore(last)
		u.stack = append(u.stack, store)
		return err
	}
	first, err := u.pop()
	if err != nil {
		return err
	}
	if op == 'b' {
		if _, ok := first.(*pickleDict); !ok {
			return errPickle
		}
		u.stack = append(u.stack, first)
		return nil
	}
	args, ok := last.(pickleTuple)
	switch class, _ := first.(pickleClass); {
	case !ok:
		return errPickle
	case class == "collections OrderedDict" && len(args) == 0:
		u.stack = append(u.stack, &pickleDict{})
	case class == "torch._utils _rebuild_tensor_v2":
		t, err := newTorchTensor(args)
		if err != nil {
			return err
		}
		u.stack = append(u.stack, t)
	default:
		return errPickle
	}
	return nil
}

// newStore returns the storage of a persistent id: ("storage", class, key, device, values).
func newStore(id any) (*pickleStore, error) {
	args, ok := id.(pickleTuple)
	if !ok || len(args) != 5 || args[0] != "storage" {
		return nil, errors.New("it is not the id of a storage")
	}
	class, ok1 := args[1].(pickleClass)
	key, ok2 := args[2].(string)
	if !ok1 || !ok2 || len(class) < len("torch ") || key == "" {
		return nil, errors.New("it is not the id of a storage")
	}
	return &pickleStore{class: string(class[len("torch "):]), key: key}, nil
}

// newTorchTensor returns the tensor of (storage, offset, shape, stride, requires_grad, hooks).
func newTorchTensor(args pickleTuple) (*torchTensor, error) {
	if len(args) < 6 {
		return nil, errPickle
	}
	store, ok := args[0].(*pickleStore)
	offset, isInt := args[1].(int)
	shape, sized := integersOf(args[2])
	stride, strided := integersOf(args[3])
	if !ok || !isInt || offset < 0 || !sized || !strided || len(shape) != len(stride) {
		return nil, errPickle
	}
	return &torchTensor{storage: store.class, key: store.key, offset: offset, shape: shape, stride: stride}, nil
}

// integersOf returns a tuple of integers that are not negative, at most eight.
func integersOf(v any) (list []int, ok bool) {
	values, ok := v.(pickleTuple)
	if !ok || len(values) > 8 {
		return nil, false
	}
	for _, each := range values {
		n, ok := each.(int)
		if !ok || n < 0 {
			return nil, false
		}
		list = append(list, n)
	}
	return list, true
}
