package app

import (
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"

	"glossa/pkg/llm"
	"glossa/pkg/meter"
	"glossa/pkg/price"
)

// computer reads the prices of a Lambda function with this memory in MiB; nil: not a function,
// or not counted. The default is for us-east-1; larger use and other regions have other prices.
func (e *env) computer(name, memory string) *meter.Computer {
	text := e.get(name)
	if text == "" {
		prices := price.AWS()
		text = fmt.Sprintf("%v,%v", prices.Of(price.LambdaSecond(runtime.GOARCH)), prices.Of(price.LambdaRequest))
	}
	gbSecond, request, _ := strings.Cut(text, ",")
	c := &meter.Computer{}
	for _, given := range []struct {
		text string
		to   *llm.USD
	}{{gbSecond, &c.GBSecond}, {request, &c.Request}} {
		var err error
		if given.text != "" {
			*given.to, err = llm.ParseUSD(strings.TrimSpace(given.text))
		}
		if err == nil && *given.to > llm.Dollar {
			err = errors.New("it is more than a dollar")
		}
		if err != nil {
			e.fail(name, fmt.Errorf("%.40q: %w", given.text, err))
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
