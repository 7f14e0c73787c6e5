// What people type for something that lockbench calls otherwise, and how a word is looked up: help and list do that, and so do
// errors about a name that nothing has.

package cli

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/lockbench/lockbench/cmd/cli/catalog"
	"github.com/lockbench/lockbench/cmd/cli/suggest"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/report"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/results/view"
	"github.com/lockbench/lockbench/workloads/matrix"
)

// word leads from what people type to a page.
type word struct {
	typed string   // words, separated by blanks; case, and what is neither letter nor digit, do not matter
	means string   // what it is here, in a sentence or more
	try   []string // commands, or flags of a run
	page  string   // a topic, or what list has a page of
}

// words has no name of a page: those are found without it.
var words = []word{
	{"topics", "the topics of the help are at its end", nil, frontPage},
	{"commands start", "the commands of lockbench", nil, frontPage},
	{"flag option", "all flags of a run", nil, allFlagsPage},

	{"redlock quorum", "Redlock is a topology, several servers that grant a lock by majority. It is safe only as long as clocks and pauses stay within " +
		"bounds that nothing enforces and no server forgets a grant, and it has no fencing token; to see it fail: " +
		"lockbench prove -driver rueidis@redlock -hazard holder-pauses,quorum-pause,quorum-restart",
		[]string{"-driver rueidis@redlock", "-topology redlock"}, "topologies"},
	{"sentinel", "Sentinel is a topology, a primary of Redis that a replica replaces if it fails. Replicas hear of grants later, so that a fail-over " +
		"can grant a lock twice; to see it: lockbench prove -driver rueidis@sentinel -hazard failover",
		[]string{"-driver rueidis@sentinel", "-topology sentinel"}, "topologies"},
	{"topology majority replication", "servers that form one service", []string{"-topology redlock", "-topology replicated"}, "topologies"},
	{"shedlock", "ShedLock takes a row that expires, as the design unique-row does", []string{"-driver mysql -lock unique-row"}, "unique-row"},
	{"interprocessmutex", "Curator's InterProcessMutex is the design sequential", []string{"-driver zookeeper -lock sequential"}, "sequential"},
	{"rlock", "Redisson's RLock is the design redisson", []string{"-driver rueidis -lock redisson"}, "redisson"},
	{"advisorylock pgadvisorylock pgtryadvisorylock", "PostgreSQL's advisory locks are the design advisory", []string{"-driver postgres -lock advisory"}, "advisory"},
	{"selectforupdate forupdate rowlevel", "SELECT … FOR UPDATE is the design row-lock", []string{"-driver postgres -lock row-lock", "-driver mysql -lock row-lock"}, "row-lock"},
	{"setnxpx setnxex", "SET with NX and PX is the design set-nx", []string{"-driver rueidis -lock set-nx"}, "set-nx"},
	{"fencing fencingtoken", "each grant of the design fenced has a fencing token", []string{"-driver rueidis -lock fenced"}, "fenced"},
	{"mariadb", "MariaDB is a server of the service mysql", []string{"-driver mysql"}, "mysql"},
	{"postgresql pg", "PostgreSQL is the service postgres", []string{"-driver postgres"}, "postgres"},
	{"valkey keydb dragonfly", "it speaks the protocol of the service redis", []string{"-driver rueidis -addr redis://host"}, "redis"},
	{"zk", "ZooKeeper is the service zookeeper", []string{"-driver zookeeper"}, "zookeeper"},
	{"python java javascript node nodejs npm jedis asyncio", "lock libraries of Python, Node.js and Java run in processes of their own", []string{"lockbench list"}, "adapters"},
	{"semaphore rwlock readwrite readlock", "lockbench has locks with one holder only: no semaphores, no locks for readers", nil, "drivers"},

	{"pause gcpause gc stoptheworld stall freeze", "a GC pause, or any other stop of the holder, is the hazard holder-pauses",
		[]string{"lockbench prove -hazard holder-pauses"}, "holder-pauses"},
	{"die death dead killed kill9 crashed", "the death of a holder is the hazard holder-dies; -crash measures how long its lock stays",
		[]string{"lockbench prove -hazard holder-dies", "-crash 1% -ttl 2s -hold 5ms"}, "holder-dies"},
	{"promotion splitbrain partition", "a replica that takes over without a grant is the hazard failover",
		[]string{"lockbench prove -hazard failover -driver rueidis"}, "failover"},
	{"restart persistence", "a server that forgets its grants is the hazard restart-empty", []string{"lockbench prove -hazard restart-empty -driver rueidis"}, "restart-empty"},
	{"clock clockskew clockdrift ntp", "wrong clocks are the hazards client-clock and server-clock", []string{"lockbench prove -hazard client-clock,server-clock"}, "hazards"},
	{"expired timeoutexpired longerthanlease", "a hold that outlasts its lease is the hazard overrun", []string{"lockbench prove -hazard overrun"}, "overrun"},
	{"notification lostwakeup", "a waiter that sleeps on a free lock is the hazard missed-wakeup", []string{"lockbench prove -hazard missed-wakeup"}, "missed-wakeup"},

	{"which decide decision recommend best usecase", "from the task to a lock, and to what shows its risk", nil, "choose"},
	{"cron crontab cronjob scheduler scheduled", "cron on many machines is the preset cron-herd", []string{"-workload cron-herd"}, "choose"},
	{"leader election elect", "leader election is the preset leader-election", []string{"-workload leader-election"}, "choose"},
	{"worker job jobqueue sidekiq celery dedupe duplicate idempotent", "workers of a queue are the preset job-dedupe", []string{"-workload job-dedupe"}, "choose"},
	{"stock sale oversell", "stock in a shop is the presets inventory and flash-sale", []string{"-workload inventory", "-workload flash-sale"}, "choose"},
	{"ratelimit limiter throttle", "a rate limit is the preset rate-limiter", []string{"-workload rate-limiter"}, "choose"},
	{"longrunning import migration", "long jobs are the preset long-jobs", []string{"-workload long-jobs"}, "choose"},
	{"cache cacherebuild stampede dogpile thunderingherd", "the rebuild of a cache is a load of one hot key", []string{"-workload hot-key"}, "choose"},

	{"spin spinlock polling retry", "how a client waits", []string{"-wait poll", "-wait backoff"}, "waiting"},
	{"heartbeat keepalive extend autorenew", "a watchdog renews a lease while its holder is at work", []string{"-renew -ttl 1s -hold 3s"}, "leases"},
	{"sessionbound", "session-bound is the claim session", nil, "leases"},
	{"fsync disk aof wal", "what is on disk after a grant", []string{"-durability strict"}, "durability"},
	{"tls ssl acl auth connect docker", "how to reach your own server", []string{"-addr rediss://host"}, "servers"},
	{"ci githubaction pullrequest regression", "fail a pull request that is slower", nil, "gate"},
	{"benchstat abtest significance", "what changed, and whether it is real", []string{"-vs '-wait queue' -trials 10"}, "comparing"},
	{"html csv json junit prometheus grafana", "what is written, and where", nil, "formats"},
	{"percentile latency throughput p50 p999", "the figures of a run", nil, "figures"},
	{"scenario yaml", "loads that are met in production, and how to write your own", []string{"-workload cron-herd -dry-run"}, "workloads"},
	{"sizing", "which lock carries a load", nil, "capacity"},
	{"slo objective", "-slo of lockbench plan says what must be true of a load; a run is judged by what must not happen",
		[]string{"-fail-on 'response.p99>20ms'"}, "gate"},
}

