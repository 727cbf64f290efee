package app

import (
	"fmt"
	"log/slog"
	"path"
	"sync"

	"glossa/pkg/bucket"
	"glossa/pkg/llm"
	"glossa/pkg/publish"
)

// uploadsPrefix is where uploads under way lie in a bucket, beside the prefix of models.
const uploadsPrefix = "uploads"

// uploads returns what opens the store of uploads; nil if there is none. That of a bucket is
// opened with the first upload.
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

// OpenStore opens where cfg.Checkpoints are published. The caller closes it.
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
	name, prefix, err := bucket.Parse(url)
	if err != nil {
		return nil, err
	}
	uploads := path.Join(path.Dir(prefix), uploadsPrefix)
	if prefix == "" || uploads == prefix {
		return nil, llm.Errorf(llm.Unsupported, "uploads need a prefix of their own: checkpoints must be below another one than %q, such as s3://%s/checkpoints", prefix, name)
	}
	var buckets []*bucket.Bucket
	for _, prefix := range []string{prefix, uploads} {
		cfg, err := c.s3(bucket.Config{Bucket: name, Prefix: prefix})
		if err != nil {
			return nil, fmt.Errorf("checkpoints: %w", err)
		}
		buckets = append(buckets, bucket.NewBucket(cfg))
	}
	return publish.OpenBucket(buckets[0], buckets[1]), nil
}
