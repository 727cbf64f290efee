package lamini

import (
	"slices"

	"glossa/pkg/wire"
)

// completionTable describes the body of POST /v1/completions and /v2/completions.
var completionTable = wire.For[completionRequest](
	wire.Parameter{Name: "model_name", Required: true, Note: "a name, an alias or family/name"},
	wire.Parameter{Name: "prompt", Required: true, Count: wire.AtLeast(1), Noun: "prompt", Canonical: "prompt", Note: "special tokens in the text are recognised; a list returns a list"},
	wire.Parameter{Name: "output_type", Schema: outputType(), Canonical: "schema", Remote: wire.Checked, Note: "an object of keys and types: str, int, float, bool, or a list of the strings or numbers to choose from. Outputs have these keys in this order and are complete for every max_new_tokens; a limit below the shortest possible output is rejected"},
	wire.Parameter{Name: "max_new_tokens", Bounds: wire.AtLeast(1), Absent: "up to the end of the context", Canonical: "max_new_tokens", Remote: wire.ByRecord, Note: "the maximum number of tokens of an output"},
	wire.Parameter{Name: "max_tokens", Bounds: wire.AtLeast(1), Canonical: "max_new_tokens", Remote: wire.ByRecord, Note: "the SDK's name for max_new_tokens; the smaller one applies"},
	wire.Parameter{Name: "reservation_id", Disposition: wire.NoEffect, Note: "capacity is not reserved"},
	wire.Parameter{Name: "cache_id", Disposition: wire.NoEffect, Note: "caches do not change answers"},
)

// embeddingTable describes the body of POST /v1/embedding.
var embeddingTable = wire.For[embeddingRequest](
	wire.Parameter{Name: "model_name", Required: true, Note: "a name, an alias or family/name"},
	wire.Parameter{Name: "prompt", Required: true, Count: wire.AtLeast(1), Noun: "prompt", Canonical: "prompt", Note: "a list returns a list"},
)

// outputType returns the schema of output_type.
func outputType() *wire.Schema {
	s := wire.Types("object")
	s.AdditionalProperties = &wire.Additional{Schema: wire.AnyOf(wire.Types("string"), wire.ListOf(wire.Types("string", "number")))}
	return s
}

// Parameters lists the rows of all requests, named "route key", for documentation.
func Parameters() []wire.Parameter {
	return slices.Concat(completionTable.Parameters("completions "), embeddingTable.Parameters("embedding "))
}
