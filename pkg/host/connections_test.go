package host

import (
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

// TestConnections checks that a sender has at most half of the connections, and that closing them
// makes room.
func TestConnections(t *testing.T) {
	c := share(nil, 16, nil).(*connections)
	count := func(from string) (n int) {
		for c.enter(from) {
			n++
		}
		return n
	}
	if a, b, d := count("a"), count("b"), count("d"); a != 8 || b != 4 || d != 2 {
		t.Errorf("%d, %d, %d connections of 16", a, b, d)
	}
	c.leave("a")
	if n := count("e"); n != 1 {
		t.Errorf("%d connections of 3 free ones", n)
	}
	for from, n := range map[string]int{"a": 7, "b": 4, "d": 2, "e": 1} {
		for range n {
			c.leave(from)
		}
	}
	if c.open != 0 || len(c.by) != 0 {
		t.Errorf("left behind: %+v", c)
	}
}

// TestServeConnections checks that connections beyond a sender's share are closed, and that another
// sender's request is answered.
func TestServeConnections(t *testing.T) {
	var sender atomic.Value
	sender.Store("crowd")
	url, _, _ := server(t, func(http.ResponseWriter, *http.Request) {}, Config{
		Connections: 8,
		Sender:      func(string) string { return sender.Load().(string) },
	})
	open := 0
	for range 12 {
		conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			continue
		}
		if n, _ := conn.Read(make([]byte, 1)); n == 1 {
			open++
		}
	}
	if open != 4 {
		t.Errorf("%d connections of 8", open)
	}
	sender.Store("other")
	resp, err := client(t).Get(url)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
}
