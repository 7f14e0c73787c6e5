package servers

// What an administrator asks of a private Redis server: faults, and the evidence of them. It takes little of RESP.

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"
)

// askTimeout bounds one connection and its commands; a server that is loading or stopped is asked again.
const askTimeout = 20 * time.Second

// login is the address of a server and its credentials.
type login struct {
	network, address   string
	tls                *tls.Config // nil: none
	username, password string
}

// command is a command and its arguments.
type command []string

// ping expects a PONG from the process with that number. Another server may have taken the port, and must not be loaded.
func ping(ctx context.Context, l login, pid int) error {
	replies, err := l.ask(ctx, command{"PING"}, command{"INFO", "server"})
	if err == nil && (replies[0] != "PONG" || !strings.Contains(replies[1], fmt.Sprintf("\r\nprocess_id:%d\r\n", pid))) {
		err = fmt.Errorf("another server answers at %s: its process is not %d", l.address, pid)
	}
	return err
}

// ask connects, authenticates if there is a password, and sends the commands one after the other, until one fails. It returns the
// texts of the replies; an error names its command.
func (l login) ask(ctx context.Context, commands ...command) (list []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, l.network, l.address)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if l.tls != nil {
		conn = tls.Client(conn, l.tls)
	}
	var auth []command
	switch {
	case l.username != "":
		auth = []command{{"AUTH", l.username, l.password}}
	case l.password != "":
		auth = []command{{"AUTH", l.password}}
	}
	replies := bufio.NewReader(conn)
	for _, c := range slices.Concat(auth, commands) {
		text := fmt.Sprintf("*%d\r\n", len(c)) // an array of bulk strings
		for _, word := range c {
			text += fmt.Sprintf("$%d\r\n%s\r\n", len(word), word)
		}
		_, err := io.WriteString(conn, text)
		reply := ""
		if err == nil {
			reply, err = readReply(replies)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c[0], err)
		}
		list = append(list, reply)
	}
	return list[len(auth):], nil
}

// readReply reads a simple string (+OK), a bulk string ($2 OK) or the digits of an integer (:1), or turns an error
// reply (-LOADING …) into an error.
func readReply(r *bufio.Reader) (string, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return "", err
	}
	text := strings.TrimSuffix(line, "\r\n")
	switch kind, rest := text[:min(1, len(text))], text[min(1, len(text)):]; kind {
	case "+", ":":
		return rest, nil
	case "-":
		return "", fmt.Errorf("answered the error %q", rest)
	case "$":
		if n, err := strconv.Atoi(rest); err == nil && n >= 0 {
			bulk := make([]byte, n+len("\r\n"))
			_, err := io.ReadFull(r, bulk)
			return string(bulk[:n]), err
		}
	}
	return "", fmt.Errorf("answered %q, which is no reply to expect from Redis", text)
}

// command sends one command on a connection of its own and returns the text of the reply.
func (r *Redis) command(ctx context.Context, words ...string) (reply string, err error) {
	replies, err := r.login.ask(ctx, words)
	if err != nil {
		return "", err
	}
	return replies[0], nil
}

// info returns the lines of a section of INFO by their names.
func (r *Redis) info(ctx context.Context, section string) (map[string]string, error) {
	text, err := r.command(ctx, "INFO", section)
	lines := map[string]string{}
	for line := range strings.SplitSeq(text, "\r\n") {
		if name, value, ok := strings.Cut(line, ":"); ok {
			lines[name] = value
		}
	}
	return lines, err
}

// number returns a number of a section of INFO.
func (r *Redis) number(ctx context.Context, section, name string) (int64, error) {
	lines, err := r.info(ctx, section)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(lines[name], 10, 64)
	return n, r.failed("INFO "+section, err)
}

// Promote makes a replica a primary, as it is: what its old primary has not sent yet is lost.
func (r *Redis) Promote(ctx context.Context) error {
	_, err := r.command(ctx, "REPLICAOF", "NO", "ONE")
	return r.failed("promote", err)
}

// PromotedAt returns the offset of the former primary's stream of changes at which a replica was promoted, by Promote or by a
// sentinel: what that primary wrote after it is lost.
func (r *Redis) PromotedAt(ctx context.Context) (int64, error) {
	next, err := r.number(ctx, "replication", "second_repl_offset") // the first that it does not have
	if err == nil && next < 0 {
		err = errors.New("it has never been")
	}
	return next - 1, r.failed("promoted at", err)
}

