package awsrest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
)

// account is a stand-in for STS and Bedrock.
type account struct {
	t       *testing.T
	expires time.Time
	answer  string // of STS; "": credentials
	status  int
	roles   []string // that were assumed
	who     []string // the session tokens of calls of models
}

func (a *account) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/model/") {
		a.who = append(a.who, r.Header.Get("X-Amz-Security-Token"))
		return
	}
	if err := r.ParseForm(); err != nil || r.PostForm.Get("Action") != "AssumeRole" || r.PostForm.Get("Version") != "2011-06-15" || r.PostForm.Get("RoleSessionName") == "" {
		a.t.Errorf("%v %v", r.PostForm, err)
	}
	if auth := r.Header.Get("Authorization"); !strings.Contains(auth, "Credential=AKID/") || !strings.Contains(auth, "/us-west-2/sts/aws4_request") {
		a.t.Errorf("%s", auth)
	}
	role := r.PostForm.Get("RoleArn")
	a.roles = append(a.roles, role+" "+r.PostForm.Get("ExternalId"))
	if a.answer != "" {
		w.WriteHeader(a.status)
		fmt.Fprint(w, a.answer)
		return
	}
	fmt.Fprintf(w, `<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult><Credentials><AccessKeyId>ASIA</AccessKeyId>
		<SecretAccessKey>s</SecretAccessKey><SessionToken>of %s</SessionToken><Expiration>%s</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>`,
		role, a.expires.UTC().Format(time.RFC3339))
}

// config returns a configuration whose services are all at a.
func (a *account) config() aws.Config {
	s := httptest.NewServer(a)
	a.t.Cleanup(s.Close)
	return aws.Config{Region: "us-west-2", BaseEndpoint: &s.URL, HTTPClient: s.Client(), Credentials: credentials.NewStaticCredentialsProvider("AKID", "secret", "")}
}

// call calls a model as a role.
func call(t *testing.T, c *Clients, role Role, cfg aws.Config) error {
	t.Helper()
	client, err := c.As(role, Bedrock(), cfg, "")
	if err != nil {
		t.Fatal(err)
	}
	a, err := client.Operation(nil, "model", "m", "invoke").Post(t.Context(), []byte("{}"))
	if err == nil {
		a.Close()
	}
	return err
}

// TestAssume: a model is called with its role's credentials, which are asked for once.
func TestAssume(t *testing.T) {
	a := &account{t: t, expires: time.Now().Add(time.Hour)}
	cfg, c := a.config(), &Clients{}
	for _, role := range []Role{{"one", ""}, {"two", "x"}, {"one", ""}, {"one", "y"}} {
		if err := call(t, c, role, cfg); err != nil {
			t.Error(err)
		}
	}
	if got := strings.Join(a.roles, ","); got != "one ,two x,one y" {
		t.Errorf("assumed %s", got)
	}
	if got := strings.Join(a.who, ","); got != "of one,of two,of one,of one" {
		t.Errorf("called as %s", got)
	}
	plain, err := c.Get(Bedrock(), cfg, "", "")
	if err != nil {
		t.Fatal(err)
	}
	if other, err := c.As(Role{"one", ""}, Bedrock(), cfg, ""); err != nil || other == plain {
		t.Errorf("a role has the client of none: %v", err)
	}
}

// TestRenewal: credentials that end soon are asked for again.
func TestRenewal(t *testing.T) {
	a := &account{t: t, expires: time.Now().Add(renewal - time.Minute)}
	cfg, c := a.config(), &Clients{}
	for range 2 {
		if err := call(t, c, Role{ARN: "one"}, cfg); err != nil {
			t.Error(err)
		}
	}
	if len(a.roles) != 2 {
		t.Errorf("asked %d times", len(a.roles))
	}
}

// TestRoleRefused: the error names the role and the reason, and no secret.
func TestRoleRefused(t *testing.T) {
	for answer, c := range map[string]struct {
		status int
		want   string
	}{
		`<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code><Message>not you</Message></Error></ErrorResponse>`: {403, "the role one: AccessDenied"},
		`gone`: {500, "the role one: status 500"},
		`<AssumeRoleResponse><AssumeRoleResult><Credentials><SecretAccessKey>hidden</SecretAccessKey></Credentials></AssumeRoleResult></AssumeRoleResponse>`: {200, "the role one: the answer has no credentials"},
		`{"hidden": 1}`: {200, "the role one: the answer has no credentials"},
	} {
		a := &account{t: t, answer: answer, status: c.status}
		err := call(t, &Clients{}, Role{ARN: "one"}, a.config())
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hidden") || a.who != nil {
			t.Errorf("%s: %v", answer, err)
		}
	}
}
