package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// uploadMemory is the memory limit for all uploads together, MB.
const uploadMemory = 1024

// uploadAttacks misuse the routes of uploads (point 5), with a key that may upload. They do
// not include a full disk, which needs root.
func uploadAttacks() []attack {
	list := []attack{
		{
			name: "uploads/bombs", about: "eight checkpoints of 250 MB, compressed 1,000 times, as one request each", lasts: 20 * time.Second,
			goals: goals{only: []string{"400", "413", "429", "503", cut}, grown: uploadMemory},
			calls: bombs,
		}, {
			name: "uploads/plain", about: "eight checkpoints of 120 MB that are not compressed", lasts: 20 * time.Second,
			goals: goals{only: []string{"400", "413", "429", "503", "507", cut}, grown: uploadMemory},
			calls: plainBombs,
		}, {
			name: "uploads/parts", about: "eight such checkpoints that come in parts", lasts: 20 * time.Second,
			goals: goals{only: []string{"200", "400", "413", "429", "503", cut}, grown: uploadMemory},
			run:   bombsInParts, calls: bombs,
		}, {
			name: "uploads/sessions", about: "150 uploads are begun; then another key begins one",
			goals: goals{only: []string{"200", "429", "503"}, served: 1, refused: 1},
			run:   manySessions, alone: true,
		}, {
			name: "uploads/owners", about: "another key reads, writes, completes and deletes an upload",
			goals: goals{only: []string{"403", "404"}, refused: 4},
			run:   othersSession, alone: true,
		}, {
			name: "uploads/chunks", about: "another key sends a chunk of an upload that names itself",
			goals: goals{only: []string{"200", "400", "403", "404"}},
			run:   othersChunks, alone: true,
		}, {
			name: "uploads/killed-part", about: "the server is killed while a part comes, and started again", lasts: 20 * time.Second,
			goals: goals{only: []string{"200", cut, lost}},
			run:   killedInPart, alone: true,
		}, {
			name: "uploads/killed-model", about: "the server is killed while a model is written, and started again", lasts: 60 * time.Second,
			goals: goals{only: []string{"200", cut, lost}},
			run:   killedInModel, alone: true,
		}, {
			name: "uploads/mapped", about: "a model is uploaded, used and deleted: its memory is released",
			goals: goals{only: []string{"200"}},
			run:   deletedModel, alone: true,
		},
	}
	for i := range list {
		list[i].keys = true
	}
	return list
}

// starter is a trained model of this repository, as its trainer wrote it.
const starter = "pkg/starter/runs/chords"

// A trained model is a checkpoint of Alpha with its configuration.
type trained struct{ config, checkpoint []byte }

// readTrained reads the latest checkpoint of a run's directory.
func readTrained(dir string) (r trained, err error) {
	if r.config, err = os.ReadFile(filepath.Join(dir, "config.json")); err != nil {
		return r, err
	}
	found, err := filepath.Glob(filepath.Join(dir, "checkpoint-*.json"))
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("%s: no checkpoint", dir)
	}
	if err == nil {
		r.checkpoint, err = os.ReadFile(found[len(found)-1])
	}
	return r, err
}

// bombs returns eight uploads of checkpoints that hold one huge tensor.
func bombs() []call {
	calls := uploads(pack(bomb(1_000_000)), bombConfig(1_000_000))
	for i := range calls {
		calls[i] = calls[i].zipped()
	}
	return calls
}

// plainBombs returns the same, smaller and not compressed.
func plainBombs() []call { return uploads([]byte(bomb(480_000)), bombConfig(480_000)) }

// uploads returns eight uploads of a file under eight names.
func uploads(file []byte, config string) (calls []call) {
	for i := range 8 {
		calls = append(calls, upload(fmt.Sprintf("bomb%d", i), trained{[]byte(config), file}))
	}
	return calls
}

// upload returns the call that uploads a model as one request.
func upload(name string, t trained) call {
	c := call{path: "/api/upload", body: t.checkpoint}.with("Content-Type", "application/octet-stream")
	return c.with("X-Checkpoint-Name", name).with("X-Checkpoint-Step", "1").with("X-Checkpoint-Config", base64.StdEncoding.EncodeToString(t.config))
}

// bombModel returns the configuration of a model with the given vocabulary size.
func bombModel(tokens int) string {
	return fmt.Sprintf(`{"vocabSize":%d,"blockSize":16,"nLayer":1,"nEmbd":125,"nHead":1,"dropout":0}`, tokens)
}

func bombConfig(tokens int) string {
	return `{"modelConfig":` + bombModel(tokens) + `,"trainConfig":{},"configHash":"0","runId":"bomb","domain":"bomb"}`
}

