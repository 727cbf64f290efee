// Package home names the directory in which the command keeps a user's models. It refuses
// to know what a model is, and it creates nothing.
//
// Source: the XDG Base Directory Specification 0.8 for Linux and the BSDs, Apple's File
// System Programming Guide for macOS, and the known folder LocalAppData for Windows.
package home

import (
	"errors"
	"fmt"
	"path/filepath"
)

// Variable is the environment variable that names the directory.
const Variable = "GLOSSA_HOME"

// modelsDir is the subdirectory of models.
const modelsDir = "models"

// Dir returns the directory of a user's data on an operating system, of those that
// runtime.GOOS names: the value of [Variable], else glossa in the platform's directory of
// application data. getenv returns the value of an environment variable, "" if it is not set.
func Dir(goos string, getenv func(string) string) (string, error) {
	if dir := getenv(Variable); dir != "" {
		absolute, err := filepath.Abs(dir)
		if err != nil {
			return "", fmt.Errorf("%s: %w", Variable, err)
		}
		return absolute, nil
	}
	base, err := data(goos, getenv)
	if err != nil {
		return "", err
	}
	return filepath.Join(base, "glossa"), nil
}

// Models returns the directory of models in that of a user's data.
func Models(goos string, getenv func(string) string) (string, error) {
	dir, err := Dir(goos, getenv)
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, modelsDir), nil
}

// data returns the platform's directory of application data.
func data(goos string, getenv func(string) string) (string, error) {
	user := getenv("HOME")
	switch goos {
	case "windows":
		if dir := getenv("LocalAppData"); dir != "" {
			return dir, nil
		}
		return "", errors.New("there is no directory for models: set GLOSSA_HOME or LocalAppData")
	case "darwin", "ios":
		if user != "" {
			return filepath.Join(user, "Library", "Application Support"), nil
		}
	default:
		// The specification tells programs to ignore relative paths.
		if dir := getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
			return dir, nil
		}
		if user != "" {
			return filepath.Join(user, ".local", "share"), nil
		}
	}
	return "", errors.New("there is no directory for models: set GLOSSA_HOME or HOME")
}
