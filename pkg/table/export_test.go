package table

import (
	"time"

	"glossa/pkg/backend/awsrest"
)

// Limited returns a table with these limits for attempts and waits.
func Limited(client *awsrest.Client, name string, attempt, wait time.Duration) *Table {
	return limited(client, name, limits{attempts: defaultLimits().attempts, attempt: attempt, wait: wait})
}
