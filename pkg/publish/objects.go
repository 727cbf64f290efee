package publish

import (
	"cmp"
	"context"
	"errors"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"glossa/pkg/bucket"
	"glossa/pkg/engine/checkpoint"
)

// objects stores models in a bucket: each is one object, which is replaced in one step.
// It implements [models].
type objects struct {
	b *bucket.Bucket
	s *Store
}

// cleanupTimeout is the longest time for deleting the remains of a failed upload.
const cleanupTimeout = 10 * time.Second

func (o *objects) close() error { return nil }

// used implements [models].
func (o *objects) used(ctx context.Context) (total int64, err error) {
	list, err := o.b.List(ctx, "")
	for _, i := range list {
		total += i.Size
	}
	return total, err
}

// objectsOf returns the keys of the objects of a name, and reports whether they are a model: a
// model's own files count, but not those of a directory below.
func (o *objects) objectsOf(ctx context.Context, name string) (keys []string, isModel bool, err error) {
	list, err := o.b.List(ctx, name)
	for _, i := range list {
		if i.Key != name+checkpoint.PackSuffix && !strings.HasPrefix(i.Key, name+"/") {
			continue
		}
		keys = append(keys, i.Key)
		base := path.Base(i.Key)
		isModel = isModel || isOwnObject(i.Key, name) && (base == configFile || strings.HasSuffix(base, checkpoint.PackSuffix) || strings.HasSuffix(base, ".gguf"))
	}
	return keys, isModel, err
}

// isOwnObject reports whether an object of a name is the model itself or lies in its directory.
func isOwnObject(key, name string) bool {
	return key == name+checkpoint.PackSuffix || path.Dir(key) == name
}

// store implements [models]. It stores the new object before it deletes anything of the
// old model. It replaces a packed model, under either of its keys. If the old model is a
// run or has a configuration, readers use that until it is deleted, which is one step too.
func (o *objects) store(ctx context.Context, name string, isNew bool, write func(to io.WriterAt) error) error {
	keys, isModel, err := o.objectsOf(ctx, name)
	switch {
	case err != nil:
		return err
	case len(keys) > 0 && !isModel:
		return taken(name)
	case isModel && isNew:
		return exists(name)
	}
	target := target(keys, name)
	w := o.b.Create(ctx, target, bucket.WriterOptions{PutOptions: bucket.PutOptions{IfNone: isNew}, Resume: o.s.Resume})
	if err = write(w); err == nil {
		_, err = w.Close()
	}
	if err != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
		defer cancel()
		if isNew && errors.Is(err, errExist) {
			err = exists(name)
		}
		return errors.Join(err, w.Abort(ctx))
	}
	return o.delete(ctx, slices.DeleteFunc(keys, func(key string) bool { return key == target }))
}

// hasOther implements [models].
func (o *objects) hasOther(ctx context.Context, name string) (bool, error) {
	keys, isModel, err := o.objectsOf(ctx, name)
	return isModel && (len(keys) > 1 || keys[0] != target(keys, name)), err
}

// target returns the key of a new model: that of the packed model of the name, if that is
// its only object.
func target(keys []string, name string) string {
	packs := slices.DeleteFunc(slices.Clone(keys), func(key string) bool {
		return !strings.HasSuffix(key, checkpoint.PackSuffix) || !isOwnObject(key, name)
	})
	alone := !slices.Contains(keys, path.Join(name, configFile)) // otherwise it may not be a packed one
	if len(packs) == 1 && alone {
		return packs[0]
	}
	return path.Join(name, PackName)
}

// delete deletes objects, first the one that marks a directory as a model.
func (o *objects) delete(ctx context.Context, keys []string) error {
	slices.SortFunc(keys, func(a, b string) int {
		first := func(key string) int {
			if path.Base(key) == configFile {
				return 0
			}
			return 1
		}
		return cmp.Or(first(a)-first(b), strings.Compare(a, b))
	})
	for _, key := range keys {
		if err := o.b.Delete(ctx, key); err != nil {
			return err
		}
	}
	return nil
}

// remove implements [models].
func (o *objects) remove(ctx context.Context, name string) error {
	keys, isModel, err := o.objectsOf(ctx, name)
	switch {
	case err != nil:
		return err
	case len(keys) == 0:
		return noModel(name)
	case !isModel:
		return taken(name)
	}
	return o.delete(ctx, keys)
}
