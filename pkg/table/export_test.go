package table

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// Limited returns a table with these limits for attempts and waits.
func Limited(client *dynamodb.Client, name string, attempt, wait time.Duration) *Table {
	return limited(client, name, limits{attempts: defaultLimits().attempts, attempt: attempt, wait: wait})
}
