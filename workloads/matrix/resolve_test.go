package matrix

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/wait"
	"github.com/lockbench/lockbench/results/spec"
)

// asked returns a plan as the command line makes it of its defaults.
func asked(driver string) spec.Plan {
	p := spec.Plan{Driver: driver}
	for _, s := range spec.Settings {
		if text := s.Default; text != "" && s.Name != "driver" {
			if err := s.Set(&p, text); err != nil {
				panic(err)
			}
		}
	}
	return p
}

func TestResolve(t *testing.T) {
	private := Server{Kind: Private}
	for _, test := range []struct {
		driver string
		server Server
		change func(*spec.Plan)
		want   string // what differs from the defaults, or the error
	}{
		{"rueidis", private, func(*spec.Plan) {}, "set-nx backoff"},
		{"etcd", private, func(*spec.Plan) {}, "lease native"},
		{"etcd", Server{Kind: Private, Err: errors.New("no etcd")}, func(*spec.Plan) {}, "etcd: no etcd"},
		{"etcd", Server{Kind: Embedded, Err: errors.New("no")}, func(*spec.Plan) {}, "etcd: no"},
		{"rueidis", private, func(p *spec.Plan) { p.Topology = "redlock" }, "set-nx backoff nodes 5"},
		{"rueidis", Server{Kind: External}, func(p *spec.Plan) { p.Topology, p.Nodes = "redlock", 5 }, "set-nx backoff"},
		{"rueidis", private, func(p *spec.Plan) { p.Topology, p.Acks = "replicated", 2 }, "set-nx backoff replicas 2"},
		{"etcd", private, func(p *spec.Plan) { p.Topology, p.Nodes = "ensemble", 2 },
			"etcd -topology ensemble -nodes 2: lockbench starts ensembles of 1 or 3"},
		{"rueidis", Server{Kind: Embedded}, func(p *spec.Plan) { p.Topology = "cluster" },
			"rueidis -topology cluster: the embedded server cannot be part of one; -addr private can"},
		{"memory", Server{Kind: InProcess}, func(p *spec.Plan) { p.Topology = "cluster" }, "memory -topology cluster: it knows single servers only"},
		{"memory", Server{Kind: InProcess}, func(p *spec.Plan) { p.Lock = "fair" }, `memory -lock fair: it has only mutex, reentrant`},
		{"etcd", private, func(p *spec.Plan) { p.Pipelining = "off" }, "etcd -pipelining off: its library leaves no choice"},
		{"redsync", private, func(p *spec.Plan) { p.Pipelining = "auto" }, "redsync -pipelining auto: its library leaves no choice"},
		{"rueidis", private, func(p *spec.Plan) { p.Clients = 0 }, "-clients 0: must be 1 to 1000000"},
	} {
		p := asked(test.driver)
		test.change(&p)
		_, err := Resolve(&p, test.server)
		got := p.Lock + " " + p.Wait
		if p.Nodes > 0 {
			got += " nodes " + strconv.Itoa(p.Nodes)
		}
		if p.Replicas > 0 {
			got += " replicas " + strconv.Itoa(p.Replicas)
		}
		if err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s: %s, want %s", test.driver, got, test.want)
		}
		if err == nil && (p.Poll != 0 || p.Handover != "" || p.Arrival != "" || p.Server != test.server.Kind) {
			t.Errorf("%s: not all is cleared that it does not read: %+v", test.driver, p)
		}
	}
}

// TestResolveClasses: a class has what it reads.
func TestResolveClasses(t *testing.T) {
	p := asked("memory")
	p.Arrival = spec.Poisson
	open, closed := p.Load, p.Load
	open.Clients, open.Rate = 3, spec.Must(spec.ParseRate("5"))
	closed.Clients = 4
	p.Classes = []spec.Class{{Name: "open", Load: open}, {Name: "closed", Load: closed}}
	if _, err := Resolve(&p, Server{Kind: InProcess}); err != nil {
		t.Fatal(err)
	}
	if p.Clients != 7 || p.Arrival != "" || p.Classes[0].Arrival != spec.Poisson || p.Classes[1].Arrival != "" {
		t.Errorf("%+v", p)
	}
}

