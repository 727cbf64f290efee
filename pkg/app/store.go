package app

import (
	"fmt"
	"log/slog"
	"sync"

	"glossa/pkg/bucket"
	"glossa/pkg/publish"
)

// uploads returns a function that opens the store of uploads; nil if there is none. The store
// of a bucket is opened with the first upload.
func uploads(cfg Config, c *cloud) (func() (*publish.Store, error), error) {
	if !cfg.Uploads || cfg.Checkpoints == "" {
		return nil, nil
	}
	if bucket.IsURL(cfg.Checkpoints) {
		return sync.OnceValues(func() (*publish.Store, error) { return openStore(cfg, c) }), nil
	}
	s, err := openStore(cfg, c)
	return func() (*publish.Store, error) { return s, nil }, err
}

// OpenStore opens the store of cfg.Checkpoints. The caller closes it.
func OpenStore(cfg Config) (*publish.Store, error) { return openStore(cfg, newCloud(cfg)) }

func openStore(cfg Config, c *cloud) (s *publish.Store, err error) {
	if bucket.IsURL(cfg.Checkpoints) {
		s, err = openBucket(cfg.Checkpoints, c)
	} else {
		s, err = publish.Open(cfg.Checkpoints)
	}
	if err != nil {
		return nil, err
	}
	s.Memory = cfg.Memory
	if cfg.Log != nil {
		s.Log = func(err error) { cfg.Log.Warn("upload", slog.String("cause", err.Error())) }
	}
	return s, nil
}

func openBucket(url string, c *cloud) (*publish.Store, error) {
	models, uploads, err := publish.BucketPlaces(url)
	if err != nil {
		return nil, err
	}
	var buckets []*bucket.Bucket
	for _, place := range []bucket.Config{models, uploads} {
		cfg, err := c.s3(place)
		if err != nil {
			return nil, fmt.Errorf("checkpoints: %w", err)
		}
		buckets = append(buckets, bucket.NewBucket(cfg))
	}
	return publish.OpenBucket(buckets[0], buckets[1]), nil
}
