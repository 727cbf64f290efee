package bucket

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// A multipart is an open multipart upload.
type multipart struct {
	Key       string
	UploadID  string `xml:"UploadId"`
	Initiated time.Time
}

// ask sends a request and decodes the XML of its answer into v.
func (b *Bucket) ask(ctx context.Context, q *request, v any) error {
	_, body, err := b.do(ctx, q)
	if err != nil {
		return err
	}
	if err := xml.Unmarshal(body, v); err != nil {
		return fmt.Errorf("the store answered %s without valid XML: %w", q.method, err)
	}
	return nil
}

// createMultipart begins a multipart upload.
func (b *Bucket) createMultipart(ctx context.Context, key string) (string, error) {
	var answer multipart
	err := b.ask(ctx, &request{
		method: http.MethodPost, key: b.full(key), query: url.Values{"uploads": {""}},
		header: http.Header{"X-Amz-Checksum-Algorithm": {"CRC32C"}, "Content-Type": {"application/octet-stream"}},
	}, &answer)
	if err == nil && answer.UploadID == "" {
		err = errors.New("the store sent no upload id")
	}
	return answer.UploadID, err
}

// findMultipart returns the id of the latest upload of a key, "" if there is none.
func (b *Bucket) findMultipart(ctx context.Context, key string) (string, error) {
	var answer struct {
		Upload []multipart
	}
	err := b.ask(ctx, &request{method: http.MethodGet, query: url.Values{"uploads": {""}, "prefix": {b.full(key)}}}, &answer)
	return newest(answer.Upload, b.full(key)), err
}

// listParts returns the stored parts, by their numbers from 0.
func (b *Bucket) listParts(ctx context.Context, key, id string) (map[int]sentPart, error) {
	there := map[int]sentPart{}
	query := url.Values{"uploadId": {id}}
	for {
		var answer struct {
			IsTruncated          bool
			NextPartNumberMarker string
			Part                 []struct {
				PartNumber           int
				ETag, ChecksumCRC32C string
				Size                 int64
			}
		}
		if err := b.ask(ctx, &request{method: http.MethodGet, key: b.full(key), query: query}, &answer); err != nil {
			return nil, err
		}
		for _, p := range answer.Part {
			there[p.PartNumber-1] = sentPart{p.PartNumber, p.ETag, p.ChecksumCRC32C, p.Size}
		}
		if !answer.IsTruncated {
			return there, nil
		}
		if next := answer.NextPartNumberMarker; next == "" || next == query.Get("part-number-marker") {
			return nil, errors.New("a listing of parts does not continue")
		}
		query.Set("part-number-marker", answer.NextPartNumberMarker)
	}
}

// uploadPart stores a part, with a number from 1.
func (b *Bucket) uploadPart(ctx context.Context, key, id string, number int, data []byte) (string, error) {
	body, size := bytesAt(data)
	query := url.Values{"partNumber": {strconv.Itoa(number)}, "uploadId": {id}}
	answer, _, err := b.store(ctx, key, query, http.Header{}, body, size)
	return answer.Get("Etag"), err
}

// completeMultipart creates the object from the parts.
func (b *Bucket) completeMultipart(ctx context.Context, key, id string, parts []sentPart, opt PutOptions) (ETag, error) {
	list := partList(parts)
	q := &request{method: http.MethodPost, key: b.full(key), query: url.Values{"uploadId": {id}}, header: opt.header(), hash: hashOf(list)}
	q.body, q.size = bytesAt(list)
	var answer struct{ ETag string }
	if err := b.ask(ctx, q, &answer); err != nil {
		return "", err
	}
	if answer.ETag == "" {
		return "", fmt.Errorf("the store sent no version of %s", key)
	}
	return ETag(answer.ETag), nil
}

// partList formats the XML list of parts; an encoder would add too much to the size of
// every function.
func partList(parts []sentPart) []byte {
	var b bytes.Buffer
	b.WriteString(`<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/">`)
	for _, p := range parts {
		fmt.Fprintf(&b, "<Part><PartNumber>%d</PartNumber><ETag>", p.number)
		_ = xml.EscapeText(&b, []byte(p.etag)) // to memory
		fmt.Fprintf(&b, "</ETag><ChecksumCRC32C>%s</ChecksumCRC32C></Part>", p.sum)
	}
	b.WriteString("</CompleteMultipartUpload>")
	return b.Bytes()
}

// abortMultipart aborts a multipart upload.
func (b *Bucket) abortMultipart(ctx context.Context, key, id string) error {
	_, _, err := b.do(ctx, &request{method: http.MethodDelete, key: b.full(key), query: url.Values{"uploadId": {id}}})
	return err
}
