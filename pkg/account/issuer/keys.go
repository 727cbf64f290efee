package issuer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
)

const (
	fetchTimeout  = 5 * time.Second
	maxDocument   = 1 << 20         // bytes of a document
	maxKeys       = 100             // of an issuer
	shortest      = 5 * time.Minute // for which keys are kept; a header may ask for more
	longest       = time.Hour       // after which a key that was withdrawn no longer counts
	usable        = 24 * time.Hour  // for which keys are used if the issuer cannot be reached
	unknownPause  = 10 * time.Second
	failurePause  = 2 * time.Second
	discoveryPath = "/.well-known/openid-configuration"
)

// keys are the public keys of an issuer. They are fetched when a token needs them, again when
// they are old, and when a token has an unknown key, which was added since; not more often than
// every [unknownPause], since anybody can make up the name of a key.
type keys struct {
	url    string
	client *http.Client
	now    func() time.Time

	mu      sync.Mutex // held during a fetch: one serves all waiters
	set     jose.JSONWebKeySet
	fetched time.Time // zero: never
	tried   time.Time
	lasts   time.Duration
	err     error // of the last try
}

// find returns the keys that may have signed a token: those with its key id or, if it has none,
// all.
func (k *keys) find(ctx context.Context, id string) ([]jose.JSONWebKey, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.now().Round(0) // the wall clock: a function may have been frozen
	old := k.fetched.IsZero() || now.Sub(k.fetched) >= k.lasts
	unknown := len(k.named(id)) == 0 && now.Sub(k.tried) >= unknownPause
	if (old || unknown) && (k.err == nil || now.Sub(k.tried) >= failurePause) {
		k.fetch(ctx, now)
	}
	switch list := k.named(id); {
	case k.fetched.IsZero() || now.Sub(k.fetched) >= usable:
		return nil, fmt.Errorf("the keys of the issuer cannot be had: %w", k.err)
	default:
		return list, nil
	}
}

// named returns the keys with an id, or all if it is empty; mu is held.
func (k *keys) named(id string) (list []jose.JSONWebKey) {
	for _, key := range k.set.Keys {
		if (id == "" || key.KeyID == id) && (key.Use == "" || key.Use == "sig") && key.Valid() && key.IsPublic() {
			list = append(list, key)
		}
	}
	return list
}

// fetch reads the discovery document and the keys; mu is held. It runs on if the caller leaves,
// since others wait for the keys too.
func (k *keys) fetch(ctx context.Context, now time.Time) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fetchTimeout)
	defer cancel()
	k.tried = now
	set, lasts, err := k.request(ctx)
	if k.err = err; err == nil {
		k.set, k.lasts, k.fetched = set, lasts, now
	}
}

func (k *keys) request(ctx context.Context) (set jose.JSONWebKeySet, lasts time.Duration, err error) {
	var document struct {
		Issuer string `json:"issuer"`
		Keys   string `json:"jwks_uri"`
	}
	if _, err := k.get(ctx, strings.TrimSuffix(k.url, "/")+discoveryPath, &document); err != nil {
		return set, 0, err
	}
	if document.Issuer != k.url {
		return set, 0, fmt.Errorf("the document of %s is that of the issuer %.200q", k.url, document.Issuer)
	}
	if err := checkURL(document.Keys); err != nil {
		return set, 0, fmt.Errorf("jwks_uri: %w", err)
	}
	header, err := k.get(ctx, document.Keys, &set)
	if err == nil && len(set.Keys) > maxKeys {
		err = fmt.Errorf("%s has %d keys, more than %d", document.Keys, len(set.Keys), maxKeys)
	}
	return set, min(max(maxAge(header), shortest), longest), err
}

// get reads a JSON document.
func (k *keys) get(ctx context.Context, url string, to any) (http.Header, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	resp, err := k.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", url, resp.Status)
	}
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxDocument+1))
	if err == nil && len(raw) > maxDocument {
		err = errors.New("it is too large")
	}
	if err == nil {
		err = json.Unmarshal(raw, to)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", url, err)
	}
	return resp.Header, nil
}

// maxAge returns the time for which a document may be kept, 0 if it does not say.
func maxAge(h http.Header) time.Duration {
	for part := range strings.SplitSeq(h.Get("Cache-Control"), ",") {
		if seconds, ok := strings.CutPrefix(strings.TrimSpace(part), "max-age="); ok {
			if n, err := strconv.Atoi(seconds); err == nil && n > 0 {
				return time.Duration(min(n, 1<<30)) * time.Second
			}
		}
	}
	return 0
}
