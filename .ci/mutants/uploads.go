package main

// uploads: a published model is complete, equals the upload, and replaces nothing else.
func uploads() []mutant {
	return []mutant{
		{"S3: a URL is for any size", bucket, "Bucket.Presign", "r.ContentLength = size; size < 1 || size > MaxPut", "size < 1 || size > MaxPut", bucket, "^TestPresign$"},
		{"S3: a URL lasts a week", bucket, "Bucket.Presign", "strconv.Itoa(int(lasts / time.Second))", `"604800"`, bucket, "^TestPresign$"},
		{"S3: damaged bytes are not sent again", bucket, "mayRetry", `"BadDigest", "XAmzContentSHA256Mismatch"`, `"XAmzContentSHA256Mismatch"`, bucket, "^TestWriteFaults$"},
		{"S3: 200 with an error is believed", bucket, "Bucket.do", "errorInBody(b.client, q.key, body)", "nil", bucket, "^TestCompletion$"},
		{"S3: an answer that was lost is a refusal", bucket, "Bucket.Put", "missing == nil", "missing != nil", bucket, "^TestPutIfNone$"},
		{"S3: a completion whose answer was lost failed", bucket, "Writer.complete", `"NoSuchUpload"`, `""`, bucket, "^TestCompletion$"},
		{"S3: parts that differ are not sent again", bucket, "Writer.send", "was.sum == part.sum && was.size == part.size", "was.size == part.size", bucket, "^TestWriterResumes$"},
		{"S3: parts that have arrived are sent again", bucket, "Bucket.listParts", "p.PartNumber-1", "p.PartNumber", bucket, "^TestWriterResumes$"},
		{"S3: holes are zeros", bucket, "Writer.Close", "o.count != int64(len(o.data)) || number != last && o.count != w.opt.Part", "number != last && o.count != w.opt.Part", bucket, "^TestWriter$"},
		{"S3: what was given up stays", bucket, "Writer.Abort", "err := w.b.abortMultipart(ctx, w.key, w.id)", "var err error", bucket, "^TestWriterAborts$"},
		{"publish: the old one goes first in a bucket", publish, "objects.store", "target := target(keys, name)", "target := target(keys, name); _ = o.delete(ctx, keys)", publish, "^TestReplaceInBucket$"},
		{"publish: the old one stays in a bucket", publish, "objects.store", "o.delete(ctx, slices.DeleteFunc(keys, func(key string) bool { return key == target }))", "nil", publish, "^TestReplaceInBucket$"},
		{"publish: a model of a longer name goes too", publish, "objects.objectsOf", `name+"/"`, "name", publish, "^TestDeleteInBucket$"},
		{"publish: a file that is not a model is replaced", publish, "objects.store", "case len(keys) > 0 && !isModel: return taken(name)", "", publish, "^TestDeleteInBucket$"},
		{"publish: several are new", publish, "objects.store", "IfNone: isNew", "IfNone: false && isNew", publish, "^TestNew$"},
		{"publish: what runs is another shape than is shown", publish, "sameShape", "f.a != f.b", `f.a != f.b && f.name == ""`, publish, "^TestRefuses$"},
		{"publish: a broken line is the file's fault", publish, "source.blame", "case own != nil: return own", "", publish, "^TestReaderError$"},
		{"publish: checksums of packed models are not looked at", checkpoint, "copying.tensor", "sum != c.sums[i]", "sum == 0 && c.sums[i] == 1", publish, "^TestDamaged$"},
		{"publish: a packed file takes a directory's place in two steps", publish, "directory.store", "d.isSinglePackedFile(name)", "false", publish, "^TestFailingRename$"},
		{"uploads: what may still come is not counted", publish, "kept.declared", "k.bytes, n", "k.bytes, 0*n", publish, "^TestSessionQuota$"},
		{"uploads: old ones stay", publish, "Store.admit", "time.Since(k.last) > Lasts", "time.Since(k.last) > 1000*Lasts", publish, "^TestSessionQuota$"},
		{"uploads: a completion that another call has made", publish, "Store.completed", "len(found) > 0, err", "len(found) > 9, err", publish, "^TestCompleteByTornList$"},
		{"uploads: several complete at once", publish, "Store.lockCompletion", "int64(len(token)), true", "int64(len(token)), false", publish, "^TestCompleteAtOnce$"},
		{"uploads: a lock is for ever", publish, "Store.lockCompletion", "time.Since(b.time) > lockLasts", "b.size < 0", publish, "^TestCompleteAtOnce$"},
		{"uploads: the checksum is not looked at", publish, "record.compare", "got != r.SHA256", `got == ""`, publish, "^TestCompleteRefuses$"},
		{"uploads: bombs", publish, "Store.unzip", "out.Size() > most", "out.Size() < 0", publish, "^TestCompleteUnzips$"},
		{"uploads: parts that were sent again mix", publish, "blobFile.ReadAt", "info.Size() != b.size || !info.ModTime().Equal(b.time)", "info.Size() != b.size", publish, "^TestPartReplaced"},
		{"uploads: more chunks than were announced", publish, "Store.Assemble", "dir, total", "dir, -total", publish, "^TestChunksRefused$"},
		{"uploads: what is being written is not counted again", publish, "Store.count", "s.taken - ended", "0*(s.taken-ended)", publish, "^TestUploadsDuringCount$"},
		{"uploads: a header of any size", publish, "header.ReadAt", "h.read.Add(int64(len(p))) > h.most", "h.read.Add(int64(len(p))) > 1000*h.most", publish, "^TestMemoryOfHeaders$"},
		{"uploads: there is always room", publish, "Store.room", "all > limit", "all > 2*limit", publish, "Quota$"},
		{"uploads: a model disappears while it is replaced", local, "Loader.Scan", "errors.Is(err, bucket.ErrReplaced)", "errors.Is(err, bucket.ErrReplaced) && false", app, "^TestReplacedWhileLookedAt$"},
	}
}

// prefetches: the right model is read before the models are listed, and no memory is lost.
func prefetches() []mutant {
	return []mutant{
		{"prefetch: a model is larger than the memory", local, "prefetcher.begin", "info.Size() > p.memory", "info.Size() < 0", local, "^TestPrefetchDropped$"},
		{"prefetch: the request was long ago", local, "prefetcher.begin", "time.Since(p.asked) > keepPrefetched", "false", local, "^TestPrefetchDropped$"},
		{"prefetch: a model gets the bytes of another", local, "prefetcher.take", "info == nil || fileKey(file, info) != p.key", "info == nil", local, "^TestPrefetchDropped$"},
		{"prefetch: a dropped read keeps its memory", local, "prefetcher.stop", `p.load, p.key = nil, ""`, `p.key = ""`, local, "^TestPrefetchDropped$"},
		{"prefetch: locations listed before the request are not read", local, "prefetcher.request", "p.begin(place)", "_ = place", local, "^TestPrefetchDropped$"},
	}
}
