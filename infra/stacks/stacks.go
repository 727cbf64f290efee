//go:build cdk

// Package stacks makes CloudFormation stacks of a plan, with the AWS CDK: one for data,
// which remains when the others are deleted, one for the API, and one that monitors it. The
// plan defines permissions, environments and routes of the functions; this package knows
// none of them.
package stacks

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"

	"glossa/infra/plan"
	"glossa/infra/policy"
)

// Synthesise writes the stacks of a plan to the app's output directory and returns their
// templates. The functions' programs are in dist/ARCHITECTURE/FAMILY/bootstrap.
func Synthesise(app awscdk.App, p *plan.Plan, dist string) (policy.Templates, error) {
	awscdk.Tags_Of(app).Add(jsii.String("application"), jsii.String("glossa"), nil)
	awscdk.Tags_Of(app).Add(jsii.String("stage"), &p.Config.Stage, nil)
	first := newRegion(app, p, dist)
	var second *region
	if plan := p.Second(); plan != nil {
		second = newRegion(app, plan, dist)
		first.data.AddStackDependency(second.data, nil) // whose bucket gets the models
		second.api.AddStackDependency(first.data, nil)  // whose table it uses
	}
	assembly := app.Synth(nil)
	var err error
	read := func(s awscdk.Stack) policy.Template {
		text, failed := os.ReadFile(*assembly.GetStackByName(s.StackName()).TemplateFullPath())
		t, unread := policy.Parse(text)
		err = errors.Join(err, failed, unread)
		return t
	}
	all := func(r *region) policy.Templates {
		return policy.Templates{Data: read(r.data), API: read(r.api), Watch: read(r.watch)}
	}
	templates := all(first)
	if second != nil {
		copied := all(second)
		templates.Second = &copied
	}
	return templates, err
}

// A region holds the stacks of one region.
type region struct{ data, api, watch awscdk.Stack }

// newRegion makes the stacks of a plan. Those of the first region are deployed where the operator's
// environment says.
func newRegion(app awscdk.App, p *plan.Plan, dist string) *region {
	prefix, place := "glossa-"+p.Config.Stage+"-", (*awscdk.Environment)(nil)
	if p.Copy {
		prefix, place = prefix+"replica-", &awscdk.Environment{Region: &p.Config.Replica}
	}
	stack := func(name, what string) awscdk.Stack {
		return awscdk.NewStack(app, jsii.String(prefix+name), &awscdk.StackProps{
			Description: jsii.String("glossa " + p.Config.Stage + ": " + what), Env: place,
			TerminationProtection: jsii.Bool(p.Config.Stage == plan.Production),
		})
	}
	data := newData(stack("data", "model records, accounts and checkpoints"), p)
	api := newAPI(stack("api", "functions, REST API and function URLs"), p, data, dist)
	watch := stack("watch", "dashboard and alarms")
	// CloudFormation keeps an export that a stack imports: a function that is deleted or replaced
	// could not be. The exports stay for stacks of earlier versions, which import them.
	awscdk.CrossStackReferences_Of(watch).Consume(awscdk.ReferenceStrength_BOTH)
	newMonitor(watch, p, data, api)
	return &region{data.stack, api.stack, watch}
}

// Plan returns the plan for the context values of an app that is deployed to a region, "" if it is
// not known.
func Plan(app awscdk.App, region string) (*plan.Plan, error) {
	all, _ := app.Node().GetAllContext(nil).(map[string]any)
	if unknown := plan.Unknown(slices.Sorted(maps.Keys(all))); len(unknown) > 0 {
		var known strings.Builder
		for _, c := range plan.Contexts() {
			fmt.Fprintf(&known, "\n  %-12s %s; default %q", c.Name, c.Meaning, c.Default)
		}
		return nil, fmt.Errorf("unknown context %s; known are%s", strings.Join(unknown, ", "), known.String())
	}
	cfg, err := plan.Parse(func(name string) string {
		if all[name] == nil {
			return ""
		}
		return fmt.Sprint(all[name]) // a string from the command line, a JSON value from a file
	})
	if err == nil {
		err = cfg.CheckRegion(region)
	}
	if err != nil {
		return nil, err
	}
	return plan.New(cfg)
}

// sub returns a text with its references resolved by CloudFormation's Fn::Sub, which itself
// knows those that begin with "AWS::".
func sub(s string, references map[string]*string) *string {
	used := map[string]*string{}
	for name, value := range references {
		if strings.Contains(s, "${"+name+"}") {
			used[name] = value
		}
	}
	switch {
	case !strings.Contains(s, "${"):
		return &s
	case len(used) == 0:
		return awscdk.Fn_Sub(&s, nil)
	}
	return awscdk.Fn_Sub(&s, &used)
}

func output(stack awscdk.Stack, name, what string, value *string) {
	awscdk.NewCfnOutput(stack, &name, &awscdk.CfnOutputProps{Description: &what, Value: value})
}

func number(n int) *float64 { return jsii.Number(n) }
