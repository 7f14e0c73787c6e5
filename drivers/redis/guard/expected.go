package guard

// Replies that a library takes for granted: their form, and their order.

import (
	"bytes"
	"strings"
)

// expectation is a command whose reply must have a certain form.
type expectation struct {
	number  int64 // of the command
	form    form
	left    int64 // channels whose subscription is not confirmed yet
	partial bool  // other channels of the command are confirmed
}

type form int

const (
	subscription form = iota
	unsubscription
	pong
	pongBehind // of the PING that rueidis sends after an unsubscription
	hello2
	hello3
	role
	primary
)

// expect records the latest command, whose reply is to be checked, before it is sent. name is in capitals.
func (g *guard) expect(name, sub string, args int64) {
	x := expectation{number: g.commands.answered}
	switch {
	case name == "PING":
		x.form = pong
		if g.left > 0 && x.number == g.left+1 {
			x.form = pongBehind
		}
	case name == "ROLE":
		x.form = role
	case name == "HELLO":
		x.form = hello2
		if sub == "3" {
			x.form = hello3
		}
	case name == "SENTINEL":
		if !strings.EqualFold(sub, "GET-MASTER-ADDR-BY-NAME") {
			return
		}
		x.form = primary
	case strings.HasSuffix(name, "UNSUBSCRIBE"):
		x.form, g.left = unsubscription, x.number
	default:
		x.form, x.left = subscription, args-1
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.expected = append(g.expected, x); len(g.expected) == 1 {
		g.next.Store(x.number)
	}
}

// due returns the expectation of the next reply, or nil. The caller holds the mutex.
func (g *guard) due() *expectation {
	if len(g.expected) > 0 && g.expected[0].number == g.replies.answered+1 {
		return &g.expected[0]
	}
	return nil
}

// met drops the first expectation. The caller holds the mutex.
func (g *guard) met() {
	if g.expected = g.expected[1:]; len(g.expected) == 0 {
		g.expected = nil
		g.next.Store(0)
	} else {
		g.next.Store(g.expected[0].number)
	}
}

// confirmed records that a subscription is confirmed. It counts as the reply once all of the command are.
func (g *guard) confirmed() (whole bool, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	x := g.due()
	if x == nil || x.form != subscription {
		return false, breach("a confirmation of a subscription that was not requested, or out of order")
	}
	if x.left--; x.left > 0 {
		x.partial = true
		return false, nil
	}
	g.met()
	return true, nil
}

// ended records that a subscription has ended. It counts as a reply if one is due.
func (g *guard) ended() (due bool, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	x := g.due()
	switch {
	case x == nil:
	case x.form == unsubscription:
		g.met()
		return true, nil
	case x.partial:
		return false, breach("the end of a subscription among the confirmations of others")
	}
	return false, nil
}

// judge checks the reply to the first expectation.
func (g *guard) judge() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	r, x := &g.replies, g.expected[0]
	e := &r.elements
	failed := r.kind == '-'
	pair := r.kind == '*' && r.count == 2 && e[0].is("pong") && e[1].isString()
	good := false
	switch x.form {
	case subscription:
		good = failed && !x.partial && string(r.message) != "QUEUED"
	case unsubscription:
		good = failed && !pongLike(r.message) && string(r.message) != "QUEUED"
	case pong:
		good = failed || r.kind == '+' || r.kind == '$' || pair
	case pongBehind:
		good = (failed || r.kind == '+') && pongLike(r.message) || pair
	case hello2:
		good = failed || r.kind == '*' && r.proto == "2"
	case hello3: // some servers only speak version 2, and say so
		good = failed || (r.kind == '%' || r.kind == '*') && (r.proto == "2" || r.proto == "3")
		g.resp3 = !failed && r.proto == "3"
	case role:
		good = failed || r.kind == '*' && r.count > 0
	case primary:
		good = failed || r.kind == '_' || r.kind == '*' && r.count >= 2 && e[0].isString() && e[1].isString()
	}
	if !good {
		return breach("%s that is none", x.form)
	}
	g.met()
	return nil
}

// pongLike reports whether rueidis takes a message for the reply to its PING after an unsubscription. If rueidis errs,
// it panics at the next reply.
func pongLike(message []byte) bool {
	return string(message) == "PONG" || bytes.HasPrefix(message, []byte("LOADING")) || bytes.HasPrefix(message, []byte("BUSY")) ||
		bytes.Contains(message, []byte("'ping'"))
}

func (f form) String() string {
	return [...]string{"the confirmation of a subscription", "the confirmation of an end of subscriptions", "a reply to PING",
		"a reply to PING behind an end of subscriptions", "a reply to HELLO", "a reply to HELLO", "a reply to ROLE",
		"the address of a primary"}[f]
}
