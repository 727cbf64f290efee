package policy

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"glossa/infra/plan"
	"glossa/pkg/deployment"
)

// findConstruct returns the resource of a family's construct and its name, which the CDK makes of
// the enclosing constructs and eight digits of a hash.
func (c *checker) findConstruct(family, construct string) (string, *Resource) {
	for name, r := range c.API.Resources {
		if hash, ok := strings.CutPrefix(name, family+construct); ok && hashed.MatchString(hash) {
			return name, r
		}
	}
	c.fail(family, "there is no %s", construct)
	return "", &Resource{}
}

var hashed = regexp.MustCompile(`^[0-9A-F]{8}$`)

// references returns a replacer from the references of a plan to their values in the
// templates.
func (c *checker) references(family string) *strings.Replacer {
	if c.known[family] == nil {
		if c.known == nil {
			c.known = map[string]*strings.Replacer{}
		}
		c.known[family] = c.referencesOf(family)
	}
	return c.known[family]
}

func (c *checker) referencesOf(family string) *strings.Replacer {
	table, tableARN := c.tableNames()
	bucket := c.Data.first("AWS::S3::Bucket")
	logs, _ := c.findConstruct(family, "Logs")
	alias, _ := c.findConstruct(family, "Live")
	pairs := []string{
		"${AliasArn}", "${" + alias + "}", "${Table}", table, "${TableArn}", tableARN,
		"${Bucket}", "${" + bucket + "}", "${BucketArn}", "${" + bucket + ".Arn}", "${LogGroupArn}", "${" + logs + ".Arn}",
	}
	return strings.NewReplacer(append(pairs, c.functionReferences()...)...)
}

// functionReferences returns the references of the functions' ARNs and of their versions, each
// before its value.
func (c *checker) functionReferences() (pairs []string) {
	if c.plan.Canary == nil && c.plan.Config.Rollout == "" {
		return nil
	}
	var versions []string
	for _, f := range c.plan.All() {
		fn, _ := c.findConstruct(f.Family, "Function")
		pairs = append(pairs, "${"+f.Family+"Arn}", "${"+fn+".Arn}")
		if f.Family != deployment.Canary {
			versions = append(versions, f.Family+"=${"+fn+"}:${"+c.version(fn)+".Version}")
		}
	}
	return append(pairs, "${Versions}", strings.Join(versions, ","))
}

// version returns the name of the only version of a function.
func (c *checker) version(fn string) string {
	list := c.API.of("AWS::Lambda::Version")
	list = slices.DeleteFunc(list, func(name string) bool {
		return c.text(c.API.Resources[name].get("FunctionName")) != "${"+fn+"}"
	})
	if len(list) != 1 {
		c.fail(fn, "it has %d versions", len(list))
		return ""
	}
	return list[0]
}

func (c *checker) functions() {
	c.want("functions", len(c.API.of("AWS::Lambda::Function")), len(c.plan.All()))
	own := 0 // functions with a policy that is a resource of its own
	for _, f := range c.plan.All() {
		name, r := c.findConstruct(f.Family, "Function")
		c.program(name, r, f)
		c.want(name+" architecture", r.get("Architectures"), []any{plan.Architecture})
		c.want(name+" memory, MB", r.get("MemorySize"), f.Memory)
		c.want(name+" timeout, s", r.get("Timeout"), f.Timeout.Seconds())
		if f.Timeout > deployment.MaxTimeout {
			c.fail(name, "%s are more than Lambda allows", f.Timeout)
		}
		var reserved any
		if f.Reserved > 0 {
			reserved = float64(f.Reserved)
		}
		c.want(name+" reserved", r.get("ReservedConcurrentExecutions"), reserved)

		var recursive any
		if f.Recursive {
			recursive = "Allow"
		}
		c.want(name+" recursion", r.get("RecursiveLoop"), recursive)

		logs, _ := c.findConstruct(f.Family, "Logs")
		c.want(name+" log group", c.text(r.get("LoggingConfig", "LogGroup")), "${"+logs+"}")
		c.environment(name, r, f)
		c.tracing(name, r, f)
		role, granted := c.findConstruct(f.Family, "Role")
		c.want(name+" role", c.text(r.get("Role")), "${"+role+".Arn}")
		c.roleStatements(role, granted, f.Statements, f.Family)
		c.alias(name, f)
		if slices.ContainsFunc(f.Statements, func(s plan.Statement) bool { return s.OfItself() }) {
			own++
		}
	}
	c.want("policies", len(c.API.of("AWS::IAM::Policy")), own)
}

