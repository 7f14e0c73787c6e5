package cli

import (
	"strings"
	"testing"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results/spec"
)

func TestCheckServer(t *testing.T) {
	for _, test := range []struct {
		server        drivers.Server
		nodes         int
		warning, fail string
	}{
		{drivers.Server{}, 0, "", ""},
		{drivers.Server{MaxClients: 100, Connected: 1}, 0, "", ""},
		{drivers.Server{MaxClients: 15, Connected: 1}, 0, "", "16 connections are needed and the server accepts 15 (maxclients)"},
		{drivers.Server{MaxClients: 16, Connected: 1}, 0, "", ""}, // the one is ours
		{drivers.Server{MaxClients: 20, Connected: 10}, 0, "the server has 9 of its 20 connections", ""},
		{drivers.Server{MaxClients: 16, Connected: 1}, 5, "", ""}, // both are a node's
		{drivers.Server{MaxClients: 15, Connected: 1}, 5, "", "16 connections are needed and the server accepts 15 (maxclients)"},
		{drivers.Server{MaxClients: 20, Connected: 10}, 5, "the server has 9 of its 20 connections", ""},
	} {
		p := spec.Plan{Load: spec.Load{Clients: 100}, Driver: "rueidis", Lock: "set-nx", Wait: "none", Conns: 16, Nodes: test.nodes}
		warning, err := checkServer(t.Context(), p, fake{server: test.server}, 1)
		if !strings.HasPrefix(warning, test.warning) || (warning == "") != (test.warning == "") ||
			(err == nil) != (test.fail == "") || err != nil && !strings.HasPrefix(err.Error(), test.fail) {
			t.Errorf("%+v: %q, %v", test, warning, err)
		}
	}
}
