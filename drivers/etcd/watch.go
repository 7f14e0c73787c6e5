// Watches of single keys, many over one stream of a connection.
//
// The library's own Watch registers one watch after the other, each a round trip after the previous one, closes its
// stream with the last watch and logs in again for the next, and has a goroutine for each. It also restores a watch
// after its connection broke; here the waiter is told, and has to look at the line anyway. Waiting with it has been
// tried: a lock took a third more CPU time, here and on the server.
package etcd

import (
	"context"
	"sync"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// watcher is the stream, opened when needed.
type watcher struct {
	server   pb.WatchClient
	ctx      context.Context // until close
	cancel   context.CancelFunc
	all      sync.WaitGroup
	requests chan *pb.WatchRequest // to be sent

	mu   sync.Mutex
	open bool // or being opened
	last int64
	live map[int64]*watch
}

// watch waits for the deletion of one key. It has at most two events: the revision after which it sees everything, and
// 0 when it has ended, with the deletion or because the stream broke.
type watch struct {
	id     int64
	events chan int64
}

func newWatcher(server pb.WatchClient) *watcher {
	w := &watcher{server: server, live: map[int64]*watch{}, requests: make(chan *pb.WatchRequest, 1<<12)}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	return w
}

// watch begins to watch a key. It does not block: a server that is so far behind that the request cannot be queued ends
// the watch.
func (w *watcher) watch(key string) *watch {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last++
	one := &watch{w.last, make(chan int64, 2)}
	if w.ctx.Err() != nil || !w.send(&pb.WatchRequest{RequestUnion: &pb.WatchRequest_CreateRequest{
		CreateRequest: &pb.WatchCreateRequest{
			Key: []byte(key), WatchId: one.id, Filters: []pb.WatchCreateRequest_FilterType{pb.WatchCreateRequest_NOPUT},
		},
	}}) {
		one.events <- 0
		return one
	}
	w.live[one.id] = one
	if !w.open {
		w.open = true
		w.all.Go(w.run)
	}
	return one
}

func (w *watcher) send(r *pb.WatchRequest) bool {
	select {
	case w.requests <- r:
		return true
	default:
		return false
	}
}

// end stops a watch, if there is one and it has not ended by itself.
func (w *watcher) end(one *watch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if one != nil && w.live[one.id] == one {
		w.forget(one)
	}
}

// forget ends a watch here and on the server.
func (w *watcher) forget(one *watch) {
	delete(w.live, one.id)
	w.send(&pb.WatchRequest{RequestUnion: &pb.WatchRequest_CancelRequest{
		CancelRequest: &pb.WatchCancelRequest{WatchId: one.id},
	}})
}

// run is the life of one stream. It returns when that has ended and its writer has stopped.
func (w *watcher) run() {
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(w.ctx)) // a member without a leader would be silent
	stream, err := w.server.Watch(ctx)
	var writing sync.WaitGroup
	if err == nil {
		writing.Go(func() {
			for err := error(nil); err == nil; {
				select {
				case <-ctx.Done():
					return
				case r := <-w.requests:
					err = stream.Send(r) // Recv says so, too
				}
			}
		})
	}
	for err == nil {
		var answer *pb.WatchResponse
		if answer, err = stream.Recv(); err == nil {
			w.hear(answer)
		}
	}
	cancel()
	writing.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, one := range w.live {
		one.events <- 0
	}
	clear(w.live)
	for len(w.requests) > 0 {
		<-w.requests
	}
	w.open = false
}

// hear passes a response of the server on to the waiter.
func (w *watcher) hear(r *pb.WatchResponse) {
	w.mu.Lock()
	defer w.mu.Unlock()
	one := w.live[r.WatchId]
	switch {
	case one == nil: // ended meanwhile
	case r.Created && !r.Canceled:
		one.events <- r.GetHeader().GetRevision()
	case r.Canceled || len(r.Events) > 0:
		w.forget(one)
		one.events <- 0
	}
}

// close ends all watches and waits for the stream's goroutines.
func (w *watcher) close() {
	w.mu.Lock()
	w.cancel()
	w.mu.Unlock()
	w.all.Wait()
}
