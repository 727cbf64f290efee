package account

import (
	"os"
)

// own does nothing: on Windows, files inherit the rights of their directory.
func own(*os.File, string) error { return nil }
