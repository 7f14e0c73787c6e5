'use strict';
// The package redlock, as its documentation shows it: new Redlock(clients).lock(resource, ttl). Its wait tries again up to 10
// times, every 200 ms or so; it has no way to end a wait: what the attempt under way wins is released.
const Redlock = require('redlock');
const { connect, failed, minority, quit, settingsOf } = require('./clients.js');
const { serve, versionOf } = require('./lines.js');

const traits = { exclusive: true, owned: true, expires: true, renews: true, waits: true, takes_owner: true };
const params = [
  { name: 'retryCount', default: '10', text: 'attempts of one wait, after the first; -1 for no limit' },
  { name: 'retryDelay', default: '200', text: 'milliseconds between them' },
  { name: 'retryJitter', default: '100', text: 'by how much that is random' },
  { name: 'driftFactor', default: '0.01', text: 'share of the TTL that clocks may differ by' },
];

// Session has locks by lease. Its Redlock is its own, which hears the answers to its requests; the clients are shared.
class Session {
  constructor(clients, settings) {
    Object.assign(this, { clients, settings, servers: clients.length, locks: new Map() });
    this.once = this.redlock(clients, { ...settings, retryCount: 0 }); // lockWithOptions would ignore that
  }

  // redlock returns the library, which tells a lock that is taken and a dead server alike: so it is read what the servers say.
  redlock(clients, settings) {
    const redlock = new Redlock(clients, settings);
    // The library makes the value of a lock, and tells it only with the lock: too late if the answer is lost.
    redlock._random = () => this.owner;
    redlock.heard = [];
    redlock._executeScript = (server, name, args, done) => {
      if (redlock.ended && name === 'lockScript') return done(new Error('the wait has ended'));
      return Redlock.prototype._executeScript.call(redlock, server, name, args, (error, count) => {
        redlock.heard.push(error || count);
        done(error, count);
      });
    };
    return redlock;
  }

  // acquire returns the library's lock, and null if too many servers have said no.
  async acquire(redlock, r) {
    redlock.heard = [];
    try {
      return await redlock.lock(r.key, r.ttl_ns / 1e6);
    } catch (error) {
      if (!(error instanceof Redlock.LockError)) throw error;
      const attempt = redlock.heard.slice(-2 * this.servers, -this.servers); // what follows undoes it
      const late = attempt.filter((count) => count === 1).length > minority(this.servers);
      for (const heard of late ? [attempt, redlock.heard.slice(-this.servers)] : [attempt]) {
        if (silent(heard).length > minority(this.servers)) throw failed(silent(heard)[0], this.servers);
      }
      return null;
    }
  }

  // asked returns what call resolves to, and null if no majority can have the lock, whatever the silent servers would say.
  async asked(call) {
    this.once.heard = [];
    try {
      return await call(this.once);
    } catch (error) {
      if (!(error instanceof Redlock.LockError)) throw error;
      const heard = this.once.heard.slice(0, this.servers); // the library deletes what it could not extend
      const without = heard.filter((count) => count === 0).length;
      if (silent(heard).length === 0 || heard.length - without <= minority(this.servers)) return null;
      throw failed(silent(heard)[0], this.servers);
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
    const lock = await this.acquire(this.once, r);
    return lock ? this.granted(r, lock) : { held: false };
  }

  async wait(r) {
    this.owner = r.owner;
    const patient = this.redlock(this.clients, this.settings);
    const given = this.acquire(patient, r);
    const lock = await Promise.race([given, new Promise((resolve) => (this.cancel = () => (resolve(undefined), {})))]);
    this.cancel = () => ({});
    if (lock === undefined) {
      patient.ended = true; // no further attempts, which would keep the key from others for a moment
      patient.retryCount = 0;
      given.then((late) => late && late.unlock()).catch(() => {});
    }
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
    return { owned: (await this.asked((redlock) => redlock.unlock(this.lock(r)).then(() => true))) !== null };
  }

  async renew(r) {
    const lock = await this.asked((redlock) => redlock.extend(this.lock(r), r.ttl_ns / 1e6));
    if (!lock) return { owned: false };
    this.locks.set(r.lease, lock);
    return { owned: true, valid_ns: Math.floor((lock.expiration - r.read) * 1e6) };
  }
}

const silent = (heard) => heard.filter((count) => count instanceof Error);

serve({
  library: { name: 'redlock', version: versionOf('redlock') }, service: 'redis', topologies: ['redlock'], params,
  designs: [{
    name: 'library', traits,
    models: 'node-redlock: a script sets key token PX ttl on a majority of nodes, compare-and-delete on all, random delays',
    wrong: 'a holder that outlives its lease overlaps the next: no fencing token; a renewal that fails, if only for want of an ' +
      'answer, deletes the lock; a node that restarts empty or fails over can grant it twice; it waits for each node, the dead ' +
      'ones too; waiters poll, so that the client that has just released comes first',
    loses: ['overrun', 'holder-pauses', 'server-clock', 'failover', 'restart-empty', 'eviction',
      'quorum-restart', 'quorum-pause', 'missed-wakeup'],
  }],
}, async (r) => {
  const settings = settingsOf(params, r);
  const clients = await connect(r);
  return { traits, session: () => new Session(clients, settings), close: () => quit(clients) };
});
