package catalog

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"

	"glossa/pkg/arn"
	"glossa/pkg/chat"
	"glossa/pkg/engine/dtype"
	"glossa/pkg/llm"
	"glossa/pkg/schema"
)

// item is a parsed item.
type item struct {
	PK, SK      string
	models      []row
	schema      json.RawMessage
	description string
	hostings    []string
	context     whole
	special     bool
	modelID     string
	endpoint    string
	region      string
	role        Role
	component   string
	upstream    Upstream
	like        string // the group that lends its schema, of the family openai
	drop        bool   // parameters that the model lacks are left out
	guardrail   Guardrail
	fallbacks   []string
	cache       whole
	prices      *llm.Prices // nil: unknown
	created     stamp
	listed      *bool // nil: by its key, see [itemSet.selfListed]
	lenient     *bool // drop unmapped keys; nil: the server's setting
	images      *bool // of a remote model: it reads images; nil: if its schema writes them

	// Fields of the row for an item that all-models does not list:
	kind         string
	name, family string // from the key
	streaming    *bool  // nil: from its schema

	local    local          // parsed schema of the family local
	remote   *schema.Schema // parsed schema of other families
	raw      string
	lender   *item // the group's record that lends its schema; nil: its own
	mistakes []schema.Mistake
	warnings []schema.Mistake
}

// A Row is one of the models that all-models lists (API layer, list_models).
type Row struct {
	Type      string `json:"model_type"`
	Name      string `json:"model_name"`
	Family    string `json:"model_family"`
	Streaming bool   `json:"streaming"`
}

// row is a row with its index in the list.
type row struct {
	Row
	index int
}

// local is the schema of the family local.
type local struct {
	checkpoint   string
	chatTemplate string
	reasons      *bool // with chatTemplate
	cap          spelled
	aliases      []string
	languages    []string
	quant        string
	kv           string
	prefixes     string
	speculate    *bool
	draft        string
}

// parseItem parses and checks one item; errors are in its mistakes. Unknown attributes
// are warnings: tables hold notes of their owners, but a misspelt setting has no effect.
func parseItem(b []byte) *item {
	it := &item{raw: string(b)}
	var models, guardrail, prices json.RawMessage
	var insecure *bool
	var unsupported, secretRef string
	known := map[string]any{
		"pk": &it.PK, "sk": &it.SK, "models": &models, "schema": &it.schema, "description": &it.description, "hostings": &it.hostings,
		"context": &it.context, "parse_special": &it.special, "model_id": &it.modelID, "endpoint": &it.endpoint, "region": &it.region, "role": &it.role.ARN, "external_id": &it.role.ExternalID,
		"inference_component": &it.component, "guardrail": &guardrail, "prices": &prices, "fallbacks": &it.fallbacks, "cache_seconds": &it.cache, "created": &it.created,
		"listed": &it.listed, "ignore_unmapped": &it.lenient, "unsupported": &unsupported, "images": &it.images,
		"url": &it.upstream.URL, "like": &it.like, "key": &secretRef, "insecure": &insecure, "private": &it.upstream.Private,
		"model_type": &it.kind, "model_name": &it.name, "model_family": &it.family, "streaming": &it.streaming,
	}
	it.unknown("", it.members("", b, known), known)
	if it.SK == "" && len(it.mistakes) > 0 {
		return it // mistakes has the reason
	}
	if it.PK != pk {
		it.wrong("/pk", "it is %q, not %q", it.PK, pk)
	}
	family, key, _ := strings.Cut(it.SK, "-")
	switch {
	case it.SK == allSK:
		it.readRows(models)
		return it
	case rank(family) < 0 || key == "":
		it.wrong("/sk", "it is %q: it must be %q, or local-, bedrock-, sagemaker- or openai- and a name", it.SK, allSK)
		return it
	case models != nil:
		it.wrong("/models", "only %s may have it", allSK)
	}
	it.check(family)
	it.readGuardrail(family, guardrail)
	it.readPrices(prices)
	it.readUpstream(family, key, insecure, secretRef)
	it.readUnsupported(unsupported)
	it.checkID("/sk", family, key)
	it.checkID("/model_id", family, it.modelID)
	it.checkKey(family, key)
	if family == Local {
		it.readLocal()
	} else {
		it.readRemote(family)
	}
	return it
}

func (it *item) wrong(pointer, format string, args ...any) {
	it.mistakes = append(it.mistakes, schema.Mistake{Pointer: pointer, Message: fmt.Sprintf(format, args...)})
}

func (it *item) warn(pointer, format string, args ...any) {
	it.warnings = append(it.warnings, schema.Mistake{Pointer: pointer, Message: fmt.Sprintf(format, args...)})
}

// maxNames bounds how many unknown names a warning lists.
const maxNames = 8

