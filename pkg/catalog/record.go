package catalog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	remote "glossa/pkg/schema"
)

// The families of models, in the order in which a name that several have is
// resolved.
const (
	Local     = "local"
	Bedrock   = "bedrock"
	SageMaker = "sagemaker"
)

const alpha = "Alpha" // the type of models trained by Alpha

func rank(family string) int { return slices.Index([]string{Local, Bedrock, SageMaker}, family) }

// A Record describes one model.
type Record struct {
	Name, Family string
	Type         string // the provider's word
	Description  string
	Hostings     []string
	Streaming    bool
	Context      int // tokens; 0: as the model says
	Created      time.Time

	// Of the families bedrock and sagemaker:
	Schema    *remote.Schema
	ModelID   string // what Bedrock calls the model; "": its name
	Endpoint  string // of SageMaker; "": what follows the first dot of the name, or the name
	Component string // of the endpoint's inference components; "": none

	Fallbacks    []string // names of models that are asked when this one fails
	CacheSeconds int      // for how long answers that would be the same are kept; 0: not at all

	// Of the family local:
	Checkpoint   string // a run: its name in a root, or its directory
	ChatTemplate string
	Cap          string // of attention scores: none, clamp30, tanh30 or a number; "": as the checkpoint says
	Aliases      []string
	ParseSpecial bool     // special tokens spelled in raw prompts are read as such
	Languages    []string // that a translator knows; nil: all of its tokenizer
	Quant        string   // of the weights in memory, of [Quants]; "": as the server has it
}

// A Source has the records of the models to be served.
type Source interface {
	// Records returns the records in the order of the listing, with what is wrong
	// with the others. An error means that nothing could be read: the records of
	// before stay in force.
	Records(ctx context.Context) (records []Record, problems []error, err error)
}

// Files is a [Source] of JSON files, one item each, in the form of the items of
// the table: pk is "models", sk "all-models" or "<family>-<name>".
type Files struct{ FS fs.FS }

const maxItem = 1 << 20 // bytes; an item of DynamoDB has 400 KB at most

// item is one item as it is stored.
type item struct {
	PK          string           `json:"pk"`
	SK          string           `json:"sk"`
	Models      native[[]listed] `json:"models"`
	Schema      json.RawMessage  `json:"schema"`
	Description string           `json:"description"`
	Hostings    []string         `json:"hostings"`
	Context     int              `json:"context"`
	Special     bool             `json:"parse_special"`
	ModelID     string           `json:"model_id"`
	Endpoint    string           `json:"endpoint"`
	Component   string           `json:"inference_component"`
	Fallbacks   []string         `json:"fallbacks"`
	Cache       int              `json:"cache_seconds"`
	Created     stamp            `json:"created"`

	local  schema         // of the family local
	remote *remote.Schema // of the others
}

// listed is a row of all-models (seed 003, list_models).
type listed struct {
	Type      string `json:"model_type"`
	Name      string `json:"model_name"`
	Family    string `json:"model_family"`
	Streaming bool   `json:"streaming"`
}

// schema is what the family local adds to an item.
type schema struct {
	Checkpoint   string   `json:"checkpoint"`
	ChatTemplate string   `json:"chat_template"`
	Cap          spelled  `json:"cap"`
	Aliases      []string `json:"aliases"`
	Languages    []string `json:"languages"`
	Quant        string   `json:"quant"`
}

// Records implements [Source].
func (f Files) Records(context.Context) (records []Record, problems []error, err error) {
	names, err := fs.Glob(f.FS, "*.json")
	if err != nil {
		return nil, nil, err
	}
	var all []listed
	items := map[string]*item{} // by sk
	for _, name := range names {
		it, err := readItem(f.FS, name)
		switch {
		case err != nil:
			problems = append(problems, fmt.Errorf("record %s: %w", name, err))
		case items[it.SK] != nil:
			problems = append(problems, fmt.Errorf("record %s: another file has the sk %q too", name, it.SK))
		case it.SK == "all-models":
			all = it.Models.V
			fallthrough
		default:
			items[it.SK] = it
		}
	}
	delete(items, "all-models")
	for _, row := range all {
		sk := row.Family + "-" + row.Name
		it := items[sk]
		if it == nil && row.Family == Local {
			problems = append(problems, fmt.Errorf("all-models lists %s/%s: there is no record %q", row.Family, row.Name, sk))
			continue
		}
		delete(items, sk)
		records = append(records, it.record(row))
	}
	for _, sk := range slices.Sorted(maps.Keys(items)) {
		if name, ok := strings.CutPrefix(sk, Local+"-"); ok { // others describe whole groups of names
			records = append(records, items[sk].record(listed{Type: alpha, Name: name, Family: Local, Streaming: true}))
		}
	}
	return records, problems, nil
}

