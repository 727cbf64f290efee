package layers

// Glossa returns the table of this repository.
func Glossa() *Table {
	dialect := Layer{Floor: 4, May: []string{"pkg/llm", "pkg/httpx", "pkg/chat"}}
	aws := []string{"github.com/aws"}
	function := Layer{Floor: 7, May: []string{"pkg/app"}, Never: []string{
		"pkg/starter", "pkg/starter/*", "pkg/train", "pkg/meter/prom", "pkg/cloud", "pkg/llm/llmtest", "pkg/table/tabletest",
		"pkg/bucket/buckettest", "pkg/engine/checkpoint/checkpointtest", "pkg/engine/transformer/transformertest",
	}}
	return &Table{
		Module: "glossa",
		Rows: map[string]Layer{
			"pkg/llm":                              {Floor: 0},
			"pkg/llm/llmtest":                      {Floor: 0, May: []string{"pkg/llm"}},
			"pkg/engine/kernel":                    {Floor: 0},
			"pkg/engine/kernel/gen":                {Floor: 0, May: []string{"pkg/engine/kernel"}},
			"pkg/engine/checkpoint":                {Floor: 0},
			"pkg/engine/checkpoint/checkpointtest": {Floor: 0, May: []string{"pkg/engine/checkpoint"}},
			"pkg/tokenizer":                        {Floor: 0},
			"pkg/grammar": {Floor: 0, May: []string{
				"pkg/grammar/automaton", "pkg/grammar/pushdown", "pkg/grammar/jsonschema", "pkg/grammar/gbnf", "pkg/grammar/calls", "pkg/grammar/fault",
			}},
			"pkg/grammar/fault":      {Floor: 0},
			"pkg/grammar/automaton":  {Floor: 0},
			"pkg/grammar/pushdown":   {Floor: 0, May: []string{"pkg/grammar/automaton"}},
			"pkg/grammar/jsonschema": {Floor: 0, May: []string{"pkg/grammar/automaton", "pkg/grammar/pushdown", "pkg/grammar/fault"}},
			"pkg/grammar/gbnf":       {Floor: 0, May: []string{"pkg/grammar/automaton", "pkg/grammar/pushdown", "pkg/grammar/fault"}},
			"pkg/grammar/calls":      {Floor: 0, May: []string{"pkg/grammar/automaton", "pkg/grammar/pushdown", "pkg/grammar/jsonschema"}},
			"pkg/chat":               {Floor: 0, May: []string{"pkg/llm"}},
			"pkg/language":           {Floor: 0},
			"pkg/cloud":              {Floor: 0, Outside: aws},
			"pkg/table":              {Floor: 0, Outside: aws},
			"pkg/table/tabletest":    {Floor: 0, May: []string{"pkg/table"}, Outside: aws},
			"pkg/bucket":             {Floor: 0, Outside: aws},
			"pkg/bucket/buckettest":  {Floor: 0, May: []string{"pkg/backend/awsrest/sigv4test"}}, "pkg/backend/awsrest/sigv4test": {Floor: 0},
			"pkg/hub":                 {Floor: 0},
			"pkg/starter":             {Floor: 0},
			"pkg/starter/*":           {Floor: 0},
			"pkg/starter/phrases":     {Floor: 0},
			"pkg/starter/phrases/gen": {Floor: 0, May: []string{"pkg/starter/phrases"}},
			"pkg/internal/layers":     {Floor: 0},
			"schemas":                 {Floor: 0},

			"pkg/sampler":            {Floor: 1, May: []string{"pkg/engine/kernel"}},
			"pkg/engine/transformer": {Floor: 1, May: []string{"pkg/engine/kernel"}}, "pkg/engine/transformer/transformertest": {Floor: 1, May: []string{"pkg/engine/transformer"}},
			"pkg/engine/arch": {Floor: 1, May: []string{
				"pkg/engine/kernel", "pkg/engine/checkpoint", "pkg/engine/transformer", "pkg/tokenizer", "pkg/grammar",
			}},
			"pkg/httpx": {Floor: 1, May: []string{"pkg/llm"}},

			"pkg/engine": {Floor: 2, May: []string{
				"pkg/llm", "pkg/engine/kernel", "pkg/engine/checkpoint", "pkg/tokenizer", "pkg/grammar", "pkg/chat",
				"pkg/language", "pkg/sampler", "pkg/engine/transformer", "pkg/engine/arch",
			}},
			"pkg/bench":        {Floor: 2, May: []string{"pkg/engine/kernel", "pkg/engine/checkpoint", "pkg/engine/transformer", "pkg/engine/arch"}},
			"pkg/train":        {Floor: 2, May: []string{"pkg/engine/kernel", "pkg/tokenizer", "pkg/engine/checkpoint"}},
			"pkg/schema":       {Floor: 2, May: []string{"pkg/llm"}, Outside: []string{"github.com/PaesslerAG"}},
			"pkg/account":      {Floor: 2, May: []string{"pkg/llm", "pkg/httpx", "pkg/table"}, Outside: []string{"golang.org/x/crypto"}},
			"pkg/meter":        {Floor: 2, May: []string{"pkg/llm", "pkg/httpx"}},
			"pkg/meter/prom":   {Floor: 2, May: []string{"pkg/llm", "pkg/httpx"}, Outside: []string{"github.com/prometheus"}},
			"pkg/meter/emf":    {Floor: 2, May: []string{"pkg/llm", "pkg/httpx"}},
			"pkg/meter/budget": {Floor: 3, May: []string{"pkg/llm", "pkg/httpx", "pkg/account", "pkg/table"}},
			"pkg/resilience":   {Floor: 3, May: []string{"pkg/llm", "pkg/httpx"}},

			"pkg/arn": {Floor: 0}, "pkg/backend/awsrest": {Floor: 0, May: []string{"pkg/arn"}, Outside: aws},
			"pkg/backend/*":           {Floor: 3, May: []string{"pkg/llm", "pkg/backend/remote", "pkg/backend/awsrest"}},
			"pkg/backend/remote":      {Floor: 3, May: []string{"pkg/llm", "pkg/schema", "pkg/chat", "pkg/backend/awsrest"}},
			"pkg/backend/backendtest": {Floor: 3, May: []string{"pkg/llm", "pkg/llm/llmtest", "pkg/schema", "pkg/backend/remote", "schemas"}, Outside: aws},

			"pkg/catalog":    {Floor: 3, May: []string{"pkg/llm", "pkg/schema", "pkg/table", "pkg/chat", "pkg/arn"}},
			"pkg/structured": {Floor: 3, May: []string{"pkg/llm", "pkg/grammar"}},
			"pkg/publish":    {Floor: 3, May: []string{"pkg/llm", "pkg/engine/kernel", "pkg/engine/checkpoint", "pkg/engine/transformer", "pkg/engine/arch", "pkg/tokenizer", "pkg/bucket"}},

			"pkg/dialect/*": dialect,
			"pkg/page":      {Floor: 4, May: []string{"pkg/httpx", "pkg/llm"}},

			"pkg/host":            {Floor: 5, Outside: []string{"github.com/aws", "github.com/awslabs"}},
			"pkg/host/runtimeapi": {Floor: 5, Outside: []string{"github.com/aws"}},

			"pkg/app": {Floor: 6, May: []string{"..."}, Environment: true, Outside: []string{"github.com/aws"}},

			"functions/*":      function,
			"functions/glossa": {Floor: 7, May: []string{"..."}, Outside: []string{"golang.org/x/term"}},
			"infra":            {Floor: 7, May: []string{"infra/policy", "infra/stacks"}, Outside: aws},
			"infra/plan":       {Floor: 7, May: []string{"pkg/app", "pkg/httpx"}, Outside: []string{"github.com/aws/aws-sdk-go-v2/aws"}},
			"infra/policy":     {Floor: 7, May: []string{"infra/plan"}},
			"infra/stacks":     {Floor: 7, May: []string{"infra/plan", "infra/policy"}, Outside: aws},
		},
		Guarded: []string{
			"github.com/aws", "github.com/awslabs", "github.com/PaesslerAG", "github.com/prometheus", "github.com/getkin", "golang.org/x/term", "golang.org/x/crypto",
		},
		// What makes the linker keep every method, and what is no Go.
		Forbidden: []string{"net/rpc", "text/template", "html/template", "C"},
		Exclusive: map[string][]string{
			"pkg/starter": {"functions/glossa"}, "pkg/starter/*": {"functions/glossa", "pkg/starter", "pkg/starter/*"},
			"pkg/starter/phrases": {"functions/glossa", "pkg/starter", "pkg/starter/phrases/gen"},
			"pkg/meter/prom":      {"functions/glossa"}, "pkg/cloud": {"functions/glossa"},
			"pkg/llm/llmtest": {"pkg/backend/backendtest"}, "pkg/table/tabletest": {}, "pkg/bucket/buckettest": {}, "pkg/backend/backendtest": {},
			"pkg/engine/checkpoint/checkpointtest": {}, "pkg/engine/transformer/transformertest": {}, "pkg/host/runtimeapi": {}, "pkg/backend/awsrest/sigv4test": {"pkg/bucket/buckettest"},
		},
	}
}
