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

// defaultCheckpoints is the default directory of models.
const defaultCheckpoints = "checkpoints"

// pullOptions holds the command line of pull.
type pullOptions struct {
	repo, revision   string
	to               string // the directory of models
	include, exclude list
	tokenFile        string
	client           hub.Client
}

// list is the value of a flag that may be repeated.
type list []string

// String and Set implement [flag.Value].
func (l *list) String() string         { return strings.Join(*l, ", ") }
func (l *list) Set(value string) error { *l = append(*l, value); return nil }

// pull downloads a model into the directory of models.
func pull(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) error {
	var p pullOptions
	f := flags("pull", pullUsage, stdout)
	f.StringVar(&p.revision, "revision", "main", "branch, tag or commit")
	f.StringVar(&p.to, "to", "", "`directory` of models; the model is stored in its subdirectory NAME (GLOSSA_CHECKPOINTS; default "+defaultCheckpoints+")")
	f.Var(&p.include, "include", "download files that match the `pattern`, such as '*Q4_K_M.gguf', instead of the safetensors and their configuration; may be repeated")
	f.Var(&p.exclude, "exclude", "skip files that match the `pattern`; may be repeated")
	f.StringVar(&p.tokenFile, "token-file", "", "`file` that holds the token of an account on the hub (HF_TOKEN, which is sent only to "+hub.DefaultEndpoint+")")
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

// complete adds the values of the environment and of the token's file.
func (p *pullOptions) complete() error {
	cfg, err := app.Environment()
	if err != nil {
		return err
	}
	if p.to = cmp.Or(p.to, cfg.Checkpoints, defaultCheckpoints); strings.HasPrefix(p.to, "s3:") {
		return fmt.Errorf("%s is in S3: name a local directory with --to and copy its content", p.to)
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

// readToken reads a token. Its errors do not contain the token.
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

// run lists, chooses and downloads the files.
func (p *pullOptions) run(ctx context.Context, out, notes io.Writer) error {
	s, err := p.client.List(ctx, p.repo, p.revision)
	if err != nil {
		return p.withHint(err)
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
	defer d.Close() // all downloaded data is already on the disk
	fmt.Fprintf(out, "%s at %s is commit %s: %d %s, %s\n", s.Repo, s.Revision, s.Commit, d.Files, plural("file", d.Files), megabytes(d.Total))
	fmt.Fprintf(out, "to download: %s", megabytes(d.Missing))
	if d.Free >= 0 {
		fmt.Fprintf(out, "; free on the disk: %s", megabytes(d.Free))
	}
	fmt.Fprintln(out)
	if err := p.fetch(ctx, d, dir, notes); err != nil {
		return p.withHint(err)
	}
	_, err = fmt.Fprintf(out, "%s is complete: glossa serve --checkpoints %s\n", dir, p.to)
	return err
}

// fetch runs the download with a bar. If it fails, fetch prints how much is kept.
func (p *pullOptions) fetch(ctx context.Context, d *hub.Download, dir string, notes io.Writer) error {
	bar, meter, whole := newBar(notes), &speedometer{}, false
	err := d.Run(ctx, func(p hub.Progress) {
		now := time.Now()
		if r := meter.sample(p, now); !whole { // 100 % is shown once
			bar.show(r, now)
			whole = r.share() == 1
		}
	})
	bar.end()
	if err == nil {
		return nil
	}
	if at := d.Progress(); at.Bytes > 0 {
		fmt.Fprintf(notes, "%s of %s are kept in %s: run the same command to resume\n", megabytes(at.Bytes), megabytes(at.Total), dir)
	}
	if ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
		return fmt.Errorf("stopped: %w", context.Cause(ctx))
	}
	return err
}

// withHint adds to an error that requires a token how to set one.
func (p *pullOptions) withHint(err error) error {
	e, ok := errors.AsType[*hub.StatusError](err)
	switch {
	case !ok || !e.Access:
		return err
	case strings.TrimRight(p.client.Endpoint, "/") == hub.DefaultEndpoint:
		return fmt.Errorf("%w; set a token with --token-file FILE or HF_TOKEN", err)
	}
	return fmt.Errorf("%w; set a token with --token-file FILE", err)
}

// speedometer adds a smoothed speed to the progress of a download.
type speedometer struct {
	last  time.Time
	bytes int64
	rate  float64 // bytes a second, smoothed; 0 before the first second is over
}

// sample returns the progress of the download at a time.
func (s *speedometer) sample(p hub.Progress, now time.Time) download {
	switch elapsed := now.Sub(s.last).Seconds(); {
	case s.last.IsZero():
		s.last, s.bytes = now, p.Bytes
	case elapsed >= 1:
		rate := max(0, float64(p.Bytes-s.bytes)/elapsed) // a file that restarts reduces the count
		if s.rate > 0 {
			rate = 0.7*s.rate + 0.3*rate
		}
		s.last, s.bytes, s.rate = now, p.Bytes, rate
	}
	return download{p, s.rate}
}

// download is the progress of a download.
type download struct {
	hub.Progress
	rate float64 // bytes a second
}

func (d download) share() float64 {
	if d.Files < d.AllFiles { // all bytes may have arrived and not be verified yet
		return min(0.999, float64(d.Bytes)/float64(max(1, d.Total)))
	}
	return 1
}

// maxTimeLeft is the longest remaining time that a bar shows.
const maxTimeLeft = 1000 * time.Hour

// String formats the progress.
func (d download) String() string {
	s := fmt.Sprintf("%s of %s  %d/%d files", megabytes(d.Bytes), megabytes(d.Total), d.Files, d.AllFiles)
	if d.rate > 0 {
		left := time.Duration(min(float64(d.Total-d.Bytes)/d.rate, maxTimeLeft.Seconds()) * float64(time.Second))
		s += fmt.Sprintf("  %s/s  %s left", megabytes(int64(d.rate)), left.Round(time.Second))
	}
	return s
}

// megabytes formats a number of bytes in decimal units.
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
