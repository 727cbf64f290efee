//go:build cdk

package stacks

import (
	"fmt"
	"strconv"

	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/jsii-runtime-go"

	"glossa/infra/plan"
)

// costs draws what is paid: functions and the API, and tokens that have a price.
func (w *watch) costs(a *api) []awscloudwatch.IWidget {
	row := []awscloudwatch.IWidget{graph("Cost of functions and API, $ in 5 minutes (us-east-1)", w.calls(a))}
	if len(w.plan.Config.Prices) > 0 {
		row = append(row, graph("Cost of tokens, $ in 5 minutes", w.tokens()))
	}
	return row
}

func decimal(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// calls is what each function costs, and the API before them. Instances that are always
// warm cost more, which no metric tells. Both are $ in a period, with d in ms:
//
//	functions: d/1000 * MB/1024 * price of a GB-second + n * price of an invocation
//	API: n * price of a request
func (w *watch) calls(a *api) (list []awscloudwatch.IMetric) {
	for i, f := range a.functions {
		of := dimensions{"FunctionName": f.fn.FunctionName()}
		d, n := "d"+strconv.Itoa(i), "n"+strconv.Itoa(i)
		list = append(list, expression(f.plan.Family,
			fmt.Sprintf("%s/1000*%d/1024*%s+%s*%s", d, f.plan.Memory, decimal(plan.GBSecondPrice), n, decimal(plan.InvocationPrice)),
			map[string]awscloudwatch.IMetric{
				d: w.metric("AWS/Lambda", "Duration", "Sum", of), n: w.metric("AWS/Lambda", "Invocations", "Sum", of),
			}))
	}
	return append(list, expression("REST API", "n*"+decimal(plan.RequestPrice), map[string]awscloudwatch.IMetric{
		"n": w.metric("AWS/ApiGateway", "Count", "Sum", dimensions{"ApiName": &a.name}),
	}))
}

// tokens is what the tokens of each model with a price cost: $ = (in·a + out·b) / 10⁶.
func (w *watch) tokens() (list []awscloudwatch.IMetric) {
	for i, price := range w.plan.Config.Prices {
		of := dimensions{"model": jsii.String(price.Model)}
		in, out := "in"+strconv.Itoa(i), "out"+strconv.Itoa(i)
		list = append(list, expression(price.Model,
			fmt.Sprintf("(%s*%s+%s*%s)/1000000", in, decimal(price.In), out, decimal(price.Out)),
			map[string]awscloudwatch.IMetric{in: w.told("tokens_in", "Sum", of), out: w.told("tokens_out", "Sum", of)}))
	}
	return list
}

func expression(label, formula string, of map[string]awscloudwatch.IMetric) awscloudwatch.IMetric {
	return awscloudwatch.NewMathExpression(&awscloudwatch.MathExpressionProps{Label: &label, Expression: &formula, UsingMetrics: &of})
}
