package publish

import (
	"strings"
	"testing"

	"glossa/pkg/llm"
)

// Uploads in progress lie in the parent directory of the models.
func TestBucketPlaces(t *testing.T) {
	for url, want := range map[string][2]string{
		"s3://bucket/checkpoints":  {"checkpoints", "uploads"},
		"s3://bucket/checkpoints/": {"checkpoints", "uploads"},
		"s3://bucket/a/b":          {"a/b", "a/uploads"},
	} {
		models, uploads, err := BucketPlaces(url)
		if err != nil || models.Bucket != "bucket" || uploads.Bucket != "bucket" || models.Prefix != want[0] || uploads.Prefix != want[1] {
			t.Errorf("%s: %+v, %+v, %v", url, models, uploads, err)
		}
	}
	for url, want := range map[string]string{
		"s3://bucket": "s3://bucket/checkpoints", "s3://bucket/uploads": "s3://bucket/checkpoints", "s3://bucket/a/uploads": "prefix of their own", "s3://NO/a": "not an S3 location",
	} {
		if _, _, err := BucketPlaces(url); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(url, "s3://NO") && llm.AsError(err).Code != llm.Unsupported {
			t.Errorf("%s: %v, want %q", url, err, want)
		}
	}
}
