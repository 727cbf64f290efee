// Package jinja runs chat templates.
package jinja
