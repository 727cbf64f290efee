//go:build cdk

package stacks

import (
	"fmt"
	"strconv"

	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/jsii-runtime-go"

	"glossa/infra/plan"
	"glossa/pkg/price"
)

// costs graphs the costs of functions and the API, and of tokens that have a price.
func (w *monitor) costs(a *api) []awscloudwatch.IWidget {
	row := []awscloudwatch.IWidget{graph("Cost of functions and API, $ per 5 minutes (us-east-1)", w.calls(a))}
	if len(w.plan.Config.Prices) > 0 {
		row = append(row, graph("Cost of tokens, $ per 5 minutes", w.tokens()))
	}
	return row
}

func decimal(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// calls returns the cost of each function and of the API. Provisioned instances cost more,
// which no metric shows. Both are $ per period, with d in ms:
//
//	functions: d/1000 * MB/1024 * price of a GB-second + n * price of an invocation
//	API: n * price of a request
func (w *monitor) calls(a *api) (list []awscloudwatch.IMetric) {
	aws := price.AWS()
	for i, f := range a.functions {
		of := dimensions{"FunctionName": f.fn.FunctionName()}
		d, n := "d"+strconv.Itoa(i), "n"+strconv.Itoa(i)
		list = append(list, expression(f.plan.Family,
			fmt.Sprintf("%s/1000*%d/1024*%s+%s*%s", d, f.plan.Memory, aws.Of(price.LambdaSecond(plan.Architecture)), n, aws.Of(price.LambdaRequest)),
			map[string]awscloudwatch.IMetric{
				d: w.metric("AWS/Lambda", "Duration", "Sum", of), n: w.metric("AWS/Lambda", "Invocations", "Sum", of),
			}))
	}
	return append(list, expression("REST API", "n*"+aws.Of(price.APIRequest).String(), map[string]awscloudwatch.IMetric{
		"n": w.metric("AWS/ApiGateway", "Count", "Sum", dimensions{"ApiName": &a.name}),
	}))
}

// tokens returns the cost of the tokens of each model with a price: $ = (in·a + out·b) / 10⁶.
func (w *monitor) tokens() (list []awscloudwatch.IMetric) {
	for i, model := range w.plan.Config.Prices {
		of := dimensions{"model": jsii.String(model.Model)}
		in, out := "in"+strconv.Itoa(i), "out"+strconv.Itoa(i)
		list = append(list, expression(model.Model,
			fmt.Sprintf("(%s*%s+%s*%s)/1000000", in, decimal(model.In), out, decimal(model.Out)),
			map[string]awscloudwatch.IMetric{in: w.emitted("tokens_in", "Sum", of), out: w.emitted("tokens_out", "Sum", of)}))
	}
	return list
}

func expression(label, formula string, of map[string]awscloudwatch.IMetric) awscloudwatch.IMetric {
	return awscloudwatch.NewMathExpression(&awscloudwatch.MathExpressionProps{Label: &label, Expression: &formula, UsingMetrics: &of})
}
