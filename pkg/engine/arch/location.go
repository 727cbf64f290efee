package arch

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"glossa/pkg/chat"
	"glossa/pkg/engine/checkpoint"
	"glossa/pkg/engine/transformer"
)

// Files of a Hugging Face directory.
const (
	configFile      = "config.json"
	generationFile  = "generation_config.json"
	processorFile   = "processor_config.json"
	imagesFile      = "preprocessor_config.json"
	weightsFile     = "model.safetensors"
	indexFile       = "model.safetensors.index.json"
	tokenizerFile   = "tokenizer.json"
	tokenizerConfig = "tokenizer_config.json"
	vocabFile       = "vocab.json"
	sourceFile      = "source.spm" // Marian's pieces of the source's language
	mergesFile      = "merges.txt"
	addedFile       = "added_tokens.json"
	wordPieceFile   = "vocab.txt"
)

// Upper bounds of files that are read whole, in bytes.
const (
	maxConfigFile    = 1 << 20
	maxTokenizerFile = 128 << 20
)

// A location holds the names of a model's files.
type location struct {
	dir     string
	config  string         // config.json; "" if the weights describe themselves
	weights string         // the file to open
	packed  bool           // weights is a packed model
	modules string         // the directory of modules.json, if dir is that of its module Transformer; otherwise ""
	adapter string         // the directory of an adapter of the model in dir, or ""
	lora    *adapterConfig // of the adapter
	own     []string       // names of files that are read from there
}

// in returns the path of a file of the model.
func (p *location) in(name string) string {
	if slices.Contains(p.own, name) {
		return path.Join(p.adapter, name)
	}
	return path.Join(p.dir, name)
}

// beside returns the path of a file of sentence-transformers that is not of the module
// Transformer.
func (p *location) beside(name string) string { return path.Join(cmp.Or(p.modules, p.dir), name) }

// transformerDir returns the directory of the module Transformer of sentence-transformers: dir,
// unless modules.json names another one within it.
func transformerDir(fsys fs.FS, dir string) string {
	name := path.Join(dir, modulesFile)
	if !exists(fsys, name) {
		return dir
	}
	list, err := readModules(fsys, name)
	if err != nil || len(list) == 0 || !list[0].transforms() || !fs.ValidPath(path.Join(".", list[0].Path)) {
		return dir // readSentence returns the error
	}
	return path.Join(dir, list[0].Path)
}

var splitName = regexp.MustCompile(`-([0-9]{5})-of-[0-9]{5}\.gguf$`)

// find finds the model in a directory.
func find(fsys fs.FS, dir string) (*location, error) {
	info, err := fs.Stat(fsys, dir)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		packed, err := checkpoint.IsPack(fsys, dir)
		if err != nil {
			return nil, err
		}
		if !packed && !strings.HasSuffix(dir, ".gguf") {
			return nil, fmt.Errorf("%s: not a directory, a packed model or a .gguf file", dir)
		}
		return &location{dir: path.Dir(dir), weights: dir, packed: packed}, nil
	}
	if exists(fsys, path.Join(dir, checkpoint.AdapterConfig)) {
		return locateAdapter(fsys, dir)
	}
	p := &location{dir: dir}
	if inner := transformerDir(fsys, dir); inner != path.Clean(dir) {
		p.dir, p.modules, dir = inner, dir, inner
	}
	packs, err := packFiles(fsys, dir)
	switch {
	case err != nil:
		return nil, err
	case len(packs) == 1:
		p.weights, p.packed = p.in(packs[0]), true
		return p, nil
	case len(packs) > 1:
		return nil, several(dir, packs)
	}
	for _, name := range []string{weightsFile, indexFile} {
		if exists(fsys, p.in(name)) {
			p.config, p.weights = p.in(configFile), p.in(name)
			return p, nil
		}
	}
	files, err := ggufFiles(fsys, dir)
	if err != nil {
		return nil, err
	}
	switch {
	case len(files) == 1:
		p.weights = p.in(files[0])
		return p, nil
	case len(files) > 1:
		return nil, several(dir, files)
	case exists(fsys, p.in("pytorch_model.bin")) || exists(fsys, p.in("pytorch_model.bin.index.json")):
		return nil, fmt.Errorf("%s: pytorch_model.bin is not supported: the weights must be safetensors or GGUF", dir)
	}
	return nil, fmt.Errorf("%s: it has no %s, %s or .gguf file", dir, weightsFile, indexFile)
}

