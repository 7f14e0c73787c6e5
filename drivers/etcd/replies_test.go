package etcd

import (
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/lockbench/lockbench/drivers"
)

// TestHostileReply makes servers answer the first request with invalid data.
func TestHostileReply(t *testing.T) {
	empty := func(w http.ResponseWriter) { w.Write(make([]byte, 5)) } // a message of no bytes
	for name, c := range map[string]struct {
		answer func(w http.ResponseWriter)
		want   string
	}{
		"a message of 1 GiB": {func(w http.ResponseWriter) { w.Write([]byte{0, 0x40, 0, 0, 0}) }, "larger than max"},
		"headers of 100 kB": {func(w http.ResponseWriter) {
			for i := range 10 {
				w.Header().Set("X-"+strconv.Itoa(i), strings.Repeat("x", 10_000))
			}
			empty(w)
		}, "PROTOCOL_ERROR"},
		"an answer without its header": {empty, "without a header"},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			server := &http.Server{Protocols: new(http.Protocols), Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/grpc")
				w.Header().Set("Trailer", "Grpc-Status")
				c.answer(w)
				w.Header().Set("Grpc-Status", "0")
			})}
			server.Protocols.SetUnencryptedHTTP2(true)
			served := make(chan struct{})
			go func() { defer close(served); server.Serve(l) }()
			defer func() { server.Close(); <-served }()
			s, err := driver{}.Open(t.Context(), drivers.Config{Addrs: []string{l.Addr().String()}, IOTimeout: 20 * time.Second})
			if err == nil {
				s.Close()
				t.Fatal("it opens")
			}
			if !strings.Contains(err.Error(), c.want) || drivers.ClassOf(err) != drivers.ClassProtocol {
				t.Errorf("%v of class %s, want %q", err, drivers.ClassOf(err), c.want)
			}
		})
	}
}

// TestCheckReply checks answers that fit the request, and others.
func TestCheckReply(t *testing.T) {
	read := &pb.RequestOp{Request: &pb.RequestOp_RequestRange{RequestRange: &pb.RangeRequest{}}}
	asked := &pb.TxnRequest{Success: []*pb.RequestOp{read}}
	answer := func(succeeded bool, responses ...*pb.ResponseOp) *pb.TxnResponse {
		return &pb.TxnResponse{Header: &pb.ResponseHeader{}, Succeeded: succeeded, Responses: responses}
	}
	got := &pb.ResponseOp{Response: &pb.ResponseOp_ResponseRange{ResponseRange: &pb.RangeResponse{}}}
	put := &pb.ResponseOp{Response: &pb.ResponseOp_ResponsePut{ResponsePut: &pb.PutResponse{}}}
	for name, c := range map[string]struct {
		reply any
		good  bool
	}{
		"what was read":       {answer(true, got), true},
		"the other branch":    {answer(false), true},
		"nothing":             {answer(true), false},
		"too much":            {answer(true, got, got), false},
		"another kind":        {answer(true, put), false},
		"no kind":             {answer(true, &pb.ResponseOp{}), false},
		"without a header":    {&pb.TxnResponse{}, false},
		"not a transaction's": {&pb.RangeResponse{Header: &pb.ResponseHeader{}}, true},
	} {
		if err := checkReply(asked, c.reply); c.good != (err == nil) || err != nil && drivers.ClassOf(err) != drivers.ClassProtocol {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestWatchIsCreatedOnce: a server says again and again that a watch was created, and at last that it has ended.
func TestWatchIsCreatedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWatcher(nil)
		one := &watch{watcher: w, id: 1, events: make(chan event, 2)}
		w.live[1] = one
		for range 5 {
			w.answer(&pb.WatchResponse{WatchId: 1, Created: true})
		}
		w.answer(&pb.WatchResponse{WatchId: 1, Canceled: true})
		if first, second := <-one.events, <-one.events; !first.created || second.created {
			t.Errorf("%+v, %+v", first, second)
		}
	})
}

// forever is a page without end.
type forever struct{}

func (forever) Read(b []byte) (int, error) { return copy(b, "nothing 1\n"), nil }

// TestEndlessMetrics: the counters of an incompletely read page must not be used.
func TestEndlessMetrics(t *testing.T) {
	page := io.MultiReader(strings.NewReader("etcd_network_client_grpc_received_bytes_total 700\n"), forever{})
	if u, started := readMetrics(page); u != unknownUsage || started != "" {
		t.Errorf("%+v, started %q", u, started)
	}
}
