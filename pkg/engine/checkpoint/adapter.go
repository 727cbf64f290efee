package checkpoint

// The files of a directory in which PEFT has saved an adapter.
const (
	AdapterConfig  = "adapter_config.json"
	AdapterWeights = "adapter_model.safetensors"
)

// IsAdapter reports whether a file of a directory is one of an adapter.
func IsAdapter(name string) bool { return name == AdapterConfig || name == AdapterWeights }
