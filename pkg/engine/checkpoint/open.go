package checkpoint

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
)

// Bounds of an index of shards.
const (
	maxIndex  = 256 << 20 // bytes
	maxShards = 1000
)

// Open opens a file of fsys: an index of shards if the name ends in .index.json, GGUF and a
// file of torch.save by their first bytes, otherwise safetensors. The name of any file of a split GGUF model
// opens all of them. The caller closes the result.
func Open(fsys fs.FS, name string) (*File, error) {
	if strings.HasSuffix(name, ".index.json") {
		return OpenSharded(fsys, name)
	}
	f, isGGUF, err := openOne(fsys, name)
	if err != nil {
		return nil, err
	}
	if !isGGUF || !f.split() {
		return f, nil
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	return openSplit(fsys, name)
}

// openOne opens one file of any format.
func openOne(fsys fs.FS, name string) (f *File, isGGUF bool, err error) {
	r, size, err := openAt(fsys, name)
	if err != nil {
		return nil, false, fmt.Errorf("checkpoint %s: %w", name, err)
	}
	var first [len(ggufMagic)]byte
	open := OpenSafetensors
	if k, _ := r.ReadAt(first[:], 0); k == len(first) {
		switch string(first[:]) {
		case ggufMagic:
			open, isGGUF = OpenGGUF, true
		case torchMagic:
			open = OpenTorch
		}
	}
	if f, err = open(r, size, name); err != nil {
		return nil, false, errors.Join(err, r.Close())
	}
	f.closers = append(f.closers, r)
	return f, isGGUF, nil
}

// readerAt is a file with random access.
type readerAt interface {
	io.ReaderAt
	io.Closer
}

func openAt(fsys fs.FS, name string) (_ readerAt, size int64, err error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("not a regular file")
	}
	r, ok := f.(readerAt)
	if err == nil && !ok {
		err = errors.New("the file system does not support random access")
	}
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return r, info.Size(), nil
}

// OpenSharded opens the safetensors files named by an index in the same directory:
// {"weight_map": {tensor: file}}. Each tensor must be in the file named by the index and
// in no other; other members of the index, such as the total size, are ignored. The
// caller closes the result.
func OpenSharded(fsys fs.FS, index string) (*File, error) {
	f := &File{name: index, Meta: Meta{}, index: map[string]int{}}
	if err := f.openSharded(fsys, index); err != nil {
		return nil, errors.Join(fmt.Errorf("checkpoint %s: %w", index, err), f.Close())
	}
	return f, nil
}

func (f *File) openSharded(fsys fs.FS, index string) error {
	places, err := readIndex(fsys, index)
	if err != nil {
		return err
	}
	shards := slices.Compact(slices.Sorted(maps.Values(places)))
	if len(shards) == 0 || len(shards) > maxShards {
		return fmt.Errorf("weight_map names %d files (1 to %d)", len(shards), maxShards)
	}
	for _, shard := range shards {
		if err := f.addShard(fsys, index, shard, places); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(places)) {
		if _, ok := f.index[name]; !ok {
			return fmt.Errorf("tensor %.80q: missing in %s", name, places[name])
		}
	}
	return nil
}

// addShard opens a shard and adds its tensors.
func (f *File) addShard(fsys fs.FS, index, shard string, places map[string]string) error {
	full := path.Join(path.Dir(index), shard)
	r, size, err := openAt(fsys, full)
	if err != nil {
		return fmt.Errorf("shard %s: %w", shard, err)
	}
	f.closers = append(f.closers, r)
	g, err := OpenSafetensors(r, size, full)
	if err != nil {
		return err
	}
	for _, t := range g.Tensors {
		if places[t.Name] != shard {
			return fmt.Errorf("tensor %.80q: is in %s, but the index has %q", t.Name, shard, places[t.Name])
		}
		t.part = len(f.parts)
		if err := f.add(t); err != nil {
			return err
		}
	}
	maps.Copy(f.Meta, g.Meta)
	f.parts = append(f.parts, g.parts...)
	return nil
}

// readIndex reads the map of tensors to files.
func readIndex(fsys fs.FS, index string) (places map[string]string, err error) {
	r, size, err := openAt(fsys, index)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if size > maxIndex {
		return nil, fmt.Errorf("%d bytes, at most %d", size, maxIndex)
	}
	s := newStream(io.NewSectionReader(r, 0, size))
	places = map[string]string{}
	err = s.object(func(key string) error {
		if key != "weight_map" {
			return s.skip()
		}
		return s.object(func(name string) error {
			var shard string
			if err := s.decode(maxKey, &shard); err != nil {
				return fmt.Errorf("tensor %.80q: %w", name, err)
			}
			if !fs.ValidPath(shard) || path.Base(shard) != shard || shard == "." || strings.ContainsAny(shard, `\:`) {
				return fmt.Errorf("tensor %.80q: %.80q is not the name of a file in the directory of the index", name, shard)
			}
			if len(places) == maxTensors {
				return fmt.Errorf("tensor %.80q: more than %d tensors", name, maxTensors)
			}
			places[name] = shard
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	if c, err := s.peek(); err == nil {
		return nil, fmt.Errorf("offset %d: %q after the end", s.offset(), c)
	} else if err != io.ErrUnexpectedEOF {
		return nil, err
	}
	return places, nil
}
