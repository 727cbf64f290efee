package main

import (
	"testing"
	"time"
)

func TestTeams(t *testing.T) {
	today := time.Now().UTC().Format(time.DateOnly)
	steps(t, []step{
		{"team list", "", 1, "no such file.*glossa key create"},
		{"key create ci --role client --team shop", "", 1, "there is no team shop: glossa team create"},
		{"team create Shop --usd-per-month 50 --models novels,gpt-*", "", 0, "the team shop is created; its limits: 50 US dollars a month, only the models novels,gpt-\\*"},
		{"team create shop", "", 1, "the team shop exists: glossa team limit"},
		{"team create none", "", 2, "a team cannot be called none"},
		{"team create a,b", "", 2, "letters"},
		{"team create idle --tokens-per-day -1", "", 2, "from 1"},
		{"team create idle --team shop", "", 2, "unknown flag \"--team\""},
		{"team create idle", "", 0, "its limits: none"},
		{"team limit idle", "", 2, "no limit: pass --requests, --tokens-per-day, --tokens-per-month, --usd-per-day, --usd-per-month, --models or --none"},
		{"team limit idle --requests 10/s", "", 0, "limits of the team idle: 10/s"},
		{"team limit nobody --requests 10/s", "", 1, "no team nobody"},
		{"key create ci --role client --tokens-per-day 5 --team Shop", "", 0, "gls_"},
		{"key list", "", 0, "5 tokens a day, those of the team shop"},
		{"user add bob --role client", password, 0, "added"},
		{"user limit bob --team shop", "", 0, "limits of the user bob: those of the team shop"},
		{"user limit bob --team gone", "", 1, "there is no team gone"},
		{"team list", "", 0, `NAME +CREATED +LIMITS +MEMBERS\nidle +` + today + ` +10/s +\nshop +` + today + ` +50 US dollars a month, only the models novels,gpt-\* +key ci, user bob\n`},
		{"team list --json", "", 0, `(?s)"name": "shop".*"members": \[\s*"key ci",\s*"user bob"`},
		{"team delete shop", "", 1, "the team shop has members: key ci, user bob; take them out with --team none first"},
		{"key limit ci --team none", "", 0, "limits of the key ci: 5 tokens a day; "},
		{"user limit bob --none", "", 0, "limits of the user bob: none"},
		{"team delete shop", "", 0, "the team shop is deleted"},
		{"team delete shop", "", 1, "no team shop"},
		{"team", "", 2, "missing command: create, delete, limit, list"},
	}...)
}
