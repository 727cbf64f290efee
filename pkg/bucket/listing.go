package bucket

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"
)

// Bounds of listings.
const (
	maxObjects = 50_000
	maxPage    = 16 << 20 // bytes
)

// An ETag identifies a version of an object. It is the [fs.FileInfo.Sys] of files.
type ETag string

// info describes a file or a directory.
type info struct {
	name string
	size int64
	time time.Time
	etag ETag // "" for a directory
}

func (i *info) Name() string               { return i.name }
func (i *info) Size() int64                { return i.size }
func (i *info) ModTime() time.Time         { return i.time }
func (i *info) IsDir() bool                { return i.etag == "" }
func (i *info) Type() fs.FileMode          { return i.Mode().Type() }
func (i *info) Info() (fs.FileInfo, error) { return i, nil }

func (i *info) Mode() fs.FileMode {
	if i.IsDir() {
		return fs.ModeDir | 0o555
	}
	return 0o444
}

func (i *info) Sys() any {
	if i.IsDir() {
		return nil
	}
	return i.etag
}

// A listing is the contents of the prefix at one time. It implements [fs.FS].
type listing struct {
	fs    *FS
	infos map[string]*info         // by path
	dirs  map[string][]fs.DirEntry // by path, sorted by name
}

// listed is the store's description of an object.
type listed struct {
	Key, ETag    string
	LastModified time.Time
	Size         int64
}

// page is a page of a listing, sorted by key.
type page struct {
	Contents              []listed
	EncodingType          string
	IsTruncated           bool
	NextContinuationToken string
}

// list lists all objects under the prefix. It omits those whose keys are not valid paths.
func (f *FS) list(ctx context.Context) (*listing, error) {
	l := &listing{fs: f, infos: map[string]*info{".": {name: "."}}, dirs: map[string][]fs.DirEntry{".": nil}}
	root := f.cfg.Prefix
	if root != "" {
		root += "/"
	}
	err := f.client.objects(ctx, root+f.cfg.Only, func(o *listed) {
		name, ok := strings.CutPrefix(o.Key, root)
		first, _, _ := strings.Cut(name, "/")
		if ok && isPath(name) && o.ETag != "" && o.Size >= 0 && (f.cfg.Only == "" || first == f.cfg.Only) {
			l.infos[name] = &info{path.Base(name), o.Size, o.LastModified, ETag(o.ETag)}
		}
	})
	if err != nil {
		return nil, err
	}
	l.addDirectories()
	return l, nil
}

// objects lists all objects whose keys have a prefix, sorted by key.
func (c *client) objects(ctx context.Context, prefix string, each func(*listed)) error {
	query := url.Values{"list-type": {"2"}, "encoding-type": {"url"}, "prefix": {prefix}}
	for seen := 0; ; {
		p, err := c.page(ctx, query)
		if err != nil {
			return err
		}
		for i := range p.Contents {
			o := &p.Contents[i]
			if p.EncodingType == "url" {
				key, err := url.QueryUnescape(o.Key)
				if err != nil {
					return fmt.Errorf("a listing with a key %.200q: %w", o.Key, err)
				}
				o.Key = key
			}
			each(o)
		}
		if seen += len(p.Contents); seen > maxObjects {
			return fmt.Errorf("there are more than %d objects: name a longer prefix", maxObjects)
		}
		if !p.IsTruncated {
			return nil
		}
		if next := p.NextContinuationToken; next == "" || next == query.Get("continuation-token") || len(p.Contents) == 0 {
			return errors.New("a listing does not continue")
		}
		query.Set("continuation-token", p.NextContinuationToken)
	}
}

// page requests one page of a listing.
func (c *client) page(ctx context.Context, query url.Values) (p page, err error) {
	err = c.retry(ctx, func() error {
		r, err := c.get(ctx, "", query, nil)
		if err != nil {
			return err
		}
		defer r.Body.Close()
		if r.StatusCode != http.StatusOK {
			return c.refused("", r)
		}
		raw, err := io.ReadAll(io.LimitReader(r.Body, maxPage))
		if err != nil {
			return &transient{err}
		}
		p = page{}
		if err := xml.Unmarshal(raw, &p); err != nil {
			return fmt.Errorf("the listing is not XML of ListObjectsV2: %w", err)
		}
		return nil
	})
	return p, err
}

// addDirectories adds the directories. A directory replaces an object of the same name.
func (l *listing) addDirectories() {
	for name, i := range l.infos {
		if i.IsDir() {
			continue
		}
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			l.infos[dir] = &info{name: path.Base(dir)}
			l.dirs[dir] = nil
		}
	}
	for name, i := range l.infos {
		if name != "." {
			l.dirs[path.Dir(name)] = append(l.dirs[path.Dir(name)], i)
		}
	}
	for _, entries := range l.dirs {
		slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	}
}

// find returns the entry of a name.
func (l *listing) find(op, name string) (*info, error) {
	i := l.infos[name]
	switch {
	case !fs.ValidPath(name):
		return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	case i == nil:
		return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
	}
	return i, nil
}

// Open implements [fs.FS]. It makes no request yet.
func (l *listing) Open(name string) (fs.File, error) {
	i, err := l.find("open", name)
	if err != nil {
		return nil, err
	}
	if i.IsDir() {
		return &directory{info: i, entries: l.dirs[name]}, nil
	}
	return &file{info: i, object: object{fs: l.fs, key: path.Join(l.fs.cfg.Prefix, name), size: i.size, etag: i.etag}}, nil
}

// Stat implements [fs.StatFS].
func (l *listing) Stat(name string) (fs.FileInfo, error) {
	i, err := l.find("stat", name)
	if err != nil {
		return nil, err
	}
	return i, nil
}

// ReadDir implements [fs.ReadDirFS].
func (l *listing) ReadDir(name string) ([]fs.DirEntry, error) {
	i, err := l.find("readdir", name)
	if err != nil {
		return nil, err
	}
	if !i.IsDir() {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: errors.New("not a directory")}
	}
	return slices.Clone(l.dirs[name]), nil
}
