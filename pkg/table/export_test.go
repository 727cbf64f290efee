package table

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// Limited returns a table whose attempts and waits are of this length.
func Limited(client *dynamodb.Client, name string, attempt, wait time.Duration) *Table {
	return limited(client, name, limits{attempts: usual().attempts, attempt: attempt, wait: wait})
}
