// Finding out which servers serve a lock, before a client library is set up.
package redis

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/lockbench/lockbench/drivers"
)

// meet greets the given servers, and fails if they do not fit the topology. It completes o.
func (o *Options) meet(ctx context.Context) error {
	switch o.Topology {
	case drivers.TopologySentinel:
		return o.meetSentinels(ctx)
	case drivers.TopologyCluster:
		return o.meetCluster(ctx)
	}
	return o.greet(ctx, o.Target, func(l *link) error {
		if o.Embedded {
			return nil // miniredis has no modes
		}
		fields, err := l.info("server")
		if err != nil {
			return err
		}
		switch fields.server().Mode {
		case "sentinel":
			return errors.New("the server is a sentinel: choose topology sentinel, or give the address of a server that keeps data")
		case "cluster":
			return errors.New("the server is a node of a cluster: choose topology cluster")
		}
		return nil
	})
}

// meetAll greets each target. One that answers is enough, as for the client libraries; but each that answers must be
// the right one, otherwise an address is wrong. Those that answer become the first ones, as meet leaves them.
func (o *Options) meetAll(meet func(t *Target) error) error {
	var present, missing []Target
	var absent error
	for _, t := range o.Targets {
		err := meet(&t)
		switch classOf(err) {
		case drivers.ClassConnect, drivers.ClassTimeout, drivers.ClassClosed:
			if missing = append(missing, t); absent == nil {
				absent = fmt.Errorf("%s: %w", t.Addr(), err)
			} else { // in one line, unlike errors.Join
				absent = fmt.Errorf("%w; %s: %w", absent, t.Addr(), err)
			}
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", t.Addr(), err)
		}
		present = append(present, t)
	}
	if len(present) == 0 {
		return absent
	}
	o.Targets = append(present, missing...)
	login := o.Target
	o.Target = o.Targets[0]
	o.Target.Username, o.Target.Password, o.Target.Database = login.Username, login.Password, login.Database
	return nil
}

func (o *Options) meetSentinels(ctx context.Context) error {
	primary := ""
	err := o.meetAll(func(t *Target) error {
		own := *t
		t.Username, t.Password, t.Database = "", "", 0
		ask := func(l *link) (err error) {
			fields, err := l.info("server")
			if err != nil {
				return err
			}
			if mode := fields.server().Mode; mode != "sentinel" && mode != "" {
				return errors.New("the server is not a sentinel: give the addresses of the sentinels, or choose another topology")
			}
			primary, err = o.askMaster(l)
			return err
		}
		// Without a password of its own, a sentinel rejects any that it is given.
		err := o.greet(ctx, *t, ask)
		if e, ok := asServerError(err); ok && e.Code() == "NOAUTH" && own.Password != "" {
			t.Username, t.Password = own.Username, own.Password
			err = o.greet(ctx, *t, ask)
		}
		if classOf(err) == drivers.ClassAuth {
			return fmt.Errorf("the sentinel: %w: its user and password stand in -addr if they are not the primary's, "+
				"which is LOCKBENCH_PASSWORD, with the user of ?user=name if there is one", err)
		}
		return err
	})
	if err != nil {
		return err
	}
	t, err := o.at(primary)
	if err == nil {
		err = o.greet(ctx, t, func(*link) error { return nil })
	}
	if err != nil {
		return fmt.Errorf("the sentinels say that the primary is %s: %w", primary, err)
	}
	return nil
}

// askMaster asks a sentinel for the primary's address. Without a name for it there must be only one primary.
func (o *Options) askMaster(l *link) (addr string, err error) {
	if o.Master == "" {
		names, err := l.masters()
		if err != nil {
			return "", err
		}
		if len(names) != 1 {
			return "", fmt.Errorf("the name of the primary is missing: the sentinels know %s", list(names))
		}
		o.Master = names[0]
	}
	reply, err := l.ask("SENTINEL", "GET-MASTER-ADDR-BY-NAME", o.Master)
	if err != nil {
		return "", err
	}
	if reply.kind == nil {
		names, err := l.masters()
		if err != nil {
			return "", err
		}
		return "", fmt.Errorf("the sentinels know no primary by the name %q, but %s", o.Master, list(names))
	}
	pair, err := reply.AsArray()
	if err != nil {
		return "", err
	}
	return net.JoinHostPort(pair[0].text, pair[1].text), nil
}

