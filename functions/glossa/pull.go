package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"glossa/pkg/app"
	"glossa/pkg/hub"
)

const pullUsage = "OWNER/NAME [--revision R] [--to DIR] [--include PATTERN] [--exclude PATTERN] [--token-file F] [--endpoint URL]"

// defaultCheckpoints is where models go if nothing says so.
const defaultCheckpoints = "checkpoints"

// pulling is what the command line asks for.
type pulling struct {
	repo, revision   string
	to               string // the directory of models
	include, exclude list
	tokenFile        string
	client           hub.Client
}

// list is a flag that may be given several times.
type list []string

// String and Set make it a flag.
func (l *list) String() string         { return strings.Join(*l, ", ") }
func (l *list) Set(value string) error { *l = append(*l, value); return nil }

// pull downloads a model into the directory of models.
func pull(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) error {
	var p pulling
	f := flags("pull", pullUsage, stdout)
	f.StringVar(&p.revision, "revision", "main", "branch, tag or commit")
	f.StringVar(&p.to, "to", "", "`directory` of models; the model goes into NAME in it (GLOSSA_CHECKPOINTS; default "+defaultCheckpoints+")")
	f.Var(&p.include, "include", "take files that match the `pattern`, such as '*Q4_K_M.gguf', instead of the safetensors and what belongs to them; may be repeated")
	f.Var(&p.exclude, "exclude", "leave out files that match the `pattern`; may be repeated")
	f.StringVar(&p.tokenFile, "token-file", "", "`file` that holds the token of an account on the hub (HF_TOKEN, which only "+hub.DefaultEndpoint+" gets)")
	f.StringVar(&p.client.Endpoint, "endpoint", hub.DefaultEndpoint, "`URL` of the hub or of a mirror")
	var err error
	if p.repo, err = parseNamed(f, args); err != nil {
		return err
	}
	if p.repo == "" {
		return fmt.Errorf("%w: which model?", errUsage)
	}
	if err := hub.CheckRepo(p.repo); err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	if err := p.complete(); err != nil {
		return err
	}
	return p.run(ctx, stdout, stderr)
}

// complete adds what the environment and the token's file say.
func (p *pulling) complete() error {
	cfg, err := app.Environment()
	if err != nil {
		return err
	}
	if p.to = cmp.Or(p.to, cfg.Checkpoints, defaultCheckpoints); strings.HasPrefix(p.to, "s3:") {
		return fmt.Errorf("%s is in S3: name a directory with --to and copy what is in it", p.to)
	}
	if p.tokenFile != "" {
		p.client.Token, err = readToken(p.tokenFile)
		return err
	}
	if strings.TrimRight(p.client.Endpoint, "/") == hub.DefaultEndpoint {
		p.client.Token = hub.Token(strings.TrimSpace(cfg.HubToken))
	}
	if err := p.client.Token.Check(); err != nil {
		return fmt.Errorf("HF_TOKEN: %w", err)
	}
	return nil
}

// readToken reads a token; its errors do not show it.
func readToken(name string) (hub.Token, error) {
	file, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	b, err := io.ReadAll(io.LimitReader(file, 1<<16))
	if err != nil {
		return "", err
	}
	token := hub.Token(strings.TrimSpace(string(b)))
	if token == "" {
		return "", fmt.Errorf("%s is empty", name)
	}
	if err := token.Check(); err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	return token, nil
}

