package plan

import (
	"regexp"

	"glossa/pkg/deployment"
	"glossa/pkg/meter/traces"
)

// XRay is the value of the context traces with which AWS X-Ray gets the spans.
const XRay = "xray"

// maxLayers is a quota of Lambda.
const maxLayers = 5

var layerName = regexp.MustCompile(`^arn:aws[a-z-]*:lambda:[a-z0-9-]+:[0-9]{12}:layer:[A-Za-z0-9-_]{1,140}:[0-9]+$`)

// traces reads where spans go, "" for nowhere.
func (p *parser) traces() string {
	v := p.value("traces")
	switch v {
	case "off":
		return ""
	case XRay:
		return v
	}
	_, err := traces.ReadSettings(func(name string) string {
		return map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": v}[name]
	})
	if err != nil {
		p.fail("traces", "%q is not off, xray or a URL such as http://localhost:4318/v1/traces", v)
	}
	return v
}

// tracesURL returns the URL that gets the spans.
//
// Source: Amazon CloudWatch User Guide, "OTLP Endpoints".
func (c Config) tracesURL() string {
	if c.Traces == XRay {
		return "https://xray.${AWS::Region}.${AWS::URLSuffix}/v1/traces"
	}
	return c.Traces
}

// layers reads ARNs of layers.
func (p *parser) layers() []string {
	list := p.list("layers")
	for _, v := range list {
		if !layerName.MatchString(v) {
			p.fail("layers", "%q does not match %s", v, layerName)
		}
	}
	if len(list) > maxLayers {
		p.fail("layers", "a function has at most %d", maxLayers)
	}
	return list
}

// Traced reports whether AWS X-Ray traces a function: then Lambda sends spans of its own, and
// decides which requests are sampled. The canary's are not.
func (f *Function) Traced(cfg Config) bool {
	return cfg.Traces == XRay && f.Family != deployment.Canary
}

// Layers returns the ARNs of a function's layers. The canary has none.
func (f *Function) Layers(cfg Config) []string {
	if f.Family == deployment.Canary {
		return nil
	}
	return cfg.Layers
}
