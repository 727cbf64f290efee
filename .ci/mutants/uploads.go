package main

const (
	bucketTests  = "./pkg/bucket"
	publishTests = "./pkg/publish"
)

// uploads: what is published is whole, is what was sent, and replaces nothing else.
func uploads() []mutant {
	const write, writer, multipart = "pkg/bucket/write.go", "pkg/bucket/writer.go", "pkg/bucket/multipart.go"
	const objects, directory, model = "pkg/publish/objects.go", "pkg/publish/directory.go", "pkg/publish/model.go"
	const session, complete, chunks, quota = "pkg/publish/session.go", "pkg/publish/complete.go", "pkg/publish/chunks.go", "pkg/publish/quota.go"
	return []mutant{
		{"S3: a URL is for any size", write, "if r.ContentLength = size; size < 1", "if size < 1", bucketTests, "^TestPresign$"},
		{"S3: a URL lasts a week", write, `strconv.Itoa(int(lasts / time.Second))`, `"604800"`, bucketTests, "^TestPresign$"},
		{"S3: damaged bytes are not sent again", write, `case "BadDigest", `, `case `, bucketTests, "^TestWriteFaults$"},
		{"S3: 200 with an error is believed", write, "return late(b.client, q.key, body)", "return nil", bucketTests, "^TestCompletion$"},
		{"S3: an answer that was lost is a refusal", write, "missing == nil && i.sum == sum", "missing != nil && i.sum == sum", bucketTests, "^TestPutIfNone$"},
		{"S3: a completion whose answer was lost failed", writer, `e.Code != "NoSuchUpload"`, `e.Code != ""`, bucketTests, "^TestCompletion$"},
		{"S3: parts that differ are not sent again", writer, "was.sum == part.sum && was.size", "was.size", bucketTests, "^TestWriterResumes$"},
		{"S3: parts that have arrived are sent again", multipart, "there[p.PartNumber-1]", "there[p.PartNumber]", bucketTests, "^TestWriterResumes$"},
		{"S3: holes are zeros", writer, "o.count != int64(len(o.data)) || ", "", bucketTests, "^TestWriter$"},
		{"S3: what was given up stays", writer, "err := w.b.abortMultipart(ctx, w.key, w.id)", "var err error", bucketTests, "^TestWriterAborts$"},
		{"publish: the old one goes first in a bucket", objects, "	w := o.b.Create(", "	_ = o.delete(ctx, keys)\n	w := o.b.Create(", publishTests, "^TestReplaceInBucket$"},
		{"publish: the old one stays in a bucket", objects, "return o.delete(ctx, slices.DeleteFunc(keys, func(key string) bool { return key == target }))", "return nil", publishTests, "^TestReplaceInBucket$"},
		{"publish: a model of a longer name goes too", objects, `!strings.HasPrefix(i.Key, name+"/")`, `!strings.HasPrefix(i.Key, name)`, publishTests, "^TestDeleteInBucket$"},
		{"publish: what is no model is replaced", objects, "case len(keys) > 0 && !isModel:\n		return taken(name)\n	case isModel && isNew", "case isModel && isNew", publishTests, "^TestDeleteInBucket$"},
		{"publish: several are new", objects, "IfNone: isNew", "IfNone: false && isNew", publishTests, "^TestNew$"},
		{"publish: what runs is another shape than is shown", model, "if f.a != f.b {", "if f.a != f.b && f.name == \"\" {", publishTests, "^TestRefuses$"},
		{"publish: a broken line is the file's fault", model, "	case own != nil:\n		return own\n", "", publishTests, "^TestReaderError$"},
		{"publish: checksums of packed models are not looked at", "pkg/engine/checkpoint/packcopy.go", "if sum != c.sums[i] {", "if sum == 0 && c.sums[i] == 1 {", publishTests, "^TestDamaged$"},
		{"publish: a packed file takes a directory's place in two steps", directory, "case there && d.alone(name):", "case there && false:", publishTests, "^TestFailingRename$"},
		{"uploads: what may still come is not counted", "pkg/publish/admit.go", "return max(k.bytes, n)", "return max(k.bytes, 0*n)", publishTests, "^TestSessionQuota$"},
		{"uploads: old ones stay", "pkg/publish/admit.go", "if time.Since(k.last) > Lasts {", "if time.Since(k.last) > 1000*Lasts {", publishTests, "^TestSessionQuota$"},
		{"uploads: a completion is repeated", complete, "if _, ok := find(list, path.Join(id, doneFile)); ok {\n		return nil\n	}\n	file", "file", publishTests, "^TestSession$"},
		{"uploads: several complete at once", complete, "if errors.Is(err, errExist) {", "if err = nil; errors.Is(err, errExist) {", publishTests, "^TestCompleteAtOnce$"},
		{"uploads: a lock is for ever", complete, "ok && time.Since(b.time) > lockLasts {", "ok && b.size < 0 {", publishTests, "^TestCompleteAtOnce$"},
		{"uploads: the checksum is not looked at", complete, "got != r.SHA256 {", "got == \"\" {", publishTests, "^TestCompleteRefuses$"},
		{"uploads: bombs", complete, "case out.Size() > most:", "case out.Size() < 0:", publishTests, "^TestCompleteUnzips$"},
		{"uploads: parts that were sent again mix", "pkg/publish/blobs.go", "if info.Size() != b.size || !info.ModTime().Equal(b.time) {", "if info.Size() != b.size {", publishTests, "^TestPartReplaced"},
		{"uploads: more chunks than were announced", chunks, "if b, ok := find(list, partKey(dir, total)); ok {", "if b, ok := find(list, partKey(dir, -total)); ok {", publishTests, "^TestChunksRefused$"},
		{"uploads: there is always room", quota, "case all > limit:", "case all > 2*limit:", publishTests, "Quota$"},
		{"uploads: a model that is replaced is not there", "pkg/local/scan.go", "errors.Is(err, bucket.ErrReplaced) }) {", "errors.Is(err, bucket.ErrReplaced) && false }) {", appTests, "^TestReplacedWhileLookedAt$"},
	}
}
