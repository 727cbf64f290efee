package awsrest

import (
	"context"
	"encoding/json"
	"errors"

	"glossa/pkg/partition"
)

// SecretsManager is AWS Secrets Manager.
func SecretsManager() Service {
	return Service{ID: "Secrets Manager", Scope: "secretsmanager", host: hostOf("secretsmanager")}
}

// SSM is AWS Systems Manager.
func SSM() Service { return Service{ID: "SSM", Scope: "ssm", host: hostOf("ssm")} }

// hostOf returns the host names of a service that follow the common pattern.
func hostOf(name string) func(region string, fips, dual bool) string {
	return func(region string, fips, dual bool) string {
		service := name
		if fips {
			service += "-fips"
		}
		return service + "." + region + "." + partition.Of(region).HostDomain(dual)
	}
}

// Secret returns the text of a secret, or with [SSM] of a parameter, by its name or ARN.
//
// Sources: AWS Secrets Manager API Reference, GetSecretValue; AWS Systems Manager API
// Reference, GetParameter.
func (c *Client) Secret(ctx context.Context, name string) (string, error) {
	target, request := "secretsmanager.GetSecretValue", map[string]any{"SecretId": name}
	if c.service == SSM().Scope {
		target, request = "AmazonSSM.GetParameter", map[string]any{"Name": name, "WithDecryption": true}
	}
	body, err := json.Marshal(request)
	if err != nil {
		return "", err
	}
	answer, err := c.rpc(ctx, target, body)
	if err != nil {
		return "", err
	}
	var doc struct {
		SecretString string
		Parameter    struct{ Value string }
	}
	if err := json.Unmarshal(answer, &doc); err != nil {
		return "", errors.New("the answer is not JSON") // err could quote the secret
	}
	return doc.SecretString + doc.Parameter.Value, nil // an answer has one of them
}
