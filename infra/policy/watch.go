package policy

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"glossa/infra/plan"
)

// alarms requires the alarms of each function, of the API and of the table.
func (c *checker) alarms() {
	watched, thresholds := map[string]bool{}, c.thresholds()
	var topic any
	if names := c.Watch.of("AWS::SNS::Topic"); len(names) > 0 {
		topic = []any{map[string]any{"Ref": names[0]}}
	}
	for _, name := range c.Watch.of("AWS::CloudWatch::Alarm") {
		r := c.Watch.Resources[name]
		for _, d := range objects(r.list("Dimensions")) {
			what := fmt.Sprintf("%v %v", r.get("MetricName"), c.text(d["Value"]))
			watched[what] = true
			c.want(name+" threshold", r.get("Threshold"), thresholds[what])
		}
		c.want(name+" without data", r.get("TreatMissingData"), "notBreaching")
		c.want(name+" comparison", r.get("ComparisonOperator"), "GreaterThanOrEqualToThreshold")
		c.want(name+" actions", r.get("AlarmActions"), topic)
	}
	want := map[string]bool{}
	for what := range thresholds {
		want[what] = true
	}
	c.want("alarms", watched, want)
}

// ofDialect matches the dimension of a metric in a dashboard's text.
var ofDialect = regexp.MustCompile(`"dialect","([^"]*)"`)

// dashboard requires one dashboard, with the metrics of each dialect and of nothing that functions
// do not measure.
func (c *checker) dashboard() {
	names := c.Watch.of("AWS::CloudWatch::Dashboard")
	c.want("dashboards", len(names), 1)
	for _, name := range names {
		shown, want := map[string]bool{}, map[string]bool{}
		for _, match := range ofDialect.FindAllStringSubmatch(c.text(c.Watch.Resources[name].get("DashboardBody")), -1) {
			shown[match[1]] = true
		}
		for _, dialect := range plan.Dialects() {
			want[dialect] = true
		}
		c.want(name+" dialects", shown, want)
	}
}

// imports requires that the stack of alarms imports nothing, at any depth: CloudFormation keeps an
// export that a stack imports, so that the function it names could not be deleted or replaced.
func (c *checker) imports() {
	var holds func(v any) bool
	holds = func(v any) bool {
		switch v := v.(type) {
		case []any:
			return slices.ContainsFunc(v, holds)
		case map[string]any:
			return v["Fn::ImportValue"] != nil || slices.ContainsFunc(slices.Collect(maps.Values(v)), holds)
		}
		return false
	}
	for name, r := range c.Watch.Resources {
		if holds(r.Properties) {
			c.fail(name, "it imports the export of another stack")
		}
	}
}

// thresholds returns the values from which alarms fire, by the metric and what it measures.
func (c *checker) thresholds() map[string]any {
	all := map[string]any{"5XXError glossa-" + c.plan.Config.Stage: plan.ErrorShare}
	table, _ := c.tableNames()
	all["ReadThrottleEvents "+table], all["WriteThrottleEvents "+table] = 1, 1
	for _, f := range c.plan.All() {
		fn, _ := c.findConstruct(f.Family, "Function")
		all["Errors ${"+fn+"}"], all["Throttles ${"+fn+"}"] = 1, 1
		all["Duration ${"+fn+"}"] = plan.DurationShare * float64(f.Timeout.Milliseconds()) // ms
	}
	return all
}

// topic requires, if alarms have a receiver, one topic to which only the alarms may
// publish, over TLS.
func (c *checker) topic() {
	names := c.Watch.of("AWS::SNS::Topic")
	told := map[bool]int{false: 0, true: 1}[c.plan.Config.AlarmEmail != ""]
	c.want("topics", len(names), told)
	c.want("policies", len(c.Watch.of("AWS::SNS::TopicPolicy")), told)
	c.want("subscriptions", len(c.Watch.of("AWS::SNS::Subscription")), told)
	for _, name := range c.Watch.of("AWS::SNS::Subscription") {
		r := c.Watch.Resources[name]
		c.want(name, fmt.Sprintf("%v %v %s", r.get("Protocol"), r.get("Endpoint"), c.text(r.get("TopicArn"))),
			"email "+c.plan.Config.AlarmEmail+" ${"+c.Watch.first("AWS::SNS::Topic")+"}")
	}
	for _, name := range c.Watch.of("AWS::SNS::TopicPolicy") {
		c.topicPolicy(name, c.Watch.Resources[name], "${"+c.Watch.first("AWS::SNS::Topic")+"}")
	}
}

// topicPolicy checks the policy of the topic.
func (c *checker) topicPolicy(name string, r *Resource, topic string) {
	c.want(name+" topics", c.texts(r.get("Topics")), []string{topic})
	want, denied, allowed := plan.Alarms(), false, false
	for _, s := range objects(r.list("PolicyDocument", "Statement")) {
		switch {
		case s["Effect"] == "Deny":
			denied = denied || s["Action"] == "sns:Publish" && c.text(s["Resource"]) == topic && fmt.Sprint(s["Condition"]) == "map[Bool:map[aws:SecureTransport:false]]" &&
				(s["Principal"] == "*" || reflect.DeepEqual(s["Principal"], map[string]any{"AWS": "*"}))
		case s["Sid"] == want.Sid && !allowed:
			allowed = true
			c.want(name+" principal", s["Principal"], map[string]any{"Service": plan.AlarmService})
			c.statement(name+" "+want.Sid, s, want, strings.NewReplacer("${TopicArn}", topic))
		default:
			c.fail(name, "%v is not in the plan", s)
		}
	}
	if !denied {
		c.fail(name, "it does not deny requests without TLS")
	}
	if !allowed {
		c.fail(name, "alarms cannot publish: the statement %s is missing", want.Sid)
	}
}
