// The design lua-setnx-expire: setnx-expire made atomic by a script, the fix of articles that do not know SET's NX and
// PX. It leaves one fault: the value identifies no owner, so a late release frees the next holder's lock.
package redis

import (
	"context"
	"slices"

	"github.com/lockbench/lockbench/drivers"
)

var setnxExpireScript = loadScript("setnx_expire")

var luaSetnxExpire = design{
	Design: drivers.Design{
		Name:   "lua-setnx-expire",
		Traits: drivers.Traits{Exclusive: true, Expires: true, Wakes: true},
		Models: "one script with SETNX and PEXPIRE, and DEL key: setnx-expire as articles repair it",
		Wrong:  "anyone can release it, and a late release frees the next holder's lock",
		Loses:  slices.Concat(replicable, expiring, ownerless, []drivers.Hazard{drivers.HazardWrongReleaseChain}),
	},
	scripted: true,
	single:   true,
	session:  func(s session) drivers.Session { return &luaSetnxExpireSession{untagged{s}} },
}

type luaSetnxExpireSession struct{ untagged }

// Try implements drivers.Session with the script.
func (s *luaSetnxExpireSession) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	args, err := s.set(l)
	if err != nil {
		return false, opTry.fail(err)
	}
	return opTry.count(s.run(ctx, setnxExpireScript, args))
}

// set returns the command of Try.
func (s *luaSetnxExpireSession) set(l *drivers.Lease) ([]string, error) {
	ttl, err := s.millis(l.TTL)
	if err != nil {
		return nil, err
	}
	l.Reset()
	return append(s.call(setnxExpireScript, l.Key), ttl), nil
}
