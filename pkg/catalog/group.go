package catalog

import (
	"slices"
	"strings"
)

// Keys returns the sort keys under which the record of a model may stand, the most
// particular first; the first that there is describes the model. They are the family
// with the whole name; and, of remote models, with the name without its geography or
// ARN, and with each prefix of that which ends before a '.', '-' or ':'.
//
// Source: API layer and its records, whose keys "bedrock-anthropic" and
// "sagemaker-tgi" are prefixes cut at the first dot.
func Keys(family, name string) []string {
	keys := []string{family + "-" + name}
	if family != Bedrock && family != SageMaker {
		return keys
	}
	if family == Bedrock {
		name = bare(name)
	}
	for end := len(name); end > 0; end = strings.LastIndexAny(name[:end], ".-:") {
		if key := family + "-" + name[:end]; key != keys[0] {
			keys = append(keys, key)
		}
	}
	return keys
}

// geographies are what stands before the id of a model in the id of an inference
// profile that spans regions.
//
// Source: Amazon Bedrock User Guide, "Supported Regions and models for inference
// profiles".
func geographies() []string {
	return []string{"us", "us-gov", "eu", "apac", "jp", "au", "ca", "global"}
}

// bare returns the id of a model without its geography, or the one in an ARN: the ARNs
// of foundation models and of inference profiles end with it.
func bare(name string) string {
	if strings.HasPrefix(name, "arn:") {
		name = name[strings.LastIndexByte(name, '/')+1:]
	}
	if geography, rest, ok := strings.Cut(name, "."); ok && slices.Contains(geographies(), geography) {
		name = rest
	}
	return name
}
