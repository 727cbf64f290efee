package app

import (
	"net/http"

	"glossa/pkg/httpx"
	"glossa/pkg/version"
)

// A build is the answer of GET /api/version. Ollama's has its version only.
type build struct {
	Version  string `json:"version" doc:"version of the program"`
	Revision string `json:"revision" doc:"commit that it was built from"`
	Go       string `json:"go" doc:"version of Go"`
}

var versionDoc = &httpx.Operation{
	ID: "serverVersion", Tag: serviceTag, Summary: "Get the server's version", Description: "As Ollama's route, with the revision, which is the commit, and the version of Go. GET /version is the version of Aleph Alpha's protocol.",
	Answers: []httpx.Answer{{Description: "the version is devel, and the revision empty, if they are unknown", Of: build{}}},
}

// versionRoute returns GET /api/version: /version is Aleph Alpha's, whose first client cannot be
// distinguished and expects a text. No key is needed: the source is public too.
func versionRoute() httpx.Route {
	info := version.Read()
	return httpx.Route{
		Method: http.MethodGet, Pattern: "/api/version", Permission: httpx.Public, Doc: versionDoc,
		Handle: func(w http.ResponseWriter, _ *http.Request) error {
			return httpx.JSON(w, http.StatusOK, build{info.Version, info.Revision, info.Go})
		},
	}
}
