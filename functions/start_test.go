package functions_test

import (
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"glossa/infra/plan"
	"glossa/pkg/bucket/buckettest"
	"glossa/pkg/catalog"
	"glossa/pkg/table/tabletest"
	"glossa/schemas"
)

var results = flag.String("results", "", "`file` that BenchmarkStart writes a table to")

// maxStart is the goal for a start without a model.
const maxStart = 25 * time.Millisecond

// A program is a family's deployed program and its start times.
type program struct {
	family, binary string   // binary is for this machine
	lambda, plan   []string // environment variables that Lambda and infra set
	bare, deployed []time.Duration
	bytes, zip     map[string]int // by architecture
}

// BenchmarkStart measures the time from the start of a process to its first request for an
// invocation, as in a cold start of Lambda: without services, and in the environment of the
// plan, with a local table that holds the records and an empty local bucket. It also measures
// the first embedding of a cold function. All families take turns. With -results it writes a table that also holds the sizes of the programs.
func BenchmarkStart(b *testing.B) {
	begun := make(chan time.Time, 1)
	stop := make(chan struct{})
	api := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		begun <- time.Now()
		<-stop // send no invocation
	}))
	defer api.Close()
	defer close(stop)
	bucket := httptest.NewServer(&buckettest.Store{})
	defer bucket.Close()
	table := tabletest.New(b)
	records, err := catalog.Files{FS: schemas.Files()}.Items(b.Context())
	if err == nil {
		_, err = catalog.Editor{Table: table.Table()}.WriteSeed(b.Context(), catalog.Seed{Items: records})
	}
	if err != nil {
		b.Fatal(err)
	}
	programs := programs(b, []string{
		"AWS_LAMBDA_RUNTIME_API=" + strings.TrimPrefix(api.URL, "http://"), "AWS_LAMBDA_FUNCTION_NAME=f", "_HANDLER=bootstrap",
		"AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=local", "AWS_SECRET_ACCESS_KEY=local",
	}, []string{"GLOSSA_DYNAMODB_ENDPOINT=" + table.URL, "GLOSSA_S3_ENDPOINT=" + bucket.URL})
	first := newFirstEmbedding(b)
	for b.Loop() {
		for _, p := range programs {
			p.bare = append(p.bare, p.start(b, begun, "GLOSSA_OPEN=true"))
			p.deployed = append(p.deployed, p.start(b, begun, p.plan...))
			if p.family == "embeddings" {
				first.measure(b, p.binary)
			}
		}
	}
	for _, p := range programs {
		b.ReportMetric(milliseconds(quantile(p.bare, 0.5)), p.family+"-ms/start")
	}
	b.ReportMetric(milliseconds(quantile(first.beside, 0.5)), "ms/first-embedding")
	if *results != "" {
		if err := os.WriteFile(*results, []byte(startTable(programs)+"\n"+first.table()), 0o644); err != nil {
			b.Fatal(err)
		}
	}
}

// programs builds the deployed programs. Each has the environment of its function, with
// fakes of the AWS services.
func programs(b *testing.B, lambda, services []string) (list []*program) {
	cfg, err := plan.Parse(func(string) string { return "" })
	if err != nil {
		b.Fatal(err)
	}
	all, err := plan.New(cfg)
	if err != nil {
		b.Fatal(err)
	}
	for _, f := range all.Functions {
		p := &program{family: f.Family, lambda: lambda, plan: slices.Clone(services), bytes: map[string]int{}, zip: map[string]int{}}
		for name, value := range f.Environment {
			p.plan = append(p.plan, name+"="+strings.NewReplacer("${Table}", "glossa", "${Bucket}", "models").Replace(value))
		}
		for _, arch := range []string{"arm64", "amd64"} {
			binary := buildFor(b, ".", f.Family, arch)
			info, err := os.Stat(binary)
			if err != nil {
				b.Fatal(err)
			}
			if p.bytes[arch], p.zip[arch] = int(info.Size()), zipped(b, binary); arch == runtime.GOARCH {
				p.binary = binary
			}
		}
		list = append(list, p)
	}
	return list
}

// start runs the program until asked receives its first request for an invocation.
func (p *program) start(b *testing.B, asked <-chan time.Time, environment ...string) time.Duration {
	f := exec.CommandContext(b.Context(), p.binary)
	f.Env = slices.Concat(p.lambda, environment)
	begun := time.Now()
	if err := f.Start(); err != nil {
		b.Fatal(err)
	}
	took := (<-asked).Sub(begun)
	_ = f.Process.Kill()
	_ = f.Wait() // it was killed
	return took
}

// quantile returns the time that a share q of all does not exceed.
func quantile(all []time.Duration, q float64) time.Duration {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }

// startTable returns the table for README.md.
func startTable(programs []*program) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Sizes and starts of the functions\n\n"+
		"Written by `make bench-start`: %s, %s on %d processors. Starts are times from the start of a process to its first question for an\n"+
		"invocation, %d of each, in turns: medians, and what nine in ten do not exceed. Alone is without a table; as deployed is in the\n"+
		"environment of `infra/plan`, with the records in a table, and an empty bucket, on the same machine.\n\n"+
		"| function | program, arm64, MB | zip, arm64, MB | zip, amd64, MB | start alone, ms | nine in ten | as deployed, ms | nine in ten |\n"+
		"|---|---:|---:|---:|---:|---:|---:|---:|\n", runtime.Version(), processor(), runtime.NumCPU(), len(programs[0].bare))
	for _, p := range programs {
		fmt.Fprintf(&b, "| `%s` | %.2f | %.2f | %.2f | %.1f | %.1f | %.1f | %.1f |\n", p.family,
			float64(p.bytes["arm64"])/1e6, float64(p.zip["arm64"])/1e6, float64(p.zip["amd64"])/1e6,
			milliseconds(quantile(p.bare, 0.5)), milliseconds(quantile(p.bare, 0.9)),
			milliseconds(quantile(p.deployed, 0.5)), milliseconds(quantile(p.deployed, 0.9)))
	}
	fmt.Fprintf(&b, "| at most | | %.2f | %.2f | %d | | | |\n", maxZip/1e6, maxZip/1e6, maxStart.Milliseconds())
	return b.String()
}

// processor returns the processor's name from /proc/cpuinfo, else the architecture.
func processor() string {
	b, _ := os.ReadFile("/proc/cpuinfo") // Linux only
	for line := range strings.Lines(string(b)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}
