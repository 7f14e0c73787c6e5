package redis

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/lockbench/lockbench/drivers"
)

// closing is a Conn that counts how often it is closed.
type closing struct {
	Conn
	closed int
}

func (c *closing) Close() error { c.closed++; return nil }

// TestClusterDialsApart dials two nodes, of which one does not answer, and then that one twice at once.
func TestClusterDialsApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer := make(chan *closing)
		var routes closing
		c, err := dialCluster(t.Context(), func(_ context.Context, o Options) (Conn, error) {
			switch {
			case o.Topology == drivers.TopologyCluster:
				return &routes, nil
			case o.Target.Host == "silent":
				return <-answer, nil
			}
			return &closing{}, nil
		}, Options{Config: drivers.Config{Topology: drivers.TopologyCluster}})
		if err != nil {
			t.Fatal(err)
		}
		cluster := c.(*clusterConn)
		got := make(chan Conn, 2)
		for range 2 {
			go func() {
				conn, err := cluster.node(t.Context(), "silent:1")
				if err != nil {
					t.Error(err)
				}
				got <- conn
			}()
		}
		synctest.Wait()
		if _, err := cluster.node(t.Context(), "other:1"); err != nil { // else all are blocked, which synctest reports
			t.Error(err)
		}
		one, two := &closing{}, &closing{}
		answer <- one
		synctest.Wait()
		answer <- two
		if a, b := <-got, <-got; a != Conn(one) || b != Conn(one) || two.closed != 1 {
			t.Errorf("the connections to a node are %p and %p, want %p twice; the other one was closed %d times", a, b, one, two.closed)
		}
		if err := c.Close(); err != nil || one.closed != 1 {
			t.Errorf("closed %d times, error %v", one.closed, err)
		}
	})
}
