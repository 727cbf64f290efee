// Command release builds the files of a release from a commit: archives of the command, the
// Lambda functions, an image, their bills of materials, checksums and provenance. The same
// commit gives the same bytes. It knows git and the Makefile, and publishes nothing.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"
)

const usage = `release stamp            print the version of the functions
release notes VERSION    print the version's section of CHANGELOG.md
release cut VERSION      turn CHANGELOG.md's section Unreleased into the version's
release build VERSION    build the release into -out
release check            build the current commit twice and compare the bytes`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	root := flags.String("root", ".", "the `directory` of the repository")
	dist := flags.String("out", "dist/release", "the `directory` for the files, which is replaced")
	platforms := flags.String("platforms", "", "comma-separated `platforms` of the command")
	families := flags.String("families", "", "space-separated `names` of the functions; default: all")
	image := flags.Bool("image", true, "build the image if buildah works")
	gotool := flags.String("go", "go", "the Go `command`")
	var words []string
	for len(args) > 0 { // flags may follow words
		if err := flags.Parse(args); err != nil {
			return err
		}
		if args = flags.Args(); len(args) > 0 {
			words, args = append(words, args[0]), args[1:]
		}
	}
	r := &release{
		root: *root, out: *dist, families: *families, image: *image, gotool: *gotool,
		platforms: strings.FieldsFunc(*platforms, func(c rune) bool { return c == ',' || c == ' ' }), log: out,
	}
	switch command := strings.Join(words, " "); {
	case command == "stamp":
		s, err := r.stamp(ctx)
		if err == nil {
			fmt.Fprintln(out, s)
		}
		return err
	case command == "check":
		return r.check(ctx)
	case len(words) == 2 && words[0] == "notes":
		return r.printNotes(words[1], out)
	case len(words) == 2 && words[0] == "cut":
		return r.cut(words[1], time.Now())
	case len(words) == 2 && words[0] == "build":
		return r.build(ctx, words[1])
	}
	return errors.New("usage:\n" + usage)
}
