'use strict';
// Mutex of the package redis-semaphore, as its documentation shows it: new Mutex(redis, key, { lockTimeout }). It
// renews what it holds until the release, and its wait polls every 10 ms, for 10 s at most.
const { Mutex } = require('redis-semaphore');
const { failed, opening } = require('./clients.js');
const { Failed, refused, serve, versionOf } = require('./lines.js');

// A client that neither releases nor ends its process keeps the lock for ever, since it is renewed: session, and not
// expires.
const traits = { exclusive: true, owned: true, session: true, waits: true, takes_owner: true, crashes: true };
const params = [
  { name: 'acquireTimeout', default: '10000', text: 'milliseconds that a wait may take' },
  { name: 'retryInterval', default: '10', text: 'milliseconds between its attempts' },
  { name: 'refreshShare', default: '0.8', text: 'share of the TTL after which a lock is renewed' },
];

class Session {
  constructor(client, ttl, settings) {
    this.mutexes = new Map();
    // The library does not tell whether a release has found the lock; the server does.
    const told = (name) => async (...args) => (this.answered = await client[name](...args));
    this.client = {
      options: client.options, set: async (...args) => this.asked(await client.set(...args)), evalsha: told('evalsha'), eval: told('eval'),
    };
    const onLockLost = () => {}; // its default throws, which ends the process
    this.options = { ...settings, lockTimeout: ttl, onLockLost };
    if (settings.refreshShare !== 0.8) this.options.refreshInterval = Math.round(ttl * settings.refreshShare);
  }

  // asked counts an attempt, and tells of the first one of a wait that is refused.
  asked(answer) {
    if (++this.tries === 1 && !answer && this.waits) refused(this.waits);
    return answer;
  }

  mutex(r, options) {
    this.stop(r.lease);
    const mutex = new Mutex(this.client, r.key, { ...this.options, identifier: r.owner, ...options });
    this.mutexes.set(r.lease, mutex);
    return mutex;
  }

  stop(lease) {
    const mutex = this.mutexes.get(lease);
    if (mutex) mutex.stopRefresh();
  }

  async try(r) {
    return { held: await asked(this.mutex(r, { acquireAttemptsLimit: 1, retryInterval: 0 }).tryAcquire()) };
  }

  async wait(r) {
    const aborting = new AbortController();
    this.cancel = () => (aborting.abort(), {});
    const own = this.options.acquireTimeout, limit = Math.min(own, (r.timeout_ns || Infinity) / 1e6);
    Object.assign(this, { tries: 0, waits: r });
    try {
      const held = await asked(this.mutex(r, { acquireTimeout: limit }).tryAcquire(aborting.signal));
      return { held, tries: this.tries, gave_up: !held && limit === own };
    } catch (error) {
      if (aborting.signal.aborted) return { held: false, tries: this.tries };
      throw error;
    } finally {
      this.waits = null;
    }
  }

  cancel() {
    return {};
  }

  async release(r) {
    let mutex = this.mutexes.get(r.lease);
    if (!mutex || !mutex.isAcquired || mutex.identifier !== r.owner || mutex._key !== 'mutex:' + r.key) {
      if (!r.owner) return { owned: false };
      mutex = new Mutex(this.client, r.key, { ...this.options, identifier: r.owner, acquiredExternally: true });
    }
    this.answered = 0;
    await asked(mutex.release());
    return { owned: this.answered === 1 };
  }

  close() {
    for (const lease of this.mutexes.keys()) this.stop(lease);
    return {};
  }

  crash() {
    return this.close();
  }
}

const asked = (promise) => promise.catch((error) => {
  throw error.name === 'AbortError' ? error : failed(error);
});

serve({
  library: { name: 'redis-semaphore', version: versionOf('redis-semaphore') }, service: 'redis', params,
  keys: 'mutex:*',
  designs: [{
    name: 'library', traits,
    models: 'redis-semaphore, Mutex: SET mutex:key identifier PX NX, a poll every 10 ms, renewed by a timer, ' +
      'compare-and-delete',
    wrong: 'no fencing token: a process that pauses beyond its lease goes on beside the next; a client that hangs keeps ' +
      'the lock, which the library renews for as long as the process lives; a lost lock, or a renewal without an ' +
      'answer, ends a process that does not handle it (redis-semaphore issue 199)',
    loses: ['holder-pauses', 'server-clock', 'failover', 'restart-empty', 'eviction', 'session-lost'],
  }],
}, opening(params, traits, (clients, settings, r) => {
  if (!settings.refreshShare) {
    throw new Failed('other', 'params: refreshShare=0: the lock would not be a session', 'params');
  }
  const ttl = (r.ttl_ns || 10e9) / 1e6; // the library's own default
  return () => new Session(clients[0], ttl, settings);
}));
