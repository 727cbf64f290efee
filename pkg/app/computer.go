package app

import (
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"

	"glossa/pkg/llm"
	"glossa/pkg/meter"
)

// Prices of AWS Lambda in us-east-1 in US dollars: of a GB-second by architecture, and of a
// request. Larger use and other regions have other prices, hence the variable.
//
// Source: AWS Lambda Pricing, first tier of duration, 2026.
const (
	pricesAMD64 = "0.0000166667,0.0000002"
	pricesARM64 = "0.0000133334,0.0000002"
)

// computer reads the prices of a Lambda function with this memory in MiB; nil: not a function,
// or not counted.
func (e *env) computer(name, memory string) *meter.Computer {
	text := e.get(name)
	if text == "" {
		text = pricesAMD64
		if runtime.GOARCH == "arm64" {
			text = pricesARM64
		}
	}
	gbSecond, request, _ := strings.Cut(text, ",")
	c := &meter.Computer{}
	for _, price := range []struct {
		text string
		to   *llm.USD
	}{{gbSecond, &c.GBSecond}, {request, &c.Request}} {
		var err error
		if price.text != "" {
			*price.to, err = llm.ParseUSD(strings.TrimSpace(price.text))
		}
		if err == nil && *price.to > llm.Dollar {
			err = errors.New("it is more than a dollar")
		}
		if err != nil {
			e.fail(name, fmt.Errorf("%.40q: %w", price.text, err))
			return nil
		}
	}
	mib, err := strconv.ParseInt(memory, 10, 32)
	if err != nil || mib <= 0 || c.GBSecond == 0 && c.Request == 0 {
		return nil
	}
	c.MiB = mib
	return c
}
