package bucket

import (
	"encoding/json"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
)

// The URLs of buckets are those of AWS's endpoint rules, which testdata/goldens.py
// evaluates.
func TestEndpoint(t *testing.T) {
	raw, err := os.ReadFile("testdata/endpoints.json")
	if err != nil {
		t.Fatal(err)
	}
	var rows []struct {
		Bucket, Region, Own, URL, Error string
		FIPS, Dual                      bool
	}
	if err := json.Unmarshal(raw, &rows); err != nil {
		t.Fatal(err)
	}
	var refused, fips, dual, path, own int
	for _, r := range rows {
		got, err := endpoint(Config{Bucket: r.Bucket, Region: r.Region, Endpoint: r.Own, FIPS: r.FIPS, DualStack: r.Dual})
		if got != r.URL || (err != nil) != (r.Error != "") {
			t.Errorf("%+v: %s, %v", r, got, err)
		}
		for count, counts := range map[*int]bool{&refused: r.Error != "", &fips: r.FIPS, &dual: r.Dual, &path: strings.Contains(r.Bucket, "."), &own: r.Own != ""} {
			if counts {
				*count++
			}
		}
	}
	if refused == 0 || fips == 0 || dual == 0 || path == 0 || own == 0 {
		t.Errorf("%d refused, %d FIPS, %d dual-stack, %d in the path, %d configured", refused, fips, dual, path, own)
	}
}

// Without an endpoint nothing is sent: each request returns the error of the endpoint.
func TestNoEndpoint(t *testing.T) {
	for want, cfg := range map[string]Config{
		"not the name of a region": {Bucket: "models", Region: "evil.example/"},
		"no FIPS endpoints":        {Bucket: "models", Region: "cn-north-1", FIPS: true},
	} {
		if err := New(cfg).Refresh(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", cfg, err, want)
		}
	}
}

// amazonHost matches the hosts of S3 in all partitions.
var amazonHost = regexp.MustCompile(`^(models\.)?s3(-fips)?(\.dualstack)?\.[a-z0-9-]{1,63}\.` +
	`(amazonaws\.com|amazonaws\.com\.cn|amazonaws\.eu|c2s\.ic\.gov|sc2s\.sgov\.gov|cloud\.adc-e\.uk|csp\.hci\.ic\.gov)$`)

// FuzzEndpoint checks that the host of each region is one of Amazon's, or an error.
func FuzzEndpoint(f *testing.F) {
	for _, region := range []string{"us-east-1", "cn-north-1", "us-iso-east-1", "x.evil.example/y?", "evil.example#", "a@evil.example/", "", "..", "a:b@c", "us-east-1\r\nx: y", "%2f"} {
		f.Add(region, false, false)
		f.Add(region, true, true)
	}
	f.Fuzz(func(t *testing.T, region string, fips, dual bool) {
		for _, bucket := range []string{"models", "my.models"} {
			got, err := endpoint(Config{Bucket: bucket, Region: region, FIPS: fips, DualStack: dual})
			if err != nil {
				continue
			}
			if u, err := url.Parse(got); err != nil || u.Scheme != "https" || !amazonHost.MatchString(u.Host) || u.User != nil || u.RawQuery != "" {
				t.Errorf("%q: %s, %v", region, got, err)
			}
		}
	})
}
