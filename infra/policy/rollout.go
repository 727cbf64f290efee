package policy

import (
	"slices"

	"glossa/infra/plan"
	"glossa/pkg/deployment"
)

// rollout requires that CodeDeploy shifts the traffic of each alias as the plan says, that a crash
// takes it back, and that CodeDeploy may do nothing else. Without it, aliases are changed at once.
func (c *checker) rollout() {
	applications, groups := c.API.of("AWS::CodeDeploy::Application"), c.API.of("AWS::CodeDeploy::DeploymentGroup")
	alarms, roles := c.API.of("AWS::CloudWatch::Alarm"), c.deployers()
	if c.plan.Config.Rollout == "" {
		c.want("resources", len(applications)+len(groups)+len(alarms)+len(roles), 0)
		for _, name := range c.API.of("AWS::Lambda::Alias") {
			c.want(name+" update", len(c.API.Resources[name].UpdatePolicy), 0)
		}
		return
	}
	n := len(c.plan.Functions)
	c.want("applications", len(applications), 1)
	c.want("groups", len(groups), n)
	c.want("alarms", len(alarms), n)
	c.want("roles", len(roles), 1)
	for _, name := range applications {
		r := c.API.Resources[name]
		c.want(name+" name", r.get("ApplicationName"), c.plan.Config.Application())
		c.want(name+" platform", r.get("ComputePlatform"), "Lambda")
	}
	for _, name := range roles {
		c.roleStatements(name, c.API.Resources[name], c.plan.Shift(), plan.CatchAll)
	}
	for _, f := range c.plan.Functions {
		c.group(f)
	}
}

// deployers returns the roles that CodeDeploy assumes.
func (c *checker) deployers() []string {
	return slices.DeleteFunc(c.API.of("AWS::IAM::Role"), func(name string) bool {
		for _, s := range objects(c.API.Resources[name].list("AssumeRolePolicyDocument", "Statement")) {
			principal, _ := s["Principal"].(map[string]any)
			if slices.Contains(c.texts(principal["Service"]), plan.DeployService) {
				return false
			}
		}
		return true
	})
}

// group checks the deployments of a function.
func (c *checker) group(f plan.Function) {
	name, r := c.findConstruct(f.Family, "Rollout")
	application := "${" + c.API.first("AWS::CodeDeploy::Application") + "}"
	c.want(name+" application", c.text(r.get("ApplicationName")), application)
	c.want(name+" configuration", r.get("DeploymentConfigName"), c.plan.Config.Rollout)
	c.want(name+" style", r.get("DeploymentStyle"), map[string]any{"DeploymentType": "BLUE_GREEN", "DeploymentOption": "WITH_TRAFFIC_CONTROL"})
	c.want(name+" rollback", r.get("AutoRollbackConfiguration", "Enabled"), true)
	c.want(name+" rollback of", c.texts(r.get("AutoRollbackConfiguration", "Events")), plan.Rollbacks())
	c.want(name+" role", []string{c.text(r.get("ServiceRoleArn"))}, []string{"${" + append(c.deployers(), "nothing")[0] + ".Arn}"})
	alarm, a := c.findConstruct(f.Family, "Crashes")
	c.want(name+" alarms", r.get("AlarmConfiguration", "Enabled"), true)
	named := []string{}
	for _, one := range objects(r.list("AlarmConfiguration", "Alarms")) {
		named = append(named, c.text(one["Name"]))
	}
	c.want(name+" alarms", named, []string{"${" + alarm + "}"})
	c.crashes(alarm, a, f)

	alias, live := c.findConstruct(f.Family, "Live")
	update, _ := live.UpdatePolicy["CodeDeployLambdaAliasUpdate"].(map[string]any)
	c.want(alias+" application", c.text(update["ApplicationName"]), application)
	c.want(alias+" group", c.text(update["DeploymentGroupName"]), "${"+name+"}")
	hook := "<nil>"
	if c.plan.Canary != nil {
		canary, _ := c.findConstruct(deployment.Canary, "Function")
		hook = "${" + canary + "}"
	}
	c.want(alias+" hook", c.text(update["BeforeAllowTrafficHook"]), hook)
}

// crashes checks the alarm that takes a version of a function back.
func (c *checker) crashes(name string, r *Resource, f plan.Function) {
	fn, _ := c.findConstruct(f.Family, "Function")
	of := map[string]string{}
	for _, d := range objects(r.list("Dimensions")) {
		key, _ := d["Name"].(string)
		of[key] = c.text(d["Value"])
	}
	c.want(name+" of", of, map[string]string{"FunctionName": "${" + fn + "}", "Resource": "${" + fn + "}:" + deployment.Live})
	c.want(name+" metric", r.get("MetricName"), "Errors")
	c.want(name+" statistic", r.get("Statistic"), "Sum")
	c.want(name+" period, s", r.get("Period"), 60)
	c.want(name+" threshold", r.get("Threshold"), 1)
	c.want(name+" comparison", r.get("ComparisonOperator"), "GreaterThanOrEqualToThreshold")
	c.want(name+" without data", r.get("TreatMissingData"), "notBreaching")
}
