// Package deployment has the names by which the parts of a deployment on AWS find each
// other: the outputs of its stacks and the directories of its bucket. The stacks, the rules
// that hold their templates, the commands that follow a deployment and the documents use
// these names. It refuses to know how a deployment is made.
package deployment

import "time"

// Outputs of the stacks.
const (
	TableOutput  = "TableName"  // the DynamoDB table of model records, accounts and budgets
	BucketOutput = "BucketName" // the bucket of checkpoints
	APIOutput    = "ApiUrl"     // the base URL of the REST API
	CDNOutput    = "CdnUrl"     // the base URL of CloudFront, if it is there
)

// URLOutput returns the name of the output of a family's function URL.
func URLOutput(family string) string { return family + "Url" }

// ReplicaOutput returns the name of an output in the second region.
func ReplicaOutput(name string) string { return "Replica" + name }

// Outputs lists the outputs of a deployment of families.
func Outputs(families []string) []string {
	list := []string{TableOutput, BucketOutput, APIOutput, CDNOutput}
	for _, family := range families {
		list = append(list, URLOutput(family))
	}
	return list
}

// Directories of the bucket.
const (
	Checkpoints = "checkpoints" // runs and published models
	Uploads     = "uploads"     // parts of uploads that are not published yet
	Batches     = "batches"     // files and batches of clients
	Prefixes    = "prefixes"    // beginnings that prompts have in common
)

// Limits of a Lambda function.
//
// Source: AWS Lambda Developer Guide, "Lambda quotas" and "Configure Lambda function memory".
const (
	MinMemory     = 128              // MB (2^20 bytes)
	MaxMemory     = 10240            // MB
	MemoryPerVCPU = 1769             // MB that have one vCPU; processors grow with the memory
	MaxTimeout    = 15 * time.Minute // of an invocation; API Gateway's of a stream too
)

// StartBatches is what the schedule of the function of batches sends it: {"batches": StartBatches}.
const StartBatches = "start"

// AskLive is what the schedule of the canary's function sends it: {"canary": AskLive}.
const AskLive = "live"

// Canary is the name of the function that asks the others.
const Canary = "canary"

// Live is the alias of a function that callers use.
const Live = "live"
