package awsrest

import "context"

// XRay is AWS X-Ray.
func XRay() Service { return Service{ID: "XRay", Scope: "xray", host: hostOf("xray")} }

// PutSpans sends spans, as OTLP in JSON.
//
// Source: Amazon CloudWatch User Guide, "OTLP Endpoints".
func (c *Client) PutSpans(ctx context.Context, body []byte) error {
	a, err := c.Operation(nil, "v1", "traces").Post(ctx, body)
	if err != nil {
		return err
	}
	a.Close()
	return nil
}
