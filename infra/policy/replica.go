package policy

import (
	"strings"

	"glossa/infra/plan"
	"glossa/pkg/deployment"
)

// tableNames returns the name and the ARN of the table, as texts have them.
func (c *checker) tableNames() (name, arn string) {
	cfg := c.plan.Config
	switch {
	case c.plan.Copy:
		return cfg.SharedTable(), cfg.SharedTableARN()
	case cfg.Replica != "":
		name = c.Data.first("AWS::DynamoDB::GlobalTable")
	default:
		name = c.Data.first("AWS::DynamoDB::Table")
	}
	return "${" + name + "}", "${" + name + ".Arn}"
}

// sharedTable checks the table of both regions, which the first one makes.
func (c *checker) sharedTable(names []string) {
	if c.plan.Copy {
		c.want("shared tables", len(names), 0)
		return
	}
	c.want("shared tables", len(names), 1)
	for _, name := range names {
		r := c.Data.Resources[name]
		c.retained(name, r)
		c.keys(name, r)
		c.want(name+" name", r.get("TableName"), c.plan.Config.SharedTable())
		c.want(name+" stream", r.get("StreamSpecification", "StreamViewType"), "NEW_AND_OLD_IMAGES")
		var regions []string
		for _, replica := range objects(r.list("Replicas")) {
			region := c.text(replica["Region"])
			regions = append(regions, region)
			c.want(name+" recovery in "+region, replica["PointInTimeRecoverySpecification"], map[string]any{"PointInTimeRecoveryEnabled": true})
			c.want(name+" protection in "+region, replica["DeletionProtectionEnabled"], c.plan.Config.Stage == plan.Production)
		}
		c.want(name+" regions", regions, []string{"${AWS::Region}", c.plan.Config.Replica})
	}
}

// regions requires that there is a second region exactly if the operator wants it. Check checks it.
func (c *checker) regions() {
	c.want("a second region", c.Second != nil, c.plan.Second() != nil)
}

// replication requires that models, and nothing else, are copied from the first region's bucket to the
// second one's.
func (c *checker) replication() {
	roles, policies := c.Data.of("AWS::IAM::Role"), c.Data.of("AWS::IAM::Policy")
	statements := c.plan.Replication()
	for _, name := range c.Data.of("AWS::S3::Bucket") {
		r := c.Data.Resources[name]
		named := any(nil)
		if c.plan.Copy {
			named = strings.ReplaceAll(c.plan.Config.ReplicaBucket(), c.plan.Config.Replica, "${AWS::Region}")
		}
		if got := r.get("BucketName"); got != nil || named != nil {
			c.want(name+" name", c.text(got), named)
		}
		if statements == nil {
			c.want(name+" replication", r.get("ReplicationConfiguration"), nil)
			continue
		}
		rules := objects(r.list("ReplicationConfiguration", "Rules"))
		c.want(name+" rules", len(rules), 1)
		for _, rule := range rules {
			destination, _ := rule["Destination"].(map[string]any)
			c.want(name+" rule", rule["Status"], "Enabled")
			c.want(name+" copies", rule["Filter"], map[string]any{"Prefix": deployment.Checkpoints + "/"})
			c.want(name+" deletes", rule["DeleteMarkerReplication"], map[string]any{"Status": "Enabled"})
			c.want(name+" copies to", c.text(destination["Bucket"]), c.plan.Config.ReplicaBucketARN())
		}
		c.want(name+" role", c.text(r.get("ReplicationConfiguration", "Role")), "${"+c.Data.first("AWS::IAM::Role")+".Arn}")
	}
	n := min(len(statements), 1)
	c.want("roles", len(roles), n)
	c.want("policies", len(policies), n)
	for _, name := range roles {
		c.want(name+" policies", c.Data.Resources[name].get("Policies"), nil)
		for _, s := range objects(c.Data.Resources[name].list("AssumeRolePolicyDocument", "Statement")) {
			c.want(name+" principal", s["Principal"], map[string]any{"Service": plan.ReplicationService})
		}
	}
	references := strings.NewReplacer("${BucketArn}", "${"+c.Data.first("AWS::S3::Bucket")+".Arn}")
	for _, name := range policies {
		c.statements(name, objects(c.Data.Resources[name].list("PolicyDocument", "Statement")), statements, references)
	}
}
