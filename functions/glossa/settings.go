package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"glossa/pkg/app"
	"glossa/pkg/cloud"
	"glossa/pkg/home"
)

// configVariable names the file of settings.
const configVariable = "GLOSSA_CONFIG"

// Settings come from a flag, else from the environment, else from a JSON file, else they have
// their default. This is the only place that reads the environment and the file.
type settings struct {
	path string            // of the file, as --config gives it; "": that of the environment, else the default
	file map[string]string // values by variable; nil: not read yet
}

// A setting is a key of the file, its environment variable and its meaning.
type setting struct{ name, variable, meaning string }

// functionsOnly are the variables that only functions read.
func functionsOnly() []string {
	return []string{"GLOSSA_STREAM_REST", "GLOSSA_STREAM_URL", "GLOSSA_LISTEN", "GLOSSA_BASE_PATH", "GLOSSA_BATCH_FUNCTIONS"}
}

// commandSettings returns the settings of which functions know nothing.
func commandSettings() []setting {
	return []setting{
		{"auth", "GLOSSA_AUTH", "true: glossa serve requires a key on all but the public routes"},
		{"home", home.Variable, homeMeaning},
		{"host", "GLOSSA_HOST", "address that glossa serve listens on; default localhost"},
		{"log-format", "GLOSSA_LOG_FORMAT", "form of the log lines of glossa serve: auto, text or json"},
		{"ollama", "GLOSSA_OLLAMA", "address on which glossa serve serves Ollama's API alone"},
		{"port", "GLOSSA_PORT", "port that glossa serve listens on; default 8080"},
	}
}

// allSettings returns the settings of the command in the order of their names.
func allSettings() []setting {
	list := append(commandSettings(), setting{"open", "GLOSSA_OPEN", "true: glossa serve serves other machines without requiring a key"})
	for _, v := range app.Variables() {
		if strings.HasPrefix(v[0], "GLOSSA_") && !slices.Contains(functionsOnly(), v[0]) && v[0] != "GLOSSA_OPEN" {
			list = append(list, setting{settingName(v[0]), v[0], v[1]})
		}
	}
	slices.SortFunc(list, func(a, b setting) int { return cmp.Compare(a.name, b.name) })
	return list
}

// settingName returns the name of a variable's flag and key: log-level for GLOSSA_LOG_LEVEL. Only
// that of GLOSSA_TABLE differs.
func settingName(variable string) string {
	if variable == "GLOSSA_TABLE" {
		return "table-name"
	}
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(variable, "GLOSSA_")), "_", "-")
}

// variable returns the environment variable of a flag, the inverse of [settingName].
func variable(flag string) string {
	if flag == "table-name" {
		return "GLOSSA_TABLE"
	}
	return "GLOSSA_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// configDefault returns the default path of the file, "" on a machine without a home.
func configDefault() string {
	dir, err := os.UserConfigDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "glossa", "config.json")
}

// configFile returns the path of the file, and whether the user named it.
func (s *settings) configFile() (path string, named bool) {
	if path = cmp.Or(s.path, os.Getenv(configVariable)); path != "" {
		return path, true
	}
	return configDefault(), false
}

// load reads the file once. It may be missing, unless the user named it.
func (s *settings) load() error {
	if s.file != nil {
		return nil
	}
	path, named := s.configFile()
	if path == "" {
		s.file = map[string]string{}
		return nil
	}
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && !named {
		s.file = map[string]string{}
		return nil
	}
	if err == nil {
		s.file, err = parseSettings(raw)
	}
	if _, ok := errors.AsType[*fs.PathError](err); err != nil && !ok {
		return fmt.Errorf("%s: %w", path, err)
	}
	return err
}

// parseSettings reads a file: one JSON object, whose keys are the names of settings. It returns
// the values by variable.
func parseSettings(raw []byte) (map[string]string, error) {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(bytes.TrimPrefix(raw, []byte("\ufeff")), &object); err != nil {
		if _, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return nil, errors.New("must be a JSON object")
		}
		return nil, fmt.Errorf("must be a JSON object: %w", err)
	}
	var names []string
	for _, s := range allSettings() {
		names = append(names, s.name)
	}
	values := map[string]string{}
	for name, raw := range object {
		if !slices.Contains(names, name) {
			return nil, fmt.Errorf("unknown setting %q%s", name, didYouMean(name, names))
		}
		value, err := settingValue(raw)
		if err == nil {
			values[variable(name)], err = value, checkSetting(name, value)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return values, nil
}

// settingValue returns a value of the file as an environment variable has it.
func settingValue(raw json.RawMessage) (string, error) {
	var text string
	var list []string
	switch {
	case json.Unmarshal(raw, &text) == nil && raw[0] == '"':
		return text, nil
	case json.Unmarshal(raw, &list) == nil && raw[0] == '[':
		return strings.Join(list, ","), nil
	case raw[0] == '{' || raw[0] == '[' || raw[0] == 'n':
		return "", errors.New("must be a string, a number, true, false or a list of strings")
	}
	return string(raw), nil
}

// checkSetting checks a value of the file as the environment's.
func checkSetting(name, value string) error {
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	new(serveOptions).flags(f)
	if flag := f.Lookup(name); flag != nil && value != "" {
		if err := flag.Value.Set(value); err != nil {
			return valueError(flag, value, err)
		}
	}
	_, err := app.FromEnv(func(wanted string) string {
		if wanted == variable(name) {
			return value
		}
		return ""
	})
	return err
}

// get returns a variable of the environment, else of the file.
func (s *settings) get(variable string) string { return cmp.Or(os.Getenv(variable), s.file[variable]) }

// A source says where a setting comes from; a higher one prevails.
type source int

const (
	fromDefault source = iota
	fromFile
	fromEnvironment
	fromFlag
)

// source returns the source of a flag's setting.
func (s *settings) source(f *pflag.Flag) source {
	if f.Changed {
		return fromFlag
	}
	return s.sourceOf(variable(f.Name))
}

// sourceOf returns the source of a setting that has no flag.
func (s *settings) sourceOf(variable string) source {
	switch {
	case os.Getenv(variable) != "":
		return fromEnvironment
	case s.file[variable] != "":
		return fromFile
	}
	return fromDefault
}

// fill sets the flags that the command line leaves out from the environment and the file.
func (s *settings) fill(f *pflag.FlagSet, names []string) error {
	if err := s.load(); err != nil {
		return err
	}
	for _, name := range names {
		flag := f.Lookup(name)
		value := s.get(variable(name))
		if flag.Changed || value == "" {
			continue
		}
		if err := flag.Value.Set(value); err != nil {
			return fmt.Errorf("%s: %w", variable(name), valueError(flag, value, err))
		}
	}
	return nil
}

// environment returns the configuration of the environment and the file, with the AWS account
// that the AWS CLI would use.
func (p *program) environment() (app.Config, error) {
	if err := p.settings.load(); err != nil {
		return app.Config{}, err
	}
	cfg, err := app.FromEnv(p.settings.get)
	cfg.AWS = cloud.Load
	return cfg, err
}
