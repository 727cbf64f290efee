package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"glossa/pkg/engine/arch"
	"glossa/pkg/fit"
	"glossa/pkg/hub"
)

// pullOptions holds the command line of pull.
type pullOptions struct {
	hub.Reference
	to               string // the directory of models
	name             string // of the model's subdirectory
	home             bool   // to is the shared one
	running          bool   // for glossa run, which chooses the format of safetensors in memory
	room             int64  // bytes for weights, by which a quantisation is chosen; 0: unknown
	include, exclude []string
	tokenFile        string
	client           hub.Client
}

// pullCommand returns glossa pull.
func (p *program) pullCommand() *cobra.Command {
	o := &pullOptions{}
	c := &cobra.Command{
		Use: "pull OWNER/NAME[:QUANT]", Short: "Download a model from the Hugging Face hub", Args: positional(1, "OWNER/NAME"),
		Long: `Download a model from the Hugging Face hub into the directory of models, which
glossa run, serve, chat and models share. Of several quantisations (GGUF files)
it downloads QUANT, or the one that fits into this machine's memory. The same
command resumes after Ctrl-C or power loss, and every file is verified.`,
		Example: `  glossa pull EleutherAI/pythia-160m
  glossa pull Qwen/Qwen2.5-0.5B-Instruct-GGUF:Q8_0
  glossa pull meta-llama/Llama-3.2-1B --token-file token.txt`,
	}
	f := c.Flags()
	f.StringVar(&o.to, "to", "", "`directory` of models; the model is stored in its subdirectory NAME (default that of glossa run) [$"+variable("checkpoints")+"]")
	f.StringArrayVar(&o.include, "include", nil, "download files that match the `pattern`, such as '*Q4_K_M.gguf', instead of choosing; may be repeated")
	f.StringArrayVar(&o.exclude, "exclude", nil, "skip files that match the `pattern`; may be repeated")
	o.flags(f)
	completeDirectory(c, "to")
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := o.parse(args[0]); err != nil {
			return err
		}
		if err := o.complete(p); err != nil {
			return err
		}
		return o.run(c.Context(), p.stdout, p.stderr)
	}
	return c
}

// flags adds the flags that glossa run has too.
func (p *pullOptions) flags(f *pflag.FlagSet) {
	f.StringVar(&p.Revision, "revision", "", "branch, tag or commit (default main)")
	f.StringVar(&p.tokenFile, "token-file", "", "`file` that holds the token of an account on the hub (default HF_TOKEN, which is sent only to "+hub.DefaultEndpoint+")")
	f.StringVar(&p.client.Endpoint, "endpoint", hub.DefaultEndpoint, "`URL` of the hub or of a mirror")
}

// parse parses the name of a model. The revision of a flag prevails over that of a URL.
func (p *pullOptions) parse(text string) error {
	ref, err := hub.ParseReference(text)
	if err != nil {
		return usageError{err}
	}
	ref.Revision = cmp.Or(p.Revision, ref.Revision)
	p.Reference = ref
	return nil
}

// complete adds the values of the settings and of the token's file.
func (p *pullOptions) complete(of *program) error {
	cfg, err := of.environment()
	if err != nil {
		return err
	}
	p.home, p.room = p.to == "" && cfg.Checkpoints == "", cfg.Memory
	if p.to, err = of.modelsDir(p.to, &cfg); err != nil {
		return err
	}
	if strings.HasPrefix(p.to, "s3:") {
		if p.running {
			return fmt.Errorf("%s is in S3: name a local directory with --checkpoints", p.to)
		}
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

// dir returns the directory of the model.
func (p *pullOptions) dir() string { return filepath.Join(p.to, p.name) }

// run lists, chooses and downloads the files, and says how to use them.
func (p *pullOptions) run(ctx context.Context, out, notes io.Writer) error {
	chosen, err := p.download(ctx, out, notes)
	if err != nil {
		return err
	}
	if !p.home {
		_, err = fmt.Fprintf(out, "%s is complete: glossa serve --checkpoints %s\n", p.dir(), p.to)
		return err
	}
	name := p.name
	if strings.Contains(name, "--") { // of a second owner, whom people name
		name = p.Repo
	}
	if places, err := arch.Places(os.DirFS(p.to), p.name); err == nil && len(places) > 1 && chosen != "" {
		name += ":" + chosen
	}
	_, err = fmt.Fprintf(out, "%s is complete: glossa run %s\n", p.dir(), name)
	return err
}

// download lists, chooses and downloads the files. It returns the name of the quantisation,
// "" of safetensors.
func (p *pullOptions) download(ctx context.Context, out, notes io.Writer) (quant string, err error) {
	lister := p.client
	lister.Retrying = func(err error, wait time.Duration) {
		fmt.Fprintf(notes, "%v: trying again in %s\n", err, wait.Round(time.Second))
	}
	s, err := lister.List(ctx, p.Repo, p.Revision)
	if err != nil {
		return "", p.withHint(err)
	}
	quant, files, err := p.choose(s, out)
	if err != nil {
		return "", err
	}
	if p.name, err = modelName(p.to, p.Repo); err != nil {
		return "", err
	}
	d, err := p.client.Prepare(ctx, s, files, p.dir())
	if err != nil {
		return "", err
	}
	defer d.Close() // all downloaded data is already on the disk
	fmt.Fprintf(out, "%s at %s is commit %s: %d %s, %s\n", s.Repo, s.Revision, s.Commit, d.Files, plural("file", d.Files), fit.Bytes(d.Total))
	fmt.Fprintf(out, "to download: %s", fit.Bytes(d.Missing))
	if d.Free >= 0 {
		fmt.Fprintf(out, "; free on the disk: %s", fit.Bytes(d.Free))
	}
	fmt.Fprintln(out)
	if err := p.fetch(ctx, d, p.dir(), notes); err != nil {
		return "", p.withHint(err)
	}
	return quant, nil
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
		fmt.Fprintf(notes, "%s of %s are kept in %s: run the same command to resume\n", fit.Bytes(at.Bytes), fit.Bytes(at.Total), dir)
	}
	if ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
		return fmt.Errorf("stopped: %w", context.Cause(ctx))
	}
	return err
}

// withHint adds to an error that requires a token how to set one, and to one of the network that
// the hub may be elsewhere.
func (p *pullOptions) withHint(err error) error {
	if _, ok := errors.AsType[*net.OpError](err); ok {
		return fmt.Errorf("%w: check the network, or name another hub with --endpoint", err)
	}
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
	s := fmt.Sprintf("%s of %s  %d/%d files", fit.Bytes(d.Bytes), fit.Bytes(d.Total), d.Files, d.AllFiles)
	if d.rate > 0 {
		left := time.Duration(min(float64(d.Total-d.Bytes)/d.rate, maxTimeLeft.Seconds()) * float64(time.Second))
		s += fmt.Sprintf("  %s/s  %s left", fit.Bytes(int64(d.rate)), left.Round(time.Second))
	}
	return s
}
