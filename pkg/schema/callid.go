package schema

import (
	"crypto/sha256"
	"encoding/json"
	"strings"

	"glossa/pkg/llm"
)

// ids are the ids of calls that a model takes: min to max letters, digits and marks.
type ids struct {
	min, max int // max 0: any but ""
	marks    string
}

// Bounds of max: shorter ids could not tell all calls apart.
const minID, maxID = 9, 1000

// ids checks the ids at pointer.
func (c *check) ids(pointer string, v any) ids {
	out := ids{min: 1}
	if v == nil {
		return out
	}
	m, ok := c.object(pointer, v, "min", "max", "marks")
	if !ok {
		return out
	}
	out.min = c.length(pointer, m, "min", 1)
	out.max = c.length(pointer, m, "max", minID)
	if out.max < out.min {
		c.wrong(pointer, "max is less than min")
	}
	if out.marks, ok = m["marks"].(string); !ok && m["marks"] != nil {
		c.wrong(pointer+"/marks", "it is %s, not a string", kindOf(m["marks"]))
	}
	return out
}

// length checks a number of characters.
func (c *check) length(pointer string, m map[string]any, name string, least int64) int {
	number, _ := m[name].(json.Number)
	n, err := number.Int64()
	if err != nil || n < least || n > maxID {
		c.wrong(pointer+"/"+name, "it is not a number of characters from %d to %d", least, maxID)
	}
	return int(n)
}

// named returns the ids that the model takes, by those of messages. An id that does not
// fit becomes the beginning of its hash, so that a call has the same id in every request.
func (d ids) named(messages []llm.Message) map[string]string {
	out, taken := map[string]string{}, map[string]bool{}
	each := func(use func(id string)) {
		for _, m := range messages {
			for _, c := range m.Calls {
				use(c.ID)
			}
			if m.CallID != "" {
				use(m.CallID)
			}
		}
	}
	each(func(id string) {
		if d.fits(id) {
			out[id], taken[id] = id, true
		}
	})
	each(func(id string) {
		for salt := ""; out[id] == ""; salt += " " {
			if short := d.hash(id + salt); !taken[short] {
				out[id], taken[short] = short, true
			}
		}
	})
	return out
}

func (d ids) fits(id string) bool {
	return id != "" && d.max == 0 || len(id) >= d.min && len(id) <= d.max && strings.Trim(id, alphabet+d.marks) == ""
}

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// hash returns letters and digits that stand for an id.
func (d ids) hash(id string) string {
	n := 24 // as many as OpenAI's have
	if d.max > 0 {
		n = max(d.min, min(d.max, n))
	}
	sum, out := sha256.Sum256([]byte(id)), make([]byte, 0, n)
	for len(out) < n {
		out = append(out, alphabet[int(sum[len(out)%len(sum)])%len(alphabet)])
	}
	return string(out)
}
