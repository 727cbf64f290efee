package layers

import "maps"

// Glossa returns the table of this repository.
func Glossa() *Table {
	dialect := Layer{Floor: 4, May: []string{"pkg/llm", "pkg/wire", "pkg/httpx", "pkg/chat", "pkg/openaiapi"}}
	aws := []string{"github.com/aws"}
	function := Layer{Floor: 7, May: []string{"pkg/app"}, Never: []string{
		"pkg/starter", "pkg/starter/*", "pkg/train", "pkg/estimate", "pkg/estimate/traffic", "pkg/meter/prom", "pkg/cloud", "pkg/terminal", "pkg/repl", "pkg/llm/llmtest", "pkg/table/tabletest",
		"pkg/bucket/buckettest", "pkg/engine/checkpoint/checkpointtest", "pkg/tokenizer/internal/tokenizertest", "pkg/tokenizer/internal/gguftest",
		"pkg/engine/transformer/transformertest",
	}}
	t := &Table{
		Rows: map[string]Layer{
			"pkg/llm":   {Floor: 0},
			"pkg/fair":  {Floor: 0},
			"pkg/batch": {Floor: 0, May: []string{"pkg/internal/flock", "pkg/internal/osfile"}}, "pkg/batch/inbucket": {Floor: 1, May: []string{"pkg/batch", "pkg/bucket"}},
			"pkg/version": {Floor: 0}, "pkg/canary": {Floor: 0},
			"pkg/spelling":     {Floor: 0},
			"pkg/llm/llmtest":  {Floor: 0, May: []string{"pkg/llm"}},
			"pkg/engine/dtype": {Floor: 0}, "pkg/engine/faster": {Floor: 0}, "pkg/engine/sealed": {Floor: 0}, "pkg/engine/picture": {Floor: 0},
			"pkg/engine/kernel":                    {Floor: 0, May: []string{"pkg/engine/dtype", "pkg/engine/faster"}},
			"pkg/engine/kernel/gen":                {Floor: 0, May: []string{"pkg/engine/kernel"}},
			"pkg/engine/checkpoint":                {Floor: 0, May: []string{"pkg/engine/dtype"}},
			"pkg/engine/checkpoint/checkpointtest": {Floor: 0, May: []string{"pkg/engine/checkpoint"}},
			"pkg/chat":                             {Floor: 0, May: []string{"pkg/reasoning", "pkg/llm", "pkg/toolcall", "pkg/jinja"}},
			"pkg/toolcall":                         {Floor: 0},
			"pkg/jinja":                            {Floor: 0},
			"pkg/reasoning":                        {Floor: 0},
			"pkg/language":                         {Floor: 0}, "pkg/memory": {Floor: 0},
			"pkg/deployment":        {Floor: 0},
			"pkg/cloud":             {Floor: 0, Outside: aws},
			"pkg/table":             {Floor: 0, May: []string{"pkg/backend/awsrest"}, Outside: aws},
			"pkg/table/tabletest":   {Floor: 0, May: []string{"pkg/table", "pkg/backend/awsrest"}, Outside: aws},
			"pkg/bucket":            {Floor: 0, May: []string{"pkg/arn", "pkg/partition"}, Outside: aws},
			"pkg/bucket/buckettest": {Floor: 0, May: []string{"pkg/backend/awsrest/sigv4test"}}, "pkg/backend/awsrest/sigv4test": {Floor: 0},
			"pkg/hub": {Floor: 0, May: []string{"pkg/version", "pkg/internal/flock", "pkg/internal/osfile", "pkg/engine/checkpoint"}},
			"pkg/fit": {Floor: 0}, "pkg/home": {Floor: 0},
			"pkg/starter":         {Floor: 0},
			"pkg/starter/*":       {Floor: 0},
			"pkg/internal/layers": {Floor: 0}, "pkg/internal/flock": {Floor: 0}, "pkg/internal/osfile": {Floor: 0},
			"pkg/terminal": {Floor: 0, Outside: []string{"github.com/reeflective", "github.com/rivo", "golang.org/x/term"}},
			"schemas":      {Floor: 0},

			"pkg/engine/sampler":     {Floor: 1, May: []string{"pkg/engine/kernel"}},
			"pkg/engine/transformer": {Floor: 1, May: []string{"pkg/engine/kernel", "pkg/engine/dtype", "pkg/engine/faster"}}, "pkg/engine/transformer/transformertest": {Floor: 1, May: []string{"pkg/engine/transformer", "pkg/engine/kernel"}},
			"pkg/engine/arch": {Floor: 1, May: []string{
				"pkg/engine/dtype", "pkg/engine/kernel", "pkg/engine/checkpoint", "pkg/engine/transformer", "pkg/engine/picture", "pkg/grammar",
				"pkg/tokenizer", "pkg/tokenizer/kinds", "pkg/tokenizer/gguf", "pkg/tokenizer/hf", "pkg/chat", "pkg/language",
			}},
			"pkg/repl":  {Floor: 1, May: []string{"pkg/llm", "pkg/terminal", "pkg/spelling"}},
			"pkg/wire":  {Floor: 1, May: []string{"pkg/llm"}},
			"pkg/httpx": {Floor: 1, May: []string{"pkg/llm", "pkg/wire", "pkg/fair", "pkg/spelling"}}, "pkg/intercept": {Floor: 1, May: []string{"pkg/llm"}},

			"pkg/engine": {Floor: 2, May: []string{
				"pkg/llm", "pkg/fair", "pkg/toolcall", "pkg/reasoning", "pkg/engine/kernel", "pkg/engine/checkpoint", "pkg/tokenizer", "pkg/grammar", "pkg/chat",
				"pkg/language", "pkg/engine/sampler", "pkg/engine/sealed", "pkg/engine/picture", "pkg/engine/transformer", "pkg/engine/arch",
			}},
			"pkg/bench": {Floor: 2, May: []string{"pkg/engine/dtype", "pkg/engine/kernel", "pkg/engine/checkpoint", "pkg/engine/transformer", "pkg/engine/arch"}}, "pkg/bench/known": {Floor: 2, May: []string{"pkg/bench", "pkg/engine", "pkg/engine/arch", "pkg/engine/kernel", "pkg/engine/sealed", "pkg/engine/transformer", "pkg/llm", "pkg/tokenizer"}}, "pkg/bench/quoting": {Floor: 2, May: []string{"pkg/bench", "pkg/engine", "pkg/engine/arch", "pkg/engine/kernel", "pkg/engine/transformer", "pkg/llm", "pkg/tokenizer"}},
			"pkg/train":   {Floor: 2, May: []string{"pkg/internal/osfile", "pkg/engine/kernel", "pkg/tokenizer", "pkg/tokenizer/alpha", "pkg/engine/checkpoint"}},
			"pkg/schema":  {Floor: 2, May: []string{"pkg/llm", "pkg/spelling"}, Outside: []string{"github.com/PaesslerAG"}},
			"pkg/archive": {Floor: 1, May: []string{"pkg/llm", "pkg/table"}},
			"pkg/account": {Floor: 2, May: []string{"pkg/llm", "pkg/httpx", "pkg/table", "pkg/internal/flock", "pkg/internal/osfile"}, Outside: []string{"golang.org/x/crypto"}}, "pkg/account/issuer": {Floor: 2, May: []string{"pkg/llm", "pkg/account"}, Outside: []string{"github.com/go-jose"}},
			"pkg/meter":          {Floor: 2, May: []string{"pkg/llm", "pkg/httpx", "pkg/intercept"}},
			"pkg/meter/prom":     {Floor: 2, May: []string{"pkg/llm", "pkg/httpx", "pkg/version"}, Outside: []string{"github.com/prometheus"}},
			"pkg/meter/activity": {Floor: 2, May: []string{"pkg/llm", "pkg/httpx"}},
			"pkg/meter/traces":   {Floor: 2, May: []string{"pkg/llm", "pkg/httpx", "pkg/intercept", "pkg/version"}, Outside: []string{"go.opentelemetry.io"}},
			"pkg/meter/emf":      {Floor: 2, May: []string{"pkg/llm", "pkg/httpx"}},
			"pkg/meter/budget":   {Floor: 3, May: []string{"pkg/llm", "pkg/wire", "pkg/httpx", "pkg/intercept", "pkg/account", "pkg/table"}},
			"pkg/resilience":     {Floor: 3, May: []string{"pkg/llm", "pkg/httpx", "pkg/intercept"}},

			"pkg/arn": {Floor: 0}, "pkg/partition": {Floor: 0}, "pkg/secret": {Floor: 0},
			"pkg/catalog": {Floor: 3, May: []string{"pkg/llm", "pkg/engine/dtype", "pkg/schema", "pkg/table", "pkg/chat", "pkg/arn", "pkg/secret", "pkg/internal/osfile"}},
			"pkg/local": {Floor: 3, May: []string{
				"pkg/llm", "pkg/chat", "pkg/grammar", "pkg/tokenizer", "pkg/engine", "pkg/engine/kernel", "pkg/engine/checkpoint", "pkg/engine/transformer",
				"pkg/engine/arch", "pkg/engine/sealed", "pkg/bucket", "pkg/catalog", "pkg/version",
			}},
			"pkg/structured": {Floor: 3, May: []string{"pkg/llm", "pkg/grammar"}},
			"pkg/publish":    {Floor: 3, May: []string{"pkg/llm", "pkg/fair", "pkg/engine/dtype", "pkg/engine/kernel", "pkg/engine/checkpoint", "pkg/engine/transformer", "pkg/engine/arch", "pkg/tokenizer/alpha", "pkg/bucket", "pkg/deployment", "pkg/internal/osfile"}},

			"pkg/openaiapi": {Floor: 2, May: []string{"pkg/llm", "pkg/wire", "pkg/httpx"}},
			"pkg/openapi":   {Floor: 4, May: []string{"pkg/llm", "pkg/wire", "pkg/httpx"}},
			"pkg/dialect/*": dialect, "pkg/dialect/batches": {Floor: 4, May: append([]string{"pkg/batch"}, dialect.May...)},
			"pkg/page": {Floor: 4, May: []string{"pkg/httpx", "pkg/llm"}},

			"pkg/host":            {Floor: 5, Outside: []string{"github.com/aws", "github.com/awslabs"}},
			"pkg/host/runtimeapi": {Floor: 5, Outside: []string{"github.com/aws"}},

			"pkg/app": {Floor: 6, May: []string{"..."}, Environment: true, Outside: []string{"github.com/aws"}},

			"functions/*":      function,
			"functions/glossa": {Floor: 7, May: []string{"..."}, Environment: true, Outside: []string{"golang.org/x/term", "github.com/spf13", "github.com/lmittmann"}},
			"infra":            {Floor: 7, May: []string{"infra/policy", "infra/stacks"}, Outside: aws, Environment: true},
			"infra/plan":       {Floor: 7, May: []string{"pkg/app", "pkg/canary", "pkg/partition", "pkg/meter/traces", "pkg/deployment", "pkg/httpx"}, Outside: []string{"github.com/aws/aws-sdk-go-v2/aws"}},
			"infra/policy":     {Floor: 7, May: []string{"pkg/deployment", "pkg/partition", "infra/plan"}},
			"infra/stacks":     {Floor: 7, May: []string{"pkg/deployment", "pkg/price", "infra/plan", "infra/policy"}, Outside: aws},
		},
	}
	for _, more := range []map[string]Layer{backends(aws), grammars(), tokenizers(), estimates()} {
		maps.Copy(t.Rows, more)
	}
	t.guard()
	return t
}