func several(dir string, files []string) error {
	return fmt.Errorf("%s: it has %d models, including %s and %s: name the file", dir, len(files), files[0], files[1])
}

// packFiles lists the packed models of a directory without a configuration: they contain
// their own.
func packFiles(fsys fs.FS, dir string) (files []string, err error) {
	if exists(fsys, path.Join(dir, configFile)) {
		return nil, nil
	}
	entries, err := fs.ReadDir(fsys, dir)
	for _, e := range entries {
		name := e.Name()
		if !strings.HasSuffix(name, checkpoint.PackSuffix) || strings.HasPrefix(name, ".") {
			continue
		}
		packed, err := checkpoint.IsPack(fsys, path.Join(dir, name))
		if err != nil {
			return nil, err
		}
		if packed {
			files = append(files, name)
		}
	}
	return files, err
}

// ggufFiles lists the GGUF files of a directory; of a split model only the first.
func ggufFiles(fsys fs.FS, dir string) (files []string, err error) {
	entries, err := fs.ReadDir(fsys, dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.IsDir() || !strings.HasSuffix(e.Name(), ".gguf") || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		if part := splitName.FindStringSubmatch(e.Name()); part == nil || part[1] == "00001" {
			files = append(files, e.Name())
		}
	}
	return files, nil
}

func exists(fsys fs.FS, name string) bool {
	info, err := fs.Stat(fsys, name) // follows links
	return err == nil && info.Mode().IsRegular()
}

// readFile reads a file of at most limit bytes.
func readFile(fsys fs.FS, name string, limit int64) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s: not a regular file", name)
	case info.Size() > limit:
		return nil, fmt.Errorf("%s: %d bytes, at most %d", name, info.Size(), limit)
	}
	raw, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(raw)) > limit {
		err = fmt.Errorf("%s: more than %d bytes", name, limit)
	}
	return raw, err
}

