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
	stack := func(name, what string) awscdk.Stack {
		return awscdk.NewStack(app, jsii.String("glossa-"+p.Config.Stage+"-"+name), &awscdk.StackProps{
			Description:           jsii.String("glossa " + p.Config.Stage + ": " + what),
			TerminationProtection: jsii.Bool(p.Config.Stage == plan.Production),
		})
	}
	data := newData(stack("data", "model records, accounts and checkpoints"), p)
	api := newAPI(stack("api", "functions, REST API and function URLs"), p, data, dist)
	watch := stack("watch", "dashboard and alarms")
	newMonitor(watch, p, data, api)

	assembly := app.Synth(nil)
	var err error
	read := func(s awscdk.Stack) policy.Template {
		text, failed := os.ReadFile(*assembly.GetStackByName(s.StackName()).TemplateFullPath())
		t, unread := policy.Parse(text)
		err = errors.Join(err, failed, unread)
		return t
	}
	templates := policy.Templates{Data: read(data.stack), API: read(api.stack), Watch: read(watch)}
	return templates, err
}

// Plan returns the plan for the context values of an app.
func Plan(app awscdk.App) (*plan.Plan, error) {
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