// guard adds the guarded and the forbidden imports.
func (t *Table) guard() {
	t.Guarded = []string{
		"github.com/aws", "github.com/awslabs", "github.com/PaesslerAG", "github.com/prometheus", "github.com/getkin", "golang.org/x/term", "golang.org/x/crypto",
		"github.com/spf13", "github.com/lmittmann", "github.com/go-jose", "go.opentelemetry.io",
	}
	// Packages that make the linker keep every method, and cgo.
	t.Forbidden = []string{"net/rpc", "text/template", "html/template", "C"}
	t.Exclusive = map[string][]string{
		"pkg/starter": {"functions/glossa"}, "pkg/starter/*": {"functions/glossa", "pkg/starter", "pkg/starter/*"},
		"pkg/meter/prom": {"functions/glossa"}, "pkg/cloud": {"functions/glossa"},
		"pkg/terminal": {"functions/glossa", "pkg/repl"}, "pkg/repl": {"functions/glossa"},
		"pkg/llm/llmtest": {"pkg/backend/backendtest"}, "pkg/table/tabletest": {}, "pkg/bucket/buckettest": {}, "pkg/backend/backendtest": {},
		"pkg/engine/checkpoint/checkpointtest": {}, "pkg/engine/transformer/transformertest": {}, "pkg/host/runtimeapi": {}, "pkg/backend/awsrest/sigv4test": {"pkg/bucket/buckettest"},
		"pkg/tokenizer/internal/tokenizertest": {"pkg/tokenizer/internal/gguftest"}, "pkg/tokenizer/internal/gguftest": {},
	}
}

