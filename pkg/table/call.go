package table

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"net/http"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws/retry"

	"glossa/pkg/backend/awsrest"
)

// call makes a call of an operation on the table, and retries it after a temporary error. A
// safe call may take effect twice. Errors that callers can act on are those of the package.
func (t *Table) call(ctx context.Context, op string, request map[string]any, safe bool) (map[string]any, error) {
	request["TableName"] = t.name
	body, err := json.Marshal(request)
	if err != nil {
		return nil, fmt.Errorf("dynamodb %s of table %s: %w", op, t.name, err)
	}
	operation := t.client.Operation(http.Header{
		"Content-Type": {"application/x-amz-json-1.0"}, "X-Amz-Target": {"DynamoDB_20120810." + op},
		"Accept-Encoding": {"identity"}, // the checksum is that of the bytes on the wire
	}, "")
	var out map[string]any
	err = t.retry(ctx, safe, func(ctx context.Context) (err error) {
		out, err = answer(ctx, operation, body)
		return err
	})
	if err != nil {
		return nil, t.fault(op, err)
	}
	return out, nil
}

// answer makes one attempt of a call.
func answer(ctx context.Context, op *awsrest.Operation, body []byte) (map[string]any, error) {
	a, err := op.Post(ctx, body)
	if err != nil {
		return nil, err
	}
	text, err := a.Whole()
	if err != nil {
		return nil, err
	}
	if sum := a.Header.Get("X-Amz-Crc32"); sum != "" && sum != strconv.FormatUint(uint64(crc32.ChecksumIEEE(text)), 10) {
		return nil, &awsrest.Error{Status: http.StatusOK, Err: errors.New("the answer's checksum is wrong")}
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var out map[string]any
	if d.Decode(&out) != nil {
		return nil, &awsrest.Error{Status: http.StatusOK, Err: errors.New("the answer is not JSON")} // the decoder's own error could quote it
	}
	return out, nil
}

// fault returns the error of a failed call, wrapped in one of the package's errors if callers can
// act on it.
func (t *Table) fault(op string, err error) error {
	e, ok := errors.AsType[*awsrest.Error](err)
	switch {
	case !ok:
		return fmt.Errorf("dynamodb %s of table %s: %w", op, t.name, err)
	case e.Name == "ConditionalCheckFailedException":
		return ErrCondition
	case e.Message != "":
		err = fmt.Errorf("%w: %.500s", err, e.Message)
	}
	switch {
	case e.Name == "ResourceNotFoundException":
		return fmt.Errorf("dynamodb %s: %w: %s in %s: %w", op, ErrNoTable, t.name, t.client.Region(), err)
	case throttled(e):
		return fmt.Errorf("dynamodb %s of table %s: %w: %w", op, t.name, ErrThrottled, err)
	}
	return fmt.Errorf("dynamodb %s of table %s: %w", op, t.name, err)
}

// throttled reports whether the service was too busy to accept a call.
func throttled(e *awsrest.Error) bool {
	_, ok := retry.DefaultThrottleErrorCodes[e.Name]
	return ok
}
