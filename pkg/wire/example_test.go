package wire_test

import (
	"encoding/json"
	"fmt"
	"log"

	"glossa/pkg/llm"
	"glossa/pkg/wire"
)

type order struct {
	Item  string `json:"item"`
	Count *int   `json:"count"`
}

// A table is the only description of a request: it decodes, checks and documents.
func Example() {
	table := wire.For[order](
		wire.Parameter{Name: "item", Required: true, OneOf: []string{"tea", "coffee"}, Note: "the drink"},
		wire.Parameter{Name: "count", Bounds: wire.Between(1, 9), Default: 1, Note: "how many cups"},
	)
	for _, body := range []string{
		`{"item": "tea", "count": 2}`,
		`{"item": "milk"}`,
		`{"item": "tea", "count": 20}`,
		`{"item": "tea", "sugar": true}`,
	} {
		var o order
		if err := table.Decode([]byte(body), &o); err != nil {
			fmt.Println("wrong:", llm.AsError(err).Param)
			continue
		}
		fmt.Println(*o.Count, o.Item)
	}
	schema, err := json.Marshal(table.Schema().Required)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(schema))
	// Output:
	// 2 tea
	// wrong: item
	// wrong: count
	// wrong: sugar
	// ["item"]
}