// backends returns the rows of remote models.
func backends(aws []string) map[string]Layer {
	return map[string]Layer{
		"pkg/backend/awsrest":     {Floor: 0, May: []string{"pkg/arn", "pkg/partition", "pkg/version"}, Outside: aws},
		"pkg/backend/*":           {Floor: 3, May: []string{"pkg/llm", "pkg/backend/remote", "pkg/backend/awsrest"}},
		"pkg/backend/upstream":    {Floor: 3, May: []string{"pkg/schema", "pkg/version", "pkg/backend/remote"}},
		"pkg/backend/remote":      {Floor: 3, May: []string{"pkg/llm", "pkg/schema", "pkg/chat", "pkg/backend/awsrest"}},
		"pkg/backend/backendtest": {Floor: 3, May: []string{"pkg/llm", "pkg/llm/llmtest", "pkg/schema", "pkg/backend/remote", "schemas"}, Outside: aws},
	}
}

// grammars returns the rows of the grammars and of their automata.
func grammars() map[string]Layer {
	return map[string]Layer{
		"pkg/grammar": {Floor: 0, May: []string{
			"pkg/fair", "pkg/toolcall", "pkg/grammar/automaton", "pkg/grammar/pushdown", "pkg/grammar/jsonschema", "pkg/grammar/gbnf", "pkg/grammar/calls", "pkg/grammar/fault",
		}},
		"pkg/grammar/fault":      {Floor: 0},
		"pkg/grammar/automaton":  {Floor: 0},
		"pkg/grammar/pushdown":   {Floor: 0, May: []string{"pkg/grammar/automaton"}},
		"pkg/grammar/jsonschema": {Floor: 0, May: []string{"pkg/grammar/automaton", "pkg/grammar/pushdown", "pkg/grammar/fault"}},
		"pkg/grammar/gbnf":       {Floor: 0, May: []string{"pkg/grammar/automaton", "pkg/grammar/pushdown", "pkg/grammar/fault"}},
		"pkg/grammar/calls":      {Floor: 0, May: []string{"pkg/toolcall", "pkg/grammar/automaton", "pkg/grammar/pushdown", "pkg/grammar/jsonschema"}},
	}
}

