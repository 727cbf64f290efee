//go:build cdk

package stacks

import (
	"encoding/json"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigateway"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscertificatemanager"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/jsii-runtime-go"

	"glossa/infra/plan"
	"glossa/pkg/deployment"
)

// api holds the functions and the REST API.
type api struct {
	stack     awscdk.Stack
	name      string      // of the REST API, in metrics
	functions []*function // of the families
	canary    *function   // nil: none
}

// references returns the references of what the functions are called, and of their versions.
func (a *api) references() map[string]*string {
	all, versions := map[string]*string{}, []string{}
	for _, f := range a.functions {
		all[f.plan.Family+"Arn"] = f.fn.FunctionArn()
		versions = append(versions, f.plan.Family+"="+*f.fn.FunctionName()+":"+*f.fn.CurrentVersion().Version())
	}
	all["Versions"] = jsii.String(strings.Join(versions, ","))
	if a.canary != nil {
		all[deployment.Canary+"Arn"] = a.canary.fn.FunctionArn()
	}
	return all
}

func newAPI(stack awscdk.Stack, p *plan.Plan, d *data, dist string) *api {
	a := &api{stack: stack, name: "glossa-" + p.Config.Stage}
	integrations := map[string]awsapigateway.Integration{}
	for _, f := range p.Functions {
		fn := newFunction(stack, p, f, d, dist, nil)
		a.functions = append(a.functions, fn)
		if p.Config.URLs {
			fn.url = newURL(stack, p, f, fn.alias)
		}
		// Lambda's InvokeWithResponseStream needs the permission lambda:InvokeFunction (AWS
		// Lambda API Reference), which this adds, once for all methods.
		integrations[f.Family] = awsapigateway.NewLambdaIntegration(fn.alias, &awsapigateway.LambdaIntegrationOptions{
			ResponseTransferMode:    awsapigateway.ResponseTransferMode_STREAM,
			Timeout:                 awscdk.Duration_Seconds(jsii.Number(f.Timeout.Seconds())),
			ScopePermissionToMethod: jsii.Bool(false),
		})
	}
	if p.Canary != nil {
		a.canary = newFunction(stack, p, *p.Canary, d, dist, a.references())
	}
	newRollout(stack, p, a)
	newCDN(stack, p, a)
	rest := newREST(stack, p, a.name)
	newFirewall(stack, p, rest)
	auth := awsapigateway.AuthorizationType_NONE // glossa checks keys itself
	if p.Config.Auth == plan.IAM {
		auth = awsapigateway.AuthorizationType_IAM
	}
	for _, path := range p.Paths {
		rest.Root().ResourceForPath(&path.Resource).AddMethod(jsii.String("ANY"), integrations[path.Family],
			&awsapigateway.MethodOptions{AuthorizationType: auth})
	}
	address := rest.Url()
	if p.Config.Domain != "" {
		address = jsii.String("https://" + p.Config.Domain + "/")
	}
	output(stack, p.Output(deployment.APIOutput), "base URL of the REST API", address)
	if domain := rest.DomainName(); domain != nil {
		output(stack, p.Output("DomainTarget"), "target of the CNAME of "+p.Config.Domain, domain.DomainNameAliasDomainName())
	}
	return a
}

