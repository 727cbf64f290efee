// Package sealed keeps blocks of computed texts beyond the process, encrypted, in a store that
// processes may share.
//
// The name of a block and the key that it is encrypted with follow from the tokens of the whole
// text up to its end, and from what computed it. So only who has the text finds the block and
// can read it, a store shows neither texts nor whose they are, and a block that is damaged, or
// was put there under another's name, is not used. Who can read the store can still test a text
// that he guesses.
//
// The package refuses to know what a block contains, where a store lies and when a block is worth
// keeping.
//
// Sources: convergent encryption, Douceur et al. 2002, "Reclaiming Space from Duplicate Files in
// a Serverless Distributed File System"; AES-GCM, NIST SP 800-38D.
package sealed

import "context"

// A Store keeps named data. Whoever wrote a name last, readers get the whole of what was put
// there once. It may lose what it likes, such as what has not been read for long. It is safe for
// concurrent use.
type Store interface {
	// Get returns the data of a name if it has size bytes. The error for a name without data
	// is [fs.ErrNotExist].
	Get(ctx context.Context, name string, size int64) ([]byte, error)

	// Put keeps data under a name. It may return nil without a change if there are data.
	Put(ctx context.Context, name string, data []byte) error
}
