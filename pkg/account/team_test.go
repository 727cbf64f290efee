package account

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
)

// A team is stored with its limits, and its members' requests carry these; without it they may do
// nothing.
func TestTeam(t *testing.T) {
	for name, s := range stores(t) {
		t.Run(name, func(t *testing.T) {
			store, ctx := s[0], t.Context()
			team, err := NewTeam("Shop", Limits{TokensPerDay: 9, Models: "novels"})
			if err != nil || team.Name != "shop" {
				t.Fatalf("%+v %v", team, err)
			}
			secret, key, err := NewAPIKey("ci", Client, time.Time{})
			if err != nil {
				t.Fatal(err)
			}
			key.Limits = Limits{TokensPerDay: 5, Team: "shop"}
			if err := store.Add(ctx, key); err != nil {
				t.Fatal(err)
			}
			a := New(Config{Store: store})
			if _, err := guarded(t, a, secret); !isCode(err, llm.Forbidden) {
				t.Errorf("without the team: %v", err)
			}
			if err := store.Add(ctx, team); err != nil {
				t.Fatal(err)
			}
			if err := store.Add(ctx, team); !errors.Is(err, ErrExists) {
				t.Errorf("twice: %v", err)
			}
			a = New(Config{Store: s[1]})
			r, err := guarded(t, a, secret)
			if err != nil {
				t.Fatal(err)
			}
			p, _ := PrincipalOf(r.Context())
			want := []Bound{{"key ci", Limits{TokensPerDay: 5, Team: "shop"}}, {"team shop", Limits{TokensPerDay: 9, Models: "novels"}}}
			if got := p.Bounds(); len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
				t.Errorf("%+v, want %+v", got, want)
			}
			if list, err := s[1].List(ctx, Team); err != nil || len(list) != 1 || list[0].Limits != team.Limits {
				t.Errorf("%+v %v", list, err)
			}
			if err := store.SetLimits(ctx, Team, "shop", Limits{Team: "other"}); err == nil && name == "file" {
				t.Error("a team is in a team")
			}
		})
	}
	for _, bad := range []Limits{{Team: "other"}, {TokensPerDay: -1}} {
		if _, err := NewTeam("shop", bad); err == nil {
			t.Errorf("a team has the limits %+v", bad)
		}
	}
	if _, err := NewTeam("a b", Limits{}); err == nil {
		t.Error("a team has a name with a space")
	}
	if err := (Limits{Team: "a b"}).Check(); err == nil {
		t.Error("limits name a team with a space")
	}
}

func guarded(t *testing.T, a *Accounts, secret string) (*http.Request, error) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), "GET", "/v1/models", http.NoBody)
	r.Header.Set("Authorization", "Bearer "+secret)
	return a.Guard(r, &httpx.Route{Permission: httpx.Inference})
}

func isCode(err error, code llm.Code) bool {
	e, ok := errors.AsType[*llm.Error](err)
	return ok && e.Code == code
}

// A member may use the models that its own list and that of its team have.
func TestTeamModels(t *testing.T) {
	all := listedModels{"novels", "novels-2", "abc"}
	for _, test := range []struct {
		own, team Models
		want      []string
	}{
		{"", "", all}, {"", "novels*", all[:2]}, {"novels,abc", "novels*", all[:1]}, {"abc", "novels", nil},
	} {
		p := Principal{Kind: "key", Name: "ci", Role: Client, Limits: Limits{Models: test.own, Team: "shop"}, Shared: Limits{Models: test.team}}
		ctx := context.WithValue(t.Context(), callerKey{}, caller{principal: p})
		models := ModelsFor(all)
		list, err := models.List(ctx)
		if err != nil || len(list) != len(test.want) {
			t.Errorf("%s and %s: %v %v, want %v", test.own, test.team, list, err, test.want)
		}
		for _, name := range all {
			_, err := models.Open(ctx, name)
			may := false
			for _, w := range test.want {
				may = may || w == name
			}
			if (err == nil) != may {
				t.Errorf("%s and %s: %s: %v", test.own, test.team, name, err)
			}
		}
	}
}

type listedModels []string

func (l listedModels) List(context.Context) (list []llm.ModelInfo, err error) {
	for _, name := range l {
		list = append(list, llm.ModelInfo{Name: name, Family: "local"})
	}
	return list, nil
}

func (l listedModels) Open(_ context.Context, name string) (*llm.Model, error) {
	return &llm.Model{ModelInfo: llm.ModelInfo{Name: name, Family: "local"}}, nil
}
