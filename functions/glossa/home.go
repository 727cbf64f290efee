package main

import (
	"cmp"
	"os"
	"path"
	"runtime"
	"strings"

	"glossa/pkg/app"
	"glossa/pkg/home"
)

// homeMeaning describes the setting of the user's directory.
const homeMeaning = "directory of the user's models, in its subdirectory models; default glossa in $XDG_DATA_HOME or ~/.local/share, " +
	"on macOS in ~/Library/Application Support, on Windows in %LocalAppData%"

// modelsHome returns the directory of models that commands share without a flag.
func (p *program) modelsHome() (string, error) {
	if err := p.settings.load(); err != nil {
		return "", err
	}
	return home.Models(runtime.GOOS, p.settings.get)
}

// modelsDir returns the directory of models of a command: that of a flag or a setting, else the
// shared one, which may not exist.
func (p *program) modelsDir(flag string, cfg *app.Config) (string, error) {
	if dir := cmp.Or(flag, cfg.Checkpoints); dir != "" {
		return dir, nil
	}
	return p.modelsHome()
}

// modelName returns the name of the subdirectory for a repository's model in a directory of models:
// NAME, or OWNER--NAME if another owner's model is in NAME. No repository is called so.
func modelName(dir, repo string) (string, error) {
	base := path.Base(repo)
	if base == repo {
		return base, nil
	}
	full := strings.ReplaceAll(repo, "/", "--")
	for _, name := range []string{full, base} {
		origin, err := pulled(dir, name)
		if err != nil {
			return "", err
		}
		if strings.EqualFold(origin.Repo, repo) || name == base && origin.Repo == "" {
			return name, nil
		}
	}
	return full, nil
}

// existingHome returns the shared directory of models, "" if there is none yet.
func (p *program) existingHome() string {
	dir, err := p.modelsHome()
	if err != nil {
		return "" // a system account may have no home: the starters are served
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return ""
	}
	return dir
}

// makeHome creates the shared directory of models, so that a server sees a model that is
// downloaded while it runs. A server whose file system is read-only works without.
func (p *program) makeHome() {
	if dir, err := p.modelsHome(); err == nil {
		_ = os.MkdirAll(dir, 0o755)
	}
}