// Follow makes a server the replica of another one, whose data it takes in place of its own. It returns when it has all of
// them. Both listen on loopback ports.
func (r *Redis) Follow(ctx context.Context, primary *Redis) error {
	if _, err := r.command(ctx, "REPLICAOF", "127.0.0.1", strconv.Itoa(primary.port.number)); err != nil {
		return r.failed("follow", err)
	}
	return poll(ctx, "redis: follow", func(ctx context.Context) error {
		lines, err := r.info(ctx, "replication")
		if link := lines["master_link_status"]; err == nil && link != "up" {
			err = fmt.Errorf("the link to the primary is %q", link)
		}
		return err
	})
}

// Followers returns how many replicas are connected to a server.
func (r *Redis) Followers(ctx context.Context) (int64, error) {
	n, err := r.number(ctx, "replication", "connected_slaves")
	return n, r.failed("followers", err)
}

// ReplicationOffset returns how many bytes of the stream of changes a primary has written, or a replica has carried out.
// A replica with less than its primary had after a change does not have that change.
func (r *Redis) ReplicationOffset(ctx context.Context) (int64, error) {
	n, err := r.number(ctx, "replication", "master_repl_offset") // a replica's own, in spite of the name
	return n, r.failed("replication offset", err)
}

// AwaitOffset returns when a server's ReplicationOffset is at least that.
func (r *Redis) AwaitOffset(ctx context.Context, offset int64) error {
	return poll(ctx, "redis: await offset", func(ctx context.Context) error {
		has, err := r.ReplicationOffset(ctx)
		if err == nil && has < offset {
			err = fmt.Errorf("%d of %d", has, offset)
		}
		return err
	})
}

const (
	// fillerDatabase is where Evict writes. The keys of all databases are evicted alike.
	fillerDatabase = "1"

	// The fillers are few and large, so that the keys of locks are many of those that can be evicted.
	fillerSize = 1 << 20
	fillerRoom = 4 * fillerSize

	// maxFillers bounds the attempts. A policy for all keys may evict a filler each time.
	maxFillers = 1000
)

// Evict makes the server evict keys by a policy, such as "allkeys-lru" or "volatile-ttl". It limits the memory to little
// more than what is in use, and writes to another database until the given keys are gone from database 0. It stops
// earlier if the policy has no more keys to evict, which a volatile one has not when only keys without a TTL are left,
// and after a thousand writes. Then it deletes what it has written and restores the limit and the policy.
//
// evicted counts its own keys as well, so look whether the given ones are gone. Other clients that write meanwhile would
// have their keys evicted too.
func (r *Redis) Evict(ctx context.Context, policy string, keys ...string) (evicted int64, err error) {
	evicted, err = r.evict(ctx, policy, keys)
	return evicted, r.failed("evict", err)
}

func (r *Redis) evict(ctx context.Context, policy string, keys []string) (evicted int64, err error) {
	memory, err := r.info(ctx, "memory")
	if err != nil {
		return 0, err
	}
	used, err := r.number(ctx, "memory", "used_memory")
	if err != nil {
		return 0, err
	}
	before, err := r.number(ctx, "stats", "evicted_keys")
	if err != nil {
		return 0, err
	}
	defer func() {
		ctx := context.WithoutCancel(ctx)
		_, failed := r.login.ask(ctx, command{"SELECT", fillerDatabase}, command{"FLUSHDB"})
		err = errors.Join(err, failed, r.limitMemory(ctx, memory["maxmemory"], memory["maxmemory_policy"]))
	}()
	if err := r.limitMemory(ctx, strconv.FormatInt(used+fillerRoom, 10), policy); err != nil {
		return 0, err
	}
	for i := range maxFillers {
		replies, err := r.login.ask(ctx, command{"SELECT", fillerDatabase},
			command{"SETRANGE", "filler:" + strconv.Itoa(i), strconv.Itoa(fillerSize - 1), "x"},
			command{"SELECT", "0"}, append(command{"EXISTS"}, keys...))
		if err != nil && strings.Contains(err.Error(), `"OOM `) {
			break // nothing more can be evicted
		}
		if err != nil {
			return 0, err
		}
		if replies[3] == "0" {
			break
		}
	}
	after, err := r.number(ctx, "stats", "evicted_keys")
	return after - before, err
}

func (r *Redis) limitMemory(ctx context.Context, limit, policy string) error {
	_, err := r.login.ask(ctx, command{"CONFIG", "SET", "maxmemory-policy", policy}, command{"CONFIG", "SET", "maxmemory", limit})
	return err
}

// KeysWith returns the keys of database 0 whose names contain a part, which has no characters that a pattern would read in
// another way.
func (r *Redis) KeysWith(ctx context.Context, part string) ([]string, error) {
	// KEYS answers with an array; a script makes it a string.
	text, err := r.command(ctx, "EVAL", `return table.concat(redis.call('KEYS', '*' .. ARGV[1] .. '*'), '\n')`, "0", part)
	return strings.Fields(text), r.failed("keys", err)
}