// estimates returns the rows of prices and of plans before a deployment.
func estimates() map[string]Layer {
	return map[string]Layer{
		"pkg/price":            {Floor: 0, May: []string{"pkg/llm"}},
		"pkg/estimate":         {Floor: 3, May: []string{"pkg/estimate/traffic", "pkg/llm", "pkg/memory", "pkg/deployment", "pkg/fit", "pkg/price", "pkg/meter"}},
		"pkg/estimate/traffic": {Floor: 0},
	}
}

// tokenizers returns the rows of the tokenizers and of their common packages.
func tokenizers() map[string]Layer {
	return map[string]Layer{
		"pkg/tokenizer": {Floor: 0, May: []string{"pkg/tokenizer/internal/encode"}},
		"pkg/tokenizer/kinds": {Floor: 0, May: []string{
			"pkg/tokenizer", "pkg/tokenizer/alpha", "pkg/tokenizer/hf", "pkg/tokenizer/sentencepiece", "pkg/tokenizer/gguf", "pkg/tokenizer/internal/encode",
		}},
		"pkg/tokenizer/alpha": {Floor: 0, May: []string{"pkg/tokenizer", "pkg/tokenizer/internal/encode", "pkg/tokenizer/internal/bpe"}},
		"pkg/tokenizer/hf": {Floor: 0, May: []string{
			"pkg/tokenizer", "pkg/tokenizer/internal/encode", "pkg/tokenizer/internal/bpe", "pkg/tokenizer/internal/subword",
			"pkg/tokenizer/internal/unigram", "pkg/tokenizer/internal/charsmap", "pkg/tokenizer/internal/pretoken",
		}},
		"pkg/tokenizer/sentencepiece": {Floor: 0, May: []string{
			"pkg/tokenizer", "pkg/tokenizer/internal/encode", "pkg/tokenizer/internal/bpe", "pkg/tokenizer/internal/subword",
			"pkg/tokenizer/internal/unigram", "pkg/tokenizer/internal/charsmap", "pkg/tokenizer/internal/spmodel",
		}},
		"pkg/tokenizer/gguf": {Floor: 0, May: []string{
			"pkg/tokenizer", "pkg/tokenizer/hf", "pkg/tokenizer/sentencepiece", "pkg/tokenizer/internal/encode",
			"pkg/tokenizer/internal/subword", "pkg/tokenizer/internal/charsmap", "pkg/tokenizer/internal/pretoken",
		}},
		"pkg/tokenizer/internal/encode":        {Floor: 0},
		"pkg/tokenizer/internal/bpe":           {Floor: 0, May: []string{"pkg/tokenizer/internal/encode", "pkg/tokenizer/internal/subword"}},
		"pkg/tokenizer/internal/subword":       {Floor: 0, May: []string{"pkg/tokenizer/internal/encode"}},
		"pkg/tokenizer/internal/unigram":       {Floor: 0, May: []string{"pkg/tokenizer/internal/encode", "pkg/tokenizer/internal/subword"}},
		"pkg/tokenizer/internal/charsmap":      {Floor: 0},
		"pkg/tokenizer/internal/spmodel":       {Floor: 0, May: []string{"pkg/tokenizer/internal/encode", "pkg/tokenizer/internal/subword"}},
		"pkg/tokenizer/internal/pretoken":      {Floor: 0},
		"pkg/tokenizer/internal/tokenizertest": {Floor: 0, May: []string{"pkg/tokenizer"}},
		"pkg/tokenizer/internal/gguftest": {Floor: 0, May: []string{
			"pkg/tokenizer", "pkg/tokenizer/gguf", "pkg/tokenizer/internal/spmodel", "pkg/tokenizer/internal/tokenizertest",
		}},
	}
}
