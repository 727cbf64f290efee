# glossa's commands. They need GNU make and a POSIX shell. The Go toolchain downloads its
# dependencies; npm and pip install those of the other tests into .cache.

GO          ?= go
FUZZTIME    ?= 60s
BENCH       ?=
PKG         ?=
COUNT       ?= 6
BASE        ?=
ARGS        ?=
TRAINDIR    ?= .cache/train

STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.8.0
ACTIONLINT  := github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
VULNDB      := https://vuln.go.dev

# ./... omits directories whose names begin with a dot.
PACKAGES    := ./... ./.ci/attack ./.ci/budget ./.ci/e2e ./.ci/mutants ./.ci/peers/embeddings ./.ci/peers/grammar ./.ci/peers/greedy ./.ci/peers/gateway ./.ci/peers/serve ./.ci/phrases ./.ci/prose ./.ci/release ./.ci/module
PLATFORMS   := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64
FAMILIES     = $(filter-out glossa,$(notdir $(patsubst %/main.go,%,$(wildcard functions/*/main.go))))

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

.PHONY: help
help: ## show this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-13s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

.PHONY: run
run: glossa ## build and serve the starter models on 127.0.0.1:8080 (ARGS="--port 9000")
	bin/glossa serve --host 127.0.0.1 --port 8080 $(ARGS)

.PHONY: glossa
glossa: ## build the command bin/glossa
	$(GO) build -trimpath -buildvcs=auto -o bin/glossa ./functions/glossa

.PHONY: test
test: ## run all tests that need only the Go toolchain
	$(GO) test $(PACKAGES)

.PHONY: purego
purego: ## run the tests of kernels and passes without assembly, which is all that the tag changes
	$(GO) test -short -timeout 30m -tags purego ./pkg/engine/kernel ./pkg/engine/transformer

.PHONY: mutants
mutants: ## break changed code in one place after another and require a failing test each time (ARGS="queue: claims:", ARGS=-all)
	$(GO) run ./.ci/mutants $(ARGS)

# An emulator runs the kernels for arm64, which checks their results but not their speed: all as
# on Graviton2; products with I8MM, of NEON without SDOT, and without assembly. A tier has the same
# code on each processor, so its tests run on the one that lacks what it must not use.
EMULATED := GOOS=linux GOARCH=arm64 CGO_ENABLED=0 $(GO) test -short -timeout 40m
PRODUCTS := (Tier|MatMul|Packed|GEMM|StaysInside|Pairs|Limits)

.PHONY: arm64
arm64: ## run the kernels' tests for arm64, in an emulator (needs qemu-aarch64-static)
	GOARCH=arm64 $(GO) vet ./pkg/engine/kernel
	$(EMULATED) -exec 'qemu-aarch64-static -cpu neoverse-n1' ./pkg/engine/kernel -tiers generic,neon,dotprod
	$(EMULATED) -exec 'qemu-aarch64-static -cpu max' -run '$(PRODUCTS)/i8mm' ./pkg/engine/kernel -tiers generic,neon,dotprod,i8mm
	$(EMULATED) -exec 'qemu-aarch64-static -cpu cortex-a72' -run '$(PRODUCTS)/neon' ./pkg/engine/kernel -tiers generic,neon
	$(EMULATED) -exec 'qemu-aarch64-static -cpu neoverse-n1' -run '$(PRODUCTS)' -tags purego ./pkg/engine/kernel -tiers generic

# Packages in which goroutines share data. The tests of functions run programs that are built
# without the detector.
CONCURRENT := \bgo (func|[a-z][A-Za-z.]*\()|\.Go\(|\bhttptest\.New(Unstarted|TLS)?Server|\b(synctest|atomic)\.|\bsync\.(Mutex|RWMutex|WaitGroup|Cond|Map)

# Packages most of whose tests compute alone, and would take minutes under the detector: only those
# in which goroutines work together run.
TOGETHER := engine/kernel:TestMatMulPackedInvariant grammar/pushdown:TestConcurrent grammar:TestTurns|TestTurnsBusy \
	engine/arch:TestPack|TestPackStops|TestPackComesLate|TestPackAgain|TestOpenPaged|TestCloseInAPass|TestAdapters bench:TestRun

.PHONY: race
race: ## run the concurrent packages' tests under the race detector (needs a C compiler)
	CGO_ENABLED=1 $(GO) test -race -short -timeout 40m $$($(GO) list -f '{{.Dir}}' $(PACKAGES) | \
		grep -vE '/functions$$|/pkg/($(subst $() $(),|,$(foreach part,$(TOGETHER),$(firstword $(subst :, ,$(part))))))$$' | \
		while read -r dir; do ! grep -qE '$(CONCURRENT)' "$$dir"/*.go || echo "$$dir"; done)
	set -e; for part in $(foreach part,$(TOGETHER),'$(part)'); do \
		CGO_ENABLED=1 $(GO) test -race -short -run "^($${part#*:})\$$" "./pkg/$${part%%:*}"; \
	done

.PHONY: man
man: glossa ## write the manual pages and completion scripts into dist/man1 and dist/completion
	bin/glossa man dist/man1
	mkdir -p dist/completion
	set -e; for shell in bash zsh fish powershell; do bin/glossa completion $$shell > dist/completion/glossa.$$shell; done

.PHONY: conformance
conformance: glossa ## drive the server with the clients of its protocols (needs node and python3)
	.ci/conformance/run bin/glossa

.PHONY: check-openapi
check-openapi: glossa ## check the OpenAPI document, and the server against it, with independent tools (needs node and python3; EXAMPLES=100)
	.ci/openapi/run bin/glossa

# The function alpha also serves the page, with only a part of the routes.
.PHONY: web-test
web-test: glossa ## drive the playground with Chromium, screenshots in .cache/web (needs node and chromium; ARGS=code.test.mjs)
	mkdir -p .cache/web
	$(GO) build -trimpath -o .cache/web/alpha ./functions/alpha
	.ci/web/run bin/glossa .cache/web/alpha $(ARGS)

# Only Linux has loopback addresses other than 127.0.0.1, and statistics in /proc.
.PHONY: attack
attack: glossa ## attack the built server as hostile clients would, while a bystander measures its waits (needs Linux; ARGS="fair gzip/words", ARGS=-list)
	$(GO) run ./.ci/attack $(ARGS)

.PHONY: bench
bench: ## compare the benchmarks with the last commit's (BENCH=Decode PKG=./pkg/starter COUNT=6 BASE=HEAD~3)
	@BENCH='$(BENCH)' PKG='$(PKG)' COUNT='$(COUNT)' BASE='$(BASE)' GO='$(GO)' .ci/bench

.PHONY: bench-peers
bench-peers: glossa ## compare texts and speed with llama.cpp on the same files (ARGS="--shapes gpt2-124m --threads 1", ARGS=--agree)
	GO='$(GO)' .ci/peers/run bin/glossa $(ARGS)

EMBEDDINGS := .ci/peers/embeddings/results.md
.PHONY: bench-embeddings
bench-embeddings: ## compare the speed of encoders with torch, onnxruntime and llama.cpp (ARGS="--shapes minilm-l6 --batches 1,16 --no-onnx")
	mkdir -p .cache
	GO='$(GO)' .ci/peers/embeddings/run $(ARGS) > .cache/embeddings.md
	cat .cache/embeddings.md
	mv .cache/embeddings.md $(EMBEDDINGS)

# The schemas have no licence and are not in the repository.
MASKBENCH   ?= ../shared/data/maskbench
MASKS       := pkg/grammar/testdata/bench.md
.PHONY: bench-grammar
bench-grammar: ## measure masks of MaskBench's schemas over 128k tokens, compared with llguidance (MASKBENCH=directory)
	mkdir -p .cache
	GO='$(GO)' .ci/peers/grammar/run '$(MASKBENCH)' > .cache/masks.md
	cat .cache/masks.md
	mv .cache/masks.md $(MASKS)

GATEWAY := .ci/peers/gateway/results.md
.PHONY: bench-gateway
bench-gateway: ## measure the gateway's cost beyond its calls, compared with a proxy (ARGS="-profile cpu.out")
	mkdir -p .cache
	$(GO) build -o .cache/gateway ./.ci/peers/gateway
	.cache/gateway $(ARGS) > .cache/gateway.md
	cat .cache/gateway.md
	mv .cache/gateway.md $(GATEWAY)

SERVERS := .ci/peers/serve/results.md
.PHONY: bench-serve
bench-serve: glossa ## compare the server under load with llama.cpp's: 1 to 64 clients, new and repeated prompts (ARGS="-clients 1,4")
	mkdir -p .cache
	GO='$(GO)' .ci/peers/serve/run bin/glossa $(ARGS) > .cache/servers.md
	cat .cache/servers.md
	mv .cache/servers.md $(SERVERS)

STARTS := functions/testdata/start.md
.PHONY: bench-start
bench-start: ## measure the functions' sizes and start times
	mkdir -p .cache
	$(GO) test ./functions -run '^$$' -bench '^BenchmarkStart$$' -benchtime 51x -results $(CURDIR)/.cache/start.md
	cat .cache/start.md
	mv .cache/start.md $(STARTS)

# Takes half an hour on two otherwise idle processors.
RESULTS := pkg/bench/results/peers.jsonl
.PHONY: chart
chart: glossa ## repeat the measurements against llama.cpp and draw the chart of README.md
	mkdir -p .cache
	GO='$(GO)' .ci/peers/run bin/glossa --json $(ARGS) > .cache/peers.jsonl
	mv .cache/peers.jsonl $(RESULTS)
	$(GO) test ./pkg/bench -run '^TestChart$$' -update

# Go's fuzzer sometimes reports its own time limit as a failure: "context deadline exceeded"
# without an input. Real failures come with an input.
.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME each (PKG=./pkg/grammar)
	@set -eu; found=0; log=$$(mktemp); trap 'rm -f $$log' EXIT; \
	for package in $$($(GO) list $(or $(PKG),./...)); do \
		listed=$$($(GO) test -list '^Fuzz' $$package); \
		for target in $$(echo "$$listed" | grep '^Fuzz' || true); do \
			found=$$((found + 1)); \
			echo "== $$package $$target"; \
			if ! $(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 5s $$package >$$log 2>&1; then \
				grep -q '^ *context deadline exceeded$$' $$log && ! grep -qE 'Failing input|panic' $$log || { cat $$log; exit 1; }; \
			fi; \
			grep 'elapsed' $$log | tail -n 1; \
		done; \
	done; \
	echo "$$found fuzz targets, $(FUZZTIME) each"; test $$found -gt 0

# Golden results of the original implementations, which are installed from PyPI.
GOLDENENV     := .cache/goldens
GOLDENSCRIPTS  = $(shell find pkg functions -path '*/testdata/*' -name '*goldens.py') functions/testdata/translator.py

$(GOLDENENV)/done: .ci/goldens.txt
	python3 -m venv $(GOLDENENV)
	$(GOLDENENV)/bin/pip install -q -r .ci/goldens.txt
	touch $@

.PHONY: goldens
goldens: $(GOLDENENV)/done ## rewrite the golden files: those of the original implementations, then our own
	@set -eu; for script in $(GOLDENSCRIPTS); do echo "== $$script"; $(GOLDENENV)/bin/python $$script; done
	@set -eu; packages=$$(grep -rlE --include='*_test.go' 'flag\.Bool\("update"' pkg functions | xargs -r -n 1 dirname | sort -u | sed 's|^|./|'); \
	for package in $$packages; do echo "$(GO) test $$package -update"; $(GO) test $$package -update; done

.PHONY: clean
clean: ## remove build results; trained runs and caches stay
	rm -rf bin dist infra/cdk.out

# --- lint ---

.PHONY: lint
lint: format vet staticcheck budget platforms workflows vulnerabilities ## check formatting, vet, staticcheck, budgets, all platforms, workflows

.PHONY: format
format:
	@bad=$$(gofmt -l $(wildcard functions pkg infra schemas) .ci); \
	if [ -n "$$bad" ]; then echo "run gofmt -w on:" $$bad; exit 1; fi

.PHONY: vet
vet:
	$(GO) vet $(PACKAGES)
	$(GO) vet -tags purego ./pkg/engine/...
	$(GO) vet -tags e2e ./.ci/e2e

.PHONY: staticcheck
staticcheck:
	$(GO) run $(STATICCHECK) -checks all $(PACKAGES)
	$(GO) run $(STATICCHECK) -tags e2e -checks all ./.ci/e2e

.PHONY: budget
budget:
	$(GO) run ./.ci/budget .

# All packages are compiled, but one program is enough to find what only the linker misses. Each
# operating system and each processor is there, and amd64 both with Linux and without it: no file
# depends on more (a release builds for all platforms).
.PHONY: platforms
platforms:
	@set -eu; for platform in linux/amd64 linux/arm64 darwin/arm64 windows/amd64; do \
		echo "build for $$platform"; \
		export GOOS=$${platform%/*} GOARCH=$${platform#*/} CGO_ENABLED=0; \
		$(GO) list -export -f '{{if .Export}}{{end}}' $(PACKAGES); \
		$(GO) build -o .cache/linked ./functions/glossa; \
	done

.PHONY: workflows
workflows:
	$(GO) run $(ACTIONLINT)

# The database is read over the network; without it the check is skipped.
.PHONY: vulnerabilities
vulnerabilities:
	@if curl -sSf -m 10 -o .cache/vulndb.json --create-dirs $(VULNDB)/index/db.json 2>/dev/null; then \
		$(GO) run $(GOVULNCHECK) -db $(VULNDB) ./...; \
	else \
		echo "$(VULNDB) cannot be reached: known vulnerabilities were not looked up"; \
	fi

# --- starter models ---

# The text and the training parameters of each starter model, defined only here.
CORPUS_novels := --seed 1 --bytes 6000000
CORPUS_abc    := --seed 1 --bytes 2400000
CORPUS_chords := --seed 1 --bytes 2000000
CORPUS_forms  := --seed 1 --bytes 5000000
CORPUS_tools  := --seed 1 --bytes 150000000
CORPUS_sentences := --seed 1 --bytes 150000000
TRAIN_novels  := --seed 1 --tokenizer bpe --vocab 2000 --layers 4 --embd 128 --heads 4 --context 256 --batch 16 --steps 8000 --lr 3e-3
TRAIN_abc     := --seed 1 --tokenizer char --layers 4 --embd 128 --heads 4 --context 256 --batch 16 --steps 6000 --lr 3e-3
TRAIN_chords  := --seed 1 --tokenizer word --layers 4 --embd 96 --heads 3 --context 128 --batch 32 --steps 4000 --lr 3e-3
TRAIN_forms   := --seed 1 --tokenizer char --layers 4 --embd 128 --heads 4 --context 256 --batch 16 --steps 6000 --lr 3e-3
STARTERS      := novels abc chords forms

# A stopped run resumes; remove its directory to restart.
.PHONY: train
train: $(STARTERS:%=train-%) ## train the starter models and store them in pkg/starter/runs

.PHONY: $(STARTERS:%=train-%)
$(STARTERS:%=train-%): train-%: glossa
	mkdir -p $(TRAINDIR)
	bin/glossa corpus $* $(CORPUS_$*) > $(TRAINDIR)/$*.txt
	bin/glossa train --text $(TRAINDIR)/$*.txt --domain $* $(TRAIN_$*) --out $(TRAINDIR)/$*
	rm -rf pkg/starter/runs/$*
	mkdir -p pkg/starter/runs/$*
	cp $(TRAINDIR)/$*/config.json $(TRAINDIR)/$*/metrics.jsonl $(TRAINDIR)/$*/checkpoint-*.json pkg/starter/runs/$*

# Trained with PyTorch: rotary positions learn to copy names and values in a tenth of the
# steps that the learned positions of our trainer's models need.
.PHONY: train-tools
train-tools: glossa $(GOLDENENV)/done ## train the starter that calls tools, and measure it (an hour)
	mkdir -p $(TRAINDIR)
	bin/glossa corpus tools $(CORPUS_tools) > $(TRAINDIR)/tools.txt
	$(GOLDENENV)/bin/python .ci/tools/train.py --text $(TRAINDIR)/tools.txt --template pkg/starter/corpus/tools.jinja --out pkg/starter/runs/tools
	$(GO) test ./pkg/starter/corpus -run TestToolsAreCalled -args -update

# The translator is trained with PyTorch, because our trainer supports only decoders.
.PHONY: train-phrases
train-phrases: $(GOLDENENV)/done ## train the starter that translates (half an hour)
	mkdir -p $(TRAINDIR)
	$(GO) run ./.ci/phrases -pairs 700000 > $(TRAINDIR)/phrases.tsv
	$(GOLDENENV)/bin/python .ci/phrases/train.py --pairs $(TRAINDIR)/phrases.tsv --out pkg/starter/runs/phrases --minutes 26
	$(GOLDENENV)/bin/python .ci/phrases/evaluate.py --pairs $(TRAINDIR)/phrases.tsv --model pkg/starter/runs/phrases --out pkg/starter/testdata/phrases

.PHONY: train-sentences
train-sentences: glossa $(GOLDENENV)/done ## train the starter that embeds sentences, and measure it (half an hour)
	mkdir -p $(TRAINDIR)
	bin/glossa corpus sentences $(CORPUS_sentences) > $(TRAINDIR)/sentences.txt
	$(GOLDENENV)/bin/python .ci/sentences/train.py --text $(TRAINDIR)/sentences.txt --out pkg/starter/runs/sentences
	$(GOLDENENV)/bin/python .ci/sentences/evaluate.py --model pkg/starter/runs/sentences --out pkg/starter/testdata/sentences.json
	$(GO) test ./pkg/starter/corpus -run TestSentencesFind -args -update

# --- Lambda functions ---

# A function has the version of the last commit that changed its sources, or of a tagged
# commit: another commit does not change its bytes, so its deployment does not change it.
# build.flags compiles what computes little without inlining: zips are smaller.
.PHONY: build
build: ## build dist/ARCH/FAMILY/bootstrap for each Lambda function, arm64 and amd64
	@set -eu; stamp=$$($(GO) run ./.ci/release stamp); module=$$($(GO) list -m); echo "functions of $$stamp"; \
	for family in $(FAMILIES); do for arch in arm64 amd64; do \
		echo "dist/$$arch/$$family/bootstrap"; \
		GOOS=linux GOARCH=$$arch CGO_ENABLED=0 $(GO) build $$(cat functions/build.flags) \
			-ldflags "-s -w -X '$$module/pkg/version.stamp=$$stamp'" -o dist/$$arch/$$family/bootstrap ./functions/$$family; \
	done; done

# --- container ---

IMAGE        ?= glossa
IMAGEARCH    ?= $(shell $(GO) env GOARCH)
# Root certificates of this machine, at the paths of Debian, Fedora and macOS.
CERTIFICATES ?= $(firstword $(wildcard /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt /etc/ssl/cert.pem))

CONTAINERFILE   := functions/glossa/Containerfile

.PHONY: image
image: image-files ## build the container image glossa with docker, podman or buildah (IMAGE=name:tag IMAGEARCH=arm64)
	.ci/image/build '$(IMAGE)' '$(IMAGEARCH)' $(CONTAINERFILE) dist/image

.PHONY: image-files
image-files:
	rm -rf dist/image
	mkdir -p dist/image/data dist/image/models
	GOOS=linux GOARCH=$(IMAGEARCH) CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=auto -ldflags '-s -w' -o dist/image/glossa ./functions/glossa
	cp '$(or $(CERTIFICATES),$(error CERTIFICATES= names no file of root certificates))' dist/image/ca-certificates.crt

.PHONY: check-moto
check-moto: glossa ## run the commands and the server with moto's DynamoDB and S3 (needs python3)
	.ci/moto/run bin/glossa

.PHONY: check-traces
check-traces: glossa ## read the server's spans with the code of the OpenTelemetry Collector
	cd .ci/otlp && $(GO) vet . && $(GO) test -count=1 .

.PHONY: check-kubernetes
check-kubernetes: ## check the manifests for Kubernetes with kubeconform and against the types of its API (needs python3)
	cd .ci/kubernetes && $(GO) vet . && $(GO) test . && $(GO) run . ../../infra/kubernetes/*.yaml
	GO='$(GO)' .ci/kubernetes/kubeconform infra/kubernetes/*.yaml

# Namespaces and the mount of an image need root.
AS_ROOT := $(if $(filter-out 0,$(shell id -u)),sudo)

.PHONY: check-image
check-image: image-files ## run the image with its own configuration and a read-only root (needs root, buildah, curl, python3, iproute2)
	$(AS_ROOT) env TOOL=buildah .ci/image/build glossa:check '$(IMAGEARCH)' $(CONTAINERFILE) dist/image
	$(AS_ROOT) .ci/image/check glossa:check

# --- releases ---

VERSION ?=
COMMA   := ,
RELEASE  = $(GO) run ./.ci/release -go '$(GO)' -platforms '$(subst $() $(),$(COMMA),$(PLATFORMS))' -families '$(FAMILIES)'

.PHONY: changelog
changelog: ## turn the unreleased part of CHANGELOG.md into a version's (VERSION=v1.2.3)
	$(GO) run ./.ci/release cut '$(or $(VERSION),$(error VERSION= is missing: VERSION=v1.2.3))'

.PHONY: release
release: ## build the release of the current commit in dist/release (VERSION=v1.2.3)
	$(RELEASE) build '$(or $(VERSION),$(error VERSION= is missing: VERSION=v1.2.3))'

.PHONY: check-release
check-release: ## build the release of the current commit twice and compare the bytes (PLATFORMS=linux/amd64 FAMILIES=alpha for a part)
	$(RELEASE) check

# The module's path is spelled in go.mod and in imports only.
MODULE ?=
.PHONY: module
module: ## rename the module (MODULE=github.com/owner/glossa)
	$(GO) run ./.ci/module '$(or $(MODULE),$(error MODULE= is missing: MODULE=github.com/owner/glossa))'

.PHONY: check-module
check-module: ## rename the module in a copy, build and test it, and install the command from it
	$(GO) run ./.ci/module -check

# --- AWS ---

# The CDK's command, which runs the Go program in infra; the first compilation takes a
# minute. ARGS passes settings of the deployment: ARGS="-c stage=prod -c memory=1769,openai=3008".
CDK := .cache/cdk/node_modules/.bin/cdk

.cache/cdk/installed: infra/package.json infra/package-lock.json
	mkdir -p .cache/cdk
	cp infra/package.json infra/package-lock.json .cache/cdk
	cd .cache/cdk && npm ci --no-audit --no-fund
	touch $@

.PHONY: synth
synth: build .cache/cdk/installed ## write the deployment's templates and programs to infra/cdk.out (needs node, no account; the first run installs the CDK with npm)
	cd infra && ../$(CDK) synth --quiet $(ARGS)

.PHONY: bootstrap
bootstrap: build .cache/cdk/installed ## prepare an account and region for the CDK, once
	cd infra && ../$(CDK) bootstrap $(ARGS)

.ci/conformance/node_modules/installed-lock.json: .ci/conformance/package-lock.json
	cd .ci/conformance && npm ci --no-audit --no-fund
	cp $< $@

# The canary, its hooks and traces are part of what runs.
.PHONY: e2e
e2e: ARGS += -c rollout=canary-5 -c canary=novels,sentences -c traces=xray
e2e: synth glossa .ci/conformance/node_modules/installed-lock.json ## run the deployment on this machine, with its permissions and limits (needs node)
	$(GO) test -tags e2e -count=1 -timeout 8m ./.ci/e2e
	cat .cache/e2e/report.txt

.PHONY: diff
diff: build .cache/cdk/installed ## compare the templates with the current deployment
	cd infra && ../$(CDK) diff $(ARGS)

.PHONY: deploy
deploy: build glossa .cache/cdk/installed ## deploy to the account and region of the AWS CLI, and seed the table and the bucket (ARGS="-c stage=prod")
	cd infra && ../$(CDK) deploy --all --outputs-file cdk.out/outputs.json $(ARGS)
	$(MAKE) seed

# Existing items stay, and deleted ones stay deleted (SEED=--force replaces all).
SEED ?=
.PHONY: seed
seed: glossa ## write missing records and starter models to the table and the bucket of the last deployment
	bin/glossa models init --starters --outputs infra/cdk.out/outputs.json $(SEED)

.PHONY: destroy
destroy: build .cache/cdk/installed ## remove the deployment, except for the table and the bucket
	cd infra && ../$(CDK) destroy --all $(ARGS)

.PHONY: check-infra
check-infra: ## vet, test and lint the stacks (needs python3); go test ./infra/stacks -tags cdk -update rewrites their golden templates
	$(GO) vet -tags cdk ./infra/...
	$(GO) run $(STATICCHECK) -tags cdk -checks all ./infra/...
	$(GO) test -tags cdk ./infra/...
	.ci/infra/run
