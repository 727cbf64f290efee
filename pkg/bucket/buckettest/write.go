package buckettest

import (
	"cmp"
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"
)

// An upload is a multipart upload.
type upload struct {
	key   string
	begun time.Time
	parts map[int]*object
}

// leastPart is the smallest size of all parts but the last, in bytes.
const leastPart = 5 << 20

// body reads the body of a request, and rejects wrong checksums.
func (s *Store) body(w http.ResponseWriter, r *http.Request) (data []byte, sum string, ok bool) {
	most := cmp.Or(s.MaxPut, 5<<30)
	if r.ContentLength < 0 {
		Refuse(w, http.StatusLengthRequired, "MissingContentLength")
		return nil, "", false
	}
	if r.ContentLength > most {
		Refuse(w, http.StatusBadRequest, "EntityTooLarge")
		return nil, "", false
	}
	data, err := io.ReadAll(r.Body)
	if err != nil || int64(len(data)) != r.ContentLength {
		Refuse(w, http.StatusBadRequest, "IncompleteBody")
		return nil, "", false
	}
	digest := sha256.Sum256(data)
	if want := r.Header.Get("X-Amz-Content-Sha256"); want != "" && want != "UNSIGNED-PAYLOAD" && want != hex.EncodeToString(digest[:]) {
		Refuse(w, http.StatusBadRequest, "XAmzContentSHA256Mismatch")
		return nil, "", false
	}
	sum = checksum(data)
	if want := r.Header.Get("X-Amz-Checksum-Crc32c"); want != "" && want != sum {
		Refuse(w, http.StatusBadRequest, "BadDigest")
		return nil, "", false
	}
	return data, sum, true
}

// checksum returns a CRC-32C as headers have it.
func checksum(data []byte) string {
	var sum [4]byte
	binary.BigEndian.PutUint32(sum[:], crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// store answers PutObject.
func (s *Store) store(w http.ResponseWriter, r *http.Request, key string) {
	data, sum, ok := s.body(w, r)
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Header.Get("If-None-Match") == "*" && s.objects[key] != nil {
		Refuse(w, http.StatusPreconditionFailed, "PreconditionFailed")
		return
	}
	o := s.put(key, data, sum)
	w.Header().Set("ETag", o.etag)
	w.Header().Set("X-Amz-Checksum-Crc32c", sum)
}

// Uploads returns the number of open multipart uploads.
func (s *Store) Uploads() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.uploads)
}

// multipart answers the requests of multipart uploads.
func (s *Store) multipart(w http.ResponseWriter, r *http.Request, key string, query url.Values) {
	id := query.Get("uploadId")
	switch {
	case r.Method == http.MethodPost && id == "":
		s.create(w, key)
		return
	case r.Method == http.MethodGet && id == "":
		s.listUploads(w, query.Get("prefix"))
		return
	}
	s.mu.Lock()
	u := s.uploads[id]
	s.mu.Unlock()
	switch {
	case u == nil || u.key != key:
		Refuse(w, http.StatusNotFound, "NoSuchUpload")
	case r.Method == http.MethodPut:
		s.part(w, r, u, query.Get("partNumber"))
	case r.Method == http.MethodGet:
		s.listParts(w, u, query.Get("part-number-marker"))
	case r.Method == http.MethodPost:
		s.complete(w, r, id, u)
	case r.Method == http.MethodDelete:
		s.mu.Lock()
		delete(s.uploads, id)
		s.mu.Unlock()
		w.WriteHeader(http.StatusNoContent)
	default:
		Refuse(w, http.StatusMethodNotAllowed, "MethodNotAllowed")
	}
}

func (s *Store) create(w http.ResponseWriter, key string) {
	s.mu.Lock()
	if s.uploads == nil {
		s.uploads = map[string]*upload{}
	}
	id := fmt.Sprintf("upload+%d/%d", len(s.uploads), time.Now().UnixNano()) // needs escapes
	s.uploads[id] = &upload{key, s.now(), map[int]*object{}}
	s.mu.Unlock()
	answer(w, struct {
		XMLName  xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ InitiateMultipartUploadResult"`
		Key      string
		UploadID string `xml:"UploadId"`
	}{Key: key, UploadID: id})
}