func readItem(fsys fs.FS, name string) (*item, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxItem+1))
	switch {
	case err != nil:
		return nil, err
	case len(b) > maxItem:
		return nil, fmt.Errorf("larger than %d bytes", maxItem)
	}
	return parseItem(b)
}

// parseItem reads and checks one item. Keys that are not known are refused: a
// misspelt one would be a setting that does nothing.
func parseItem(b []byte) (*item, error) {
	var it item
	if err := strict(b, &it); err != nil {
		return nil, err
	}
	family, name, _ := strings.Cut(it.SK, "-")
	if err := it.readSchema(family); err != nil {
		return nil, err
	}
	s := it.local
	switch {
	case it.PK != "models":
		return nil, fmt.Errorf("pk is %q, not \"models\"", it.PK)
	case it.SK == "all-models":
		return &it, nil
	case rank(family) < 0 || name == "":
		return nil, fmt.Errorf("sk is %q: neither \"all-models\" nor local-, bedrock- or sagemaker- and a name", it.SK)
	case it.Context < 0:
		return nil, fmt.Errorf("context is %d", it.Context)
	case family == Local && s.Checkpoint == "":
		return nil, errors.New("schema.checkpoint is missing")
	case s.Quant != "" && !slices.Contains(Quants(), s.Quant):
		return nil, fmt.Errorf("schema.quant is %q: none of %s", s.Quant, strings.Join(Quants(), ", "))
	case slices.Contains(s.Aliases, ""):
		return nil, errors.New("schema.aliases has an empty one")
	}
	if err := checkCap(string(s.Cap)); err != nil {
		return nil, err
	}
	return &it, nil
}

// readSchema reads the schema of the item's family.
func (it *item) readSchema(family string) (err error) {
	switch {
	case it.Schema == nil || rank(family) < 0:
	case family == Local:
		var n native[schema]
		err = json.Unmarshal(it.Schema, &n)
		it.local = n.V
	default:
		it.remote, err = remote.Parse(it.Schema)
	}
	return err
}

// Quants lists how weights can be kept in memory: as the file has them, in float32,
// in bfloat16, and in GGUF's formats of 8 and 4 bits.
func Quants() []string { return []string{"stored", "f32", "bf16", "q8_0", "q4_0"} }

func checkCap(c string) error {
	if c == "" || c == "none" || c == "clamp30" || c == "tanh30" {
		return nil
	}
	if v, err := strconv.ParseFloat(c, 64); err != nil || !(v > 0 && v <= 1e6) {
		return fmt.Errorf("schema.cap is %q: neither none, clamp30, tanh30 nor a number from 0 to 1e6", c)
	}
	return nil
}

// record joins the row of a model with its item, which may be nil.
func (it *item) record(row listed) Record {
	rec := Record{Name: row.Name, Family: row.Family, Type: row.Type, Streaming: row.Streaming}
	if it == nil {
		return rec
	}
	s := it.local
	rec.Schema = it.remote
	rec.ModelID, rec.Endpoint, rec.Component = it.ModelID, it.Endpoint, it.Component
	rec.Fallbacks, rec.CacheSeconds = it.Fallbacks, it.Cache
	rec.Description, rec.Hostings, rec.Context, rec.Created = it.Description, it.Hostings, it.Context, time.Time(it.Created)
	rec.Checkpoint, rec.ChatTemplate, rec.Cap, rec.Aliases = s.Checkpoint, s.ChatTemplate, string(s.Cap), s.Aliases
	rec.ParseSpecial, rec.Languages, rec.Quant = it.Special, s.Languages, s.Quant
	return rec
}

// native is a value that may also be spelled as a JSON string of it, as items of
// DynamoDB written by upstream are.
type native[T any] struct{ V T }

// UnmarshalJSON implements [json.Unmarshaler].
func (n *native[T]) UnmarshalJSON(b []byte) error {
	if b[0] == '"' {
		var s string
		if err := json.Unmarshal(b, &s); err != nil {
			return err
		}
		b = []byte(s)
	}
	return strict(b, &n.V)
}

// spelled is a string or a number, kept as it is spelled.
type spelled string

// UnmarshalJSON implements [json.Unmarshaler].
func (s *spelled) UnmarshalJSON(b []byte) error {
	if b[0] == '"' {
		return json.Unmarshal(b, (*string)(s))
	}
	var n json.Number
	err := json.Unmarshal(b, &n)
	*s = spelled(n)
	return err
}

// stamp is a time in seconds since 1970 or as RFC 3339 spells it.
type stamp time.Time

// UnmarshalJSON implements [json.Unmarshaler].
func (s *stamp) UnmarshalJSON(b []byte) error {
	if b[0] == '"' {
		return (*time.Time)(s).UnmarshalJSON(b)
	}
	var seconds int64
	if err := json.Unmarshal(b, &seconds); err != nil {
		return err
	}
	*s = stamp(time.Unix(seconds, 0).UTC())
	return nil
}

func strict(b []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("there is more after the JSON value")
	}
	return nil
}
