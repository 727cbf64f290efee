//go:build cdk

// Command infra is the CDK app: it synthesises the stacks of glossa. The CDK's command
// passes the operator's settings. A template that breaks a rule is not deployed.
package main

import (
	"fmt"
	"os"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"

	"glossa/infra/policy"
	"glossa/infra/stacks"
)

func main() {
	err := run()
	jsii.Close() // ends the process of the CDK
	if err != nil {
		fmt.Fprintln(os.Stderr, "infra:", err)
		os.Exit(1)
	}
}

func run() error {
	app := awscdk.NewApp(nil)
	p, err := stacks.Plan(app, os.Getenv("CDK_DEFAULT_REGION")) // the CDK's command sets it
	if err != nil {
		return err
	}
	templates, err := stacks.Synthesise(app, p, "../dist")
	if err != nil {
		return err
	}
	return policy.Check(p, templates)
}