// readConfig reads a JSON object; it is empty if there is no such file.
func readConfig(fsys fs.FS, name string, limit int64) (*config, error) {
	raw, err := readFile(fsys, name, limit)
	if errors.Is(err, fs.ErrNotExist) {
		return &config{err: new(error)}, nil
	}
	if err != nil {
		return nil, err
	}
	c, err := parseConfig(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return c, nil
}

// Detect reports whether a directory of fsys contains a model, supported or not: a
// config.json with a model_type, an adapter, a packed model or a GGUF file. dir may be a packed model
// itself. It opens no weights. It returns an error if a file that may be a model cannot
// be read.
func Detect(fsys fs.FS, dir string) (bool, error) {
	info, err := fs.Stat(fsys, dir)
	if err != nil {
		return false, err
	}
	if !info.IsDir() {
		return checkpoint.IsPack(fsys, dir)
	}
	if exists(fsys, path.Join(dir, checkpoint.AdapterConfig)) {
		return exists(fsys, path.Join(dir, checkpoint.AdapterWeights)), nil
	}
	dir = transformerDir(fsys, dir)
	raw, failed := readFile(fsys, path.Join(dir, configFile), maxConfigFile)
	if failed == nil {
		var c struct {
			ModelType string `json:"model_type"`
		}
		if json.Unmarshal(standard(raw), &c) == nil && c.ModelType != "" {
			return true, nil
		}
	} else if info, err := fs.Stat(fsys, path.Join(dir, configFile)); err != nil || !info.Mode().IsRegular() || info.Size() > maxConfigFile {
		failed = nil // it is not a model
	}
	for _, list := range []func(fs.FS, string) ([]string, error){packFiles, ggufFiles} {
		files, err := list(fsys, dir)
		if err == nil && len(files) == 1 {
			return true, nil
		}
		failed = cmp.Or(failed, err)
	}
	return false, failed
}

// Info describes a model for a listing.
type Info struct {
	Type, Name, Version string
	Context             int                          // tokens
	Parameters          int64                        // number of weights
	Bytes               map[transformer.Format]int64 // memory of the weights
	Mixture             bool                         // layers have experts, of which a token uses some
	Paged               map[transformer.Format]Paged // of formats in which experts can stay in the file, see [OpenPaged]
	Size                int64                        // of their files, bytes
	ModTime             time.Time
	Run                 *Run // of a packed model trained by Alpha
	Spec                *transformer.Spec
	Images              bool      // the model reads images too
	Embeds, Ranks       bool      // the model embeds texts, or scores documents for a query, and does not continue texts
	Labels              []string  // of a model that classifies texts, or of a reranker, which can
	Shared              string    // see [Model.Shares]
	Added               int64     // likewise, bytes
	Sentence            *Sentence // how it embeds texts, without what only its tokenizer tells; nil if it does not

	// Tokens is why the model cannot read texts: its tokenizer is missing, unsupported or
	// that of another model, or it embeds texts in a way that is not supported. It is nil if
	// none of this is known.
	Tokens error
	Chat   chat.Source // as in [Model]; empty if Tokens is not nil
}

// Paged are the experts of a packed model that can stay in its file.
type Paged struct {
	All   int64 // bytes of all
	Least int64 // of those that a token uses, with less memory than which each token reads all of its experts
}

// Describe reads the description of a model for a listing: no weights, and of its tokenizer
// only what shows whether it is supported.
func Describe(fsys fs.FS, dir string) (Info, error) {
	p, err := find(fsys, dir)
	if err != nil {
		return Info{}, err
	}
	m, err := openWeights(fsys, p)
	if err != nil {
		return Info{}, err
	}
	i := Info{
		Type: m.Type, Name: m.Name(), Version: m.Version, Context: m.Spec.Context,
		Parameters: m.elements(), Images: m.Vision != nil, Bytes: map[transformer.Format]int64{}, Paged: map[transformer.Format]Paged{}, Run: m.Run,
		Spec: m.Spec, Tokens: m.checkTokens(fsys, p),
	}
	if i.Tokens == nil {
		i.Chat, i.Tokens = m.readChat(fsys, p)
	}
	switch {
	case i.Tokens != nil || p.packed:
	case p.config != "":
		i.Tokens = m.readTask(fsys, p)
	default:
		i.Tokens = m.readGGUFTask()
	}
	switch {
	case m.Ranking != nil:
		i.Ranks, i.Labels = m.Ranking.Ranks(), m.Ranking.Labels()
		i.Context, i.Chat = min(i.Context, m.Ranking.MaxTokens), chat.Source{}
	case m.Sentence != nil:
		i.Sentence = m.Sentence
		i.Embeds, i.Context, i.Chat = true, min(i.Context, m.Sentence.MaxTokens), chat.Source{}
	}
	i.Shared, i.Added = m.Shares()
	for _, f := range transformer.Formats() {
		i.Bytes[f] = m.Bytes(f)
		all, chosen, packed := m.Weights.ExpertBytes(m.Spec, f)
		if i.Mixture = all > 0; i.Mixture && packed && m.file.CanMap() {
			i.Paged[f] = Paged{All: all, Least: chosen}
		}
	}
	for _, name := range slices.Compact(m.file.Files()) {
		info, err := fs.Stat(fsys, name)
		if err != nil {
			return Info{}, errors.Join(err, m.Close())
		}
		i.Size += info.Size()
		if info.ModTime().After(i.ModTime) {
			i.ModTime = info.ModTime()
		}
	}
	return i, m.Close()
}
