package awsrest

import (
	"context"
	"fmt"
	"net/http"
)

// Lambda is AWS Lambda.
func Lambda() Service { return Service{ID: "Lambda", Scope: "lambda", host: hostOf("lambda")} }

// InvokeLater queues an event for a function, which is named by its ARN, and does not wait for the
// function.
//
// Source: AWS Lambda API Reference, Invoke.
func (c *Client) InvokeLater(ctx context.Context, function string, event []byte) error {
	op := c.Operation(http.Header{"X-Amz-Invocation-Type": {"Event"}}, "2015-03-31", "functions", function, "invocations")
	a, err := op.Post(ctx, event)
	if err != nil {
		return err
	}
	a.Close()
	return nil
}

// Invoke calls a function, which is named by its ARN or by NAME:QUALIFIER, and returns its answer.
func (c *Client) Invoke(ctx context.Context, function string, event []byte) ([]byte, error) {
	a, err := c.Operation(nil, "2015-03-31", "functions", function, "invocations").Post(ctx, event)
	if err != nil {
		return nil, err
	}
	answer, err := a.Whole()
	if err != nil {
		return nil, err
	}
	if kind := a.Header.Get("X-Amz-Function-Error"); kind != "" {
		return nil, fmt.Errorf("the function failed (%.40s): %.300s", kind, answer)
	}
	return answer, nil
}