// program requires that a function runs its zip file, or the operator's image with its command.
func (c *checker) program(name string, r *Resource, f plan.Function) {
	image := c.plan.Config.Image
	if image == (plan.Image{}) {
		c.want(name+" runtime", r.get("Runtime"), "provided.al2023")
		c.want(name+" package", r.get("PackageType"), nil)
		return
	}
	c.want(name+" runtime", r.get("Runtime"), nil)
	c.want(name+" package", r.get("PackageType"), "Image")
	c.want(name+" image", c.text(r.get("Code", "ImageUri")), image.URI())
	c.want(name+" entry point", c.texts(r.get("ImageConfig", "EntryPoint")), []string{plan.Entrypoint})
	c.want(name+" command", fmt.Sprint(r.list("ImageConfig", "Command")), fmt.Sprint(plan.Command(f.Family)))
}

// tracing requires that X-Ray traces a function exactly if the operator wants it, and the layers.
func (c *checker) tracing(name string, r *Resource, f plan.Function) {
	var mode any
	if f.Traced(c.plan.Config) {
		mode = "Active"
	}
	c.want(name+" tracing", r.get("TracingConfig", "Mode"), mode)
	c.want(name+" layers", fmt.Sprint(r.list("Layers")), fmt.Sprint(f.Layers(c.plan.Config)))
}

func (c *checker) environment(name string, r *Resource, f plan.Function) {
	got, want := map[string]string{}, map[string]string{}
	variables, _ := r.get("Environment", "Variables").(map[string]any)
	for key, value := range variables {
		got[key] = c.text(value)
	}
	for key, value := range f.Environment {
		want[key] = c.references(f.Family).Replace(value)
	}
	c.want(name+" environment", got, want)
}

// roleStatements requires that a role has exactly these statements, whose references are those of
// the function of a family.
func (c *checker) roleStatements(name string, r *Resource, statements []plan.Statement, family string) {
	c.want(name+" managed policies", r.get("ManagedPolicyArns"), nil)
	var all []map[string]any
	for _, policy := range append(objects(r.list("Policies")), c.ownPolicies(name)...) {
		document, _ := policy["PolicyDocument"].(map[string]any)
		all = append(all, objects(values(document["Statement"]))...)
	}
	c.statements(name, all, statements, c.references(family))
}

// statements requires that the statements of a holder are exactly those of the plan.
func (c *checker) statements(name string, all []map[string]any, planned []plan.Statement, references *strings.Replacer) {
	want := map[string]plan.Statement{}
	for _, s := range planned {
		want[s.Sid] = s
	}
	for _, got := range all {
		sid := fmt.Sprint(got["Sid"])
		s, ok := want[sid]
		if !ok {
			c.fail(name, "%v is not in the plan", got)
			continue
		}
		delete(want, sid)
		c.want(name+" "+sid+" principal", got["Principal"], nil)
		c.statement(name+" "+sid, got, s, references)
	}
	for _, sid := range slices.Sorted(maps.Keys(want)) {
		c.fail(name, "the statement %s is missing", sid)
	}
}

// ownPolicies returns the properties of the policies that are resources of their own, of a role.
func (c *checker) ownPolicies(role string) (list []map[string]any) {
	for _, name := range c.API.of("AWS::IAM::Policy") {
		r := c.API.Resources[name]
		if slices.Contains(c.texts(r.get("Roles")), "${"+role+"}") {
			list = append(list, r.Properties)
		}
	}
	return list
}

// schedules requires the rules that send functions their events, and no others.
func (c *checker) schedules() {
	want := 0
	for _, f := range c.plan.All() {
		if f.Schedule == nil {
			continue
		}
		want++
		name, r := c.findConstruct(f.Family, "Schedule")
		alias, _ := c.findConstruct(f.Family, "Live")
		c.want(name+" time", r.get("ScheduleExpression"), fmt.Sprintf("rate(%d minutes)", int(f.Schedule.Every.Minutes())))
		c.want(name+" state", r.get("State"), "ENABLED")
		c.want(name+" pattern", r.get("EventPattern"), nil)
		targets := objects(r.list("Targets"))
		if len(targets) != 1 {
			c.fail(name, "%d targets", len(targets))
			continue
		}
		c.want(name+" target", c.text(targets[0]["Arn"]), "${"+alias+"}")
		c.want(name+" event", targets[0]["Input"], f.Schedule.Event)
	}
	c.want("rules", len(c.API.of("AWS::Events::Rule")), want)
}

func (c *checker) statement(name string, got map[string]any, s plan.Statement, references *strings.Replacer) {
	c.want(name+" effect", got["Effect"], "Allow")
	for _, key := range []string{"NotAction", "NotResource", "NotPrincipal"} {
		c.want(name+" "+key, got[key], nil)
	}
	actions, resources := slices.Sorted(slices.Values(s.Actions)), []string{}
	for _, r := range s.Resources {
		resources = append(resources, references.Replace(r))
	}
	slices.Sort(resources)
	c.want(name+" actions", c.texts(got["Action"]), actions)
	c.want(name+" resources", c.texts(got["Resource"]), resources)
	c.condition(name, got["Condition"], s.Condition)
	// The plan has checked the reasons for wildcards in its statements.
}

