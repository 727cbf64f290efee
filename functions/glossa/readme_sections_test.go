package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"glossa/infra/plan"
	"glossa/pkg/app"
	"glossa/pkg/dialect/alephalpha"
	"glossa/pkg/dialect/alpha"
	"glossa/pkg/dialect/anthropic"
	"glossa/pkg/dialect/invoke"
	"glossa/pkg/dialect/lamini"
	"glossa/pkg/dialect/ollama"
	"glossa/pkg/dialect/openai"
	"glossa/pkg/dialect/responses"
	"glossa/pkg/dialect/textsynth"
	"glossa/pkg/price"
	"glossa/pkg/schema"
	"glossa/pkg/wire"
)

// section is a generated part of a document.
var section = regexp.MustCompile(`(?s)<!-- generated: (\w+) -->\n.*?<!-- end -->`)

func replaceSections(t *testing.T, text string) string {
	return section.ReplaceAllStringFunc(text, func(old string) string {
		name := section.FindStringSubmatch(old)[1]
		made := ""
		switch name {
		case "openai":
			made = parameterTable(openai.Parameters())
		case "completions":
			made = parameterTable(openai.CompletionParameters())
		case "embeddings":
			made = parameterTable(openai.EmbeddingParameters())
		case "embed":
			made = parameterTable(openai.EmbedParameters())
		case "inputs":
			made = parameterTable(openai.InputsParameters())
		case "rerank":
			made = parameterTable(openai.RerankParameters())
		case "score":
			made = parameterTable(openai.ScoreParameters())
		case "classify":
			made = parameterTable(openai.ClassifyParameters())
		case "predict":
			made = parameterTable(openai.PredictParameters())
		case "ollama":
			made = parameterTable(ollama.Parameters())
		case "anthropic":
			made = parameterTable(anthropic.Parameters())
		case "responses":
			made = parameterTable(responses.Parameters())
		case "lamini":
			made = parameterTable(lamini.Parameters())
		case "invoke":
			made = parameterTable(invoke.Parameters())
		case "alpha":
			made = parameterTable(alpha.Parameters())
		case "alephalpha":
			made = parameterTable(alephalpha.Parameters())
		case "textsynth":
			made = parameterTable(textsynth.Parameters())
		case "environment":
			made = "| variable | meaning |\n|---|---|\n"
			for _, v := range app.Variables() {
				made += fmt.Sprintf("| `%s` | %s |\n", v[0], v[1])
			}
			for _, s := range commandSettings() {
				made += fmt.Sprintf("| `%s` | %s |\n", s.variable, s.meaning)
			}
		case "contexts":
			made = "| context | default | |\n|---|---|---|\n"
			for _, c := range plan.Contexts() {
				made += fmt.Sprintf("| `%s` | %s | %s |\n", c.Name, c.Default, c.Meaning)
			}
		case "prices":
			made = "| price | US dollars | for a | date | source |\n|---|---:|---|---|---|\n"
			for _, r := range price.AWS().Rows() {
				made += fmt.Sprintf("| `%s` | %s | %s | %s | %s |\n", r.Name, r.USD, r.Unit, r.Date, r.Source)
			}
		case "keys":
			made = keyTable()
		case "records":
			made = recordTable(t)
		case "remotetools":
			made = remoteToolTable(t)
		case "quality", "speed", "architectures", "phrases", "forms", "tools", "sentences", "suites", "masks", "gateway", "starts", "sizes", "refused":
			b, err := os.ReadFile(filepath.Join(root, map[string]string{
				"forms": "pkg/starter/testdata/forms.md", "tools": "pkg/starter/testdata/tools.md", "sentences": "pkg/starter/testdata/sentences.md", "suites": "pkg/grammar/testdata/suites.md", "masks": "pkg/grammar/testdata/bench.md",
				"gateway": ".ci/peers/gateway/results.md", "starts": "functions/testdata/start.md",
				"quality": "pkg/starter/testdata/quality.md", "speed": "pkg/starter/testdata/speed.md",
				"phrases": "pkg/starter/testdata/phrases/quality.md", "architectures": "pkg/engine/arch/testdata/architectures.md",
				"sizes": "pkg/engine/arch/testdata/sizes.md", "refused": "pkg/engine/arch/testdata/refused.md",
			}[name]))
			if err != nil {
				t.Error(err)
				return old
			}
			made = firstTable(string(b))
		case "first":
			b, err := os.ReadFile(filepath.Join(root, "functions/testdata/start.md"))
			_, after, found := strings.Cut(string(b), "\nThe first embedding")
			if err != nil || !found {
				t.Error(err, found)
				return old
			}
			made = firstTable(after)
		default:
			t.Errorf("nothing generates the section %q", name)
		}
		return "<!-- generated: " + name + " -->\n" + made + "<!-- end -->"
	})
}

// keyTable lists the keys that a record's mappings may have.
func keyTable() string {
	var table strings.Builder
	table.WriteString("| key | in | meaning |\n|---|---|---|\n")
	for _, k := range schema.Keys() {
		in := "answer"
		if k.Sent {
			in = "request"
		}
		fmt.Fprintf(&table, "| `%s` | %s | %s |\n", k.Name, in, k.Meaning)
	}
	return table.String()
}

// firstTable returns the lines of the first table of a text.
func firstTable(text string) string {
	var table strings.Builder
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "|") {
			table.WriteString(line)
		} else if table.Len() > 0 {
			break
		}
	}
	return table.String()
}

// parameterTable lists parameters. Those without a word about their treatment are honoured.
func parameterTable(list []wire.Parameter) string {
	var b strings.Builder
	b.WriteString("| parameter | meaning | remote model |\n|---|---|---|\n")
	for _, p := range list {
		note := p.Text()
		if p.Disposition != wire.Honoured {
			note = "*" + string(p.Disposition) + "*: " + note
		}
		if len(p.Neutral) > 0 {
			note += "; accepted: `" + strings.Join(p.Neutral, "`, `") + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", p.Name, note, cmp.Or(p.Remote, string(p.Disposition)))
	}
	return b.String()
}
