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
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// watcher is the stream, opened when needed.
type watcher struct {
	server pb.WatchClient
	ctx    context.Context // until close
	cancel context.CancelFunc
	all    sync.WaitGroup

	mu     sync.Mutex
	open   bool // or being opened
	last   int64
	live   map[int64]*watch
	queue  []*pb.WatchRequest // to be sent
	queued chan struct{}      // has a token if the queue may have requests
}

// watch waits for the deletion of one key. It has at most two events: that it was created, and that it has ended, with
// the deletion or because the stream broke.
type watch struct {
	watcher *watcher
	id      int64
	key     string
	events  chan event
}

type event struct {
	created bool
	rev     int64 // if created: the watch sees what comes after it
}

func newWatcher(server pb.WatchClient) *watcher {
	w := &watcher{server: server, live: map[int64]*watch{}, queued: make(chan struct{}, 1)}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	return w
}

// watch begins to watch a key. It does not block.
func (w *watcher) watch(key string) *watch {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last++
	one := &watch{watcher: w, id: w.last, key: key, events: make(chan event, 2)}
	if w.ctx.Err() != nil {
		one.events <- event{}
		return one
	}
	w.live[one.id] = one
	w.send(one.creation())
	if !w.open {
		w.open = true
		w.all.Go(w.run)
	}
	return one
}

func (w *watch) creation() *pb.WatchRequest {
	return &pb.WatchRequest{RequestUnion: &pb.WatchRequest_CreateRequest{CreateRequest: &pb.WatchCreateRequest{
		Key: []byte(w.key), WatchId: w.id, Filters: []pb.WatchCreateRequest_FilterType{pb.WatchCreateRequest_NOPUT},
	}}}
}

func (w *watcher) send(r *pb.WatchRequest) {
	w.queue = append(w.queue, r)
	select {
	case w.queued <- struct{}{}:
	default:
	}
}

// end stops a watch that has not ended by itself, here and on the server.
func (w *watch) end() {
	w.watcher.mu.Lock()
	defer w.watcher.mu.Unlock()
	w.watcher.finish(w.id)
}

// finish forgets a watch, here and on the server.
func (w *watcher) finish(id int64) *watch {
	one := w.live[id]
	if one == nil {
		return nil
	}
	delete(w.live, id)
	w.send(&pb.WatchRequest{RequestUnion: &pb.WatchRequest_CancelRequest{
		CancelRequest: &pb.WatchCancelRequest{WatchId: id},
	}})
	return one
}

// run is the life of one stream.
func (w *watcher) run() {
	w.serve()
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, one := range w.live {
		delete(w.live, id)
		one.events <- event{}
	}
	w.queue, w.open = nil, false
}

// serve opens the stream and returns when it has ended and its writer has stopped.
func (w *watcher) serve() {
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(w.ctx)) // a member without a leader would be silent
	stream, err := w.server.Watch(ctx)
	if err != nil {
		cancel()
		return
	}
	var writing sync.WaitGroup
	writing.Go(func() { w.write(ctx, stream) })
	for {
		answer, err := stream.Recv()
		if err != nil {
			break
		}
		w.answer(answer)
	}
	cancel()
	writing.Wait()
}

// write sends what is queued until the stream ends, which ends ctx.
func (w *watcher) write(ctx context.Context, stream pb.Watch_WatchClient) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.queued:
		}
		w.mu.Lock()
		requests := w.queue
		w.queue = nil
		w.mu.Unlock()
		for _, r := range requests {
			if stream.Send(r) != nil {
				return // Recv says so too
			}
		}
	}
}

// answer passes a response of the server on to the waiter.
func (w *watcher) answer(r *pb.WatchResponse) {
	w.mu.Lock()
	defer w.mu.Unlock()
	one := w.live[r.WatchId]
	switch {
	case one == nil: // ended meanwhile
	case r.Canceled:
		delete(w.live, r.WatchId)
		one.events <- event{}
	case r.Created:
		one.events <- event{created: true, rev: r.GetHeader().GetRevision()}
	default:
		for _, e := range r.Events {
			if e.Type == mvccpb.Event_DELETE {
				w.finish(r.WatchId)
				one.events <- event{}
				return
			}
		}
	}
}

// close ends all watches and waits for the stream's goroutines.
func (w *watcher) close() {
	w.mu.Lock()
	w.cancel()
	w.mu.Unlock()
	w.all.Wait()
}
