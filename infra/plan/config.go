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
	"glossa/pkg/httpx"
)

// Who asks callers who they are.
const (
	Keys = "keys" // the functions: API keys and tokens in the table
	IAM  = "iam"  // AWS: requests are signed with Signature Version 4, which fills the Authorization header
)

// Limits of Lambda. Source: AWS Lambda Developer Guide, "Lambda quotas".
const (
	MinMemory = 128   // MB
	MaxMemory = 10240 // MB
)

// A Config is what the operator chooses. [Parse] makes one, with the defaults.
type Config struct {
	Stage       string         // in the names of stacks and in the API's own URL
	Memory      map[string]int // of each family's function, MB; 1769 MB have one vCPU
	Provisioned map[string]int // instances that are always warm, of each family that has some
	Reserved    map[string]int // instances at most, of each family that has a bound
	Auth        string         // [Keys] or [IAM]
	Domain      string         // of the API; "": the one that AWS gives
	Certificate string         // ARN, of the domain, in the API's region
	Rate, Burst int            // requests per second, and at once, before the API answers 429
	Namespace   string         // of the metrics
	Prices      []Price
	AlarmEmail  string   // receives alarms; "": nobody does
	Origins     []string // of web pages that may use the API beside its own; "*" is all
	Settings    []string // of the functions, of [Settings]
}

// A Price is what the tokens of a model cost, in dollars for a million.
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
		{"stage", "dev", "in the names of stacks and in the API's URL; " + Production + " protects its data from deletion"},
		{"memory", "1769", "of the functions, MB: 1769, or 1769,openai=3008"},
		{"provisioned", "0", "instances that are always warm: 0, or openai=1,alpha=2"},
		{"reserved", "0", "instances at most: 0 is no bound; openai=50"},
		{"auth", Keys, "keys: glossa's own API keys; iam: AWS signatures, and no keys"},
		{"domain", "", "custom domain of the API"},
		{"certificate", "", "ARN of the domain's certificate, in the API's region"},
		{"rate", "100", "requests per second before the API answers 429"},
		{"burst", "200", "requests at once before the API answers 429"},
		{"namespace", "Codenator/api-layer/", "of the metrics in CloudWatch"},
		{"prices", "", "dollars for a million tokens in and out, by model: amazon.titan=0.3/0.4,tgi.phi=0/0"},
		{"alarm-email", "", "address that is told of alarms"},
		{"origins", "*", "origins of other web pages that may use the API, separated by commas: https://app.example.com; * for all, " + ownOrigin + " for none"},
		{"settings", "", "of the functions, with commas between them: " + strings.Join(Settings(), ", ")},
	}
}

// Settings lists what the context settings turns on: a variable of the functions each.
func Settings() []string { return []string{"listed-only", "ignore-unmapped", "empty-lines"} }

// variable returns the environment variable of a setting.
func variable(setting string) string {
	return "GLOSSA_" + strings.ToUpper(strings.ReplaceAll(setting, "-", "_"))
}

var (
	stageName  = regexp.MustCompile(`^[a-z][a-z0-9-]{0,19}$`)
	domainName = regexp.MustCompile(`^([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,}$`)
	emailName  = regexp.MustCompile(`^[^@\s]+@[^@\s]+$`)
	// CloudWatch API Reference, PutMetricData, Namespace.
	namespaceName = regexp.MustCompile(`^[0-9A-Za-z.\-_/#]([0-9A-Za-z.\-_/# ]{0,254}[0-9A-Za-z.\-_/#])?$`)
)

// ownOrigin is the value of the context origins that names no other.
const ownOrigin = "own"

// Parse returns the operator's choices; get gives the value of a context, "" for none.
// The error names each context that is wrong.
func Parse(get func(name string) string) (Config, error) {
	p := parser{get: get, families: app.Families(), defaults: map[string]string{}}
	for _, c := range Contexts() {
		p.defaults[c.Name] = c.Default
	}
	cfg := Config{
		Stage: p.matching("stage", stageName), Auth: p.value("auth"),
		Memory:      p.perFamily("memory", MinMemory, MaxMemory),
		Provisioned: p.perFamily("provisioned", 0, 10000), Reserved: p.perFamily("reserved", 0, 10000),
		Domain: p.matching("domain", domainName), Certificate: p.value("certificate"),
		Rate: p.number("rate", p.value("rate"), 1, 10000), Burst: p.number("burst", p.value("burst"), 1, 10000),
		Namespace: p.matching("namespace", namespaceName), Prices: p.prices(),
		AlarmEmail: p.matching("alarm-email", emailName), Origins: p.origins(),
		Settings: p.settings(),
	}
	none := func(_ string, n int) bool { return n == 0 }
	maps.DeleteFunc(cfg.Provisioned, none)
	maps.DeleteFunc(cfg.Reserved, none)
	if cfg.Auth != Keys && cfg.Auth != IAM {
		p.fail("auth", "%q is neither keys nor iam", cfg.Auth)
	}
	if (cfg.Domain == "") != (cfg.Certificate == "") {
		p.fail("domain", "domain and certificate go together")
	}
	for family, n := range cfg.Provisioned {
		if bound := cfg.Reserved[family]; bound > 0 && bound < n {
			p.fail("provisioned", "%d of %s are more than the %d that are reserved", n, family, bound)
		}
	}
	return cfg, errors.Join(p.errs...)
}

// Unknown returns the names among those given that are no context of ours. Those of the
// CDK itself have a colon or an at sign in them.
func Unknown(names []string) (unknown []string) {
	for _, name := range names {
		ours := slices.ContainsFunc(Contexts(), func(c Context) bool { return c.Name == name })
		if !ours && !strings.ContainsAny(name, ":@") {
			unknown = append(unknown, name)
		}
	}
	return unknown
}

// parser reads contexts and keeps what is wrong.
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
		p.fail(name, "%q is none: %s", v, form)
	}
	return v
}

func (p *parser) number(name, v string, least, most int) int {
	n, err := strconv.Atoi(v)
	if err != nil || n < least || n > most {
		p.fail(name, "%q is no number from %d to %d", v, least, most)
	}
	return n
}

// perFamily reads "NUMBER,FAMILY=NUMBER,...", of which the first is for all others.
func (p *parser) perFamily(name string, least, most int) map[string]int {
	all := p.number(name, p.defaults[name], least, most)
	own := map[string]int{}
	for field := range strings.SplitSeq(p.value(name), ",") {
		family, v, ok := strings.Cut(field, "=")
		switch {
		case !ok:
			all = p.number(name, field, least, most)
		case !slices.Contains(p.families, family):
			p.fail(name, "there is no family %q: %s", family, strings.Join(p.families, ", "))
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

// origins reads a list, or [ownOrigin]. Seed 002 answers pages of all origins, and keys come
// in headers, which no browser adds by itself.
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
	v := p.value("settings")
	if v == "" {
		return nil
	}
	for name := range strings.SplitSeq(v, ",") {
		if !slices.Contains(Settings(), name) {
			p.fail("settings", "%q is none of %s", name, strings.Join(Settings(), ", "))
		}
		list = append(list, name)
	}
	return list
}

// prices reads "MODEL=IN/OUT,...".
func (p *parser) prices() (list []Price) {
	v := p.value("prices")
	if v == "" {
		return nil
	}
	for field := range strings.SplitSeq(v, ",") {
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
