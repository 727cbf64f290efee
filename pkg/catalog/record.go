package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"glossa/pkg/internal/osfile"
	"glossa/pkg/llm"
	"glossa/pkg/schema"
	"glossa/pkg/table"
)

// The families of models. If several have a name, it is that of the first family.
const (
	Local     = "local"
	Bedrock   = "bedrock"
	SageMaker = "sagemaker"
	OpenAI    = "openai" // endpoints that speak OpenAI's API
)

const (
	pk    = "models"     // of all items
	allSK = "all-models" // of the item that lists models
	alpha = "Alpha"      // the type of models trained by Alpha
)

func rank(family string) int {
	return slices.Index([]string{Local, Bedrock, SageMaker, OpenAI}, family)
}

// A Record describes one model.
type Record struct {
	Name, Family string
	Key          string // the sort key of the item that describes it, perhaps a group's; "": none
	Type         string // the provider's word
	Description  string
	Hostings     []string
	Streaming    bool
	Images       bool // of the remote families: the model reads images, as far as the record knows
	Context      int  // tokens; 0: as the model says
	Created      time.Time

	// Of the remote families:
	Schema    *schema.Schema // of requests and answers; never nil
	ModelID   string         // of Bedrock, see [Record.BedrockID]
	Endpoint  string         // of SageMaker, see [Record.EndpointName]
	Component string         // one of the endpoint's inference components; "": none
	Guardrail Guardrail      // of Bedrock; of the group, if the record has none
	Role      Role           // whose credentials call the service; of the group, if the record has none
	Region    string         // of the service; of the group, if the record has none; "": the server's

	Upstream Upstream // of openai

	// Drop leaves out the parameters that the model lacks, instead of rejecting the request; of a
	// model of the family local, hosted tools.
	Drop bool

	Fallbacks    []string // names of models that answer when this one fails
	CacheSeconds int      // how long repeatable answers are kept; 0: not at all

	Prices *llm.Prices // nil: unknown

	// IgnoreUnmapped drops keys without a place in the model, if the request does not say
	// what to do with them; nil: the server's setting.
	IgnoreUnmapped *bool

	// Of the family local:
	Checkpoint   string // a run: its name in a root, or its directory
	ChatTemplate string
	Reasons      *bool  // the model reasons with ChatTemplate; nil: it names a file or nothing
	Cap          string // of attention scores: none, clamp30, tanh30 or a number; "": as the checkpoint says
	Aliases      []string
	ParseSpecial bool     // special tokens spelled in raw prompts are read as such
	Languages    []string // that a translator knows; nil: all of its tokenizer
	Quant        string   // of the weights in memory, of [Quants]; "": the server's
	KV           string   // format of the keys and values in memory, of [KVs]; "": that of the weights and the kind of model decide
	Public       bool     // computed prompts are also used for other owners, see [llm.OwnerOf]
	NoDrafts     bool     // tokens are not drafted
	Draft        string   // the name of a model that drafts tokens; "": there is none

	raw string // the item's JSON
}

// BedrockID returns what Bedrock calls the model.
func (rec *Record) BedrockID() string { return cmp.Or(rec.ModelID, rec.Name) }

// EndpointName returns the model's endpoint of SageMaker: the record's, or the part of the
// name after the first dot, or the name.
func (rec *Record) EndpointName() string {
	_, after, _ := strings.Cut(rec.Name, ".")
	return cmp.Or(rec.Endpoint, after, rec.Name)
}

// A Source provides the records of the models to be served.
type Source interface {
	// Items returns the items whose pk is "models". After an error the last answer stays in
	// force.
	Items(ctx context.Context) ([]Item, error)
}

// An Item is a stored item. Its sk is "all-models" if it lists models, or "<family>-<key>" if
// it is the record of a model or a group (see [Keys]).
type Item struct {
	Name string // for problems: the file's, or the item's pk and sk
	JSON []byte // an object
	Err  error  // why JSON is missing
}

// Files is a [Source] of JSON files, one item each.
type Files struct{ FS fs.FS }

const maxItem = 1 << 20 // bytes; an item of DynamoDB has 400 KB at most

// Items implements [Source].
func (f Files) Items(context.Context) ([]Item, error) {
	names, err := fs.Glob(f.FS, "*.json")
	if err != nil {
		return nil, err
	}
	items := make([]Item, len(names))
	for i, name := range names {
		items[i] = ReadItem(f.FS, name)
	}
	return items, nil
}

// ReadItem reads the item in a file.
func ReadItem(fsys fs.FS, name string) Item {
	f, err := fsys.Open(name)
	if err != nil {
		return Item{Name: name, Err: err}
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxItem+1))
	if err == nil && len(b) > maxItem {
		err = fmt.Errorf("larger than %d bytes", maxItem)
	}
	return Item{Name: name, JSON: osfile.Unmarked(b), Err: err}
}

// Table is a [Source] of the items of a DynamoDB table.
type Table struct{ Table *table.Table }

// maxItems bounds all items of a table together, bytes of JSON.
const maxItems = 16 << 20

// Items implements [Source]. It stops reading at [maxItems] and reports that as a problem.
func (t Table) Items(ctx context.Context) (items []Item, err error) {
	total := 0
	for page, err := range t.Table.Pages(ctx, pk, "") {
		if err != nil {
			return nil, err
		}
		for _, stored := range page {
			it := itemOf(stored)
			if total += len(it.JSON); total > maxItems {
				it.JSON, it.Err = nil, fmt.Errorf("this record and those after it are not read: together, the records exceed %d MiB", maxItems>>20)
				return append(items, it), nil
			}
			items = append(items, it)
		}
	}
	return items, nil
}

// itemOf returns an item of a table: its attributes as the members of an object.
func itemOf(it table.Item) Item {
	name := it.Key().PK + "/" + it.Key().SK
	if !printable(name) { // it appears in logs and on terminals
		name = strconv.Quote(short(name))
	}
	b, err := marshal(it)
	return Item{Name: name, JSON: b, Err: err}
}

// A Warning is a problem of a record that hides no model: probably a mistake of its author.
type Warning struct{ Err error }

func (w Warning) Error() string { return w.Err.Error() }

// Unwrap returns the problem.
func (w Warning) Unwrap() error { return w.Err }

// Unread is the problem of a model, or of a whole root, that cannot be read: it is unknown
// which models exist there.
type Unread struct {
	Model string // "": any
	Err   error
}

func (u Unread) Error() string {
	if u.Model == "" {
		return u.Err.Error()
	}
	return fmt.Sprintf("model %s: %v", u.Model, u.Err)
}

// Unwrap returns the cause.
func (u Unread) Unwrap() error { return u.Err }

// IsWarning reports whether a problem is a [Warning].
func IsWarning(problem error) bool {
	_, ok := errors.AsType[Warning](problem)
	return ok
}
