package bucket

import (
	"errors"
	"strings"

	"glossa/pkg/arn"
	"glossa/pkg/partition"
)

// endpoint returns the URL of a bucket, without a trailing slash: the bucket is in the
// host's name, or in the path below a configured endpoint and for names with dots, which
// the certificates of Amazon's hosts do not cover.
//
// Source: the endpoint rules of S3, see testdata/goldens.py.
func endpoint(cfg Config) (string, error) {
	if cfg.Endpoint != "" {
		return strings.TrimRight(cfg.Endpoint, "/") + "/" + cfg.Bucket, nil
	}
	if err := arn.CheckRegion(cfg.Region); err != nil { // credentials are sent to its host
		return "", err
	}
	p, host := partition.Of(cfg.Region), "s3"
	if cfg.FIPS {
		if p.Name == "aws-cn" {
			return "", errors.New("S3 has no FIPS endpoints in the partition " + p.Name)
		}
		host += "-fips"
	}
	if cfg.DualStack { // S3 puts them under the domain of the others
		host += ".dualstack"
	}
	host += "." + cfg.Region + "." + p.Domain
	if strings.Contains(cfg.Bucket, ".") {
		return "https://" + host + "/" + cfg.Bucket, nil
	}
	return "https://" + cfg.Bucket + "." + host, nil
}