// TestReads: what a plan does not read can be complained about.
func TestReads(t *testing.T) {
	p := spec.Plan{Wait: wait.Queue, Server: Private, Topology: string(drivers.TopologyCluster)}
	var read []string
	for _, s := range spec.Settings {
		if s.Unread != "" && s.ReadBy(&p) {
			read = append(read, s.Name)
		}
		if (s.Unread == "") != (s.Depends == nil) {
			t.Errorf("%s: what decides that nothing reads it, or what an error says then, is missing", s.Name)
		}
	}
	if want := []string{"nodes", "durability", "think", "timeout", "try-only", "handover", "probe"}; !slices.Equal(read, want) {
		t.Errorf("%q, want %q", read, want)
	}
}

func axis(name string, texts ...string) Axis {
	s, _ := spec.Find(name)
	a := Axis{Setting: s, Values: make([]spec.Plan, len(texts))}
	for i, text := range texts {
		spec.Must(text, s.Set(&a.Values[i], text))
	}
	return a
}

func TestExpand(t *testing.T) {
	axes := []Axis{axis("clients", "1", "2"), axis("hold", "exp:5ms"), axis("keys", "3", "4")}
	plans, err := Expand(spec.Plan{Seed: 7}, axes, 4)
	if err != nil {
		t.Fatal(err)
	}
	var got []int
	for _, p := range plans {
		got = append(got, 10*p.Clients+p.Keys)
		if p.Seed != 7 || p.Hold != 5*time.Millisecond || p.HoldDist.String() != "exp:5ms" {
			t.Errorf("%+v", p)
		}
	}
	if want := []int{13, 14, 23, 24}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if _, err := Expand(spec.Plan{}, axes, 3); err == nil || err.Error() != "-keys: the lists make a matrix of more than 3 cells" {
		t.Error(err)
	}
}

// TestExpandDriverTopologies: a driver that names its topology has that one, the others have each of the list.
func TestExpandDriverTopologies(t *testing.T) {
	for _, test := range []struct {
		drivers, topologies, want string
	}{
		{"redsync@redlock", "single", "redsync redlock"},
		{"redsync@redlock,etcd@ensemble,postgres", "single", "redsync redlock, etcd ensemble, postgres"},
		{"redsync@redlock,redsync", "single", "redsync redlock, redsync"},
		{"redsync@single", "cluster", "redsync"},
		{"redsync@redlock,rueidis", "single,cluster", "redsync redlock, redsync redlock, rueidis, rueidis cluster"},
	} {
		axes := []Axis{axis("driver", strings.Split(test.drivers, ",")...), axis("topology", strings.Split(test.topologies, ",")...)}
		plans, err := Expand(spec.Plan{}, axes, 4)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range plans {
			got = append(got, strings.TrimSpace(p.Driver+" "+p.Topology))
		}
		if text := strings.Join(got, ", "); text != test.want {
			t.Errorf("%s, -topology %s: %s; want %s", test.drivers, test.topologies, text, test.want)
		}
	}
}

func TestCheckNames(t *testing.T) {
	for text, want := range map[string]string{
		"redsync": "", "redsync@redlock": "", "etcd@single": "",
		"redis": `unknown driver "redis"`, "redis@redlock": `unknown driver "redis"`, "": `unknown driver ""`,
		"@redlock": `unknown driver ""`, "@": `unknown driver ""`, "redsync@": `unknown topology ""; there are single, `,
		"redsync@ring": `unknown topology "ring"; there are single, `, "redsync@redlock@x": `unknown driver "redsync@redlock"`,
		"redsync@Redlock": `unknown topology "Redlock"`,
	} {
		err := CheckNames([]Axis{axis("driver", text)})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %s", text, err, want)
		}
	}
}
