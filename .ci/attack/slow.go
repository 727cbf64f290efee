package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// slowness is a slow client's pause between two bytes.
const slowness = time.Second

// smallBuffer is the size of a slow reader's receive buffer, bytes. Linux's minimum is
// slightly larger.
const smallBuffer = 1 << 10

// head returns the beginning of an attacker's request, up to its last headers.
func (s *scene) head(method, path string) string {
	head := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n", method, path, strings.TrimPrefix(s.server.url, "http://"))
	if s.attacker.key != "" {
		head += "Authorization: Bearer " + s.attacker.key + "\r\n"
	}
	return head
}

// connect opens a connection as the sender.
func (s *sender) connect(ctx context.Context, ip string) (*net.TCPConn, error) {
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(ip)}}
	c, err := dialer.DialContext(ctx, "tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		return nil, err
	}
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return nil, errors.Join(errors.New("the connection is not one of TCP"), c.Close())
	}
	return tcp, nil
}

// begin makes a call on a connection whose receive buffer is small.
func (s *sender) begin(ctx context.Context, c call) (*net.TCPConn, error) {
	conn, err := s.connect(ctx, attackerIP)
	if err != nil {
		return nil, err
	}
	err = conn.SetReadBuffer(smallBuffer)
	var request bytes.Buffer
	if err == nil {
		var r *http.Request
		if r, err = http.NewRequestWithContext(ctx, http.MethodPost, s.url+c.path, bytes.NewReader(c.body)); err == nil {
			err = r.Write(&request)
		}
	}
	if err == nil {
		_, err = conn.Write(request.Bytes())
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// readNothing makes a call and reads nothing of the answer until ctx is done.
func (s *sender) readNothing(ctx context.Context, c call) string {
	conn, err := s.begin(ctx, c)
	if err != nil {
		return lost
	}
	defer conn.Close()
	<-ctx.Done()
	return cut
}

// readSlowly makes a call and reads one byte of the answer per second until ctx is done or
// the server closes it. Its outcome is cut if it was served until then.
func (s *sender) readSlowly(ctx context.Context, c call) string {
	conn, err := s.begin(ctx, c)
	if err != nil {
		return lost
	}
	defer conn.Close()
	status := make([]byte, len("HTTP/1.1 200"))
	stop := context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Now()) }) // a wait for the first byte ends
	defer stop()
	n, err := conn.Read(status)
	for err == nil {
		if fields := strings.Fields(string(status[:n])); len(fields) > 1 && fields[1] != "200" {
			return fields[1]
		}
		if !sleep(ctx, slowness) {
			return cut
		}
		_, err = conn.Read(make([]byte, 1))
	}
	if ctx.Err() != nil {
		return cut
	}
	return lost
}

// writeSlowly sends the beginning of a request and then one byte per second until ctx is
// done, or the server answers or closes the connection.
func (s *sender) writeSlowly(ctx context.Context, begin string) string {
	conn, err := s.connect(ctx, attackerIP)
	if err != nil {
		return lost
	}
	defer conn.Close()
	_, err = conn.Write([]byte(begin))
	for err == nil {
		if !sleep(ctx, slowness) {
			return cut
		}
		_, err = conn.Write([]byte("x"))
	}
	status := make([]byte, len("HTTP/1.1 408"))
	if n, _ := conn.Read(status); n == len(status) {
		if code, err := strconv.Atoi(string(status[9:])); err == nil {
			return strconv.Itoa(code)
		}
	}
	return lost
}

// sleep waits and reports whether ctx is still active.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