// unknown adds one warning for all unknown names at a pointer. It does not show values.
func (it *item) unknown(pointer string, names []string, known map[string]any) {
	if len(names) == 0 {
		return
	}
	slices.Sort(names)
	names = slices.Compact(names)
	var list []string
	for _, name := range names[:min(len(names), maxNames)] {
		list = append(list, strconv.Quote(short(name)))
	}
	if more := len(names) - maxNames; more > 0 {
		list = append(list, fmt.Sprintf("%d more", more))
	}
	it.warn(pointer, "unknown and ignored: %s; known are %s", strings.Join(list, ", "), strings.Join(slices.Sorted(maps.Keys(known)), ", "))
}

// checkKey warns of a key that describes no model, or another one than the item.
func (it *item) checkKey(family, key string) {
	for _, c := range []struct{ name, value, want string }{{"model_family", it.family, family}, {"model_name", it.name, key}} {
		if c.value != "" && c.value != c.want {
			it.warn("/"+c.name, "it is %q, but the sk says %q, which takes precedence", short(c.value), short(c.want))
		}
	}
	switch {
	case family == Local:
	case !printable(key):
		it.warn("/sk", "the name of a model must have at most %d bytes, all printable: it is not listed", maxName)
	case strings.HasSuffix(key, "*") || strings.TrimRight(key, ".-:") != key:
		it.warn("/sk", "no model uses it: the key of a group is a prefix of model names without the separator that follows it, such as %s-%s",
			family, strings.TrimRight(key, "*.-:"))
	}
}

// check checks the attributes of all families.
func (it *item) check(family string) {
	for _, c := range []struct {
		name  string
		value whole
	}{{"context", it.context}, {"cache_seconds", it.cache}} {
		if c.value < 0 {
			it.wrong("/"+c.name, "it is %d: it must not be negative", c.value)
		}
	}
	for _, c := range []struct{ name, value, family string }{
		{"endpoint", it.endpoint, SageMaker}, {"inference_component", it.component, SageMaker},
	} {
		if c.value != "" && c.family != family {
			it.wrong("/"+c.name, "only records of the family %s may have it", c.family)
		}
	}
	if it.modelID != "" && family != Bedrock && family != OpenAI {
		it.wrong("/model_id", "only records of the families %s and %s may have it", Bedrock, OpenAI)
	}
	it.checkRegion(family)
	it.checkRole(family)
	for _, c := range []struct {
		name  string
		value *bool
	}{{"listed", it.listed}, {"images", it.images}} {
		if c.value != nil && family == Local {
			it.wrong("/"+c.name, "only records of remote models may have it")
		}
	}
	for i, name := range it.fallbacks {
		if name == "" {
			it.wrong(fmt.Sprint("/fallbacks/", i), "it is empty")
		}
	}
}

// checkRegion checks the region of the service, which becomes part of a host name to which
// credentials are sent.
func (it *item) checkRegion(family string) {
	if it.region == "" {
		return
	}
	if family != Bedrock && family != SageMaker {
		it.wrong("/region", "only records of the families %s and %s may have it", Bedrock, SageMaker)
	}
	if err := arn.CheckRegion(it.region); err != nil {
		it.wrong("/region", "%v", err)
	}
	if a, err := arn.Parse(it.modelID); err == nil && a.Region != "" && a.Region != it.region {
		it.wrong("/region", "it is %s, and the ARN in model_id is of %s", it.region, a.Region)
	}
}

// readUnsupported reads what becomes of parameters that a model lacks.
func (it *item) readUnsupported(value string) {
	if value != "" && value != "drop" && value != "reject" {
		it.wrong("/unsupported", "it is %.20q: it must be drop or reject", value)
	}
	if it.drop = value == "drop"; it.drop && it.lenient == nil {
		it.lenient = &it.drop
	}
}

// checkID checks the id of a model on Amazon Bedrock: its region becomes part of the host
// name to which credentials are sent.
func (it *item) checkID(pointer, family, id string) {
	if family != Bedrock || !arn.Is(id) {
		return
	}
	if _, err := arn.Parse(id); err != nil {
		it.wrong(pointer, "%v", err)
	}
}

// readRemote reads the schema of a remote model, if it has one.
func (it *item) readRemote(family string) {
	if it.schema == nil {
		return
	}
	s, err := schema.Parse(it.schema)
	if err != nil {
		for _, m := range schema.Mistakes(err) {
			it.wrong("/schema"+m.Pointer, "%s", m.Message)
		}
		return
	}
	if err := chat.Check(s.ChatTemplate); err != nil {
		it.wrong("/schema/chat_template", "%v", err)
	}
	for pointer, s := range map[string]*schema.Schema{"/schema": s, "/schema/alternative": s.Alternative} {
		if s == nil || s.API == schema.Invoke {
			continue
		}
		if of := map[bool]string{true: Bedrock, false: OpenAI}[s.API == schema.Converse]; of != family {
			it.wrong(pointer+"/api", "only records of the family %s may have %s", of, s.API)
		}
	}
	it.remote = s
}

