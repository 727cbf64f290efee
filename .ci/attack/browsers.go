package main

import (
	"context"
	"net/http"
	"net/url"
)

// evil is the origin of the attacking page.
const evil = "http://evil.example"

// shut holds the expected rejections of requests of other origins and hosts.
var shut = goals{only: []string{"400", "403", "421"}, refused: 1}

// browserAttacks are requests that a web page of another origin can make a browser send to
// a server without keys on the same machine (point 6).
func browserAttacks() []attack {
	list := []attack{
		{name: "browsers/host", about: "requests for another host, as after DNS rebinding", goals: shut, run: otherHosts},
		{name: "browsers/origin", about: "pages of other origins generate", goals: shut, run: otherOrigins},
		{name: "browsers/simple", about: "forms and scripts that post without a preflight", goals: shut, run: simplePosts},
		{name: "browsers/image", about: "images of another page whose addresses generate", goals: shut, run: images},
		{
			// These may be answered: the browser does not show the answer to the page.
			name: "browsers/read", about: "pages of other origins read",
			goals: goals{only: []string{"200", "400", "403", "421"}}, run: reads,
		}, {
			name: "browsers/preflight", about: "preflights of pages of other origins",
			goals: goals{only: []string{"200", "204", "400", "403", "421"}}, run: preflights,
		}, {
			name: "browsers/figures", about: "pages read the metrics, including the server's own page",
			goals: goals{only: []string{"200", "400", "403", "404", "421"}}, run: figures,
		}, {
			name: "browsers/own", about: "no attack: the server's own page, by each of its names, and programs",
			goals: goals{only: []string{"200"}, served: 8}, run: ownPage,
		},
	}
	for i := range list {
		list[i].alone = true
	}
	return list
}

func otherHosts(ctx context.Context, s *scene) {
	port := portOf(s.server.url)
	for _, host := range []string{"evil.example", "evil.example:" + port, "127.0.0.1.evil.example:" + port, "localhost.evil.example"} {
		for _, c := range append(spending(), get("/v1/models"), get("/metrics"), get("/")) {
			c.host = host
			s.send(ctx, c)
			s.send(ctx, c.with("Origin", "http://"+host))
		}
	}
}

func otherOrigins(ctx context.Context, s *scene) {
	for _, origin := range foreign(s.server.url) {
		for _, c := range spending() {
			s.forbidRead(s.send(ctx, c.with("Origin", origin)), origin)
		}
	}
}

func simplePosts(ctx context.Context, s *scene) {
	for _, kind := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"} {
		c := oneToken.with("Origin", evil).with("Content-Type", kind).with("Sec-Fetch-Site", "cross-site").with("Sec-Fetch-Mode", "no-cors")
		s.forbidRead(s.send(ctx, c), evil)
	}
}

// images sends requests without an Origin; the browser sends Sec-Fetch-Site instead.
func images(ctx context.Context, s *scene) {
	for _, site := range []string{"cross-site", "same-site"} {
		for _, path := range []string{"/api/generate?model=novels&max_tokens=1&prompt=The", "/api/inference?model=novels&steps=1&query=The"} {
			s.send(ctx, get(path).with("Sec-Fetch-Site", site).with("Sec-Fetch-Mode", "no-cors").with("Sec-Fetch-Dest", "image"))
		}
	}
}

func reads(ctx context.Context, s *scene) {
	for _, origin := range foreign(s.server.url) {
		for _, path := range []string{"/", "/v1/models", "/openapi.json", "/metrics", "/usage", "/health"} {
			s.forbidRead(s.send(ctx, get(path).with("Origin", origin)), origin)
		}
	}
}

func preflights(ctx context.Context, s *scene) {
	for _, path := range []string{"/v1/chat/completions", "/invoke", "/metrics", "/usage"} {
		for _, origin := range []string{evil, "null"} {
			c := call{method: http.MethodOptions, path: path}.with("Origin", origin).with("Access-Control-Request-Method", "POST")
			s.forbidRead(s.send(ctx, c.with("Access-Control-Request-Headers", "content-type,authorization")), origin)
		}
	}
}

// figures reads the metrics: answers must not allow an origin other than the server's own.
func figures(ctx context.Context, s *scene) {
	for _, path := range []string{"/metrics", "/usage"} {
		for _, origin := range []string{evil, "null", s.server.url} {
			a := s.send(ctx, get(path).with("Origin", origin))
			if allowed := a.header.Get("Access-Control-Allow-Origin"); allowed != "" && allowed != s.server.url {
				s.fault("%s of %s: Access-Control-Allow-Origin: %s", path, origin, allowed)
			}
		}
	}
}

func ownPage(ctx context.Context, s *scene) {
	port := portOf(s.server.url)
	for _, host := range []string{"127.0.0.1:" + port, "localhost:" + port} {
		c, page := oneToken, get("/")
		c.host, page.host = host, host
		s.send(ctx, c)
		s.send(ctx, c.with("Origin", "http://"+host).with("Sec-Fetch-Site", "same-origin"))
		s.send(ctx, page)
		s.send(ctx, page.with("Sec-Fetch-Site", "none").with("Sec-Fetch-Mode", "navigate"))
	}
}

// spending returns requests that cost the server's owner resources.
func spending() []call {
	return []call{
		oneToken.with("Content-Type", "application/json"),
		post("/invoke", `{"model_family": "local", "model_name": "novels", "body": {"prompt": "The", "max_new_tokens": 1}}`).with("Content-Type", "application/json"),
	}
}

// foreign returns origins other than the server's.
func foreign(server string) []string {
	return []string{evil, "https://evil.example", "null", "file://", "http://localhost.evil.example:" + portOf(server), "http://127.0.0.1:1"}
}

// forbidRead records a fault if a page of the origin may read the answer.
func (s *scene) forbidRead(a answer, origin string) {
	if allowed := a.header.Get("Access-Control-Allow-Origin"); allowed == "*" || allowed == origin {
		s.fault("%d for a page of %s, with Access-Control-Allow-Origin: %s", a.status, origin, allowed)
	}
}

// portOf returns the port of a URL.
func portOf(server string) string {
	u, err := url.Parse(server)
	if err != nil {
		return ""
	}
	return u.Port()
}