// bomb returns a checkpoint with one tensor of 250 bytes per token in the file. It takes
// twice as much in memory, and a thousandth when it is compressed.
func bomb(tokens int) string {
	zeros := strings.Repeat("0,", 125*tokens)
	return `{"modelConfig":` + bombModel(tokens) + fmt.Sprintf(`,"params":{"wte":{"shape":[%d,125],"data":[`, tokens) + strings.TrimSuffix(zeros, ",") +
		`]}},"tokenizerArtifacts":{"type":"char","vocabSize":3,"vocab":["\n","a","b"]},"configHash":"0","rngState":0,"step":1}`
}

// session is the server's description of an upload in parts.
type session struct {
	ID string `json:"id"`
}

// begin begins an upload in parts and returns its id, "" if it is rejected.
func (s *scene) begin(ctx context.Context, who *sender, name string, size int, config string) string {
	body, err := json.Marshal(map[string]any{"name": name, "step": 1, "size": size, "config": json.RawMessage(config)})
	if err != nil {
		s.fault("%v", err)
		return ""
	}
	var begun session
	a := s.sendAs(ctx, who, call{path: "/api/uploads", body: body})
	if a.status != 200 || json.Unmarshal([]byte(a.body), &begun) != nil {
		return ""
	}
	return begun.ID
}

// put returns the call that sends the only part of an upload.
func put(id string, data []byte) call {
	return call{method: "PUT", path: "/api/uploads/" + id + "/parts/0", body: data}
}

// complete returns the call that publishes an upload.
func complete(id string) call { return post("/api/uploads/"+id+"/complete", "") }

// bombsInParts sends the calls' checkpoints as uploads in parts.
func bombsInParts(ctx context.Context, s *scene) {
	var group sync.WaitGroup
	for i, c := range s.calls {
		group.Go(func() {
			file := c.body
			if id := s.begin(ctx, s.attacker, fmt.Sprintf("bomb%d", i), len(file), bombConfig(1_000_000)); id != "" {
				s.send(ctx, put(id, file))
				if a := s.send(ctx, complete(id)); a.status == 200 {
					s.fault("the bomb is published")
				}
			}
		})
	}
	group.Wait()
}

// manySessions begins uploads, and then one with the other key.
func manySessions(ctx context.Context, s *scene) {
	for i := range 150 {
		s.begin(ctx, s.attacker, fmt.Sprintf("flood%d", i), 5000, bombConfig(10))
	}
	id := s.begin(ctx, s.other, "honest", 5000, bombConfig(10))
	if id == "" {
		s.fault("the other key cannot begin an upload")
		return
	}
	for who, wants := range map[*sender]bool{s.other: true, s.attacker: false} {
		a := who.ask(ctx, get("/api/uploads"))
		if a.status != 200 || strings.Contains(a.body, id) != wants {
			s.fault("the list of uploads: %d, with the other key's: %t, want %t", a.status, strings.Contains(a.body, id), wants)
		}
	}
}

// othersSession tries every operation on an upload of the other key.
func othersSession(ctx context.Context, s *scene) {
	id := s.other.ask(ctx, post("/api/uploads", `{"name": "honest", "step": 1, "size": 5, "config": `+bombConfig(10)+`}`))
	var begun session
	if err := json.Unmarshal([]byte(id.body), &begun); err != nil || begun.ID == "" {
		s.fault("the owner's upload does not begin: %s", id.outcome())
		return
	}
	s.send(ctx, get("/api/uploads/"+begun.ID))
	s.send(ctx, put(begun.ID, []byte("false")))
	s.send(ctx, complete(begun.ID))
	s.send(ctx, call{method: "DELETE", path: "/api/uploads/" + begun.ID})
	if a := s.other.ask(ctx, get("/api/uploads/"+begun.ID)); a.status != 200 {
		s.fault("its owner gets %s", a.outcome())
	}
}

// othersChunks sends a chunk between two of the other key's.
func othersChunks(ctx context.Context, s *scene) {
	r, err := readTrained(starter)
	if err != nil {
		s.fault("%v", err)
		return
	}
	chunk := call{path: "/api/upload/chunk"}.with("X-Upload-Id", "mine").with("X-Chunk-Index", "0").with("X-Total-Chunks", "1")
	right, wrong := chunk, chunk
	right.body, wrong.body = r.checkpoint, []byte("false")
	assemble, err := json.Marshal(map[string]any{"uploadId": "mine", "totalChunks": 1, "name": "honest", "step": 1, "config": json.RawMessage(r.config)})
	if err != nil {
		s.fault("%v", err)
		return
	}
	if a := s.other.ask(ctx, right); a.status != 200 {
		s.fault("the owner's chunk: %s", a.outcome())
	}
	s.send(ctx, wrong)
	if a := s.other.ask(ctx, call{path: "/api/upload/assemble", body: assemble}); a.status != 200 {
		s.fault("the owner's upload: %d %.200s", a.status, a.body)
	}
}

