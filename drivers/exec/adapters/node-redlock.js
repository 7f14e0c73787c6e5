'use strict';
// The package redlock, as its documentation shows it: new Redlock(clients).lock(resource, ttl). Its wait tries again up
// to 10 times, every 200 ms or so; it has no way to end a wait: what the attempt under way wins is released.
const Redlock = require('redlock');
const { RedlockSession, failed, minority, opening, redlock } = require('./clients.js');
const { serve, versionOf } = require('./lines.js');

// Session has objects of the library of its own, which hear the answers to its requests; the clients are shared.
class Session extends RedlockSession {
  constructor(clients, settings) {
    super(clients, settings);
    this.servers = clients.length;
    this.once = this.observed({ ...settings, retryCount: 0 }); // lockWithOptions would ignore that
  }

  // library returns one that hears what the servers say: it tells a lock that is taken and a dead server alike.
  library(settings) {
    const library = Object.assign(new Redlock(this.clients, settings), { heard: [] }), votes = [];
    library._executeScript = (server, name, args, done) => {
      if (library.ended && name === 'lockScript') return done(new Error('the wait has ended'));
      return Redlock.prototype._executeScript.call(library, server, name, args, (error, count) => {
        library.heard.push(error || count);
        if (library.voted && name === 'lockScript' && votes.push(error || count === 1) === this.servers) {
          library.voted(votes.splice(0));
        }
        done(error, count);
      });
    };
    return library;
  }

  async acquire(r, library = this.once) {
    library.heard = [];
    try {
      return await library.lock(r.key, r.ttl_ns / 1e6);
    } catch (error) {
      if (!(error instanceof Redlock.LockError)) throw error;
      const attempt = library.heard.slice(-2 * this.servers, -this.servers); // what follows undoes it
      const late = attempt.filter((count) => count === 1).length > minority(this.servers);
      for (const heard of late ? [attempt, library.heard.slice(-this.servers)] : [attempt]) {
        if (silent(heard).length > minority(this.servers)) throw failed(silent(heard)[0], this.servers);
      }
      return null;
    }
  }

  // asked returns null if no majority can have the lock, whatever the silent servers would say.
  async asked(call) {
    this.once.heard = [];
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof Redlock.LockError)) throw error;
      const heard = this.once.heard.slice(0, this.servers); // the library deletes what it could not extend
      const without = heard.filter((count) => count === 0).length;
      if (silent(heard).length === 0 || heard.length - without <= minority(this.servers)) return null;
      throw failed(silent(heard)[0], this.servers);
    }
  }

  unlock(lock, library = this.once) {
    return library.unlock(lock);
  }

  extend(lock, ttl) {
    return this.once.extend(lock, ttl);
  }

  named(key, owner) {
    return new Redlock.Lock(this.once, [key], owner, Infinity, 0, 0);
  }
}

const silent = (heard) => heard.filter((count) => count instanceof Error);

serve({
  library: { name: 'redlock', version: versionOf('redlock') }, service: 'redis', topologies: ['redlock'],
  params: redlock.params,
  designs: [{
    name: 'library', traits: redlock.traits,
    models: 'node-redlock: a script sets key token PX ttl on a majority of nodes, compare-and-delete on all, ' +
      'random delays',
    wrong: 'no fencing token: a holder that outlives its lease goes on beside the next; a renewal that fails, if only for ' +
      'want of an answer, deletes the lock; a node that restarts empty or fails over can grant it twice; it waits ' +
      'for each node, the dead ones too; waiters poll, so that the client that has just released comes first',
    loses: ['overrun', 'holder-pauses', 'server-clock', 'failover', 'restart-empty', 'eviction',
      'quorum-restart', 'quorum-pause', 'missed-wakeup'],
  }],
}, opening(redlock.params, redlock.traits, (clients, settings) => () => new Session(clients, settings)));
