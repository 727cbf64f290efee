package app

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"

	"glossa/pkg/bucket"
	"glossa/pkg/engine/sealed"
)

// DefaultPrefixesSize is the default of [Config.PrefixesSize].
const DefaultPrefixesSize = 4 << 30

// openPrefixes opens the archive of computed prompts in the directory or the bucket of cfg; nil:
// there is none.
func (a *App) openPrefixes() (*sealed.Archive, error) {
	if a.cfg.Prefixes == "" {
		return nil, nil
	}
	store, err := a.prefixStore()
	if err != nil {
		return nil, fmt.Errorf("prefixes: %w", err)
	}
	return sealed.NewArchive(store, func(err error) {
		if a.cfg.Log != nil {
			a.cfg.Log.LogAttrs(context.Background(), slog.LevelWarn, "prefixes", slog.String("problem", err.Error()))
		}
	}), nil
}

func (a *App) prefixStore() (sealed.Store, error) {
	if !bucket.IsURL(a.cfg.Prefixes) {
		return sealed.OpenDirectory(a.cfg.Prefixes, cmp.Or(a.cfg.PrefixesSize, DefaultPrefixesSize))
	}
	b, err := a.cloud.bucket(a.cfg.Prefixes)
	return prefixBucket{b}, err
}

// A prefixBucket is a store of computed prompts in a bucket, whose rules remove what is old.
type prefixBucket struct{ bucket *bucket.Bucket }

// Get implements [sealed.Store].
func (p prefixBucket) Get(ctx context.Context, name string, size int64) ([]byte, error) {
	r, err := p.bucket.Get(ctx, name, 0, -1)
	if err != nil {
		return nil, err
	}
	data := make([]byte, size)
	_, err = io.ReadFull(r, data)
	return data, cmp.Or(err, r.Close())
}

// Put implements [sealed.Store].
func (p prefixBucket) Put(ctx context.Context, name string, data []byte) error {
	_, err := p.bucket.Put(ctx, name, bytes.NewReader(data), int64(len(data)), bucket.PutOptions{})
	return err
}
