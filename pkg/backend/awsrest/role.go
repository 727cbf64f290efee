package awsrest

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// STS is AWS Security Token Service, whose regional endpoints work without others.
func STS() Service { return Service{ID: "STS", Scope: "sts", host: hostOf("sts")} }

// A Role is a role of IAM that can be assumed, perhaps of another account.
type Role struct {
	ARN        string
	ExternalID string // what the other account's policy asks for; "": nothing
}

// roleSession names the sessions in the other account's CloudTrail.
const roleSession = "glossa"

// renewal is how long before their end credentials are replaced.
const renewal = 5 * time.Minute

// Assume returns the credentials of a role, which are asked for when they are needed and kept
// until shortly before they expire. c is a client of [STS].
//
// Source: AWS Security Token Service API Reference, AssumeRole.
func (c *Client) Assume(role Role) aws.CredentialsProvider {
	form := url.Values{
		"Action": {"AssumeRole"}, "Version": {"2011-06-15"}, "DurationSeconds": {"3600"},
		"RoleArn": {role.ARN}, "RoleSessionName": {roleSession},
	}
	if role.ExternalID != "" {
		form.Set("ExternalId", role.ExternalID)
	}
	op := c.Operation(http.Header{"Content-Type": {"application/x-www-form-urlencoded; charset=utf-8"}}, "")
	body := []byte(form.Encode())
	ask := func(ctx context.Context) (aws.Credentials, error) {
		found, err := op.assume(ctx, body)
		if err != nil {
			return found, fmt.Errorf("the role %s: %w", role.ARN, err)
		}
		return found, nil
	}
	return aws.NewCredentialsCache(aws.CredentialsProviderFunc(ask), func(o *aws.CredentialsCacheOptions) { o.ExpiryWindow = renewal })
}

// assume calls AssumeRole.
func (op *Operation) assume(ctx context.Context, body []byte) (aws.Credentials, error) {
	a, err := op.Post(ctx, body)
	if refused, ok := errors.AsType[*Error](err); ok {
		refused.readXML()
	}
	if err != nil {
		return aws.Credentials{}, err
	}
	answer, err := a.Whole()
	if err != nil {
		return aws.Credentials{}, err
	}
	var doc struct {
		Found struct {
			AccessKeyID     string `xml:"AccessKeyId"`
			SecretAccessKey string
			SessionToken    string
			Expiration      time.Time
		} `xml:"AssumeRoleResult>Credentials"`
	}
	err = xml.Unmarshal(answer, &doc)
	found := doc.Found
	if err != nil || found.AccessKeyID == "" || found.SecretAccessKey == "" || found.SessionToken == "" || found.Expiration.IsZero() {
		return aws.Credentials{}, errors.New("the answer has no credentials") // err could quote a secret
	}
	return aws.Credentials{
		AccessKeyID: found.AccessKeyID, SecretAccessKey: found.SecretAccessKey, SessionToken: found.SessionToken,
		CanExpire: true, Expires: found.Expiration, Source: "AssumeRole",
	}, nil
}

// readXML reads the name and the message of an error of STS, whose protocol is an older one.
func (e *Error) readXML() {
	var doc struct {
		Code    string `xml:"Error>Code"`
		Message string `xml:"Error>Message"`
	}
	if xml.Unmarshal(e.Body, &doc) == nil && e.Name == "" {
		e.Name, e.Message = doc.Code, doc.Message
	}
}
