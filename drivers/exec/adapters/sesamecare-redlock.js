'use strict';
// The package @sesamecare-oss/redlock, as its documentation shows it: new Redlock(clients).acquire([key], ttl). Its wait tries
// again up to 10 times, every 200 ms or so; a wait that is given up goes on without us, and what it wins is released.
const { Lock, Redlock, ResourceLockedError } = require('@sesamecare-oss/redlock');
const { connect, failed, quit } = require('./clients.js');
const { serve, versionOf } = require('./lines.js');

const traits = { exclusive: true, owned: true, expires: true, renews: true, waits: true, takes_owner: true };
const params = [
  { name: 'retryCount', default: '10', text: 'attempts of one wait, or of a release or renewal, after the first' },
  { name: 'retryDelay', default: '200', text: 'milliseconds between them' },
  { name: 'retryJitter', default: '100', text: 'by how much that is random' },
  { name: 'driftFactor', default: '0.01', text: 'share of the TTL that clocks may differ by' },
];

// asked returns what call resolves to, and null if the servers have said no in the last attempt.
async function asked(call) {
  try {
    return await call();
  } catch (error) {
    if (!error.attempts) throw error;
    if (error.attempts.length === 0) return null; // the lock's own time is over
    const { quorumSize, votesAgainst, membershipSize } = await error.attempts.at(-1);
    const silent = [...votesAgainst.values()].filter((reason) => !(reason instanceof ResourceLockedError));
    if (silent.length <= membershipSize - quorumSize) return null;
    throw failed(silent[0]);
  }
}

// Session has locks by lease.
class Session {
  constructor(clients, settings) {
    this.locks = new Map();
    this.redlock = new Redlock(clients, settings);
    // The library makes the value of a lock, and tells it only with the lock: too late if the answer is lost.
    this.redlock._random = () => this.owner;
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
    const lock = await asked(() => this.redlock.acquire([r.key], r.ttl_ns / 1e6, { retryCount: 0 }));
    return lock ? this.granted(r, lock) : { held: false };
  }

  async wait(r) {
    this.owner = r.owner;
    const given = asked(() => this.redlock.acquire([r.key], r.ttl_ns / 1e6));
    const lock = await Promise.race([given, new Promise((resolve) => (this.cancel = () => (resolve(undefined), {})))]);
    this.cancel = () => ({});
    if (lock === undefined) given.then((late) => late && late.release()).catch(() => {});
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
    return { owned: (await asked(() => this.lock(r).release())) !== null };
  }

  async renew(r) {
    const lock = await asked(() => this.lock(r).extend(r.ttl_ns / 1e6));
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
      'grant it twice; the release of a lost lock is tried again for two seconds; waiters poll',
    loses: ['overrun', 'holder-pauses', 'late-grant', 'server-clock', 'orphan-watchdog', 'failover', 'restart-empty', 'eviction',
      'quorum-restart', 'quorum-pause'],
  }],
}, async (r) => {
  const clients = await connect(r);
  const settings = Object.fromEntries(params.map((p) => [p.name, Number((r.params && r.params[p.name]) || p.default)]));
  settings.db = Number(r.database || 0); // its scripts select it
  return { traits, session: () => new Session(clients, settings), close: () => quit(clients) };
});