func newREST(stack awscdk.Stack, p *plan.Plan, name string) awsapigateway.RestApi {
	logs := awslogs.NewLogGroup(stack, jsii.String("AccessLogs"), &awslogs.LogGroupProps{
		Retention: retention, RemovalPolicy: awscdk.RemovalPolicy_DESTROY,
	})
	var domain *awsapigateway.DomainNameOptions
	if p.Config.Domain != "" {
		domain = &awsapigateway.DomainNameOptions{
			DomainName:     &p.Config.Domain,
			Certificate:    awscertificatemanager.Certificate_FromCertificateArn(stack, jsii.String("Certificate"), &p.Config.Certificate),
			EndpointType:   awsapigateway.EndpointType_REGIONAL,
			SecurityPolicy: awsapigateway.SecurityPolicy_TLS_1_2,
		}
	}
	var closed *bool // a domain of its own would be one of two ways in
	if domain != nil {
		closed = jsii.Bool(true)
	}
	rest := awsapigateway.NewRestApi(stack, jsii.String("Api"), &awsapigateway.RestApiProps{
		RestApiName: &name, Description: jsii.String("language models in the protocols of their clients"),
		EndpointConfiguration: endpoint(stack, p), Policy: resourcePolicy(p), DisableExecuteApiEndpoint: closed,
		// All bodies reach the functions unchanged. A gzipped body has the type of its content,
		// and API Gateway would treat it as text.
		BinaryMediaTypes: jsii.Strings("*/*"),
		// API Gateway writes access logs with a role of the account. The role may exist already,
		// and is retained because other APIs use it.
		CloudWatchRole: jsii.Bool(true), CloudWatchRoleRemovalPolicy: awscdk.RemovalPolicy_RETAIN,
		DomainName: domain,
		DeployOptions: &awsapigateway.StageOptions{
			StageName:            &p.Config.Stage,
			ThrottlingRateLimit:  number(p.Config.Rate),
			ThrottlingBurstLimit: number(p.Config.Burst),
			AccessLogDestination: awsapigateway.NewLogGroupLogDestination(logs),
			AccessLogFormat:      awsapigateway.AccessLogFormat_Custom(jsii.String(accessLog())),
		},
	})
	rest.Node().TryRemoveChild(jsii.String("Endpoint")) // an output; ApiUrl replaces it
	for _, r := range responses(p.Config.Auth) {
		rest.AddGatewayResponse(jsii.String(r.name), &awsapigateway.GatewayResponseOptions{
			Type: awsapigateway.ResponseType_Of(jsii.String(r.name)), StatusCode: r.status, ResponseHeaders: &r.headers,
			Templates: &map[string]*string{"application/json": jsii.String(r.body)},
		})
	}
	return rest
}

// accessLog returns the format of a line. It omits the query, which may hold prompts and
// keys.
func accessLog() string {
	line, _ := json.Marshal(map[string]string{ // strings cannot fail
		"id": "$context.requestId", "time": "$context.requestTimeEpoch", "method": "$context.httpMethod", "path": "$context.path",
		"resource": "$context.resourcePath", "status": "$context.status", "bytes": "$context.responseLength",
		"latency": "$context.responseLatency", "integration": "$context.integrationLatency", "ip": "$context.identity.sourceIp",
		"error": "$context.error.responseType",
	})
	return string(line)
}

// A response is an answer of API Gateway itself.
type response struct {
	name    string
	status  *string // nil: the default
	headers map[string]*string
	body    string
}

// responses have the error shape that most clients read. Pages of all origins can read
// them, because they hold no private data.
func responses(auth string) []response {
	const errorBody = `{"error":{"message":$context.error.messageString,"type":"api_error","param":null,"code":"$context.error.responseType"}}`
	const unknown = `{"error":{"message":"no such path: GET /openapi.json lists them all","type":"invalid_request_error","param":null,"code":"no_route"}}`
	headers := func(more ...string) map[string]*string {
		h := map[string]*string{
			"Access-Control-Allow-Origin": jsii.String("'*'"), "Access-Control-Expose-Headers": jsii.String("'*'"),
			"X-Request-Id": jsii.String("context.requestId"),
		}
		for i := 0; i < len(more); i += 2 {
			h[more[i]] = &more[i+1]
		}
		return h
	}
	list := []response{
		{"DEFAULT_4XX", nil, headers(), errorBody},
		{"DEFAULT_5XX", nil, headers(), errorBody},
		{"THROTTLED", nil, headers("Retry-After", "'1'"), errorBody},
	}
	if auth == plan.Keys { // without signatures API Gateway gives this type to unknown paths
		list = append(list, response{"MISSING_AUTHENTICATION_TOKEN", jsii.String("404"), headers(), unknown})
	}
	return list
}