// lead returns what the word is here and what to type, as a clause, and what else a page says of it.
func (w word) lead() (clause, more string) {
	clause, more, _ = strings.Cut(w.means, ". ")
	if w.try != nil {
		clause += ": " + strings.Join(w.try, ", or ")
	}
	return clause, more
}

// plain returns a word without what people vary: case, hyphens and the s of a plural.
func plain(text string) string {
	text = strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, text)
	return strings.TrimSuffix(text, "s")
}

// among returns the name that a word is, whatever its spelling; empty if it is none.
func among(text string, names []string) string {
	i := slices.IndexFunc(names, func(n string) bool { return strings.EqualFold(n, text) }) // SETNX is setnx before set-nx
	if i < 0 && plain(text) != "" {
		i = slices.IndexFunc(names, func(n string) bool { return plain(n) == plain(text) })
	}
	if i < 0 {
		return ""
	}
	return names[i]
}

// findWord finds what has a row in words.
func findWord(text string) (w word, ok bool) {
	i := slices.IndexFunc(words, func(w word) bool { return among(text, strings.Fields(w.typed)) != "" })
	if i < 0 {
		return w, false
	}
	return words[i], true
}

// about is the answer to a word; the zero value is none.
type about struct {
	lead   string // what it is here; empty if the page says so by itself
	topic  string // the page of the help; empty: none
	listed string // what list has a page of; empty: none
}

