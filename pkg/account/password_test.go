package account

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"glossa/pkg/llm"
)

// cheap is the cost of hashes in tests.
var cheap = cost{memory: 8, passes: 1, threads: 1}

// A hash of the reference implementation (phc-winner-argon2, src/test.c, argon2id).
func TestReferenceHash(t *testing.T) {
	const phc = "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc"
	h, err := parseHash(phc)
	if err != nil {
		t.Fatal(err)
	}
	for password, want := range map[string]bool{"password": true, "Password": false, "": false} {
		if got, err := newVerifier().verify(t.Context(), &h, password); got != want || err != nil {
			t.Errorf("%q: %v, %v", password, got, err)
		}
	}
}

func TestHashes(t *testing.T) {
	a, b := hashPassword("correct horse", cheap), hashPassword("correct horse", cheap)
	if a.String() == b.String() {
		t.Error("two hashes of a password are the same")
	}
	back, err := parseHash(a.String())
	if err != nil || back.String() != a.String() {
		t.Errorf("%s, %v", back, err)
	}
	if ok, _ := newVerifier().verify(t.Context(), &back, "correct horse"); !ok {
		t.Error("the password is not known")
	}
	const salt, hash = "c29tZXNhbHQ", "CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc"
	for _, bad := range []string{
		"", "secret", "$argon2id$v=19$m=8,t=1,p=1$" + salt,
		"$argon2i$v=19$m=8,t=1,p=1$" + salt + "$" + hash,
		"$argon2id$v=16$m=8,t=1,p=1$" + salt + "$" + hash,
		"$argon2id$v=19$m=7,t=1,p=1$" + salt + "$" + hash,
		"$argon2id$v=19$m=8,t=0,p=1$" + salt + "$" + hash,
		"$argon2id$v=19$m=8,t=1,p=0$" + salt + "$" + hash,
		"$argon2id$v=19$m=4294967295,t=1,p=1$" + salt + "$" + hash,
		"$argon2id$v=19$m=8,t=17,p=1$" + salt + "$" + hash,
		"$argon2id$v=19$m=256,t=1,p=17$" + salt + "$" + hash,
		"$argon2id$v=19$m=8,t=1,p=256$" + salt + "$" + hash,
		"$argon2id$v=19$m=08,t=1,p=1$" + salt + "$" + hash,
		"$argon2id$v=19$m=8,t=1,p=1,x=1$" + salt + "$" + hash,
		"$argon2id$v=19$m=8,t=1,p=1$$" + hash,
		"$argon2id$v=19$m=8,t=1,p=1$" + salt + "$",
		"$argon2id$v=19$m=8,t=1,p=1$" + salt + "$" + hash + "\n",
		"$argon2id$v=19$m=8,t=1,p=1$" + salt + "$" + hash + "=",
		"$argon2id$v=19$m=8,t=1,p=1$" + salt + "$" + strings.Repeat("A", 1<<20),
	} {
		if _, err := parseHash(bad); err == nil {
			t.Errorf("%.80q is taken", bad)
		} else if strings.Contains(err.Error(), "CTFh") {
			t.Errorf("the error shows the hash: %v", err)
		}
	}
}

// Only a few verifications run at once, some wait, and the rest are rejected.
func TestVerificationsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newVerifier()
		var mu sync.Mutex
		running, peak := 0, 0
		release := make(chan struct{})
		v.derive = func(_, _ []byte, _, _ uint32, _ uint8, n uint32) []byte {
			mu.Lock()
			running++
			peak = max(peak, running)
			mu.Unlock()
			<-release
			mu.Lock()
			running--
			mu.Unlock()
			return make([]byte, n)
		}
		ctx, leave := context.WithCancel(t.Context())
		errs := make(chan error, 100)
		for range 10 {
			go func() { _, err := v.verify(t.Context(), nil, "x"); errs <- err }()
		}
		synctest.Wait()
		for range 90 {
			go func() { _, err := v.verify(ctx, nil, "x"); errs <- err }()
		}
		synctest.Wait()
		leave() // waiting ones whose context ends leave
		synctest.Wait()
		close(release)
		count := map[llm.Code]int{}
		for range 100 {
			if err := <-errs; err == nil {
				count[""]++
			} else if llm.AsError(err).Code == llm.Overloaded {
				count[llm.Overloaded]++
			} else {
				count["left"]++
			}
		}
		if peak != verifyAtOnce || count[""] != 10 || count[llm.Overloaded] != 100-verifyAtOnce-verifyQueue || count["left"] != verifyAtOnce+verifyQueue-10 {
			t.Errorf("%d at once, %v", peak, count)
		}
	})
}
