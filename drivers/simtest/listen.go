package simtest

// Subscriptions to the releases of a node.

import (
	"context"
	"errors"
	"fmt"

	"github.com/lockbench/lockbench/drivers"
)

// subscription is a listener. Its keys are the node's, and outlive a restart: a listener that has lost its connection
// subscribes to all of them again.
type subscription struct {
	*conn
	keys map[string]bool // guarded by the node's mutex
	wake func(key string)
}

// Listen implements drivers.Subscriber.
func (s *service) Listen(_ context.Context, wake func(key string)) (drivers.Listener, error) {
	if !s.traits.Wakes {
		return nil, errors.New("sim: listen: the service was opened without Config.Wakes")
	}
	n := s.node
	n.state.Lock()
	number := len(n.subs)
	n.state.Unlock()
	sub := &subscription{
		conn: dial(s, firstSub+number, fmt.Sprintf("s%d", number)),
		keys: map[string]bool{}, wake: wake,
	}
	n.state.Lock()
	defer n.state.Unlock()
	n.subs = append(n.subs, sub)
	return sub, nil
}

func (s *subscription) Add(ctx context.Context, key string) error {
	_, err := s.call(ctx, request{op: opSubscribe, key: key, sub: s})
	return err
}

func (s *subscription) Remove(ctx context.Context, key string) error {
	_, err := s.call(ctx, request{op: opUnsubscribe, key: key, sub: s})
	return err
}

func (s *subscription) Close() error {
	n := s.service.node
	n.state.Lock()
	defer n.state.Unlock()
	clear(s.keys)
	return nil
}
