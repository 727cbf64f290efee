package catalog

import (
	"cmp"
	"errors"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"glossa/pkg/secret"
)

// An Upstream is where a model of the family openai is. The zero value is nowhere.
type Upstream struct {
	URL     string            // without a slash at the end; the paths of the operations follow
	Model   string            // what the endpoint calls it; "": the name of the record
	Key     *secret.Reference // nil: none
	Private bool              // the endpoint may be in a private network
}

// chatGroup is the key of the record that lends its schema to one that names none.
const chatGroup = "chat"

// readUpstream reads the attributes of the family openai.
func (it *item) readUpstream(family, key string, insecure *bool, secretRef string) {
	u := &it.upstream
	u.Model = it.modelID
	if family != OpenAI {
		for name, has := range map[string]bool{"url": u.URL != "", "key": secretRef != "", "like": it.like != "", "insecure": insecure != nil, "private": u.Private} {
			if has {
				it.wrong("/"+name, "only records of the family %s may have it", OpenAI)
			}
		}
		return
	}
	if secretRef != "" {
		ref, err := secret.Parse(secretRef)
		if err != nil {
			it.wrong("/key", "%v", err)
		}
		u.Key = &ref
	}
	switch err := checkURL(&u.URL, insecure != nil && *insecure); {
	case u.URL == "" && (u.Key != nil || u.Model != "" || it.schema == nil):
		it.wrong("/url", "it is missing: it must be https://HOST/PATH, as https://llm.example.com/v1")
	case u.URL == "": // a group's
	case err != nil:
		it.wrong("/url", "%v", err)
	case slices.Contains(groups(), OpenAI+"-"+key):
		it.wrong("/sk", "this is the key of a built-in record that describes requests: choose another name for the model")
	}
}

// checkURL checks the base URL of an endpoint, and removes the slash at its end. Plain http is
// for loopback, unless insecure allows it elsewhere. Its error does not quote the URL, which may
// hold a key.
func checkURL(text *string, insecure bool) error {
	u, err := url.Parse(*text)
	switch {
	case err != nil || u.Hostname() == "" || u.Scheme != "https" && u.Scheme != "http":
		return errors.New("it must be https://HOST/PATH, as https://llm.example.com/v1")
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return errors.New("it must have no user, no parameters and no fragment: the key has an attribute of its own")
	case u.Scheme == "http" && !insecure && !loopback(u.Hostname()):
		return errors.New(`it must begin with https: http sends keys and texts in the clear, and is for this machine only unless "insecure" is true`)
	}
	*text = strings.TrimRight(*text, "/")
	return nil
}

// loopback reports whether a host is this machine.
func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && ip.Unmap().IsLoopback()
}

// lenders are the keys of the records that may lend their schema to the one of a model.
func (it *item) lenders(family, name string) []string {
	if family == OpenAI {
		return []string{OpenAI + "-" + cmp.Or(it.like, chatGroup)}
	}
	return Keys(family, name)[1:]
}
