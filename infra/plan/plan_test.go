package plan

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"glossa/pkg/app"
	"glossa/pkg/httpx"
)

// lookUp returns a function that looks up contexts by name.
func lookUp(contexts map[string]string) func(string) string {
	return func(name string) string { return contexts[name] }
}

// newPlan returns the plan for an operator's contexts.
func newPlan(t *testing.T, contexts map[string]string) *Plan {
	t.Helper()
	cfg, err := Parse(lookUp(contexts))
	if err != nil {
		t.Fatal(err)
	}
	p, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestFunctions(t *testing.T) {
	p := newPlan(t, map[string]string{"memory": "3008,alpha=512", "provisioned": "1,lamini=0", "reserved": "invoke=9"})
	var names []string
	for _, f := range p.Functions {
		names = append(names, f.Family)
		memory, warm, most := 3008, 1, 0
		timeout := 15 * time.Minute
		switch f.Family {
		case "alpha":
			memory = 512
		case "lamini":
			warm, timeout = 0, 2*time.Minute
		case "embeddings", "ollama":
			timeout = 10 * time.Minute
		case "invoke":
			most = 9
		}
		if self := f.Family == "batches"; f.Recursive != self || (f.Schedule != nil) != self {
			t.Errorf("%s: recursive %v, schedule %v", f.Family, f.Recursive, f.Schedule)
		}
		if f.Memory != memory || f.Provisioned != warm || f.Reserved != most || f.Timeout != timeout {
			t.Errorf("%+v", f)
		}
	}
	if !slices.Equal(names, app.Families()) {
		t.Errorf("functions of %v, want %v", names, app.Families())
	}
}

// TestReached routes a request for each route of each family, and for unknown paths, as
// API Gateway does.
func TestReached(t *testing.T) {
	p := newPlan(t, nil)
	var families []Family
	owners := map[string]int{}
	for _, name := range app.Families() {
		f, err := family(p.Config, name)
		if err != nil {
			t.Fatal(err)
		}
		families = append(families, f)
		for _, route := range f.Routes {
			owners[route.Method+route.Pattern]++
		}
	}
	used := map[string]bool{"/": true, "/" + greedy: true}
	for _, f := range families {
		for _, route := range f.Routes {
			owner := f.Name
			if owners[route.Method+route.Pattern] == len(families) { // as /health
				owner = CatchAll
			}
			for _, value := range []string{"m", "meta/llama:3", "a%2Fb", "completions"} {
				path := example(route.Pattern, value)
				got, ok := Route(p.Paths, path)
				if !ok || got.Family != owner {
					t.Errorf("%s %s goes to %v, want %s", route.Method, path, got, owner)
				}
				used[got.Resource] = true
			}
		}
	}
	for _, path := range []string{"/x", "/page", "/v1", "/v1/unknown", "/v1/engines", "/api", "/api/chat/more", "/users/x/y"} {
		if got, ok := Route(p.Paths, path); !ok || got.Family != CatchAll {
			t.Errorf("%s goes to %v, %v", path, got, ok)
		}
	}
	for _, path := range p.Paths {
		if !used[path.Resource] {
			t.Errorf("nobody asked for %s", path.Resource)
		}
	}
}

// example fills in a pattern. Only names at the end of a pattern, or before its last part,
// may contain slashes.
func example(pattern, value string) string {
	parts := strings.Split(pattern, "/")
	for i, part := range parts {
		switch {
		case part == "{$}":
			parts[i] = ""
		case strings.HasPrefix(part, "{"):
			if parts[i] = value; !strings.HasSuffix(part, "...}") {
				parts[i] = strings.ReplaceAll(value, "/", "-")
			}
		}
	}
	return strings.Join(parts, "/")
}

func routes(patterns ...string) (list []httpx.Route) {
	for _, p := range patterns {
		list = append(list, httpx.Route{Method: "GET", Pattern: p})
	}
	return list
}

func TestPaths(t *testing.T) {
	families := []Family{
		{"a", routes("/{$}", "/a/{x}", "/a/{x}/y", "/all")}, {"b", routes("/b/{rest...}", "/b/{rest...}/z", "/all")},
	}
	got, err := Paths(families)
	want := []Path{
		{"/", "a"}, {"/a/{x}", "a"}, {"/a/{x}/y", "a"}, {"/all", CatchAll}, {"/b/{proxy+}", "b"}, {"/{proxy+}", CatchAll},
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	for path, resource := range map[string]string{
		"/": "/", "/a/1": "/a/{x}", "/a/1/y": "/a/{x}/y", "/a/1/z": "/{proxy+}", "/a": "/{proxy+}", "/b": "/{proxy+}", "/b/": "/{proxy+}",
		"/b/1": "/b/{proxy+}", "/b/1/2/z": "/b/{proxy+}", "/all": "/all",
	} {
		if got, _ := Route(want, path); got.Resource != resource {
			t.Errorf("%s goes to %v, want %s", path, got, resource)
		}
	}
	var many []string
	for i := range MaxResources + 1 {
		many = append(many, "/p"+strings.Repeat("x", i))
	}
	for name, list := range map[string][]Family{
		"belongs to a and b":             {{"a", routes("/x")}, {"b", routes("/x")}, {"c", nil}},
		"already has the variable":       {{"a", routes("/x/{a}", "/x/{b}")}, {"b", nil}},
		"end in a slash":                 {{"a", routes("/x/")}, {"b", nil}},
		`does not accept the part "x y"`: {{"a", routes("/x y")}, {"b", nil}},
		"quota":                          {{"a", routes(many...)}, {"b", nil}},
	} {
		if _, err := Paths(list); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("want %q: %v", name, err)
		}
	}
}

// TestEnvironment checks that functions know their variables and start with them.
func TestEnvironment(t *testing.T) {
	known := map[string]bool{}
	for _, v := range app.Variables() {
		known[v[0]] = true
	}
	for _, auth := range []string{Keys, IAM} {
		for _, f := range newPlan(t, map[string]string{"auth": auth, "settings": strings.Join(Settings(), ",")}).Functions {
			for name := range f.Environment {
				if !known[name] {
					t.Errorf("%s: no function knows %s", f.Family, name)
				}
			}
			cfg, err := app.FromEnv(lookUp(f.Environment))
			if err != nil || cfg.Auth != (auth == Keys) || !cfg.Host.StreamREST || !cfg.Host.StreamURL || !cfg.ListedOnly || !cfg.IgnoreUnmapped || !cfg.EmptyLines {
				t.Errorf("%s with %s: %v, %+v", f.Family, auth, err, cfg.Host)
			}
		}
	}
}

// TestStatements checks that no function has permissions that only another one needs.
func TestStatements(t *testing.T) {
	own := map[string][]string{"alpha": {"Publish", "Uploads", "Parts"}, CatchAll: {"LogIn"}, "responses": {"Responses"}, "batches": {"Responses", "Batches", "BatchLists", "Itself"}}
	for _, f := range newPlan(t, nil).Functions {
		var extra []string
		for _, s := range f.Statements {
			if !slices.Contains([]string{"Logs", "Items", "Lists", "Counts", "Checkpoints", "Runs", "Bedrock", "Guardrails", "SageMaker", "Roles", "Secrets", "Parameters"}, s.Sid) {
				extra = append(extra, s.Sid)
			}
			for _, action := range s.Actions {
				writes := strings.HasPrefix(action, "s3:Put") || strings.HasPrefix(action, "s3:Delete") || action == "dynamodb:PutItem"
				if writes && !slices.Contains(own[f.Family], s.Sid) {
					t.Errorf("%s may %s", f.Family, action)
				}
			}
		}
		if !slices.Equal(extra, own[f.Family]) {
			t.Errorf("%s may %v besides, want %v", f.Family, extra, own[f.Family])
		}
	}
}

// TestReads: only functions that serve stored responses may read them.
func TestReads(t *testing.T) {
	for _, f := range newPlan(t, nil).Functions {
		var got []string
		for _, s := range f.Statements {
			if slices.Contains(s.Actions, "dynamodb:GetItem") {
				got = append(got, s.Condition["ForAllValues:StringLike"]["dynamodb:LeadingKeys"]...)
			}
		}
		want := []string{"accounts", "budget#*"}
		if f.Family == "responses" || f.Family == "batches" {
			want = append(want, "responses#*")
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s may read items of %v, want %v", f.Family, got, want)
		}
	}
}

// TestResponseDays: functions that store no responses may not write them.
func TestResponseDays(t *testing.T) {
	for days, want := range map[string]bool{"30": true, "7": true, "0": false} {
		for _, f := range newPlan(t, map[string]string{"response-days": days}).Functions {
			if f.Family != "responses" && f.Family != "batches" {
				continue
			}
			may := slices.ContainsFunc(f.Statements, func(s Statement) bool { return s.Sid == "Responses" })
			if set := f.Environment["GLOSSA_RESPONSE_DAYS"]; may != want || set != map[string]string{"7": "7", "0": "0"}[days] {
				t.Errorf("%s days: writes %v, GLOSSA_RESPONSE_DAYS=%q", days, may, set)
			}
		}
	}
}

// TestModels checks which models functions may invoke on Amazon Bedrock: its own models, and
// each kind of model of this account that a record can name by its ARN; nothing of other
// accounts.
func TestModels(t *testing.T) {
	own := strings.NewReplacer("${AWS::Partition}", "aws", "${AWS::AccountId}", "123456789012")
	for _, f := range newPlan(t, nil).Functions {
		i := slices.IndexFunc(f.Statements, func(s Statement) bool { return s.Sid == "Bedrock" })
		if !slices.ContainsFunc(f.Statements, func(s Statement) bool {
			return slices.Equal(s.Actions, []string{"bedrock:ApplyGuardrail"}) && slices.Equal(s.Resources, []string{"arn:${AWS::Partition}:bedrock:*:${AWS::AccountId}:guardrail/*"})
		}) {
			t.Errorf("%s may not apply the guardrails that records name", f.Family)
		}
		may := func(resource string) bool {
			return slices.ContainsFunc(f.Statements[i].Resources, func(pattern string) bool {
				form := strings.ReplaceAll(regexp.QuoteMeta(own.Replace(pattern)), `\*`, ".*")
				return regexp.MustCompile("^" + form + "$").MatchString(resource)
			})
		}
		for _, arn := range []string{
			"us-east-1::foundation-model/anthropic.claude-v2:1", "eu-west-1:123456789012:inference-profile/eu.anthropic.claude-v2:1",
			"eu-west-1:123456789012:application-inference-profile/a1b2c3", "us-east-1:123456789012:provisioned-model/0abcdefghijk",
			"us-east-1:123456789012:custom-model/amazon.titan-text-lite-v1:0:4k/0abc", "us-east-1:123456789012:custom-model-deployment/0abc",
			"us-east-1:123456789012:imported-model/0abc",
		} {
			if arn = "arn:aws:bedrock:" + arn; !may(arn) {
				t.Errorf("%s may not run %s", f.Family, arn)
			}
		}
		for _, arn := range []string{
			"us-east-1:999999999999:provisioned-model/0abc", "us-east-1:999999999999:imported-model/0abc", "us-east-1:999999999999:inference-profile/x",
			"us-east-1:123456789012:agent/x", "us-east-1:123456789012:guardrail/x", "us-east-1:123456789012:async-invoke/x", "us-east-1:123456789012:knowledge-base/x",
		} {
			if arn = "arn:aws:bedrock:" + arn; may(arn) {
				t.Errorf("%s may run %s", f.Family, arn)
			}
		}
	}
}

// TestOrigins: pages of all origins may use a deployment, as Alpha's, or only those that the
// operator names.
func TestOrigins(t *testing.T) {
	for context, want := range map[string]string{"": "*", "own": "", "https://a.example,http://localhost:3000": "https://a.example,http://localhost:3000"} {
		p := newPlan(t, map[string]string{"origins": context})
		for _, f := range p.Functions {
			if got := f.Environment["GLOSSA_ORIGINS"]; got != want {
				t.Errorf("%q: %q, want %q", context, got, want)
			}
		}
	}
}

func TestStatementRefused(t *testing.T) {
	good := Statement{Sid: "S", Actions: []string{"s3:GetObject"}, Resources: []string{"arn"}, Reason: "r"}
	if err := good.check(); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(*Statement){
		"no reason":                 func(s *Statement) { s.Reason = "" },
		"wildcard without reason":   func(s *Statement) { s.Resources = []string{"arn:*"} },
		"condition without reason":  func(s *Statement) { s.Condition = partitions("a#*") },
		"group without reason":      func(s *Statement) { s.Resources = []string{"${LogGroupArn}"} },
		"reason without a wildcard": func(s *Statement) { s.Wildcards = "w" },
		"all resources":             func(s *Statement) { s.Resources, s.Wildcards = []string{"*"}, "w" },
		"all actions":               func(s *Statement) { s.Actions, s.Wildcards = []string{"s3:*"}, "w" },
		"an unknown name":           func(s *Statement) { s.Resources = []string{"${Bukcet}"} },
		"no action":                 func(s *Statement) { s.Actions = nil },
	} {
		s := good
		change(&s)
		if s.check() == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

func TestParse(t *testing.T) {
	got, err := Parse(lookUp(map[string]string{"prices": "a:b/c=0.25/1,d=0/0", "namespace": "x"}))
	if err != nil || !slices.Equal(got.Prices, []Price{{"a:b/c", 0.25, 1}, {"d", 0, 0}}) {
		t.Errorf("%v, %v", got.Prices, err)
	}
	for name, value := range map[string]string{
		"stage": "Prod", "memory": "127", "provisioned": "openai", "reserved": "nobody=1", "auth": "none", "domain": "localhost",
		"certificate": "arn", "rate": "0", "burst": "x", "namespace": " ", "prices": "a=1", "alarm-email": "me", "origins": "https://a/b", "settings": "listed", "response-days": "-1",
		"urls": "no", "key": "alias/mine", "prefixes": "s3", "issuers": `{"label":"a"}`, "allow": "192.0.2.0/24", "vpc-endpoints": "vpce-01234567", "firewall": "100",
	} {
		if _, err := Parse(lookUp(map[string]string{name: value})); err == nil {
			t.Errorf("%s=%s is taken", name, value)
		}
	}
	_, err = Parse(lookUp(map[string]string{"memory": "1", "prices": "=1/NaN", "provisioned": "openai=3", "reserved": "openai=2"}))
	for _, part := range []string{"context memory", "context prices", "context provisioned"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%s: %v", part, err)
		}
	}
	for name, value := range map[string]string{
		"allow": "192.0.2.1/24", "vpc-endpoints": "eni-1", "firewall": "9", "issuers": `[{"label":"a"}]`,
	} {
		if _, err := Parse(lookUp(map[string]string{"urls": "off", name: value})); err == nil || !strings.Contains(err.Error(), "context "+name) {
			t.Errorf("%s=%s: %v", name, value, err)
		}
	}
	for _, allow := range []string{"0.0.0.0/0", "::/0", "10.0.0.1", "10.0.0.0/8,"} {
		if _, err := Parse(lookUp(map[string]string{"urls": "off", "allow": allow})); err == nil {
			t.Errorf("allow=%s is taken", allow)
		}
	}
	if got := Unknown([]string{"stage", "memroy", "@aws-cdk/core:x", "aws:cdk:y"}); !slices.Equal(got, []string{"memroy"}) {
		t.Errorf("unknown: %v", got)
	}
}

// TestEnvironmentFits: Lambda would refuse larger variables in the middle of a deployment.
func TestEnvironmentFits(t *testing.T) {
	for audience, fits := range map[string]bool{"glossa": true, strings.Repeat("glossa", 30): false} {
		var list []string
		for i := range 20 {
			list = append(list, fmt.Sprintf(`{"label":"p%d","issuer":"https://%d.example.com","audiences":[%q],"rules":[{"role":"client"}]}`, i, i, audience))
		}
		cfg, err := Parse(lookUp(map[string]string{"issuers": "[" + strings.Join(list, ",") + "]"}))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := New(cfg); (err == nil) != fits || !fits && !strings.Contains(err.Error(), "issuers") {
			t.Errorf("audience %s: %v", audience, err)
		}
	}
}

// TestDoors: an API that is closed to some denies them, and lets in the others only where
// nothing but the functions' keys stands between.
func TestDoors(t *testing.T) {
	for name, c := range map[string]struct {
		contexts map[string]string
		want     []string
	}{
		"open":              {nil, nil},
		"addresses":         {map[string]string{"urls": "off", "allow": "192.0.2.0/24"}, []string{"Callers", "OtherAddresses"}},
		"networks":          {map[string]string{"urls": "off", "vpc-endpoints": "vpce-01234567"}, []string{"Callers", "OtherNetworks"}},
		"signed, addresses": {map[string]string{"urls": "off", "allow": "192.0.2.0/24", "auth": "iam"}, []string{"OtherAddresses"}},
	} {
		p := newPlan(t, c.contexts)
		var got []string
		for _, d := range p.Doors() {
			if got = append(got, d.Sid); d.Deny != strings.HasPrefix(d.Sid, "Other") || d.Deny == (d.Condition == nil) {
				t.Errorf("%s: %+v", name, d)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	if rules := newPlan(t, map[string]string{"urls": "off", "firewall": "500"}).Firewall(); len(rules) < 4 || rules[0].Limit != 500 || newPlan(t, nil).Firewall() != nil {
		t.Errorf("%+v", rules)
	}
}

// TestDoorsFit: API Gateway would refuse a longer policy in the middle of a deployment. The error
// says how many ranges fit: exactly so many are accepted.
func TestDoorsFit(t *testing.T) {
	for name, format := range map[string]string{"allow": "198.51.%d.%d/32", "vpc-endpoints": "vpce-0123456789abc%02x%02x"} {
		parse := func(n int) error {
			var list []string
			for i := range n {
				list = append(list, fmt.Sprintf(format, i/256, i%256))
			}
			cfg, err := Parse(lookUp(map[string]string{"urls": "off", name: strings.Join(list, ",")}))
			if err != nil {
				t.Fatal(err)
			}
			_, err = New(cfg)
			return err
		}
		err := parse(500)
		if err == nil {
			t.Errorf("%s: 500 are accepted", name)
			continue
		}
		_, said, _ := strings.Cut(err.Error(), "only the first ")
		var fit int
		if _, scanned := fmt.Sscan(said, &fit); scanned != nil || fit < 250 || !strings.Contains(err.Error(), "context "+name) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if few, more := parse(fit), parse(fit+1); few != nil || more == nil {
			t.Errorf("%s: %d: %v; one more: %v", name, fit, few, more)
		}
	}
}

// TestCheck breaks a plan in every way.
func TestCheck(t *testing.T) {
	for name, change := range map[string]func(*Function){
		"timeout of 16m0s":           func(f *Function) { f.Timeout = 16 * time.Minute },
		"unknown references [Tabel]": func(f *Function) { f.Environment["GLOSSA_TABLE"] = "${Tabel}" },
		"the schedule":               func(f *Function) { f.Schedule = &Schedule{Every: time.Second, Event: "{}"} },
		"statement Items":            func(f *Function) { f.Statements[1].Reason = "" },
	} {
		p := newPlan(t, nil)
		change(&p.Functions[0])
		if err := p.check(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Values of contexts that are read, and what is said of others.
func TestImages(t *testing.T) {
	for v, want := range map[string]string{
		"123456789012.dkr.ecr.eu-west-1.amazonaws.com/glossa:v1":                                  "123456789012.dkr.ecr.eu-west-1.${AWS::URLSuffix}/glossa:v1 arn:aws:ecr:eu-west-1:123456789012:repository/glossa",
		"123456789012.dkr.ecr.cn-north-1.amazonaws.com.cn/a/b@sha256:" + strings.Repeat("0f", 32): "123456789012.dkr.ecr.cn-north-1.${AWS::URLSuffix}/a/b@sha256:" + strings.Repeat("0f", 32) + " arn:aws-cn:ecr:cn-north-1:123456789012:repository/a/b",
	} {
		cfg, err := Parse(lookUp(map[string]string{"image": v}))
		if got := cfg.Image.URI() + " " + cfg.Image.ARN(); err != nil || got != want {
			t.Errorf("%s: %s %v", v, got, err)
		}
	}
	for name, bad := range map[string][]string{
		"image":  {"glossa:latest", "123456789012.dkr.ecr.eu-west-1.amazonaws.com/glossa", "public.ecr.aws/x/y:1"},
		"layers": {"collector", "arn:aws:lambda:eu-west-1:123456789012:layer:x", strings.Repeat("arn:aws:lambda:eu-west-1:123456789012:layer:x:1,", 5) + "arn:aws:lambda:eu-west-1:123456789012:layer:x:1"},
		"traces": {"on", "localhost:4318"}, "rollout": {"canary-7", "half"}, "canary": {"novels", "a,b,c"},
	} {
		for _, v := range bad {
			if _, err := Parse(lookUp(map[string]string{name: v})); err == nil || !strings.Contains(err.Error(), "context "+name) {
				t.Errorf("%s=%s: %v", name, v, err)
			}
		}
	}
	for _, other := range []map[string]string{{"urls": "off"}, {"auth": "iam"}} {
		other["cdn"] = "on"
		if _, err := Parse(lookUp(other)); err == nil || !strings.Contains(err.Error(), "context cdn") {
			t.Errorf("%v: %v", other, err)
		}
	}
	both := map[string]string{"image": "123456789012.dkr.ecr.eu-west-1.amazonaws.com/glossa:v1", "layers": "arn:aws:lambda:eu-west-1:123456789012:layer:x:1"}
	if _, err := Parse(lookUp(both)); err == nil || !strings.Contains(err.Error(), "context layers") {
		t.Errorf("layers of an image: %v", err)
	}
}

func TestRollouts(t *testing.T) {
	for v, want := range map[string]string{
		"all": "", "canary-10": "CodeDeployDefault.LambdaCanary10Percent10Minutes",
		"linear-1": "CodeDeployDefault.LambdaLinear10PercentEvery1Minute", "linear-10": "CodeDeployDefault.LambdaLinear10PercentEvery10Minutes",
	} {
		p := newPlan(t, map[string]string{"rollout": v})
		if p.Config.Rollout != want || p.Canary != nil || (p.Shift() == nil) != (want == "") {
			t.Errorf("%s: %q, %v", v, p.Config.Rollout, p.Shift())
		}
	}
}

func TestReplicas(t *testing.T) {
	if p := newPlan(t, nil); p.Second() != nil || p.Replication() != nil || p.Config.SharedTable() != "" || p.Output("ApiUrl") != "ApiUrl" {
		t.Error("a second region that nobody wants")
	}
	p := newPlan(t, map[string]string{"replica": "us-west-2", "image": "123456789012.dkr.ecr.eu-west-1.amazonaws.com/glossa:v1"})
	second := p.Second()
	if second == nil || second.Second() != nil || second.Replication() != nil || len(p.Replication()) != 3 || second.Config.Image.Region != "us-west-2" || p.Config.Image.Region != "eu-west-1" {
		t.Errorf("%+v", second)
	}
	if second.Output("ApiUrl") != "ReplicaApiUrl" || second.Dashboard() != "glossa-dev-us-west-2" || p.Dashboard() != "glossa-dev" {
		t.Errorf("%s %s", second.Output("ApiUrl"), second.Dashboard())
	}
	for first, fails := range map[string]bool{"us-west-2": true, "eu-west-1": false, "": false} {
		if err := p.Config.CheckRegion(first); (err != nil) != fails {
			t.Errorf("first region %q: %v", first, err)
		}
	}
	if err := newPlan(t, nil).Config.CheckRegion(""); err != nil {
		t.Errorf("one region: %v", err)
	}
	domain := map[string]string{"domain": "llm.example.com", "certificate": "arn:c"}
	for name, own := range map[string]map[string]string{
		"replica":             {"replica": "Frankfurt"},
		"replica-certificate": {"replica-certificate": "arn:d"},
	} {
		if _, err := Parse(lookUp(own)); err == nil || !strings.Contains(err.Error(), "context "+name) {
			t.Errorf("%v: %v", own, err)
		}
	}
	for _, own := range []map[string]string{
		domain, {"layers": "arn:aws:lambda:eu-west-1:123456789012:layer:x:1"}, {"vpc-endpoints": "vpce-01234567", "urls": "off"},
		{"key": "arn:aws:kms:eu-west-1:123456789012:key/0a"},
	} {
		own["replica"] = "us-west-2"
		if _, err := Parse(lookUp(own)); err == nil || !strings.Contains(err.Error(), "context replica") {
			t.Errorf("%v: %v", own, err)
		}
	}
}

// CloudFront chooses the same function as API Gateway.
func TestBehaviours(t *testing.T) {
	p := newPlan(t, nil)
	list := p.Behaviours()
	t.Logf("%d behaviours", len(list))
	if len(list) > MaxBehaviours || len(list) < 30 {
		t.Errorf("%d behaviours", len(list))
	}
	choose := func(path string) string {
		for _, b := range list {
			if Matches(b.Pattern, path) {
				return b.Family
			}
		}
		return CatchAll
	}
	asked := 0
	for _, name := range app.Families() {
		f, err := family(p.Config, name)
		if err != nil {
			t.Fatal(err)
		}
		for _, route := range f.Routes {
			for _, value := range []string{"m", "meta/llama:3", "completions"} {
				path := example(route.Pattern, value)
				want, ok := Route(p.Paths, path)
				if got := choose(path); !ok || got != want.Family {
					t.Errorf("%s goes to %s, want %s", path, got, want.Family)
				}
				asked++
			}
		}
	}
	for _, path := range []string{"/x", "/v1", "/v1/unknown", "/health", "/ready", "/openapi.json"} {
		if got := choose(path); got != CatchAll {
			t.Errorf("%s goes to %s", path, got)
		}
	}
	if asked < 200 {
		t.Errorf("%d paths were asked for", asked)
	}
}
