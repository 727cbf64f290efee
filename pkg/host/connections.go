package host

import (
	"net"
	"sync"
)

// connections is a listener that allows each sender as many connections as it leaves to others: a single sender half
// of them, the next one half of the rest. It closes further ones at once, so that a sender with idle connections
// cannot lock others out.
type connections struct {
	net.Listener
	limit  int
	sender func(remote string) string

	mu   sync.Mutex
	open int
	by   map[string]int
}

// share returns ln with at most limit connections, shared between the senders that the function
// sender names.
func share(ln net.Listener, limit int, sender func(remote string) string) net.Listener {
	return &connections{Listener: ln, limit: limit, sender: sender, by: map[string]int{}}
}

// Accept waits for a connection within the limits.
func (c *connections) Accept() (net.Conn, error) {
	for {
		conn, err := c.Listener.Accept()
		if err != nil {
			return nil, err
		}
		from := c.sender(conn.RemoteAddr().String())
		if c.enter(from) {
			return &counted{Conn: conn, leave: sync.OnceFunc(func() { c.leave(from) })}, nil
		}
		_ = conn.Close() // the client has sent nothing yet
	}
}

func (c *connections) enter(from string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.by[from]+1 > c.limit-c.open-1 {
		return false
	}
	c.open++
	c.by[from]++
	return true
}

func (c *connections) leave(from string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open--
	if c.by[from]--; c.by[from] == 0 {
		delete(c.by, from)
	}
}

// counted is a connection that counts against its sender until it is closed.
type counted struct {
	net.Conn
	leave func()
}

// Close closes the connection.
func (c *counted) Close() error {
	c.leave()
	return c.Conn.Close()
}
