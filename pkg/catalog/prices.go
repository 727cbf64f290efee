package catalog

import (
	"encoding/json"
	"errors"
	"fmt"

	"glossa/pkg/llm"
	"glossa/pkg/schema"
)

// million is the number of tokens that the prices of a record are for.
const million = 1_000_000

// maxPrice is the highest price of a record: more is a mistake of units. A million tokens at
// this price, and a million requests, fit an [llm.USD].
const maxPrice = 100_000 * llm.Dollar

// readPrices reads the attribute prices: US dollars for a million tokens, and for a request.
func (it *item) readPrices(raw json.RawMessage) {
	if raw == nil {
		return
	}
	var currency string
	var given struct{ input, cached, output, request json.RawMessage }
	known := map[string]any{
		"currency": &currency, "input": &given.input, "cached_input": &given.cached, "output": &given.output, "request": &given.request,
	}
	for _, name := range it.members("/prices", inner(raw), known) {
		it.wrong("/prices"+schema.Pointer(name), "unknown name; known are currency, input, cached_input, output, request")
	}
	if currency != "" && currency != "USD" {
		it.wrong("/prices/currency", "it is %.20q: prices are in USD", currency)
	}
	p := llm.Prices{
		Input: it.perToken("input", given.input), Output: it.perToken("output", given.output),
		Request: it.price("request", given.request),
	}
	if p.CachedInput = p.Input; given.cached != nil {
		p.CachedInput = it.perToken("cached_input", given.cached)
	}
	if given.input == nil && given.output == nil && given.request == nil {
		it.wrong("/prices", "it has no price: it must have input, output or request")
	}
	it.prices = &p
}

// price reads a price; a missing one is 0.
func (it *item) price(name string, raw json.RawMessage) (p llm.USD) {
	if raw == nil {
		return 0
	}
	err := json.Unmarshal(raw, &p)
	if err == nil {
		err = checkPrice(p)
	}
	if err != nil {
		it.wrong("/prices/"+name, "%v", err)
	}
	return p
}

func checkPrice(p llm.USD) error {
	if p > maxPrice {
		return fmt.Errorf("it is %s US dollars: the highest price is %s", p, maxPrice)
	}
	return nil
}

// perToken reads a price for a million tokens, and returns that of one.
func (it *item) perToken(name string, raw json.RawMessage) llm.USD {
	p, err := perToken(it.price(name, raw))
	if err != nil {
		it.wrong("/prices/"+name, "%v", err)
	}
	return p
}

// perToken returns the price of a token from that of a million.
func perToken(p llm.USD) (llm.USD, error) {
	if p%million != 0 {
		return p / million, errors.New("it has more than 6 decimals")
	}
	return p / million, nil
}

// PricesPerMillion returns the prices of a record with these prices of a million tokens, or
// rejects them as a record does.
func PricesPerMillion(input, output llm.USD) (*llm.Prices, error) {
	in, err := perToken(input)
	out, err2 := perToken(output)
	if err = errors.Join(err, err2, checkPrice(input), checkPrice(output)); err != nil {
		return nil, err
	}
	return &llm.Prices{Input: in, CachedInput: in, Output: out}, nil
}
