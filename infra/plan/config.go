package plan

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"glossa/pkg/app"
	"glossa/pkg/deployment"
	"glossa/pkg/httpx"
)

// How callers are authenticated.
const (
	Keys = "keys" // by the functions: API keys and tokens in the table
	IAM  = "iam"  // by AWS: requests are signed with Signature Version 4, which uses the Authorization header
)

// A Config holds the operator's settings. [Parse] makes one, with the defaults.
type Config struct {
	Stage       string         // in the names of stacks and in the API's own URL
	Memory      map[string]int // of each family's function, MB
	Provisioned map[string]int // provisioned instances by family
	Reserved    map[string]int // maximum instances by family
	Auth        string         // [Keys] or [IAM]
	Domain      string         // of the API; "": AWS's default
	Certificate string         // ARN, of the domain, in the API's region
	Rate, Burst int            // requests per second, and at once, before the API answers 429
	Namespace   string         // of the metrics
	Prices      []Price
	AlarmEmail  string   // receives alarms; "": none
	Origins     []string // of other web pages that may use the API; "*" is all
	Settings    []string // for the functions, from [Settings]
	// ResponseDays is the number of days for which responses are stored; 0: they are not.
	ResponseDays int
	// Prefixes archives what prompts have in common in the bucket, for cold functions.
	Prefixes bool
	Traces   string   // [XRay], or the URL to which spans are sent; "": there are none
	Image    Image    // that the functions are; the zero value: they are zip files
	Layers   []string // ARNs of layers that all functions have, such as extensions
	Rollout  string   // CodeDeploy's configuration for new versions; "": all at once
	Canary   string   // models that are asked: TEXT,EMBEDDING; "": nobody asks
	Key      string   // ARN of the KMS key that encrypts table and bucket; "": AWS's own keys
	Replica  string   // the second region; "": there is one
	// ReplicaCertificate is the ARN of the domain's certificate in the second region.
	ReplicaCertificate string
	Issuers            string // providers of OpenID Connect, as the functions read them; "": none
	Entry
}

// Entry says who reaches the API.
type Entry struct {
	URLs      bool     // each function has a URL of its own
	CDN       bool     // CloudFront alone calls these URLs
	Allow     []string // ranges of addresses that may call the API; none: all
	Endpoints []string // VPC endpoints, from which alone a private API is called; none: it is public
	Firewall  int      // requests of an address in five minutes that a web firewall passes; 0: there is none
}

// A Price is the price of a model's tokens, in dollars per million.
type Price struct {
	Model   string
	In, Out float64
}

// Production is the stage whose data is protected from deletion.
const Production = "prod"

// A Context is a setting of the operator: cdk -c NAME=VALUE, or "context" in cdk.json.
type Context struct{ Name, Default, Meaning string }

// Contexts lists what [Parse] asks for.
func Contexts() []Context {
	return []Context{
		{"stage", "dev", "part of the names of stacks and of the API's URL; " + Production + " protects its data from deletion"},
		{"memory", "1769", "memory of the functions in MB: 1769, or 1769,openai=3008"},
		{"provisioned", "0", "provisioned instances: 0, or openai=1,alpha=2"},
		{"reserved", "0", "maximum instances: 0 for no limit; openai=50"},
		{"auth", Keys, "keys: glossa's own API keys; iam: AWS signatures, and no keys"},
		{"domain", "", "custom domain of the API"},
		{"certificate", "", "ARN of the domain's certificate, in the API's region"},
		{"rate", "100", "requests per second; further requests get 429"},
		{"burst", "200", "concurrent requests; further requests get 429"},
		{"namespace", "Codenator/api-layer/", "namespace of the metrics in CloudWatch"},
		{"prices", "", "dollars per million tokens in and out, by model: amazon.titan=0.3/0.4,tgi.phi=0/0"},
		{"alarm-email", "", "email address that receives alarms"},
		{"origins", "*", "origins of other web pages that may use the API, separated by commas: https://app.example.com; * for all, " + ownOrigin + " for none"},
		{"response-days", "30", "days for which responses of /v1/responses are stored in the table; 0 stores none"},
		{"prefixes", "off", "on: the beginnings that prompts have in common are kept in the bucket, encrypted, so that cold functions need not compute them"},
		{"issuers", "", "OpenID Connect providers whose tokens are accepted, as a JSON list"},
		{"urls", "on", "off: the functions have no URLs of their own"},
		{"cdn", "off", "on: CloudFront is before the functions' URLs, which nobody else can call"},
		{"allow", "", "ranges of addresses that may call the API, separated by commas: 192.0.2.0/24,2001:db8::/32; needs urls=off"},
		{"vpc-endpoints", "", "VPC endpoints from which alone the API can be called, separated by commas: vpce-0123abcd; needs urls=off"},
		{"firewall", "0", "a web firewall (AWS WAF) passes this many requests of an address in five minutes; 0 for none; needs urls=off"},
		{"traces", "off", "xray: spans of requests in AWS X-Ray; or the URL of a collector's traces, such as that of an extension: http://localhost:4318/v1/traces"},
		{"image", "", "image of all functions in Amazon ECR, instead of zip files: 123456789012.dkr.ecr.eu-west-1.amazonaws.com/glossa@sha256:..., or with :TAG"},
		{"layers", "", "ARNs of layers of Lambda that all functions have, such as a collector, separated by commas"},
		{"rollout", AllAtOnce, "how a new version gets traffic: all at once; canary-5, -10, -15 or -30: a tenth, and after so many minutes the rest; linear-1, -2, -3 or -10: a tenth more every so many minutes. Crashes take it back"},
		{"canary", "", "models that a function asks from time to time, and new versions before they get traffic: one that continues texts and one that embeds, such as novels,sentences"},
		{"key", "", "ARN of a KMS key of yours, in the API's region, that encrypts the table and the bucket; default: keys of AWS"},
		{"replica", "", "a second region, with functions and an API of its own, which shares the table and gets copies of the models"},
		{"replica-certificate", "", "ARN of the domain's certificate in the second region"},
		{"settings", "", "settings of the functions, separated by commas: " + strings.Join(Settings(), ", ")},
	}
}