// The ways to find a word, each among names of one kind.

func aboutTopic(text string) about {
	return about{topic: among(text, append([]string{allFlagsPage}, topics...))}
}

func aboutListed(text string) about { return about{listed: among(text, catalog.Names())} }

func aboutWord(text string) (a about) {
	w, ok := findWord(text)
	if !ok {
		return a
	}
	if a = aboutListed(w.page); a.listed == "" {
		a.topic = w.page
	}
	clause, more := w.lead()
	if a.lead = format.Upper(clause) + "."; more != "" {
		a.lead += " " + more + "."
	}
	return a
}

func aboutTerm(text string) (a about) {
	for _, t := range catalog.Glossary() {
		if a.lead == "" && among(text, []string{t.Name}) != "" {
			a.lead = t.Name + ": " + t.Means + ". All words: " + format.Glue("lockbench help glossary")
		}
	}
	return a
}

// valued returns the flag that takes a word, with that value.
func valued(text string) (s spec.Setting, flag string) {
	for _, s := range spec.Settings {
		if value := among(text, matrix.Choices(s.Name)); value != "" && value != s.Zero {
			return s, "-" + s.Name + " " + value
		}
	}
	return s, ""
}

func aboutValue(text string) (a about) {
	if s, flag := valued(text); flag != "" {
		f, _ := findFlag(s.Name)
		a = f.about(flag)
	}
	return a
}

func aboutFlag(text string) (a about) {
	if name := among(text, flagNames(runFlags)); name != "" {
		f, _ := findFlag(name)
		a = f.about(strings.TrimSpace(f.left()[2:]))
	}
	return a
}

// about returns the answer to what is typed as that.
func (f flagDef) about(typed string) about {
	return about{lead: typed + ": " + strings.ReplaceAll(f.usage, "\n", " "), topic: topicOf(f.group)}
}

func aboutFigure(text string) (a about) {
	for _, f := range view.AllFlags() {
		if among(text, []string{f.Name}) != "" {
			return about{lead: f.Name + ": " + f.Means, topic: "marks"}
		}
	}
	if m, ok := metric.Named(among(text, metric.Names())); ok {
		a = about{lead: m.Name + ": " + m.About, topic: "figures"}
	}
	return a
}

// topicOf returns the topic that explains the flags of a group.
func topicOf(group string) string {
	i := slices.IndexFunc(topics, func(topic string) bool {
		for line := range strings.Lines(helpText(topic)) {
			if strings.HasPrefix(line, "{{flags ") && strings.Contains(line, strconv.Quote(group)) {
				return true
			}
		}
		return false
	})
	return topics[i]
}

// The orders in which help and list look for a word.
var (
	helpOrder = []func(string) about{aboutTopic, aboutListed, aboutWord, aboutTerm, aboutValue, aboutFlag, aboutFigure}
	listOrder = []func(string) about{aboutListed, aboutWord, aboutTerm, aboutValue, aboutTopic, aboutFlag, aboutFigure}
)

// lookUp finds a word.
func lookUp(text string, order []func(string) about) (a about, ok bool) {
	for _, find := range order {
		if a = find(text); a != (about{}) {
			return a, true
		}
	}
	return a, false
}

// document returns the answer.
func (a about) document(ctx context.Context) *report.Document {
	d := &report.Document{Kind: "lockbench"}
	switch {
	case a.listed != "":
		d = catalog.New(ctx).Document(a.listed)
	case a.topic != "":
		d.Blocks = []report.Block{report.Code(page(a.topic))}
	}
	if a.lead != "" {
		d.Blocks = slices.Insert(d.Blocks, 0, report.Block(report.Paragraph{Text: a.lead}))
	}
	return d
}

// meant says in brackets what a name was probably meant to be that is none of names; empty if it is like nothing.
func meant(text string, names []string) string {
	w, known := findWord(text)
	name := cmp.Or(among(text, names), among(w.page, names))
	_, flag := valued(text)
	switch {
	case name != "":
		return " (did you mean " + name + "?)"
	case known:
		clause, _ := w.lead()
		return " (" + clause + ")"
	case flag != "":
		return " (did you mean " + flag + "?)"
	}
	return suggest.DidYouMean("", text, names)
}