// IsTemplateFile reports whether the chat_template of a local model names a file beside the
// model's files.
func IsTemplateFile(name string) bool {
	return strings.HasSuffix(name, ".jinja") && fs.ValidPath(name) && !strings.Contains(name, "/")
}

// readLocal parses the schema of a local model.
func (it *item) readLocal() {
	l := &it.local
	if it.schema != nil {
		known := map[string]any{
			"checkpoint": &l.checkpoint, "chat_template": &l.chatTemplate, "cap": &l.cap,
			"aliases": &l.aliases, "languages": &l.languages, "quant": &l.quant, "kv": &l.kv,
			"prefixes":  &l.prefixes,
			"speculate": &l.speculate, "draft": &l.draft,
		}
		for _, name := range it.members("/schema", inner(it.schema), known) {
			it.wrong("/schema"+schema.Pointer(name), "unknown name; known are %s", strings.Join(slices.Sorted(maps.Keys(known)), ", "))
		}
	}
	if l.checkpoint == "" && len(it.mistakes) == 0 {
		it.wrong("/schema/checkpoint", "it is missing")
	}
	if l.chatTemplate != "" && !IsTemplateFile(l.chatTemplate) {
		template, err := chat.Parse(l.chatTemplate, nil)
		if err != nil {
			it.wrong("/schema/chat_template", "%v", err)
		} else {
			l.reasons = new(template.Reasoning() != nil)
		}
	}
	if l.quant != "" && !slices.Contains(Quants(), l.quant) {
		it.wrong("/schema/quant", "it is %q: it must be one of %s", l.quant, strings.Join(Quants(), ", "))
	}
	if l.kv != "" && !slices.Contains(KVs(), l.kv) {
		it.wrong("/schema/kv", "it is %q: it must be one of %s", l.kv, strings.Join(KVs(), ", "))
	}
	if l.prefixes != "" && l.prefixes != privatePrefixes && l.prefixes != publicPrefixes {
		it.wrong("/schema/prefixes", "it is %q: it must be %s or %s", l.prefixes, privatePrefixes, publicPrefixes)
	}
	if l.draft != "" && l.speculate != nil && !*l.speculate {
		it.wrong("/schema/draft", "speculate is false: no model drafts")
	}
	for i, alias := range l.aliases {
		if alias == "" {
			it.wrong(fmt.Sprint("/schema/aliases/", i), "it is empty")
		}
	}
	if !validCap(string(l.cap)) {
		it.wrong("/schema/cap", "it is %q: it must be none, clamp30, tanh30 or a number from 0 to 1e6", string(l.cap))
	}
}

// readRows parses the rows of all-models. An invalid row does not hide others.
func (it *item) readRows(models json.RawMessage) {
	var list []json.RawMessage
	if models == nil {
		return
	}
	if err := decode(inner(models), &list); err != nil {
		it.wrong("/models", "%s", reason(err))
		return
	}
	var unknown []string
	var known map[string]any
	for i, raw := range list {
		r, at, before := row{index: i}, fmt.Sprint("/models/", i), len(it.mistakes)
		known = map[string]any{
			"model_type": &r.Type, "model_name": &r.Name, "model_family": &r.Family, "streaming": &r.Streaming,
		}
		unknown = append(unknown, it.members(at, raw, known)...)
		if before == len(it.mistakes) && (r.Name == "" || r.Family == "") {
			it.wrong(at, "model_name or model_family is missing")
		}
		it.checkID(at+"/model_name", r.Family, r.Name)
		if before == len(it.mistakes) {
			it.models = append(it.models, r)
		}
	}
	it.unknown("/models", unknown, known)
}

// Whose prompts may begin with the computed prompts of others.
const (
	privatePrefixes = "private" // nobody's, the default
	publicPrefixes  = "public"  // everybody's
)

// Quants returns the formats of weights in memory: as in the file, float32, bfloat16,
// and GGUF's formats of 8 and 4 bits.
func Quants() []string { return append([]string{"stored"}, dtype.Options()...) }

// KVs returns the formats of keys and values in memory.
func KVs() []string { return []string{dtype.F32.Option(), dtype.BF16.Option(), "q8"} }

func validCap(c string) bool {
	if c == "" || c == "none" || c == "clamp30" || c == "tanh30" {
		return true
	}
	v, err := strconv.ParseFloat(c, 64)
	return err == nil && v > 0 && v <= 1e6
}