// killedInPart kills the server when half of a part is on the disk.
func killedInPart(ctx context.Context, s *scene) {
	const size = 1 << 20
	id := s.begin(ctx, s.attacker, "half", size, bombConfig(10))
	if id == "" {
		s.fault("the upload does not begin")
		return
	}
	part, stop := context.WithCancel(ctx)
	defer stop()
	var group sync.WaitGroup
	group.Go(func() {
		head := s.head("PUT", put(id, nil).path) + fmt.Sprintf("Content-Length: %d\r\n\r\n", size)
		s.tally.add(s.attacker.writeSlowly(part, head+strings.Repeat("x", size/2)), "")
	})
	if !until(ctx, func() bool { return s.written() >= 64<<10 }) {
		s.fault("no attack: nothing was written when the server was killed")
	}
	s.server.stop()
	stop()
	group.Wait()
	s.restartClean(ctx)
}

// killedInModel kills the server in the middle of writing a model, and completes the upload
// with the next one.
func killedInModel(ctx context.Context, s *scene) {
	dir := filepath.Join(s.dir, "large")
	text := strings.Repeat("a b c d e f g h\n", 100)
	_, err := s.command(text, "train", "--text", "-", "--out", dir, "--tokenizer", "char", "--steps", "1", "--batch", "1",
		"--layers", "4", "--embd", "512", "--heads", "8", "--context", "16")
	var large trained
	if err == nil {
		large, err = readTrained(dir)
	}
	if err != nil {
		s.fault("%v", err)
		return
	}
	id := s.begin(ctx, s.attacker, "large", len(large.checkpoint), string(large.config))
	if a := s.send(ctx, put(id, large.checkpoint)); id == "" || a.status != 200 {
		s.fault("the upload does not begin: %d %s", a.status, a.body)
		return
	}
	var group sync.WaitGroup
	group.Go(func() { s.send(ctx, complete(id)) })
	if !until(ctx, func() bool { return s.written() >= 4<<20 }) {
		s.fault("no attack: no model was being written when the server was killed")
	}
	s.server.stop()
	group.Wait()
	if !s.restartClean(ctx) {
		return
	}
	if a := s.attacker.ask(ctx, complete(id)); a.status != 200 {
		s.fault("the upload cannot be completed: %d %.200s", a.status, a.body)
	}
}

// restartClean starts the server again and reports partial files that it does not remove.
func (s *scene) restartClean(ctx context.Context) bool {
	if err := s.restart(ctx); err != nil {
		s.fault("%v", err)
		return false
	}
	for name := range s.leftovers() {
		s.fault("left after a restart: %s", name)
	}
	return true
}

// leftovers returns the partial files in the server's directory with their sizes in bytes.
// While files are being written, they or their directories have names that begin with a
// dot.
func (s *scene) leftovers() map[string]int64 {
	found := map[string]int64{}
	root := filepath.Join(s.dir, "models")
	_ = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error { // files removed in the meantime do not count
		name := strings.TrimPrefix(path, root)
		if err != nil || !strings.Contains(strings.ReplaceAll(name, "/.uploads", ""), "/.") {
			return nil
		}
		if info, err := e.Info(); err == nil {
			found[name] = info.Size()
		}
		return nil
	})
	return found
}

// written returns the size of the largest partial file, bytes.
func (s *scene) written() (size int64) {
	for _, n := range s.leftovers() {
		size = max(size, n)
	}
	return size
}

// until waits for a condition and reports whether it came true.
func until(ctx context.Context, there func() bool) bool {
	for !there() {
		if !sleep(ctx, time.Millisecond) {
			return false
		}
	}
	return true
}

// deletedModel looks for the file of a deleted model in the server's memory.
func deletedModel(ctx context.Context, s *scene) {
	r, err := readTrained(starter)
	if err != nil {
		s.fault("%v", err)
		return
	}
	s.send(ctx, upload("brief", r))
	s.send(ctx, post("/v1/completions", `{"model": "brief", "prompt": "C-major pop : chorus", "max_tokens": 1}`))
	if !s.mapped("brief") {
		s.fault("no attack: the model was not mapped")
	}
	s.send(ctx, call{method: "DELETE", path: "/api/models?name=brief"})
	soon, over := context.WithTimeout(ctx, time.Second)
	defer over()
	if !until(soon, func() bool { return !s.mapped("brief") }) {
		s.fault("the file is still mapped after it was deleted")
	}
}

// mapped reports whether the server maps a file of the model, even a deleted one.
func (s *scene) mapped(model string) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", s.server.cmd.Process.Pid))
	return err == nil && (strings.Contains(string(b), "/models/"+model) || strings.Contains(string(b), ".safetensors (deleted)"))
}
