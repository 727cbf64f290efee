package httpx

import (
	"context"
	"strings"

	"glossa/pkg/llm"
	"glossa/pkg/spelling"
)

// maxMisspelt bounds the letters by which a misspelt name differs; shorter names may differ by a third.
const maxMisspelt = 2

// NearestModel returns the name of the listed model that an unknown name probably means, "" if there
// is none. The name may be the hub's OWNER/NAME, have a tag, or be misspelt.
func NearestModel(ctx context.Context, models llm.Models, name string) (nearest string) {
	list, err := models.List(ctx)
	if err != nil {
		return ""
	}
	name = strings.TrimSuffix(name[strings.LastIndexByte(name, '/')+1:], ":latest")
	least := maxMisspelt + 1
	for _, m := range list {
		if n := misspelt(name, m.Name); n < least {
			nearest, least = m.Name, n
		}
	}
	return nearest
}

// misspelt returns the number of letters by which two names differ, in any case, and more than
// [maxMisspelt] for different names.
func misspelt(asked, own string) int {
	asked, own = strings.ToLower(asked), strings.ToLower(own)
	most := min(maxMisspelt, len(asked)/3)
	if max(len(asked)-len(own), len(own)-len(asked)) > most {
		return maxMisspelt + 1
	}
	if n := spelling.Distance(asked, own); n <= most {
		return n
	}
	return maxMisspelt + 1
}