// condition compares the condition of a statement with the plan's.
func (c *checker) condition(where string, got any, want map[string]map[string][]string) {
	conditions := map[string]map[string][]string{}
	operators, _ := got.(map[string]any)
	for operator, keys := range operators {
		conditions[operator] = map[string][]string{}
		keys, _ := keys.(map[string]any)
		for key, v := range keys {
			conditions[operator][key] = c.texts(v)
		}
	}
	if len(conditions) != len(want) || len(conditions) > 0 && !reflect.DeepEqual(conditions, want) {
		c.fail(where, "the condition is %v, want %v", conditions, want)
	}
}

func (c *checker) alias(name string, f plan.Function) {
	alias, r := c.findConstruct(f.Family, "Live")
	c.want(alias+" function", c.text(r.get("FunctionName")), "${"+name+"}")
	c.want(alias+" provisioned", r.get("ProvisionedConcurrencyConfig", "ProvisionedConcurrentExecutions"), positive(f.Provisioned))
}

// positive returns the value in a template for an optional number, of which 0 means none.
func positive(n int) any {
	if n == 0 {
		return nil
	}
	return n
}

// entryPoints checks the entry points: the API's access to functions, and function URLs.
func (c *checker) entryPoints() {
	all, urls := map[string]bool{}, 0
	for _, f := range c.plan.Functions {
		if c.plan.Config.URLs {
			c.functionURL(f)
			urls++
		}
		c.permissions(f, all)
	}
	if c.plan.Canary != nil {
		c.permissions(*c.plan.Canary, all)
	}
	c.want("function URLs", len(c.API.of("AWS::Lambda::Url")), urls)
	c.want("permissions", len(c.API.of("AWS::Lambda::Permission")), len(all))
}

func (c *checker) functionURL(f plan.Function) {
	name, r := c.findConstruct(f.Family, "LiveFunctionUrl")
	fn, _ := c.findConstruct(f.Family, "Function")
	c.want(name+" mode", r.get("InvokeMode"), "RESPONSE_STREAM")
	c.want(name+" alias", r.get("Qualifier"), "live")
	c.want(name+" function", c.text(r.get("TargetFunctionArn")), "${"+fn+".Arn}")
	authorisation := c.authorisation()
	if c.plan.Config.CDN {
		authorisation = "AWS_IAM" // CloudFront signs
	}
	c.want(name+" authorisation", r.get("AuthType"), authorisation)
	c.want(name+" CORS", r.get("Cors"), nil) // the functions answer OPTIONS
}

// permissions requires the permissions of a family's alias and adds them to all.
func (c *checker) permissions(f plan.Function, all map[string]bool) {
	family := f.Family
	alias, _ := c.findConstruct(family, "Live")
	want, public := map[string]bool{}, family != deployment.Canary
	if public { // All stages, methods and paths of the one API; its resources restrict them.
		want["lambda:InvokeFunction apigateway.amazonaws.com <nil> <nil> arn:${AWS::Partition}:execute-api:${AWS::Region}:${AWS::AccountId}:"+
			"${"+c.API.first("AWS::ApiGateway::RestApi")+"}/*/*/*"] = true
	}
	if public && c.plan.Config.URLs && c.plan.Config.Auth == plan.Keys && !c.plan.Config.CDN {
		want["lambda:InvokeFunctionUrl * NONE <nil> <nil>"] = true
		want["lambda:InvokeFunction * <nil> true <nil>"] = true
	}
	if public && c.plan.Config.CDN {
		from := " arn:${AWS::Partition}:cloudfront::${AWS::AccountId}:distribution/${" + c.API.first("AWS::CloudFront::Distribution") + "}"
		want["lambda:InvokeFunctionUrl cloudfront.amazonaws.com AWS_IAM <nil>"+from] = true
		want["lambda:InvokeFunction cloudfront.amazonaws.com <nil> true"+from] = true
	}
	if f.Schedule != nil {
		rule, _ := c.findConstruct(family, "Schedule")
		want["lambda:InvokeFunction events.amazonaws.com <nil> <nil> ${"+rule+".Arn}"] = true
	}
	got := map[string]bool{}
	for _, name := range c.API.of("AWS::Lambda::Permission") {
		if r := c.API.Resources[name]; c.text(r.get("FunctionName")) == "${"+alias+"}" {
			all[name] = true
			got[fmt.Sprintf("%v %v %v %v %s", r.get("Action"), r.get("Principal"), r.get("FunctionUrlAuthType"),
				r.get("InvokedViaFunctionUrl"), c.text(r.get("SourceArn")))] = true
		}
	}
	c.want(family+" permissions", got, want)
}
