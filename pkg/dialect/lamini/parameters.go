package lamini

import "glossa/pkg/wire"

// Parameters tells what becomes of each key of each request, named "route key". A key
// that is not here is refused.
func Parameters() []wire.Parameter {
	list := []wire.Parameter{
		{Name: "completions model_name", Disposition: wire.Honoured, Note: "a name, an alias or family/name"},
		{Name: "completions prompt", Disposition: wire.Honoured, Note: "a string or an array of them; special tokens spelt in it are read as such"},
		{Name: "completions output_type", Disposition: wire.Honoured, Note: "an object of keys and types: str, int, float, bool, or a list of the strings or numbers to choose from. Outputs have its keys in its order and are whole wherever max_new_tokens ends them; fewer than the shortest output needs are refused"},
		{Name: "completions max_new_tokens", Disposition: wire.Honoured, Note: "1 or more; default null: to the end of the context"},
		{Name: "completions max_tokens", Disposition: wire.Honoured, Note: "the SDK's other name of max_new_tokens; of both the smaller holds"},
		{Name: "completions reservation_id", Disposition: wire.NoEffect, Note: "capacity is not reserved"},
		{Name: "completions cache_id", Disposition: wire.NoEffect, Note: "a cache changes no answer"},
		{Name: "embedding model_name", Disposition: wire.Honoured, Note: "a name, an alias or family/name"},
		{Name: "embedding prompt", Disposition: wire.Honoured, Note: "a string or an array of them"},
	}
	wire.Remotely(list, wire.Checked, "completions output_type")
	wire.Remotely(list, wire.ByRecord, "completions max_new_tokens", "completions max_tokens")
	return wire.Remotely(list, wire.NotRemote, "embedding model_name", "embedding prompt")
}