// defaultOf returns the default of a context.
func defaultOf(name string) string {
	list := Contexts()
	return list[slices.IndexFunc(list, func(c Context) bool { return c.Name == name })].Default
}

// Settings lists the values of the context settings. Each turns on a variable of the
// functions.
func Settings() []string { return []string{"listed-only", "ignore-unmapped", "empty-lines"} }

// variable returns the environment variable of a setting.
func variable(setting string) string {
	return "GLOSSA_" + strings.ToUpper(strings.ReplaceAll(setting, "-", "_"))
}

var (
	stageName  = regexp.MustCompile(`^[a-z][a-z0-9-]{0,19}$`)
	domainName = regexp.MustCompile(`^([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,}$`)
	keyName    = regexp.MustCompile(`^arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:key/[0-9a-z-]{1,64}$`)
	emailName  = regexp.MustCompile(`^[^@\s]+@[^@\s]+$`)
	// CloudWatch API Reference, PutMetricData, Namespace.
	namespaceName = regexp.MustCompile(`^[0-9A-Za-z.\-_/#]([0-9A-Za-z.\-_/# ]{0,254}[0-9A-Za-z.\-_/#])?$`)
)

// ownOrigin is the value of the context origins that allows no other origin.
const ownOrigin = "own"

// Parse returns the operator's settings. get returns the value of a context, "" if it is
// not set. The error names each invalid context.
func Parse(get func(name string) string) (Config, error) {
	p := parser{get: get, families: app.Families(), defaults: map[string]string{}}
	for _, c := range Contexts() {
		p.defaults[c.Name] = c.Default
	}
	cfg := Config{
		Stage: p.matching("stage", stageName), Auth: p.value("auth"),
		Memory:      p.perFamily("memory", deployment.MinMemory, deployment.MaxMemory),
		Provisioned: p.perFamily("provisioned", 0, 10000), Reserved: p.perFamily("reserved", 0, 10000),
		Domain: p.matching("domain", domainName), Certificate: p.value("certificate"),
		Rate: p.number("rate", p.value("rate"), 1, 10000), Burst: p.number("burst", p.value("burst"), 1, 10000),
		Namespace: p.matching("namespace", namespaceName), Prices: p.prices(),
		AlarmEmail: p.matching("alarm-email", emailName), Origins: p.origins(),
		Settings: p.settings(), ResponseDays: p.number("response-days", p.value("response-days"), 0, 3650),
		Prefixes: p.isOn("prefixes"), Traces: p.traces(), Image: p.image(), Layers: p.layers(), Rollout: p.rollout(), Canary: p.canary(), Key: p.matching("key", keyName), Replica: p.matching("replica", regionName), ReplicaCertificate: p.value("replica-certificate"), Issuers: p.issuers(), Entry: p.entry(),
	}
	p.replica(&cfg)
	none := func(_ string, n int) bool { return n == 0 }
	maps.DeleteFunc(cfg.Provisioned, none)
	maps.DeleteFunc(cfg.Reserved, none)
	if cfg.Auth != Keys && cfg.Auth != IAM {
		p.fail("auth", "%q must be keys or iam", cfg.Auth)
	}
	if (cfg.Domain == "") != (cfg.Certificate == "") {
		p.fail("domain", "domain and certificate go together")
	}
	if cfg.CDN && (!cfg.URLs || cfg.Auth == IAM) {
		p.fail("cdn", "it needs the functions' URLs, and glossa's own keys: CloudFront's signature takes the place of the callers'")
	}
	if cfg.Auth == IAM && cfg.Issuers != "" {
		p.fail("issuers", "with auth=iam AWS alone checks callers")
	}
	if cfg.Image != (Image{}) && cfg.Layers != nil {
		p.fail("layers", "functions of an image have none: put the extension into the image")
	}
	if cfg.Endpoints != nil && cfg.Domain != "" {
		p.fail("vpc-endpoints", "a private API has no public domain")
	}
	for family, n := range cfg.Provisioned {
		if bound := cfg.Reserved[family]; bound > 0 && bound < n {
			p.fail("provisioned", "%d of %s exceed the %d reserved", n, family, bound)
		}
	}
	return cfg, errors.Join(p.errs...)
}

