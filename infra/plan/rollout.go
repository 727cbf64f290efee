package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"glossa/pkg/app"
	"glossa/pkg/canary"
	"glossa/pkg/deployment"
)

// AllAtOnce is the value of the context rollout with which a new version gets all traffic.
const AllAtOnce = "all"

// rollouts returns CodeDeploy's configurations by the value of the context rollout.
//
// Source: AWS CodeDeploy User Guide, "Deployment configurations on an AWS Lambda compute platform".
func rollouts() map[string]string {
	all := map[string]string{AllAtOnce: ""}
	for _, minutes := range []int{5, 10, 15, 30} {
		all["canary-"+strconv.Itoa(minutes)] = fmt.Sprintf("CodeDeployDefault.LambdaCanary10Percent%dMinutes", minutes)
	}
	for _, minutes := range []int{1, 2, 3, 10} {
		unit := "Minutes"
		if minutes == 1 {
			unit = "Minute"
		}
		all["linear-"+strconv.Itoa(minutes)] = fmt.Sprintf("CodeDeployDefault.LambdaLinear10PercentEvery%d%s", minutes, unit)
	}
	return all
}

// rollout reads how a new version gets traffic.
func (p *parser) rollout() string {
	v := p.value("rollout")
	configuration, ok := rollouts()[v]
	if !ok {
		p.fail("rollout", "%q must be all, canary-5, -10, -15 or -30, or linear-1, -2, -3 or -10", v)
	}
	return configuration
}

// canary reads the models that are asked.
func (p *parser) canary() string {
	v := p.value("canary")
	if v == "" {
		return ""
	}
	if _, err := canary.ParseModels(v); err != nil {
		p.fail("canary", "%v", err)
	}
	return v
}

const (
	canaryMemory  = 512             // MB; its program is as large as that of the others
	canaryTimeout = 5 * time.Minute // in which models are loaded
	canaryEvery   = 15 * time.Minute
)

// canaryFunction returns the function that asks the others, or nil.
func canaryFunction(cfg Config) *Function {
	if cfg.Canary == "" {
		return nil
	}
	env := map[string]string{"GLOSSA_TABLE": "${Table}", "GLOSSA_CANARY": "${Versions}", "GLOSSA_CANARY_MODELS": cfg.Canary}
	list := []Statement{logs(), askFunctions()}
	if cfg.Auth == IAM {
		env["GLOSSA_OPEN"] = "true"
	} else {
		list = append(list, makeKeys())
	}
	if cfg.Key != "" {
		list = append(list, useKey(cfg.Key))
	}
	if cfg.Rollout != "" {
		list = append(list, reportHooks(cfg))
	}
	return &Function{
		Family: deployment.Canary, Memory: canaryMemory, Timeout: canaryTimeout, Environment: env, Statements: list,
		Schedule: &Schedule{Every: canaryEvery, Event: fmt.Sprintf(`{"canary":%q}`, deployment.AskLive), Reason: "a question for each function"},
	}
}

// functionARN returns the reference of the ARN of a function.
func functionARN(family string) string { return "${" + family + "Arn}" }

// functionARNs returns the references of the ARNs of all families' functions, followed by suffix.
func functionARNs(suffix string) (list []string) {
	for _, family := range app.Families() {
		list = append(list, functionARN(family)+suffix)
	}
	return list
}

func askFunctions() Statement {
	return Statement{
		Sid: "Ask", Actions: []string{"lambda:InvokeFunction"}, Resources: functionARNs(":*"),
		Reason:    "each function is asked a question, before its version gets traffic and from time to time",
		Wildcards: "each deployment makes a version with a new number",
	}
}

func makeKeys() Statement {
	return Statement{
		Sid: "Keys", Actions: []string{"dynamodb:PutItem", "dynamodb:DeleteItem"}, Resources: []string{tableARN}, Condition: partitions("accounts"),
		Reason: "the questions need a key, which is made for them and revoked",
	}
}

// Application returns the name of CodeDeploy's application.
func (c Config) Application() string { return "glossa-" + c.Stage }

func reportHooks(cfg Config) Statement {
	return Statement{
		Sid: "Hooks", Actions: []string{"codedeploy:PutLifecycleEventHookExecutionStatus"},
		Resources: []string{"arn:${AWS::Partition}:codedeploy:${AWS::Region}:${AWS::AccountId}:deploymentgroup:" + cfg.Application() + "/*"},
		Reason:    "a deployment waits for the answers, and ends if one is wrong",
		Wildcards: "each function has a group, whose name CloudFormation chooses",
	}
}

// DeployService is the service that shifts traffic.
const DeployService = "codedeploy.amazonaws.com"

// Shift returns the permissions of [DeployService], none without it.
//
// Source: the AWS managed policy AWSCodeDeployRoleForLambdaLimited, which allows these actions
// and more for all functions of the account.
func (p *Plan) Shift() []Statement {
	if p.Config.Rollout == "" {
		return nil
	}
	list := []Statement{{
		Sid: "Traffic", Actions: []string{"lambda:GetAlias", "lambda:GetProvisionedConcurrencyConfig", "lambda:UpdateAlias"},
		Resources: append(functionARNs(""), functionARNs(":"+deployment.Live)...),
		Reason:    "a new version gets more and more of the traffic of its alias, or loses it again",
	}, {
		Sid: "Alarms", Actions: []string{"cloudwatch:DescribeAlarms"},
		Resources: []string{"arn:${AWS::Partition}:cloudwatch:${AWS::Region}:${AWS::AccountId}:alarm:${AWS::StackName}-*"},
		Reason:    "an alarm takes a new version back",
		Wildcards: "CloudFormation names alarms with the stack's name as a prefix",
	}}
	if p.Canary != nil {
		list = append(list, Statement{
			Sid: "Canary", Actions: []string{"lambda:InvokeFunction"}, Resources: []string{functionARN(deployment.Canary)},
			Reason: "it asks the new versions before they get traffic",
		})
	}
	return list
}

// All returns all functions: those of the families, and the canary's, which has no paths.
func (p *Plan) All() []Function {
	if p.Canary == nil {
		return p.Functions
	}
	return append(p.Functions[:len(p.Functions):len(p.Functions)], *p.Canary)
}

// isFunctionARN reports whether a reference is that of the ARN of a function.
func isFunctionARN(name string) bool {
	family, ok := strings.CutSuffix(name, "Arn")
	return ok && (family == deployment.Canary || slices.Contains(app.Families(), family))
}

// Rollbacks returns the events that give a deployment's traffic back to the old version.
func Rollbacks() []string {
	return []string{"DEPLOYMENT_FAILURE", "DEPLOYMENT_STOP_ON_ALARM", "DEPLOYMENT_STOP_ON_REQUEST"}
}
