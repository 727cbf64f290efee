package httpx

import (
	"net/http"

	"glossa/pkg/llm"
)

// Guarantee sets the header X-Glossa-Guarantee to the weakest guarantee of all rows.
// It sets nothing if a row has none.
func Guarantee(w http.ResponseWriter, rows []llm.Chunk) {
	least := llm.Enforced
	for _, row := range rows {
		switch row.Guarantee {
		case llm.Unchecked:
			return
		case llm.Validated:
			least = llm.Validated
		}
	}
	w.Header().Set("X-Glossa-Guarantee", string(least))
}