func (s *Store) listUploads(w http.ResponseWriter, prefix string) {
	type one struct {
		Key       string
		UploadID  string `xml:"UploadId"`
		Initiated string
	}
	var list []one
	s.mu.Lock()
	for id, u := range s.uploads {
		if len(u.key) >= len(prefix) && u.key[:len(prefix)] == prefix {
			list = append(list, one{u.key, id, u.begun.UTC().Format(stamp)})
		}
	}
	s.mu.Unlock()
	answer(w, struct {
		XMLName     xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ ListMultipartUploadsResult"`
		Upload      []one
		IsTruncated bool
	}{Upload: list})
}

func (s *Store) part(w http.ResponseWriter, r *http.Request, u *upload, number string) {
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || n > 10_000 {
		Refuse(w, http.StatusBadRequest, "InvalidArgument")
		return
	}
	data, sum, ok := s.body(w, r)
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	u.parts[n] = &object{data: data, etag: fmt.Sprintf(`"%x"`, md5.Sum(data)), sum: sum}
	w.Header().Set("ETag", u.parts[n].etag)
	w.Header().Set("X-Amz-Checksum-Crc32c", sum)
}

func (s *Store) listParts(w http.ResponseWriter, u *upload, marker string) {
	type one struct {
		PartNumber           int
		ETag, ChecksumCRC32C string
		Size                 int
	}
	after, _ := strconv.Atoi(marker) // 0 if there is none
	listing := struct {
		XMLName              xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ ListPartsResult"`
		IsTruncated          bool
		NextPartNumberMarker int
		Part                 []one
	}{}
	s.mu.Lock()
	for _, n := range slices.Sorted(maps.Keys(u.parts)) {
		switch p := u.parts[n]; {
		case n <= after:
		case len(listing.Part) == cmp.Or(s.PageSize, 1000):
			listing.IsTruncated = true
		default:
			listing.Part = append(listing.Part, one{n, p.etag, p.sum, len(p.data)})
			listing.NextPartNumberMarker = n
		}
	}
	s.mu.Unlock()
	answer(w, listing)
}

// complete answers CompleteMultipartUpload.
func (s *Store) complete(w http.ResponseWriter, r *http.Request, id string, u *upload) {
	var list struct {
		Part []struct {
			PartNumber           int
			ETag, ChecksumCRC32C string
		}
	}
	raw, _, ok := s.body(w, r)
	if !ok {
		return
	}
	if xml.Unmarshal(raw, &list) != nil || len(list.Part) == 0 {
		Refuse(w, http.StatusBadRequest, "MalformedXML")
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Header.Get("If-None-Match") == "*" && s.objects[u.key] != nil {
		Refuse(w, http.StatusPreconditionFailed, "PreconditionFailed")
		return
	}
	var data, sums []byte
	for i, p := range list.Part {
		part := u.parts[p.PartNumber]
		switch {
		case i > 0 && list.Part[i-1].PartNumber >= p.PartNumber:
			Refuse(w, http.StatusBadRequest, "InvalidPartOrder")
			return
		case part == nil || part.etag != p.ETag || p.ChecksumCRC32C != "" && part.sum != p.ChecksumCRC32C:
			Refuse(w, http.StatusBadRequest, "InvalidPart")
			return
		case i < len(list.Part)-1 && len(part.data) < leastPart:
			Refuse(w, http.StatusBadRequest, "EntityTooSmall")
			return
		}
		data = append(data, part.data...)
		sum, _ := base64.StdEncoding.DecodeString(part.sum)
		sums = append(sums, sum...)
	}
	delete(s.uploads, id)
	o := s.put(u.key, data, fmt.Sprintf("%s-%d", checksum(sums), len(list.Part)))
	o.etag = fmt.Sprintf(`"%x-%d"`, md5.Sum(sums), len(list.Part))
	answer(w, struct {
		XMLName   xml.Name `xml:"http://s3.amazonaws.com/doc/2006-03-01/ CompleteMultipartUploadResult"`
		Key, ETag string
	}{Key: u.key, ETag: o.etag})
}
