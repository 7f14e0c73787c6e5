'use strict';
// The package @sesamecare-oss/redlock, as its documentation shows it: new Redlock(clients).acquire([key], ttl). Its wait tries
// again up to 10 times, every 200 ms or so; it has no way to end a wait: what the attempt under way wins is released.
const { Lock, Redlock, ResourceLockedError } = require('@sesamecare-oss/redlock');
const { connect, failed, minority, quit, settingsOf } = require('./clients.js');
const { Failed, serve, versionOf } = require('./lines.js');

const traits = { exclusive: true, owned: true, expires: true, renews: true, waits: true, takes_owner: true };
const params = [
  { name: 'retryCount', default: '10', text: 'attempts of one wait, after the first; -1 for no limit' },
  { name: 'retryDelay', default: '200', text: 'milliseconds between them' },
  { name: 'retryJitter', default: '100', text: 'by how much that is random' },
  { name: 'driftFactor', default: '0.01', text: 'share of the TTL that clocks may differ by' },
];

// once is for what must not be tried again: a release or a renewal, and a try.
const once = { retryCount: 0 };

// asked returns what call resolves to, and null if the servers have said no in the last attempt: too many of them to acquire or,
// for a lock that is held, so many that no majority can have it, whatever the silent ones would say.
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

// Session has locks by lease.
class Session {
  constructor(clients, settings) {
    Object.assign(this, { clients, settings, locks: new Map() });
    this.redlock = this.observed();
  }

  observed() {
    const redlock = new Redlock(this.clients, this.settings);
    // The library makes the value of a lock, and tells it only with the lock: too late if the answer is lost.
    redlock._random = () => this.owner;
    redlock._attemptOperation = (script, ...args) => {
      if (redlock.ended && script === 'acquireLock') throw new Error('the wait has ended');
      return Redlock.prototype._attemptOperation.call(redlock, script, ...args);
    };
    return redlock;
  }

  of(key, value) {
    return new Lock(this.redlock, [key], value, [], Infinity);
  }

  granted(r, lock) {
    this.locks.set(r.lease, lock);
    return { held: true, valid_ns: Math.floor((lock.expiration - r.read) * 1e6) };
  }

  async try(r) {
    this.locks.delete(r.lease);
    this.owner = r.owner;
    const lock = await asked(() => this.redlock.acquire([r.key], r.ttl_ns / 1e6, once));
    return lock ? this.granted(r, lock) : { held: false };
  }

  async wait(r) {
    this.owner = r.owner;
    const redlock = this.observed();
    const given = asked(() => redlock.acquire([r.key], r.ttl_ns / 1e6));
    const lock = await Promise.race([given, new Promise((resolve) => (this.cancel = () => (resolve(undefined), {})))]);
    this.cancel = () => ({});
    if (lock === undefined) {
      redlock.ended = true; // no further attempts, which would keep the key from others for a moment
      given.then((late) => late && redlock.release(late, once)).catch(() => {});
    }
    return lock ? this.granted(r, lock) : { held: false };
  }

  cancel() {
    return {};
  }

  lock(r) {
    const lock = this.locks.get(r.lease);
    return lock && lock.resources[0] === r.key && (!r.owner || lock.value === r.owner) ? lock : this.of(r.key, r.owner || '');
  }

  async release(r) {
    return { owned: (await asked(() => this.redlock.release(this.lock(r), once), true)) !== null };
  }

  async renew(r) {
    const lock = await asked(() => this.redlock.extend(this.lock(r), r.ttl_ns / 1e6, once), true);
    const { held, valid_ns } = lock ? this.granted(r, lock) : { held: false };
    return { owned: held, valid_ns };
  }
}

serve({
  library: { name: '@sesamecare-oss/redlock', version: versionOf('@sesamecare-oss/redlock') }, service: 'redis',
  topologies: ['redlock'], params,
  designs: [{
    name: 'library', traits,
    models: '@sesamecare-oss/redlock: a script sets key token PX ttl on a majority of nodes, compare-and-delete, random delays',
    wrong: 'a holder that outlives its lease overlaps the next: no fencing token; a node that restarts empty or fails over can ' +
      'grant it twice; the release of a lost lock is tried again for two seconds (node-redlock issue 131), but not here; ' +
      'with an even number of nodes, a split vote is never answered; a database above 15 is taken for 0; waiters poll',
    loses: ['overrun', 'holder-pauses', 'late-grant', 'server-clock', 'failover', 'restart-empty', 'eviction',
      'quorum-restart', 'quorum-pause', 'missed-wakeup'],
  }],
}, async (r) => {
  const settings = settingsOf(params, r);
  const clients = await connect(r);
  const { db } = clients[0].options; // which its scripts select
  if (db > 15) throw new Failed('other', `database: ${db}: the library takes it for 0: give 0 to 15`, 'database');
  settings.db = db;
  return { traits, session: () => new Session(clients, settings), close: () => quit(clients) };
});