func list(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

func (o *Options) meetCluster(ctx context.Context) error {
	return o.meetAll(func(t *Target) error {
		return o.greet(ctx, *t, func(l *link) error {
			fields, err := l.info("server")
			if err != nil {
				return err
			}
			if server := fields.server(); server.Mode == "sentinel" {
				return errors.New("the server is a sentinel: choose topology sentinel")
			}
			reply, err := l.ask("CLUSTER", "INFO")
			if e, ok := asServerError(err); ok && (strings.Contains(string(e), "cluster support disabled") || strings.HasPrefix(string(e), "ERR unknown command")) {
				return errors.New("the server is not a node of a cluster (cluster_enabled is 0): choose topology single")
			} else if ok {
				return nil // not permitted
			}
			if err != nil {
				return err
			}
			state := parseInfo(reply.text)
			if state["cluster_state"] == "fail" {
				// This is the server's answer to every command about a key.
				return fmt.Errorf("%w: %s of %d slots are served: start the nodes that are missing, or give their slots to others (redis-cli --cluster fix)",
					ServerError("CLUSTERDOWN The cluster is down"), state["cluster_slots_ok"], Slots)
			}
			if reply, err = l.ask("CLUSTER", "SLOTS"); err != nil {
				return nil // not permitted
			}
			ranges, err := parseSlots(reply, t.Host)
			o.Unnamed = slices.ContainsFunc(ranges, func(r slotRange) bool { return r.unnamed })
			return err
		})
	})
}

// link is a connection for the first questions only.
type link struct {
	conn net.Conn
	r    *bufio.Reader
}

// info asks for a section of INFO. A server that refuses it has no fields.
func (l *link) info(section string) (info, error) {
	reply, err := l.ask("INFO", section)
	if _, refused := asServerError(err); refused {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return parseInfo(reply.text), nil
}

// masters returns the names that a sentinel knows.
func (l *link) masters() ([]string, error) {
	reply, err := l.ask("SENTINEL", "MASTERS")
	if err != nil {
		return nil, err
	}
	masters, err := reply.AsArray()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, m := range masters {
		fields, err := m.AsArray()
		if err != nil {
			return nil, err
		}
		for i := 0; i+1 < len(fields); i += 2 {
			if fields[i].text == "name" {
				names = append(names, fields[i+1].text)
			}
		}
	}
	return names, nil
}

func (l *link) ask(command ...string) (Reply, error) {
	if _, err := l.conn.Write(encode(command)); err != nil {
		return Reply{}, err
	}
	return l.read()
}

// read reads a reply in version 2 of the protocol.
func (l *link) read() (Reply, error) {
	line, err := l.r.ReadSlice('\n')
	if err != nil {
		return Reply{}, err
	}
	line = bytes.TrimRight(line, "\r\n")
	kind, text := line[0], string(line[1:])
	switch kind {
	case '+':
		return Text(text), nil
	case '-':
		return Reply{}, NewServerError(text)
	}
	n, err := strconv.Atoi(text)
	switch {
	case err != nil:
		return Reply{}, Unexpected("a number that is none")
	case kind == ':':
		return Int(int64(n)), nil
	case n < 0:
		return Nil(), nil
	case kind == '$':
		bulk := make([]byte, n+len("\r\n"))
		_, err := io.ReadFull(l.r, bulk)
		return Text(string(bulk[:n])), err
	case kind == '*':
		items := make([]Reply, n)
		for i := range items {
			if items[i], err = l.read(); err != nil {
				return Reply{}, err
			}
		}
		return Array(items...), nil
	}
	return Reply{}, Unexpected("a reply of an unknown kind")
}
