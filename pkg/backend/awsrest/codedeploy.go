package awsrest

import (
	"context"
	"encoding/json"
	"net/http"
)

// CodeDeploy is AWS CodeDeploy.
func CodeDeploy() Service {
	return Service{ID: "CodeDeploy", Scope: "codedeploy", host: hostOf("codedeploy")}
}

// ReportHook tells CodeDeploy how a hook of a deployment ended, without which the deployment
// waits for an hour.
//
// Source: AWS CodeDeploy API Reference, PutLifecycleEventHookExecutionStatus.
func (c *Client) ReportHook(ctx context.Context, deployment, execution string, succeeded bool) error {
	status := "Failed"
	if succeeded {
		status = "Succeeded"
	}
	body, err := json.Marshal(map[string]string{"deploymentId": deployment, "lifecycleEventHookExecutionId": execution, "status": status})
	if err != nil {
		return err
	}
	_, err = c.rpc(ctx, "CodeDeploy_20141006.PutLifecycleEventHookExecutionStatus", body)
	return err
}

// rpc calls an operation of a service that speaks AWS's JSON protocol, version 1.1.
//
// Source: Smithy 2.0, "AWS JSON 1.1 protocol".
func (c *Client) rpc(ctx context.Context, target string, body []byte) ([]byte, error) {
	op := c.Operation(http.Header{"Content-Type": {"application/x-amz-json-1.1"}, "X-Amz-Target": {target}}, "")
	a, err := op.Post(ctx, body)
	if err != nil {
		return nil, err
	}
	return a.Whole()
}
