package host

import (
	"net"
	"sync"
)

// connections is a listener that lets each sender have as many connections as it leaves to others: one alone half of
// them, the next half of the rest. Those beyond are closed at once, so that nobody who opens connections and sends
// nothing keeps others out.
type connections struct {
	net.Listener
	limit  int
	sender func(remote string) string

	mu   sync.Mutex
	open int
	by   map[string]int
}

// share returns ln with at most limit connections, shared between those whom sender names.
func share(ln net.Listener, limit int, sender func(remote string) string) net.Listener {
	return &connections{Listener: ln, limit: limit, sender: sender, by: map[string]int{}}
}

// Accept waits for a connection that may stay.
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
		_ = conn.Close() // nothing was said
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

// counted is a connection that counts until it is closed.
type counted struct {
	net.Conn
	leave func()
}

// Close closes the connection.
func (c *counted) Close() error {
	c.leave()
	return c.Conn.Close()
}
