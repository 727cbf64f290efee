package plan

import (
	"fmt"
	"regexp"

	"glossa/pkg/deployment"
)

// regionName matches the name of a region.
var regionName = regexp.MustCompile(`^[a-z]{2}(-[a-z]+)+-[0-9]$`)

// replica checks that all that a second region needs is there.
func (p *parser) replica(cfg *Config) {
	if cfg.Replica == "" {
		if cfg.ReplicaCertificate != "" {
			p.fail("replica-certificate", "it needs the context replica")
		}
		return
	}
	switch {
	case cfg.Endpoints != nil:
		p.fail("replica", "VPC endpoints are of one region: deploy a private API in each")
	case cfg.Layers != nil:
		p.fail("replica", "layers are of one region: put the extension into an image")
	case cfg.Key != "":
		p.fail("replica", "a key of one region does not open the other's copies: leave out key")
	case (cfg.Domain == "") != (cfg.ReplicaCertificate == ""):
		p.fail("replica-certificate", "domain, certificate and replica-certificate go together: each region needs a certificate of its own")
	}
}

// CheckRegion returns an error if the second region is the first one, to which the CDK deploys: its
// table cannot have two replicas there. The CDK may not say which one it is.
func (c Config) CheckRegion(first string) error {
	if c.Replica != "" && c.Replica == first {
		return fmt.Errorf("context replica: %s is the first region: choose another one", first)
	}
	return nil
}

// Second returns the plan of the second region, or nil. It has the functions, the API and the alarms
// of the first, its own bucket, and the same table.
func (p *Plan) Second() *Plan {
	if p.Config.Replica == "" || p.Copy {
		return nil
	}
	second := *p
	second.Copy = true
	second.Config.Certificate = p.Config.ReplicaCertificate
	if second.Config.Image != (Image{}) {
		second.Config.Image.Region = p.Config.Replica // Amazon ECR replicates the repository
	}
	return &second
}

// SharedTable returns the name of the table that two regions share, "" for a table of one region,
// whose name CloudFormation chooses.
func (c Config) SharedTable() string {
	if c.Replica == "" {
		return ""
	}
	return "glossa-" + c.Stage
}

// SharedTableARN returns its ARN in the region of the stack.
func (c Config) SharedTableARN() string {
	return "arn:${AWS::Partition}:dynamodb:${AWS::Region}:${AWS::AccountId}:table/" + c.SharedTable()
}

// ReplicaBucket returns the name of the second region's bucket, which the first must know.
func (c Config) ReplicaBucket() string {
	return "glossa-" + c.Stage + "-${AWS::AccountId}-" + c.Replica
}

// ReplicaBucketARN returns its ARN.
func (c Config) ReplicaBucketARN() string { return "arn:${AWS::Partition}:s3:::" + c.ReplicaBucket() }

// ReplicationService is the service that copies objects to the second region.
const ReplicationService = "s3.amazonaws.com"

// Replication returns the permissions of [ReplicationService], none without a second region.
//
// Source: Amazon S3 User Guide, "Setting up permissions for live replication".
func (p *Plan) Replication() []Statement {
	if p.Config.Replica == "" || p.Copy {
		return nil
	}
	const models = "/" + deployment.Checkpoints + "/*"
	return []Statement{{
		Sid: "Rules", Actions: []string{"s3:GetReplicationConfiguration", "s3:ListBucket"}, Resources: []string{bucketARN},
		Reason: "the rules say what is copied",
	}, {
		Sid: "Read", Actions: []string{"s3:GetObjectVersionAcl", "s3:GetObjectVersionForReplication", "s3:GetObjectVersionTagging"}, Resources: []string{bucketARN + models},
		Reason: "models are copied to the second region", Wildcards: "models are published without a deployment",
	}, {
		Sid: "Write", Actions: []string{"s3:ReplicateDelete", "s3:ReplicateObject", "s3:ReplicateTags"}, Resources: []string{p.Config.ReplicaBucketARN() + models},
		Reason: "the copies, and what is deleted", Wildcards: "models are published without a deployment",
	}}
}

// Dashboard returns the name of the dashboard. Dashboards of all regions are in one list.
func (p *Plan) Dashboard() string {
	name := "glossa-" + p.Config.Stage
	if p.Copy {
		name += "-" + p.Config.Replica
	}
	return name
}

// Output returns the name of an output: those of the second region begin with Replica.
func (p *Plan) Output(name string) string {
	if p.Copy {
		return deployment.ReplicaOutput(name)
	}
	return name
}
