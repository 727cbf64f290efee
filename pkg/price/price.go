// Package price is the one table of AWS's prices: of Lambda, API Gateway, Fargate and EC2, with
// the date and the source of each. They are those of us-east-1, of the first tier, on demand,
// in US dollars. It refuses to know what is bought: the bills of requests, dashboards and
// estimates multiply by themselves. Prices of models are in their records.
package price

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"glossa/pkg/llm"
)

// Names of prices.
const (
	LambdaSecondARM64 = "lambda-second-arm64"
	LambdaSecondAMD64 = "lambda-second-amd64"
	LambdaRequest     = "lambda-request"
	APIRequest        = "api-request"
	ManagedFee        = "managed-fee"
	FargateVCPU       = "fargate-vcpu"
	FargateMemory     = "fargate-memory"
	EC2MediumHour     = "ec2-m7g.large"
)

// LambdaSecond returns the name of the price of a GB-second of an architecture, as Go spells it.
func LambdaSecond(arch string) string {
	if arch == "arm64" {
		return LambdaSecondARM64
	}
	return LambdaSecondAMD64
}

// A Row is one price.
type Row struct {
	Name   string  `json:"name"`
	USD    llm.USD `json:"usd"`
	Unit   string  `json:"unit"`
	Date   string  `json:"date"` // of the source, or when it was read
	Source string  `json:"source"`
}

// rows is the table. Sizes of an EC2 family cost in proportion to their processors, so that one
// size stands for all.
func rows() []Row {
	return []Row{
		{LambdaSecondARM64, 13_333_400, "GB-second (1,024 MiB), arm64", "2026", "AWS Lambda Pricing, first tier of duration"},
		{LambdaSecondAMD64, 16_666_700, "GB-second (1,024 MiB), x86_64", "2026", "AWS Lambda Pricing, first tier of duration"},
		{LambdaRequest, 200_000, "request", "2026", "AWS Lambda Pricing; Managed Instances too"},
		{APIRequest, 3_500_000, "request to a REST API", "2026", "Amazon API Gateway Pricing, first tier"},
		{ManagedFee, 150_000_000_000, "dollar of the EC2 instances under Managed Instances", "2026-01", "AWS Lambda Pricing as reported at edjgeek.com and packetsensei.com: 15 %"},
		{FargateVCPU, 32_380_000_000, "vCPU-hour, Linux on arm64", "2026", "AWS Fargate Pricing as reported at vantage.sh"},
		{FargateMemory, 3_560_000_000, "GB-hour, Linux on arm64", "2026", "AWS Fargate Pricing as reported at vantage.sh"},
		{EC2MediumHour, 81_600_000_000, "hour of m7g.large, Linux", "2026-06-17", "Amazon EC2 On-Demand Pricing as reported at factualminds.com"},
	}
}

// A Table holds prices by name.
type Table struct{ rows []Row }

// AWS returns AWS's prices.
func AWS() *Table { return &Table{rows()} }

// Rows returns the rows in their order.
func (t *Table) Rows() []Row { return slices.Clone(t.rows) }

// Of returns a price; a name that is not one of the constants has none, and costs nothing.
func (t *Table) Of(name string) llm.USD {
	for _, r := range t.rows {
		if r.Name == name {
			return r.USD
		}
	}
	return 0
}

// Replace sets prices, such as those of another region or a discount. The error names an
// unknown price, or one that no price can be: it is negative or no decimal number.
func (t *Table) Replace(given map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(given)) {
		i := slices.IndexFunc(t.rows, func(r Row) bool { return r.Name == name })
		if i < 0 {
			var names []string
			for _, r := range t.rows {
				names = append(names, r.Name)
			}
			return fmt.Errorf("there is no price %.40q: known are %s", name, strings.Join(names, ", "))
		}
		usd, err := llm.ParseUSD(given[name])
		if err != nil {
			return fmt.Errorf("the price %s: %.40q: %w", name, given[name], err)
		}
		if usd > maxPrice {
			return fmt.Errorf("the price %s: it is %s US dollars: the highest is %s", name, usd, maxPrice)
		}
		r := &t.rows[i]
		r.USD, r.Date, r.Source = usd, "", "given"
	}
	return nil
}

// maxPrice is the highest price that can be given: more is a mistake of units, and would
// overflow the sum of a day.
const maxPrice = 1000 * llm.Dollar
