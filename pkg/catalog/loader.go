package catalog

import (
	"context"
	"io/fs"
	"time"

	"glossa/pkg/llm"
)

// A Loader finds and opens the models that run in this process. It is safe for concurrent
// use.
type Loader interface {
	// Scan lists the models in a directory, and the problems with the others.
	Scan(fs.FS) ([]Run, []error)
	// Locate returns the file system whose only entry is the model at an absolute path or
	// at s3://bucket/prefix.
	Locate(location string) (fs.FS, error)
	// Prefetch may begin to read a model. It is called with the name that a client asks
	// for while no scan has listed the models, or the last one is outdated.
	Prefetch(name string)
	// Open opens a model that Scan has listed.
	Open(ctx context.Context, run *Run, o Options) (llm.Backend, error)
}

// Options configure how a model in this process is opened. Zero values leave the choice
// to the model and its [Loader].
type Options struct {
	Name         string // in the catalog
	Context      int    // tokens
	ChatTemplate string
	Cap          string   // of attention scores, of Alpha models: none, clamp30, tanh30 or a number
	ParseSpecial bool     // parse special tokens spelled in raw prompts
	Languages    []string // that a translator knows
	Quant        string   // of the weights in memory, of [Quants]
	KV           string   // of the keys and values in memory, of [KVs]
	Public       bool     // computed prompts are also used for other owners
	NoDrafts     bool     // tokens are not drafted
	ExpertMemory int64    // bytes of experts in memory, the others stay in their file; 0: all are in memory

	// Draft drafts tokens; nil: there is no draft model. It is open as long as the model.
	Draft     llm.Backend
	DraftName string // in the catalog
}

// Paged are the experts of a model that can stay in its file until tokens choose them.
type Paged struct {
	All   int64 // bytes of all
	Least int64 // of those that a token uses
}

// Within returns the memory of experts with which a model that takes so many bytes, with all of
// them, keeps to a limit. It is 0 if that is not possible.
func (p Paged) Within(bytes, limit int64) int64 {
	if left := limit - (bytes - p.All); p.All > 0 && left >= p.Least {
		return min(left, p.All)
	}
	return 0
}

// Experts returns the memory of experts with which the run keeps to a limit of all of its weights,
// because the others stay in its file. It is 0 if that is not possible, or not needed.
func (r *Run) Experts(quant string, limit int64) int64 {
	bytes, ok := r.Sizes[quant]
	if !ok {
		bytes = r.Bytes
	}
	if limit == 0 || bytes <= limit {
		return 0
	}
	return r.Paged[quant].Within(bytes, limit)
}

// options returns the part of a record that its [Loader] needs.
func (rec *Record) options() Options {
	return Options{
		Name: rec.Name, Context: rec.Context, ChatTemplate: rec.ChatTemplate, Cap: rec.Cap,
		ParseSpecial: rec.ParseSpecial, Languages: rec.Languages, Quant: rec.Quant, KV: rec.KV, Public: rec.Public, NoDrafts: rec.NoDrafts,
	}
}

// A Run is the directory of a model: a training run with its newest checkpoint, or a
// published model.
type Run struct {
	ID         string // the name of its directory or file, without the suffix of a pack
	Type       string // the architecture; "": Alpha
	Task       llm.Task
	Embeds     []llm.EmbedKind // of a model that embeds
	Labels     []string        // of a model that classifies texts, or of a reranker, which can
	Images     bool            // the model reads images
	Reasons    bool            // its own chat template has the model reason
	Checkpoint string          // path in FS
	Step       int
	ModTime    time.Time        // of the checkpoint
	Size       int64            // of the checkpoint, bytes
	Parameters int64            // 0: not known
	Bytes      int64            // of memory that it takes when it is open: its weights and, unless it continues texts, its passes
	Sizes      map[string]int64 // the same by quantisation, for records that name one
	Quant      string           // of the weights in memory where the record names none
	Base       string           // the run whose weights in memory it shares, which may be itself; "": it shares none
	Weights    string           // identifies these weights among those of its Source
	Added      int64            // of Bytes and of Sizes, what it takes in addition to these weights
	Mixture    bool             // layers have experts
	Paged      map[string]Paged // by quantisation: experts that can stay in their file
	Context    int              // tokens
	Chat       error            // why the model's own chat template cannot be used; a record may name another
	Files      string           // names, sizes and times of a published model's files, in any form
	Info       *llm.Run         // of a training run

	FS     fs.FS  // where Checkpoint is; set by the catalog
	Source string // the root's name or the directory; set by the catalog
}