// Unknown returns the names that are not contexts of this app. Contexts of the CDK itself
// contain a colon or an at sign.
func Unknown(names []string) (unknown []string) {
	for _, name := range names {
		ours := slices.ContainsFunc(Contexts(), func(c Context) bool { return c.Name == name })
		if !ours && !strings.ContainsAny(name, ":@") {
			unknown = append(unknown, name)
		}
	}
	return unknown
}

// parser reads contexts and collects errors.
type parser struct {
	get      func(string) string
	families []string
	defaults map[string]string
	errs     []error
}

func (p *parser) fail(name, format string, args ...any) {
	p.errs = append(p.errs, fmt.Errorf("context %s: %s", name, fmt.Sprintf(format, args...)))
}

func (p *parser) value(name string) string { return cmp.Or(p.get(name), p.defaults[name]) }

func (p *parser) matching(name string, form *regexp.Regexp) string {
	v := p.value(name)
	if v != "" && !form.MatchString(v) {
		p.fail(name, "%q does not match %s", v, form)
	}
	return v
}

func (p *parser) number(name, v string, least, most int) int {
	n, err := strconv.Atoi(v)
	if err != nil || n < least || n > most {
		p.fail(name, "%q is not a number from %d to %d", v, least, most)
	}
	return n
}

// isOn reads a switch.
func (p *parser) isOn(name string) bool {
	v := p.value(name)
	if v != "on" && v != "off" {
		p.fail(name, "%q must be on or off", v)
	}
	return v == "on"
}

// list reads values that commas separate.
func (p *parser) list(name string) []string {
	v := p.value(name)
	if v == "" {
		return nil
	}
	return strings.Split(v, ",")
}

// perFamily reads "NUMBER,FAMILY=NUMBER,...". The first number applies to all other families.
func (p *parser) perFamily(name string, least, most int) map[string]int {
	all := p.number(name, p.defaults[name], least, most)
	own := map[string]int{}
	for field := range strings.SplitSeq(p.value(name), ",") {
		family, v, ok := strings.Cut(field, "=")
		switch {
		case !ok:
			all = p.number(name, field, least, most)
		case !slices.Contains(p.families, family):
			p.fail(name, "unknown family %q; known are %s", family, strings.Join(p.families, ", "))
		default:
			own[family] = p.number(name, v, least, most)
		}
	}
	for _, family := range p.families {
		if _, ok := own[family]; !ok {
			own[family] = all
		}
	}
	return own
}

// origins reads a list, or [ownOrigin]. Alpha's server answers pages of all origins; that is safe
// because keys are sent in headers, which browsers do not add by themselves.
func (p *parser) origins() []string {
	v := p.value("origins")
	if v == ownOrigin {
		return nil
	}
	list, err := app.ParseList(v, httpx.CheckOrigins)
	if err != nil {
		p.fail("origins", "%v", err)
	}
	return list
}

// settings reads names of [Settings].
func (p *parser) settings() (list []string) {
	for _, name := range p.list("settings") {
		if !slices.Contains(Settings(), name) {
			p.fail("settings", "%q is not one of %s", name, strings.Join(Settings(), ", "))
		}
		list = append(list, name)
	}
	return list
}

// prices reads "MODEL=IN/OUT,...".
func (p *parser) prices() (list []Price) {
	for _, field := range p.list("prices") {
		model, price, _ := strings.Cut(field, "=")
		in, out, _ := strings.Cut(price, "/")
		a, err := strconv.ParseFloat(in, 64)
		b, err2 := strconv.ParseFloat(out, 64)
		if model == "" || err != nil || err2 != nil || !(a >= 0 && a < 1e6 && b >= 0 && b < 1e6) {
			p.fail("prices", "%q is not MODEL=IN/OUT", field)
			continue
		}
		list = append(list, Price{model, a, b})
	}
	return list
}

// issuers checks what the functions would refuse when they start.
func (p *parser) issuers() string {
	v := p.value("issuers")
	if v == "" {
		return ""
	}
	if !strings.HasPrefix(v, "[") {
		p.fail("issuers", "%q is not a JSON list", v)
		return v
	}
	_, err := app.FromEnv(func(name string) string {
		if name == "GLOSSA_ISSUERS" {
			return v
		}
		return ""
	})
	if err != nil {
		p.fail("issuers", "%v", err)
	}
	return v
}
