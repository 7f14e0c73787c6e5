'use strict';
// The package @sesamecare-oss/redlock: new Redlock(clients).acquire([key], ttl), which its documentation shows beside
// using, which renews the lock by itself. Its wait tries again up to 10 times, every 200 ms or so; it has no way to end
// a wait: what the attempt under way wins is released.
const { Lock, Redlock, ResourceLockedError } = require('@sesamecare-oss/redlock');
const { RedlockSession, failed, minority, opening, redlock } = require('./clients.js');
const { Failed, serve, versionOf } = require('./lines.js');

// once is for what must not be tried again: a release or a renewal, and a try.
const once = { retryCount: 0 };

// asked returns what call resolves to, and null if the servers have said no in the last attempt: too many of them to
// acquire or, for a lock that is held, so many that no majority can have it, whatever the silent ones would say.
async function asked(call, held) {
  try {
    return await call();
  } catch (error) {
    if (!error.attempts) throw error;
    if (error.attempts.length === 0) return null; // the lock's own time is over
    const { votesAgainst, membershipSize } = await error.attempts.at(-1);
    const silent = [...votesAgainst.values()].filter((reason) => !(reason instanceof ResourceLockedError));
    const having = membershipSize - (votesAgainst.size - silent.length);
    if (silent.length === 0 || (held ? having : silent.length) <= minority(membershipSize)) return null;
    throw failed(silent[0], membershipSize);
  }
}

class Session extends RedlockSession {
  constructor(clients, settings) {
    super(clients, settings);
    this.redlock = this.observed();
  }

  library(settings) {
    const library = new Redlock(this.clients, settings);
    library._attemptOperation = async (script, ...args) => {
      if (library.ended && script === 'acquireLock') throw new Error('the wait has ended');
      const result = await Redlock.prototype._attemptOperation.call(library, script, ...args);
      if (library.voted && script === 'acquireLock') {
        const { votesFor, votesAgainst } = await result.stats;
        const against = [...votesAgainst.values()].map((error) => !(error instanceof ResourceLockedError) && error);
        library.voted([...against, ...[...votesFor].map(() => true)]);
      }
      return result;
    };
    return library;
  }

  acquire(r, library) {
    return asked(() => (library || this.redlock).acquire([r.key], r.ttl_ns / 1e6, library ? {} : once));
  }

  asked(call) {
    return asked(call, true);
  }

  unlock(lock, library = this.redlock) {
    return library.release(lock, once);
  }

  extend(lock, ttl) {
    return this.redlock.extend(lock, ttl, once);
  }

  named(key, owner) {
    return new Lock(this.redlock, [key], owner, [], Infinity);
  }
}

serve({
  library: { name: '@sesamecare-oss/redlock', version: versionOf('@sesamecare-oss/redlock') }, service: 'redis',
  topologies: ['redlock'], params: redlock.params,
  designs: [{
    name: 'library', traits: redlock.traits,
    models: '@sesamecare-oss/redlock: a script sets key token PX ttl on a majority of nodes, compare-and-delete, ' +
      'random delays',
    wrong: 'no fencing token: a holder that outlives its lease goes on beside the next; a node that restarts empty or ' +
      'fails over can grant it twice; the release of a lost lock is tried again for two seconds (node-redlock issue ' +
      '131), but not here; with an even number of nodes, a split vote is never answered; a database above 15 is ' +
      'taken for 0; waiters poll',
    loses: ['overrun', 'holder-pauses', 'late-grant', 'server-clock', 'failover', 'restart-empty', 'eviction',
      'quorum-restart', 'quorum-pause', 'missed-wakeup'],
  }],
}, opening(redlock.params, redlock.traits, (clients, settings) => {
  const { db } = clients[0].options; // which its scripts select
  if (db > 15) throw new Failed('other', `database: ${db}: the library takes it for 0: give 0 to 15`, 'database');
  return () => new Session(clients, { ...settings, db });
}));
