package httpx

// A Parameter is a row of a dialect's table: what becomes of one key of a request.
type Parameter struct {
	Name        string
	Disposition Disposition
	Note        string   // its range and default, or the reason
	Neutral     []string // for Refused: JSON values, besides null, that ask for nothing and are taken
}

// A Disposition is what becomes of a parameter.
type Disposition string

// The dispositions. Nothing is dropped in silence: what has no row is refused.
const (
	Honoured Disposition = "honoured"
	Refused  Disposition = "refused"        // 400 that names it
	NoEffect Disposition = "without effect" // taken: it could not change the answer
)