// run lists, chooses and fetches the files.
func (p *pulling) run(ctx context.Context, out, notes io.Writer) error {
	s, err := p.client.List(ctx, p.repo, p.revision)
	if err != nil {
		return p.advise(err)
	}
	files, err := s.Choose(p.include, p.exclude)
	if err != nil {
		return err
	}
	dir := filepath.Join(p.to, path.Base(p.repo))
	d, err := p.client.Prepare(ctx, s, files, dir)
	if err != nil {
		return err
	}
	defer d.Close() // what is fetched is on the disk already
	fmt.Fprintf(out, "%s at %s is commit %s: %d %s, %s\n", s.Repo, s.Revision, s.Commit, d.Files, plural("file", d.Files), megabytes(d.Total))
	fmt.Fprintf(out, "to fetch: %s", megabytes(d.Missing))
	if d.Free >= 0 {
		fmt.Fprintf(out, "; free on the disk: %s", megabytes(d.Free))
	}
	fmt.Fprintln(out)
	if err := p.fetch(ctx, d, dir, notes); err != nil {
		return p.advise(err)
	}
	_, err = fmt.Fprintf(out, "%s is complete: glossa serve --checkpoints %s\n", dir, p.to)
	return err
}

// fetch runs the download with a bar, and says what stays of one that fails.
func (p *pulling) fetch(ctx context.Context, d *hub.Download, dir string, notes io.Writer) error {
	bar, meter, whole := newBar(notes), &speedometer{}, false
	err := d.Run(ctx, func(p hub.Progress) {
		now := time.Now()
		if r := meter.read(p, now); !whole { // the end is shown once
			bar.show(r, now)
			whole = r.share() == 1
		}
	})
	bar.end()
	if err == nil {
		return nil
	}
	if at := d.Progress(); at.Bytes > 0 {
		fmt.Fprintf(notes, "%s of %s are kept in %s: the same command goes on from there\n", megabytes(at.Bytes), megabytes(at.Total), dir)
	}
	if ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
		return fmt.Errorf("stopped: %w", context.Cause(ctx))
	}
	return err
}

// advise adds how a token is given to an error that asks for one.
func (p *pulling) advise(err error) error {
	e, ok := errors.AsType[*hub.StatusError](err)
	switch {
	case !ok || !e.Access:
		return err
	case strings.TrimRight(p.client.Endpoint, "/") == hub.DefaultEndpoint:
		return fmt.Errorf("%w; a token is given by --token-file FILE or HF_TOKEN", err)
	}
	return fmt.Errorf("%w; a token is given by --token-file FILE", err)
}

// speedometer makes readings of a bar from the progress of a download.
type speedometer struct {
	last  time.Time
	bytes int64
	rate  float64 // bytes a second, smoothed; 0 before the first second is over
}

// read returns how far the download is at a time.
func (s *speedometer) read(p hub.Progress, now time.Time) download {
	switch elapsed := now.Sub(s.last).Seconds(); {
	case s.last.IsZero():
		s.last, s.bytes = now, p.Bytes
	case elapsed >= 1:
		rate := max(0, float64(p.Bytes-s.bytes)/elapsed) // a file that begins anew takes bytes away
		if s.rate > 0 {
			rate = 0.7*s.rate + 0.3*rate
		}
		s.last, s.bytes, s.rate = now, p.Bytes, rate
	}
	return download{p, s.rate}
}

// download is a reading of a bar.
type download struct {
	hub.Progress
	rate float64 // bytes a second
}

func (d download) share() float64 {
	if d.Files < d.AllFiles { // the bytes may be there and not yet be checked
		return min(0.999, float64(d.Bytes)/float64(max(1, d.Total)))
	}
	return 1
}

// longest is the time left that a bar shows at most.
const longest = 1000 * time.Hour

// String spells the reading out.
func (d download) String() string {
	s := fmt.Sprintf("%s of %s  %d/%d files", megabytes(d.Bytes), megabytes(d.Total), d.Files, d.AllFiles)
	if d.rate > 0 {
		left := time.Duration(min(float64(d.Total-d.Bytes)/d.rate, longest.Seconds()) * float64(time.Second))
		s += fmt.Sprintf("  %s/s  %s left", megabytes(int64(d.rate)), left.Round(time.Second))
	}
	return s
}

// megabytes spells a number of bytes in decimal units.
func megabytes(n int64) string {
	switch {
	case n >= 1e9:
		return fmt.Sprintf("%.1f GB", float64(n)/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	case n >= 1e3:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%d B", n)
}
