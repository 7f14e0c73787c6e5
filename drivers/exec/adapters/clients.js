'use strict';
// Clients of Redis for the libraries over ioredis: one a server and process, as Node has it.
const Redis = require('ioredis');
const { Failed, refused } = require('./lines.js');

// connect returns a client of each server that open names, of which a majority has answered. Nothing is sent again or
// later: a hidden retry would falsify times and safety. Of several servers, none may take longer than node_timeout_ns,
// if that is given.
async function connect(r) {
  const io = (r.io_timeout_ns || 3e9) / 1e6;
  const commandTimeout = r.topology === 'redlock' && r.node_timeout_ns ? r.node_timeout_ns / 1e6 : io;
  const own = { username: r.username, password: r.password, db: r.database && Number(r.database) };
  const options = {
    ...Object.fromEntries(Object.entries(own).filter(([, value]) => value !== undefined && value !== '')),
    lazyConnect: true, connectTimeout: io, commandTimeout, maxRetriesPerRequest: 0, enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false, retryStrategy: () => 50,
  };
  const clients = r.addrs.map((addr) => {
    const unix = addr.startsWith('unix://') && new URL(addr);
    return unix
      ? new Redis({
        ...options, path: unix.pathname,
        ...(unix.password && { password: decodeURIComponent(unix.password) }),
        ...(unix.username && { username: decodeURIComponent(unix.username) }),
      })
      : new Redis(addr.includes('://') ? addr : 'redis://' + addr, options);
  });
  const errors = [];
  await Promise.all(clients.map((client) => {
    let reason; // connect only says that it is closed
    client.on('error', (error) => (reason = error)); // each command has its own
    return client.connect().then(() => client.ping()).catch((error) => errors.push(reason || error));
  }));
  if (errors.length > minority(clients.length)) {
    quit(clients);
    throw failed(errors[0]);
  }
  return clients;
}

// minority returns how many of the servers may be silent, and the others are a majority.
const minority = (servers) => (servers - 1) >> 1;

// settingsOf returns the numbers that the params have. Only a number of attempts may be -1, for no limit.
function settingsOf(params, r) {
  return Object.fromEntries(params.map(({ name, default: usual }) => {
    const text = (r.params && r.params[name]) || usual;
    if (/^\d+(\.\d+)?$/.test(text) || (name === 'retryCount' && text === '-1')) return [name, Number(text)];
    throw new Failed('other', `params: ${name}=${text}: must be a number from 0`, 'params');
  }));
}

// failed gives an error of ioredis its class. Nothing was done if there was no connection to write to, and only one
// server.
function failed(error, servers = 1) {
  const text = error.message;
  if (servers > 1 && text !== 'Command timed out') return new Failed('closed', text);
  if (/^(WRONGPASS|NOAUTH|NOPERM)/.test(text)) return new Failed('auth', text);
  if (error.name === 'ReplyError') return new Failed('server', text);
  if (text === 'Command timed out') return new Failed('timeout', text);
  if (/writeable|ECONNREFUSED|ENOENT|connect ETIMEDOUT/.test(text)) return new Failed('connect', text);
  return new Failed('closed', text);
}

const quit = (clients) => clients.forEach((client) => client.disconnect());

// opening returns an adapter's open. sessions returns what makes a session of the clients and the settings.
const opening = (params, traits, sessions) => async (r) => {
  const settings = settingsOf(params, r);
  const clients = await connect(r);
  return { traits, session: sessions(clients, settings, r), close: () => quit(clients) };
};

// What the two libraries of Redlock have in common.
const redlock = {
  traits: { exclusive: true, owned: true, expires: true, renews: true, waits: true, takes_owner: true },
  params: [
    { name: 'retryCount', default: '10', text: 'attempts of one wait, after the first; -1 for no limit' },
    { name: 'retryDelay', default: '200', text: 'milliseconds between them' },
    { name: 'retryJitter', default: '100', text: 'by how much that is random' },
    { name: 'driftFactor', default: '0.01', text: 'share of the TTL that clocks may differ by' },
  ],
};

// RedlockSession has locks by lease. A subclass has:
//   - library(settings), which returns an object of the library that makes no attempt once its field ended is set, and calls
//     its method voted, if there is one, with the answers of the servers to each attempt, true if they have granted it, an Error, or false;
//   - acquire(r, library), which returns a lock, or null if the servers have said no; without a library it tries once;
//   - asked(call), which returns what the call about a held lock resolves to, or null likewise;
//   - unlock(lock, library) and extend(lock, ttl), which try once;
//   - named(key, owner), which returns the lock of an owner.
class RedlockSession {
  constructor(clients, settings) {
    Object.assign(this, { clients, settings, locks: new Map() });
  }

  // observed returns a library that takes the value of a lock from the session. Its own would be known only with the
  // lock: too late if the answer is lost.
  observed(settings = this.settings) {
    return Object.assign(this.library(settings), { _random: () => this.owner });
  }

  granted(r, lock) {
    const left = lock ? lock.expiration - r.read : 0;
    if (left <= 0) return { held: false };
    this.locks.set(r.lease, lock);
    return { held: true, valid_ns: Math.floor(left * 1e6) };
  }

  async try(r) {
    this.locks.delete(r.lease);
    this.owner = r.owner;
    return this.granted(r, await this.acquire(r));
  }

  async wait(r) {
    this.owner = r.owner;
    const library = this.observed();
    let tries = 0;
    library.voted = (votes) => {
      tries++;
      if (tries === 1 && votes.filter((vote) => vote === false).length > minority(votes.length)) refused(r);
    };
    const given = this.acquire(r, library);
    const lock = await Promise.race([given, new Promise((resolve) => (this.end = resolve))]);
    if (lock === undefined) {
      Object.assign(library, { ended: true, retryCount: 0 }); // attempts would keep the key from others for a moment
      given.then((late) => late && this.unlock(late, library)).catch(() => {});
    }
    return { ...this.granted(r, lock), tries, gave_up: lock === null };
  }

  cancel() {
    if (this.end) this.end();
    return {};
  }

  lock(r) {
    const lock = this.locks.get(r.lease);
    const [key] = lock ? lock.resource || lock.resources : [];
    return key === r.key && (!r.owner || lock.value === r.owner) ? lock : this.named(r.key, r.owner || '');
  }

  async release(r) {
    return { owned: (await this.asked(() => this.unlock(this.lock(r)))) !== null };
  }

  async renew(r) {
    const { held, valid_ns } = this.granted(r, await this.asked(() => this.extend(this.lock(r), r.ttl_ns / 1e6)));
    return { owned: held, valid_ns };
  }
}

module.exports = { RedlockSession, failed, minority, opening, redlock };
