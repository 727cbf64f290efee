package checkpoint

import (
	"fmt"
	"runtime/debug"
)

// orPanic calls do, which reads a file in a goroutine of its own. A panic there would end the process: it
// becomes an error.
func orPanic(do func() error) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("panic: %v\n%s", cause, debug.Stack())
		}
	}()
	return do()
}
