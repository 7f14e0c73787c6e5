'use strict';
// The package redlock, as its documentation shows it: new Redlock(clients).lock(resource, ttl). Its wait tries again up to 10
// times, every 200 ms or so; a wait that is given up goes on without us, and what it wins is released.
const Redlock = require('redlock');
const { connect, failed, quit } = require('./clients.js');
const { serve, versionOf } = require('./lines.js');

const traits = { exclusive: true, owned: true, expires: true, renews: true, waits: true, takes_owner: true };
const params = [
  { name: 'retryCount', default: '10', text: 'attempts of one wait, after the first' },
  { name: 'retryDelay', default: '200', text: 'milliseconds between them' },
  { name: 'retryJitter', default: '100', text: 'by how much that is random' },
  { name: 'driftFactor', default: '0.01', text: 'share of the TTL that clocks may differ by' },
];

// Session has locks by lease. Its Redlock is its own, whose errors are those of its request; the clients are shared.
class Session {
  constructor(clients, settings) {
    this.servers = clients.length;
    this.locks = new Map();
    this.once = this.redlock(clients, { ...settings, retryCount: 0 });
    this.patient = this.redlock(clients, settings);
  }

  redlock(clients, settings) {
    const redlock = new Redlock(clients, settings);
    redlock.on('clientError', (error) => this.errors.push(error));
    // The library makes the value of a lock, and tells it only with the lock: too late if the answer is lost.
    redlock._random = () => this.owner;
    return redlock;
  }

  // asked returns what call resolves to, and null for no.
  async asked(call) {
    this.errors = [];
    try {
      return await call();
    } catch (error) {
      // A server that did not answer has failed twice: the library undoes each attempt that failed.
      const silent = this.servers === 1 ? this.errors.length : this.errors.length / 2;
      if (error instanceof Redlock.LockError && silent <= (this.servers - 1) >> 1) return null;
      throw failed(this.errors[0] || error);
    }
  }

  granted(r, lock) {
    const left = lock && lock.expiration - r.read;
    if (left <= 0) return { held: false };
    this.locks.set(r.lease, lock);
    return { held: true, valid_ns: Math.floor(left * 1e6) };
  }

  async try(r) {
    this.locks.delete(r.lease);
    this.owner = r.owner;
    const lock = await this.asked(() => this.once.lock(r.key, r.ttl_ns / 1e6));
    return lock ? this.granted(r, lock) : { held: false };
  }

  async wait(r) {
    this.owner = r.owner;
    const given = this.asked(() => this.patient.lock(r.key, r.ttl_ns / 1e6));
    const lock = await Promise.race([given, new Promise((resolve) => (this.cancel = () => (resolve(undefined), {})))]);
    this.cancel = () => ({});
    if (lock === undefined) given.then((late) => late && late.unlock()).catch(() => {});
    return lock ? this.granted(r, lock) : { held: false };
  }

  cancel() {
    return {};
  }

  lock(r) {
    const lock = this.locks.get(r.lease);
    if (lock && lock.resource[0] === r.key && (!r.owner || lock.value === r.owner)) return lock;
    return new Redlock.Lock(this.once, [r.key], r.owner || '', Infinity, 0, 0);
  }

  async release(r) {
    const lock = this.lock(r);
    return { owned: (await this.asked(() => lock.unlock().then(() => true))) !== null };
  }

  async renew(r) {
    const lock = await this.asked(() => this.lock(r).extend(r.ttl_ns / 1e6));
    if (!lock) return { owned: false };
    this.locks.set(r.lease, lock);
    return { owned: true, valid_ns: Math.floor((lock.expiration - r.read) * 1e6) };
  }
}

serve({
  library: { name: 'redlock', version: versionOf('redlock') }, service: 'redis', topologies: ['redlock'], params,
  designs: [{
    name: 'library', traits,
    models: 'node-redlock: a script sets key token PX ttl on a majority of nodes, compare-and-delete on all, random delays',
    wrong: 'a holder that outlives its lease overlaps the next: no fencing token; a node that restarts empty or fails over can ' +
      'grant it twice; waiters poll, so that the client that has just released comes first',
    loses: ['overrun', 'holder-pauses', 'server-clock', 'orphan-watchdog', 'failover', 'restart-empty', 'eviction',
      'quorum-restart', 'quorum-pause'],
  }],
}, async (r) => {
  const clients = await connect(r);
  const settings = Object.fromEntries(params.map((p) => [p.name, Number((r.params && r.params[p.name]) || p.default)]));
  return { traits, session: () => new Session(clients, settings), close: () => quit(clients) };
});
