package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strconv"
)

// Keys of a GGUF model in several files.
const (
	splitNumber  = "split.no"            // of the file, from 0
	splitCount   = "split.count"         // of files
	splitTensors = "split.tensors.count" // of all files
)

// splitName matches the names of a split model's files, the first one 00001.
var splitName = regexp.MustCompile(`^(.*)-([0-9]{5})-of-([0-9]{5})\.gguf$`)

// split reports whether f is one of several files.
func (f *File) split() bool {
	n, err := f.Meta.Int(splitCount)
	return err == nil && n > 1
}

// openSplit opens all files of the split GGUF model of which name is one. The keys are
// those of the first file.
func openSplit(fsys fs.FS, name string) (*File, error) {
	parts := splitName.FindStringSubmatch(name)
	if parts == nil {
		return nil, fmt.Errorf("checkpoint %s: one of several files, but not named -00001-of-0000N.gguf", name)
	}
	count, err := strconv.Atoi(parts[3])
	if err != nil || count < 2 || count > maxShards {
		return nil, fmt.Errorf("checkpoint %s: one of %d files (2 to %d)", name, count, maxShards)
	}
	f := &File{name: name, index: map[string]int{}}
	for i := range count {
		shard := fmt.Sprintf("%s-%05d-of-%05d.gguf", parts[1], i+1, count)
		if err := f.addSplit(fsys, shard, i, count); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	if _, ok := f.Meta[splitTensors]; ok {
		if n, err := f.Meta.Int(splitTensors); err != nil || n != int64(len(f.Tensors)) {
			return nil, errors.Join(fmt.Errorf("checkpoint %s: %d tensors in %d files, not %s, %v", name, len(f.Tensors), count, splitTensors, f.Meta[splitTensors]), f.Close())
		}
	}
	return f, nil
}

// addSplit opens file i of count and adds its tensors.
func (f *File) addSplit(fsys fs.FS, name string, i, count int) error {
	g, isGGUF, err := openOne(fsys, name)
	if err != nil {
		return err
	}
	f.closers = append(f.closers, g.closers...)
	if !isGGUF {
		return fmt.Errorf("checkpoint %s: not GGUF, unlike the other files of the model", name)
	}
	for _, k := range []struct {
		key  string
		want int
	}{{splitNumber, i}, {splitCount, count}} {
		if got, err := g.Meta.Int(k.key); err != nil {
			return fmt.Errorf("checkpoint %s: %w", name, err)
		} else if got != int64(k.want) {
			return fmt.Errorf("checkpoint %s: %s is %d, but the name says %d", name, k.key, got, k.want)
		}
	}
	if i == 0 {
		f.Meta = g.Meta
	}
	for _, t := range g.Tensors {
		t.part = len(f.parts)
		if err := f.add(t); err != nil {
			return fmt.Errorf("checkpoint %s: %w", name, err)
		}
	}
	f.parts = append(f.parts, g.parts...)
	return nil
}
