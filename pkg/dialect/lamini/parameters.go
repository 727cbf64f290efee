package lamini

import "glossa/pkg/httpx"

// Parameters tells what becomes of each key of each request, named "route key". A key
// that is not here is refused.
func Parameters() []httpx.Parameter {
	list := []httpx.Parameter{
		{Name: "completions model_name", Disposition: httpx.Honoured, Note: "a name, an alias or family/name"},
		{Name: "completions prompt", Disposition: httpx.Honoured, Note: "a string or an array of them; special tokens spelt in it are read as such"},
		{Name: "completions output_type", Disposition: httpx.Honoured, Note: "an object of keys and types: str, int, float, bool, or a list of the strings or numbers to choose from. Outputs have its keys in its order and are whole wherever max_new_tokens ends them; fewer than the shortest output needs are refused"},
		{Name: "completions max_new_tokens", Disposition: httpx.Honoured, Note: "1 or more; default null: to the end of the context"},
		{Name: "completions max_tokens", Disposition: httpx.Honoured, Note: "the SDK's other name of max_new_tokens; of both the smaller holds"},
		{Name: "completions reservation_id", Disposition: httpx.NoEffect, Note: "capacity is not reserved"},
		{Name: "completions cache_id", Disposition: httpx.NoEffect, Note: "a cache changes no answer"},
		{Name: "embedding model_name", Disposition: httpx.Honoured, Note: "a name, an alias or family/name"},
		{Name: "embedding prompt", Disposition: httpx.Honoured, Note: "a string or an array of them"},
	}
	httpx.Remotely(list, httpx.Checked, "completions output_type")
	httpx.Remotely(list, httpx.ByRecord, "completions max_new_tokens", "completions max_tokens")
	return httpx.Remotely(list, httpx.NotRemote, "embedding model_name", "embedding prompt")
}
