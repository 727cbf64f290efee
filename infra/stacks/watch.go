//go:build cdk

package stacks

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatchactions"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssnssubscriptions"
	"github.com/aws/jsii-runtime-go"

	"glossa/infra/plan"
)

// monitor makes the dashboard and the alarms of the functions, the API and the table.
type monitor struct {
	stack awscdk.Stack
	plan  *plan.Plan
	topic awssns.Topic // nil: no notifications
}

func newMonitor(stack awscdk.Stack, p *plan.Plan, d *data, a *api) {
	w := &monitor{stack: stack, plan: p}
	if p.Config.AlarmEmail != "" {
		w.topic = awssns.NewTopic(stack, jsii.String("Alarms"), &awssns.TopicProps{EnforceSSL: jsii.Bool(true)})
		w.topic.AddToResourcePolicy(newStatement(plan.Alarms(), map[string]*string{"TopicArn": w.topic.TopicArn()},
			awsiam.NewServicePrincipal(jsii.String(plan.AlarmService), nil)))
		w.topic.AddSubscription(awssnssubscriptions.NewEmailSubscription(&p.Config.AlarmEmail, nil))
	}
	for _, f := range a.functions {
		w.watchFunction(f)
	}
	if a.canary != nil {
		w.watchFunction(a.canary)
	}
	w.alarm("ApiErrors", "the API answered 5xx to one request in twenty for ten minutes",
		w.metric("AWS/ApiGateway", "5XXError", "Average", dimensions{"ApiName": &a.name}), plan.ErrorShare, 2)
	for _, name := range []string{"ReadThrottleEvents", "WriteThrottleEvents"} {
		w.alarm(name, "DynamoDB throttles requests: this key or partition has too many callers",
			w.metric("AWS/DynamoDB", name, "Sum", dimensions{"TableName": d.table}), 1, 1)
	}
	w.dashboard(d, a)
}

func (w *monitor) watchFunction(f *function) {
	family, of := f.plan.Family, dimensions{"FunctionName": f.fn.FunctionName()}
	who := family
	if w.plan.Config.Image != (plan.Image{}) {
		// Functions of an image replace those of zip files, with other names. The stack reads the
		// names when it is updated, and it is updated only if its template differs.
		who += " of the image"
	}
	w.alarm(family+"Errors", who+" crashed or ran out of time", w.metric("AWS/Lambda", "Errors", "Sum", of), 1, 1)
	w.alarm(family+"Throttles", who+" has no more instances: raise the account's quota or context reserved",
		w.metric("AWS/Lambda", "Throttles", "Sum", of), 1, 1)
	w.alarm(family+"Duration", who+" is close to its timeout",
		w.metric("AWS/Lambda", "Duration", "Maximum", of), plan.DurationShare*float64(f.plan.Timeout.Milliseconds()), 1)
}

// alarm adds an alarm that fires when a metric is at least the threshold for a number of
// periods.
func (w *monitor) alarm(name, what string, m awscloudwatch.IMetric, threshold float64, periods int) {
	alarm := awscloudwatch.NewAlarm(w.stack, jsii.String(name+"Alarm"), &awscloudwatch.AlarmProps{
		AlarmDescription: jsii.String("glossa " + w.plan.Config.Stage + ": " + what),
		Metric:           m, Threshold: &threshold, EvaluationPeriods: number(periods),
		ComparisonOperator: awscloudwatch.ComparisonOperator_GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
		TreatMissingData:   awscloudwatch.TreatMissingData_NOT_BREACHING,
	})
	if w.topic != nil {
		alarm.AddAlarmAction(awscloudwatchactions.NewSnsAction(w.topic))
	}
}

type dimensions map[string]*string

func (w *monitor) metric(namespace, name, statistic string, of dimensions) awscloudwatch.IMetric {
	props := awscloudwatch.MetricProps{
		Namespace: &namespace, MetricName: &name, Statistic: &statistic, Period: awscdk.Duration_Minutes(jsii.Number(5)),
	}
	if len(of) > 0 {
		by := map[string]*string(of)
		props.DimensionsMap = &by
	}
	return awscloudwatch.NewMetric(&props)
}

// emitted returns a metric that the functions emit; see pkg/meter/emf.
func (w *monitor) emitted(name, statistic string, of dimensions) awscloudwatch.IMetric {
	return w.metric(w.plan.Config.Namespace, name, statistic, of)
}

// byDialect returns a metric for each dialect.
func (w *monitor) byDialect(name, statistic string) (list []awscloudwatch.IMetric) {
	for _, dialect := range plan.Dialects() {
		list = append(list, w.emitted(name, statistic, dimensions{"dialect": &dialect}))
	}
	return list
}

func (w *monitor) dashboard(d *data, a *api) {
	percentiles := func(name string) (list []awscloudwatch.IMetric) {
		for _, p := range []string{"p50", "p90", "p99"} {
			list = append(list, w.emitted(name, p, nil))
		}
		return list
	}
	var errors, instances []awscloudwatch.IMetric
	for _, f := range a.functions {
		of := dimensions{"FunctionName": f.fn.FunctionName()}
		errors = append(errors, w.metric("AWS/Lambda", "Errors", "Sum", of))
		instances = append(instances, w.metric("AWS/Lambda", "ConcurrentExecutions", "Maximum", of))
	}
	rows := [][]awscloudwatch.IWidget{
		{graph("Requests", w.byDialect("invocations", "Sum")), graph("Errors returned to callers", w.byDialect("errors", "Sum"))},
		{graph("Latency, ms", percentiles("latency")), graph("Time to the first token, ms", percentiles("time_to_first_token"))},
		{
			graph("Tokens", []awscloudwatch.IMetric{w.emitted("tokens_in", "Sum", nil), w.emitted("tokens_out", "Sum", nil)}),
			graph("Tokens written, by dialect", w.byDialect("tokens_out", "Sum")),
		},
		{graph("Functions: crashes and timeouts", errors), graph("Functions: busy instances", instances)},
		{
			graph("API: 4xx, 5xx", []awscloudwatch.IMetric{
				w.metric("AWS/ApiGateway", "4XXError", "Sum", dimensions{"ApiName": &a.name}),
				w.metric("AWS/ApiGateway", "5XXError", "Sum", dimensions{"ApiName": &a.name}),
			}),
			graph("Table: capacity units", []awscloudwatch.IMetric{
				w.metric("AWS/DynamoDB", "ConsumedReadCapacityUnits", "Sum", dimensions{"TableName": d.table}),
				w.metric("AWS/DynamoDB", "ConsumedWriteCapacityUnits", "Sum", dimensions{"TableName": d.table}),
			}),
		},
	}
	rows = append(rows, w.costs(a))
	board := awscloudwatch.NewDashboard(w.stack, jsii.String("Dashboard"), &awscloudwatch.DashboardProps{
		DashboardName: jsii.String(w.plan.Dashboard()),
	})
	for _, row := range rows {
		board.AddWidgets(row...)
	}
}

func graph(title string, metrics []awscloudwatch.IMetric) awscloudwatch.IWidget {
	return awscloudwatch.NewGraphWidget(&awscloudwatch.GraphWidgetProps{Title: &title, Left: &metrics, Width: jsii.Number(12)})
}
