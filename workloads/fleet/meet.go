package fleet

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Rendezvous is where rank 0 waits for the others. Connections are encrypted, by a certificate that is made for the purpose and
// that nobody has to trust: both sides prove with the token that there is nobody between them (RFC 9266, tls-exporter); see proof.
type Rendezvous struct {
	leader   *Leader
	listener net.Listener
	ctx      context.Context // until Close
	cancel   context.CancelFunc
	admitted sync.WaitGroup
	say      func(format string, args ...any) // who was refused

	mu       sync.Mutex // guards refused, and the leader's ranks until all have come
	refused  int        // strangers
	complete chan struct{}
	misfit   chan error // of a rank that belongs to the fleet and cannot join it
}

// Listen begins to wait for the ranks of a fleet at an address, or at the path of a unix socket. It goes on to refuse those that come too late until Close.
func (l *Leader) Listen(addr string, say func(format string, args ...any)) (*Rendezvous, error) {
	listen := listenTLS
	if filepath.IsAbs(addr) {
		listen = listenUnix
	}
	listener, err := listen(addr)
	if err != nil {
		return nil, err
	}
	v := &Rendezvous{leader: l, listener: listener, say: say, complete: make(chan struct{}), misfit: make(chan error, 1)}
	v.ctx, v.cancel = context.WithCancel(context.Background())
	v.admitted.Go(v.accept)
	return v, nil
}

func listenTLS(addr string) (net.Listener, error) {
	cert, err := certificate()
	if err != nil {
		return nil, err
	}
	return tls.Listen("tcp", addr, &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS13})
}

func (v *Rendezvous) accept() {
	for {
		conn, err := v.listener.Accept()
		switch {
		case err == nil:
			v.admitted.Go(func() { v.admit(conn) })
		case errors.Is(err, net.ErrClosed):
			return
		default: // too many open files: those who do not belong here are let go soon
			time.Sleep(pingEvery)
		}
	}
}

// Addr returns the address that ranks can be told.
func (v *Rendezvous) Addr() string { return v.listener.Addr().String() }

// Close ends the waiting, and no connection of the fleet.
func (v *Rendezvous) Close() {
	v.cancel()
	_ = v.listener.Close()
	v.admitted.Wait()
	if more := v.refused - mostRefusals; more > 0 {
		v.say("refused: %d more", more)
	}
}

// mostRefusals is how many strangers are told of one by one.
const mostRefusals = 8

// refuse tells of a stranger.
func (v *Rendezvous) refuse(s *stranger) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.refused++; v.refused <= mostRefusals {
		v.say("refused: %v", s)
	}
}

// Wait waits until all ranks have come. The error says which are missing, or which makes no sense.
func (v *Rendezvous) Wait(ctx context.Context, limit time.Duration) error {
	select {
	case <-v.complete:
		return nil
	case err := <-v.misfit:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(limit):
		return fmt.Errorf("%s not come to %s within %v: are they started, and can they reach it?", v.missing(), v.Addr(), limit)
	}
}

// missing says which ranks are.
func (v *Rendezvous) missing() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	var list []string
	for i := 1; i < v.leader.Ranks; i++ {
		if !slices.ContainsFunc(v.leader.ranks, func(r *rank) bool { return r.Rank == i }) {
			list = append(list, fmt.Sprint(i))
		}
	}
	if len(list) == 1 {
		return "rank " + list[0] + " has"
	}
	const most = 8
	text := strings.Join(list[:min(most, len(list))], ", ")
	if more := len(list) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return "ranks " + text + " have"
}

// admit lets the process of a connection join, or tells it why not.
func (v *Rendezvous) admit(conn net.Conn) {
	handshake, cancel := context.WithTimeout(v.ctx, silence)
	defer cancel()
	b, err := binding(handshake, conn)
	if err != nil {
		_ = conn.Close()
		return
	}
	r := v.leader.newRank("a process at "+conn.RemoteAddr().String(), conn, b, nil, conn.Close)
	if err = v.leader.greet(v.ctx, r, silence); err == nil {
		err = v.take(r)
	}
	if err == nil {
		return
	}
	ctx, cancel := context.WithTimeout(v.ctx, silence)
	defer cancel()
	_, _ = r.conn.Ask(ctx, refusal("refuses: %v", err))
	r.lose(err)
	_ = conn.Close()
	if s, odd := errors.AsType[*stranger](err); odd {
		v.refuse(s)
		return
	}
	v.give(err)
}

// give gives Wait an error.
func (v *Rendezvous) give(err error) {
	select {
	case v.misfit <- err:
	default:
	}
}

// take takes a rank into the fleet, unless it is there already.
func (v *Rendezvous) take(r *rank) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	l := v.leader
	if n := slices.IndexFunc(l.ranks, func(o *rank) bool { return o.Rank == r.Rank }); n >= 0 {
		return &stranger{fmt.Errorf("%s is there already, as process %d on %s: give each process a number of its own (-rank)", r.conn.Who(), l.ranks[n].PID, l.ranks[n].Host)}
	}
	context.AfterFunc(r.ctx, func() { v.give(errors.New(r.lost())) })
	if l.ranks = append(l.ranks, r); len(l.ranks) == l.Ranks-1 {
		slices.SortFunc(l.ranks, func(a, b *rank) int { return a.Rank - b.Rank })
		close(v.complete)
	}
	return nil
}

// Join connects to the rendezvous of rank 0, which may not be there yet, and returns the connection with its binding.
func Join(ctx context.Context, addr string, limit time.Duration) (conn net.Conn, bound string, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	dial, network := (&tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13}}).DialContext, "tcp"
	if filepath.IsAbs(addr) {
		dial, network = new(net.Dialer).DialContext, "unix"
	}
	for {
		attempt, stop := context.WithTimeout(ctx, silence) // what accepts and says nothing may be gone soon
		conn, err = dial(attempt, network, addr)
		if stop(); err == nil {
			bound, err = binding(ctx, conn)
			return conn, bound, err
		}
		select {
		case <-ctx.Done():
			if context.Cause(ctx) != context.DeadlineExceeded {
				return nil, "", context.Cause(ctx)
			}
			if network == "unix" {
				err = fmt.Errorf("without a %s all ranks meet as one user of one machine: %w", TokenVariable, err)
			}
			return nil, "", fmt.Errorf("rank 0 was not at %s within %v: %w", addr, limit, err)
		case <-time.After(pingEvery):
		}
	}
}

// binding returns what both ends of a connection know, and nobody else does. It is empty for a unix socket.
func binding(ctx context.Context, conn net.Conn) (string, error) {
	secure, ok := conn.(*tls.Conn)
	if !ok {
		return "", nil
	}
	if err := secure.HandshakeContext(ctx); err != nil {
		return "", err
	}
	state := secure.ConnectionState()
	key, err := state.ExportKeyingMaterial("EXPORTER-Channel-Binding", nil, 32)
	return hex.EncodeToString(key), err
}

// certificate makes one that proves nothing.
func certificate() (cert tls.Certificate, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return cert, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(365 * 24 * time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}
