package main

import (
	"context"
	"fmt"
	"time"
)

// The legitimate user's name, password and address.
const (
	user     = "ann@example.org"
	password = "correct horse battery staple"
	userIP   = "127.0.0.4"
)

// loginAttacks try to lock a user out (point 7).
func loginAttacks() []attack {
	return []attack{
		{
			name: "logins/wrong", about: "twelve wrong passwords from another address, then the right one from the user's",
			keys: true, users: true, lasts: 10 * time.Second,
			goals: goals{only: []string{"401", "403", "429"}, refused: 12},
			run: func(ctx context.Context, s *scene) {
				for range 12 {
					s.send(ctx, login(user, "wrong horse battery staple"))
				}
				s.rightful(ctx)
			},
		}, {
			name: "logins/address", about: "60 wrong passwords for as many names from another address, then the user's",
			keys: true, users: true, lasts: 15 * time.Second,
			goals: goals{only: []string{"401", "403", "429"}, refused: 60},
			run: func(ctx context.Context, s *scene) {
				for i := range 60 {
					s.send(ctx, login(fmt.Sprintf("user%d@example.org", i), "wrong horse battery staple"))
				}
				s.rightful(ctx)
			},
		}, {
			name: "logins/flood", about: "64 clients log in with wrong passwords, for as many names",
			keys: true, users: true, lasts: 5 * time.Second,
			goals: goals{only: []string{"401", "403", "429", "503", cut}, refused: 50, grown: 512},
			calls: logins, run: repeatCalls(64),
		},
	}
}

// login returns the call that requests a token.
func login(name, password string) call {
	return post("/users/me/token", fmt.Sprintf(`{"email": %q, "password": %q}`, name, password))
}

// logins returns logins of 10,000 names.
func logins() (calls []call) {
	for i := range 10_000 {
		calls = append(calls, login(fmt.Sprintf("user%d@example.org", i), "wrong horse battery staple"))
	}
	return calls
}

// rightful logs in as the legitimate user, from the user's own address.
func (s *scene) rightful(ctx context.Context) {
	ann := newSender(s.server.url, "", userIP, true)
	if a := ann.ask(ctx, login(user, password)); a.outcome() != "200" {
		s.fault("the rightful user gets %s: %.200s", a.outcome(), a.body)
	}
}
