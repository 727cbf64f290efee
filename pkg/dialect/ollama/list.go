package ollama

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"glossa/pkg/httpx"
	"glossa/pkg/llm"
	"glossa/pkg/wire"
)

func (cfg Config) tags(w http.ResponseWriter, r *http.Request) error {
	infos, err := cfg.Models.List(r.Context())
	if err != nil {
		return err
	}
	list := modelList{Models: make([]modelObject, len(infos))}
	for i := range infos {
		list.Models[i] = newModel(&infos[i])
	}
	return httpx.JSON(w, http.StatusOK, list)
}

func (cfg Config) running(w http.ResponseWriter, r *http.Request) error {
	infos, err := cfg.Models.List(r.Context())
	if err != nil {
		return err
	}
	held, now := cfg.Held(), cfg.Now().UTC()
	list := running{Models: []runningModel{}}
	for i := range infos {
		m := &infos[i]
		leaves, in := held[m.Name]
		if !in || !m.InProcess {
			continue
		}
		if leaves.IsZero() {
			leaves = now.AddDate(100, 0, 0)
		}
		list.Models = append(list.Models, runningModel{modelObject: newModel(m), ExpiresAt: leaves.UTC(), ContextLength: m.Context})
	}
	return httpx.JSON(w, http.StatusOK, list)
}

func (cfg Config) show(w http.ResponseWriter, r *http.Request) error {
	var in showRequest
	if err := httpx.Decode(r, showTable, &in); err != nil {
		return err
	}
	if in.Model == "" {
		in.Model = in.Name
	}
	if in.Model == "" {
		return wire.Invalid("model", "is required")
	}
	model, err := cfg.find(r.Context(), in.Model)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, newShown(&model.ModelInfo))
}

// find returns a model of the list, without its backend: opening it may load it, and only aliases
// need that.
func (cfg Config) find(ctx context.Context, name string) (*llm.Model, error) {
	infos, err := cfg.Models.List(ctx)
	if err != nil {
		return nil, err
	}
	own := strings.TrimSuffix(name, latest)
	at := slices.IndexFunc(infos, func(m llm.ModelInfo) bool { return m.Name == own || m.Family+"/"+m.Name == own })
	if at < 0 {
		return cfg.open(ctx, name)
	}
	return &llm.Model{ModelInfo: infos[at]}, nil
}

// newModel describes a model.
func newModel(m *llm.ModelInfo) modelObject {
	digest := sha256.Sum256(fmt.Appendf(nil, "%s/%s %d %d", m.Family, m.Name, m.Size, m.Created.UnixNano()))
	return modelObject{
		Name: m.Name + latest, Model: m.Name + latest, ModifiedAt: modified(m), Size: m.Size, Digest: hex.EncodeToString(digest[:]), Details: newDetails(m),
	}
}

// modified returns when a model was made, or the epoch.
func modified(m *llm.ModelInfo) time.Time {
	if m.Created.IsZero() {
		return time.Unix(0, 0).UTC()
	}
	return m.Created.UTC()
}

func newDetails(m *llm.ModelInfo) details {
	family := strings.ToLower(m.Type)
	if family == "" {
		family = m.Family
	}
	return details{Family: family, Families: []string{family}, ParameterSize: amount(m.Parameters)}
}

// amount writes a number of parameters as Ollama does: 1.3M, 7.2B.
func amount(n int64) string {
	switch x := float64(n); {
	case n == 0:
		return ""
	case n >= 1e9:
		return fmt.Sprintf("%.1fB", x/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.1fM", x/1e6)
	default:
		return fmt.Sprintf("%.1fK", x/1e3)
	}
}

// newShown describes a model in full.
func newShown(m *llm.ModelInfo) shown {
	d := newDetails(m)
	out := shown{Details: d, ModelInfo: map[string]any{"general.architecture": d.Family}, Capabilities: []string{}, ModifiedAt: modified(m)}
	if m.Context > 0 {
		out.ModelInfo[d.Family+".context_length"] = m.Context
	}
	if m.Parameters > 0 {
		out.ModelInfo["general.parameter_count"] = m.Parameters
	}
	switch m.Task {
	case llm.TaskEmbed:
		if len(m.Embeds) > 0 && !slices.Contains(m.Embeds, llm.EmbedDense) {
			break // /api/embed has one vector for a text
		}
		out.Capabilities = append(out.Capabilities, "embedding")
	case llm.TaskGenerate:
		out.Capabilities = append(out.Capabilities, "completion")
		if m.Run == nil { // those that Alpha trained continue texts
			out.Capabilities = append(out.Capabilities, "tools")
		}
		if m.Images {
			out.Capabilities = append(out.Capabilities, "vision")
		}
		if m.Reasons {
			out.Capabilities = append(out.Capabilities, "thinking")
		}
	}
	return out
}
