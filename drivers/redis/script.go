// Scripts: readable files under lua/, sent by their hash.
package redis

import (
	"context"
	"crypto/sha1"
	"embed"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"

	"github.com/lockbench/lockbench/drivers"
)

var (
	releaseScript = loadScript("release") // compare the owner, then delete
	renewScript   = loadScript("renew")   // compare the owner, then set the expiry
	deleteScript  = loadScript("delete")  // delete and publish
)

// Script is a Lua script that runs atomically on the server.
//
// A script changes the lock with its last command only. A script that fails halfway keeps the effects so far (a
// publication that the ACL forbids fails after a DEL has happened), so only this order guarantees that an error reply
// means "no effect". For the same reason it publishes before it deletes: no client can look at the lock before the
// script has ended.
type Script struct {
	source string
	sha    string
	needs  string // the commands that it calls

	sharded *Script // the variant that publishes with SPUBLISH; nil if it publishes nothing
}

var scriptCall = regexp.MustCompile(`redis\.p?call\('(\w+)'`)

// scripts are all that were made, by their sha. They are made before any service is opened.
var scripts = map[string]*Script{}

// NewScript returns the Script with that source.
func NewScript(source string) *Script {
	sum := sha1.Sum([]byte(source))
	var needs []string
	for _, call := range scriptCall.FindAllStringSubmatch(source, -1) {
		needs = append(needs, call[1])
	}
	script := &Script{source: source, sha: hex.EncodeToString(sum[:]), needs: strings.Join(needs, ", ")}
	scripts[script.sha] = script
	if strings.Contains(source, plainPublish) && !strings.HasPrefix(source, shardPublish) {
		script.sharded = NewScript(shardPublish + strings.ReplaceAll(source, plainPublish, "publish("))
	}
	return script
}

//go:embed lua
var luaFiles embed.FS

// loadScript returns the Script whose source is in the files lua/NAME.lua, one after the other.
func loadScript(names ...string) *Script {
	source := ""
	for _, name := range names {
		text, err := luaFiles.ReadFile("lua/" + name + ".lua")
		if err != nil {
			panic(err)
		}
		source += string(text)
	}
	return NewScript(source)
}

// plainPublish is the beginning of a script's publish call.
const plainPublish = "redis.call('PUBLISH', "

// form returns the variant of a script for the service.
func (s *session) form(script *Script) *Script {
	if s.sharded && script.sharded != nil {
		return script.sharded
	}
	return script
}

// call begins the command that runs script on key; the caller appends the script's arguments.
func (s *session) call(script *Script, key string) []string {
	return append(s.args[:0], "EVALSHA", s.form(script).sha, "1", key)
}

// call2 is call for a script with two keys.
func (s *session) call2(script *Script, key, extra string) []string {
	return append(s.args[:0], "EVALSHA", s.form(script).sha, "2", key, extra)
}

// run sends what call has begun: it runs the script by its hash and, if the server does not know it, by its source.
func (s *session) run(ctx context.Context, script *Script, args []string) (Reply, error) {
	reply, err := s.conn.Do(ctx, args, 3)
	if err != nil {
		return s.rerun(ctx, script, args, err)
	}
	return reply, nil
}

// rerun is the rare part of run. The second try is safe: NOSCRIPT means that nothing was run.
func (s *session) rerun(ctx context.Context, script *Script, args []string, err error) (reply Reply, _ error) {
	script = s.form(script)
	if isUnknownScript(err) {
		args[0], args[1] = "EVAL", script.source
		reply, err = s.conn.Do(ctx, args, 3)
	}
	return reply, script.denied(err)
}

// isUnknownScript reports whether the server says that it does not have the script.
func isUnknownScript(err error) bool {
	e, ok := asServerError(err)
	return ok && e.Code() == "NOSCRIPT"
}

// denied returns err with what it takes to run the script, if the user may not: the server does not say which command of a script
// it rejects.
func (s *Script) denied(err error) error {
	if e, ok := asServerError(err); !ok || e.Class() != drivers.ClassAuth || e.refusesName() {
		return err
	}
	return fmt.Errorf("%w: a user of this lock must be permitted EVALSHA, EVAL and what the script calls: %s", err, s.needs)
}

// noScript is the hash of no script.
var noScript = strings.Repeat("0", 2*sha1.Size)

// runsScripts reports whether a lock cannot do without scripts.
func (s *service) runsScripts() bool {
	t := s.design.Traits
	return s.design.scripted || s.cfg.Renews || s.cfg.Passes || s.cfg.Release == drivers.ReleaseLua || s.cfg.Blocks && t.Blocks ||
		s.cfg.Wakes && t.Wakes && len(s.design.Releases) == 0 // its release publishes and deletes at once
}

// permitsScripts returns an error if the server refuses scripts: the locks of the run could not be released. It asks for
// a script that does not exist, which changes nothing. Any other answer says nothing here.
func (s *service) permitsScripts(ctx context.Context) error {
	_, err := s.conn.Do(ctx, []string{"EVALSHA", noScript, "1", s.absentKey}, 3)
	e, refused := asServerError(err)
	if refused && e.refusesName() {
		return err
	}
	if !refused || isUnknownScript(err) || !strings.Contains(strings.ToLower(string(e)), "evalsha") {
		return nil
	}
	return fmt.Errorf("the server refuses scripts: %w: -lock set-nx-del runs none without -wait "+
		"pubsub or queue, nor does -release delex (Redis 8.4) or delifeq (Valkey 9); or permit this user EVALSHA and EVAL", err)
}
