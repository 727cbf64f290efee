package app

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
)

// Clients use the settings of the environment.
func TestEnvironmentAWS(t *testing.T) {
	env := map[string]string{
		"AWS_DEFAULT_REGION": "eu-west-1", "AWS_REGION": "us-gov-west-1", "AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s", "AWS_SESSION_TOKEN": "t",
		"AWS_USE_FIPS_ENDPOINT": "true", "AWS_USE_DUALSTACK_ENDPOINT": "true",
	}
	load := func() (*bedrockruntime.Client, aws.Config) {
		cfg, err := environmentAWS(func(name string) string { return env[name] }, awshttp.NewBuildableClient())
		if err != nil {
			t.Fatal(err)
		}
		return bedrockruntime.NewFromConfig(cfg), cfg
	}
	client, cfg := load()
	o := client.Options()
	if got, err := cfg.Credentials.Retrieve(t.Context()); err != nil || got.AccessKeyID != "k" || got.SecretAccessKey != "s" || got.SessionToken != "t" {
		t.Error(got.AccessKeyID, err)
	}
	if o.Region != "us-gov-west-1" || o.BaseEndpoint != nil || o.EndpointOptions.UseFIPSEndpoint != aws.FIPSEndpointStateEnabled ||
		o.EndpointOptions.UseDualStackEndpoint != aws.DualStackEndpointStateEnabled {
		t.Errorf("%s %v %+v", o.Region, o.BaseEndpoint, o.EndpointOptions)
	}
	for _, step := range []struct{ name, value, want string }{
		{"AWS_ENDPOINT_URL", "http://all", "http://all"},
		{"AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "http://own", "http://own"},
		{"AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "true", ""},
	} {
		env[step.name] = step.value
		client, _ = load()
		if base := client.Options().BaseEndpoint; aws.ToString(base) != step.want {
			t.Errorf("%s: %q, want %q", step.name, aws.ToString(base), step.want)
		}
	}
	if delete(env, "AWS_SECRET_ACCESS_KEY"); true {
		_, cfg = load()
		if got, err := cfg.Credentials.Retrieve(t.Context()); err == nil {
			t.Errorf("%+v without any", got)
		}
	}
}

// A container gets its role from a local service, whose token may change.
func TestContainerCredentials(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("one\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var sent string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent = r.Header.Get("Authorization")
		_, _ = w.Write([]byte(`{"AccessKeyId": "role", "SecretAccessKey": "s", "Token": "t"}`))
	}))
	defer server.Close()
	env := map[string]string{"AWS_CONTAINER_CREDENTIALS_FULL_URI": server.URL, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": token}
	cfg, err := environmentAWS(func(name string) string { return env[name] }, awshttp.NewBuildableClient())
	if err != nil {
		t.Fatal(err)
	}
	if got, err := cfg.Credentials.Retrieve(t.Context()); err != nil || got.AccessKeyID != "role" || sent != "one" {
		t.Errorf("%s with the token %q: %v", got.AccessKeyID, sent, err)
	}
}

// The limit of the heap is set from the function's size, unless GOMEMLIMIT sets it.
func TestHeapLimit(t *testing.T) {
	was := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetMemoryLimit(was) })
	env := map[string]string{"GLOSSA_OPEN": "true", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "100"}
	for _, test := range []struct {
		own  string
		want int64
	}{{"3GiB", was}, {"", 50 << 20}} {
		env["GOMEMLIMIT"] = test.own
		cfg, err := FromEnv(func(name string) string { return env[name] })
		if err != nil {
			t.Fatal(err)
		}
		if _, err := New(cfg); err != nil {
			t.Fatal(err)
		}
		if got := debug.SetMemoryLimit(-1); got != test.want {
			t.Errorf("GOMEMLIMIT %q: %d, want %d", test.own, got, test.want)
		}
	}
}
