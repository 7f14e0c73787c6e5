package zookeeper

import (
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/servers/servertest"
)

// SingleServer is the server that the tests of both packages share.
var SingleServer = servertest.ShareZooKeeper()

// A node of an earlier session of the client is not deleted, even with the right owner: when the deletion arrives, that
// session has ended, and the next holder's node has the same name.
func TestHerdLeavesEarlierSessionsAlone(t *testing.T) {
	t.Parallel()
	const key = "test:earlier" // the server is shared
	z := SingleServer.Get(t)
	svc, err := driver{}.Open(t.Context(), drivers.Config{Lock: "herd", Addrs: z.URLs(), Clients: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer svc.Close()
	c, err := svc.Session(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	addrs := []string{strings.TrimPrefix(z.URLs()[0], "zookeeper://")}
	other, events, err := zk.Connect(addrs, 10*time.Second, zk.WithLogger(silent{}))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		other.Close()
		for range events {
		}
	}()
	if _, err := other.Create("/"+key, []byte("owner"), zk.FlagEphemeral, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	session := c.(*herdSession).c
	for _, earlier := range []bool{true, false} {
		session.mu.Lock()
		session.earlier = nil
		if earlier {
			session.earlier = []int64{other.SessionID()}
		}
		session.mu.Unlock()
		l := &drivers.Lease{Key: key, Owner: "owner"}
		if removed, err := c.Release(t.Context(), l); removed == earlier || err != nil {
			t.Errorf("Release of a node, of an earlier session %t: %v, %v", earlier, removed, err)
		}
		if found, _, err := other.Exists("/" + key); found != earlier || err != nil {
			t.Errorf("the node, of an earlier session %t: %v, %v", earlier, found, err)
		}
	}
}
