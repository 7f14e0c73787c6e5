'use strict';
// Clients of Redis for the libraries over ioredis: one a server and process, as Node has it.
const Redis = require('ioredis');
const { Failed } = require('./lines.js');

// connect returns a client of each server that open names. Nothing is sent again or later: a hidden retry would falsify times
// and safety.
async function connect(r) {
  const io = (r.io_timeout_ns || 3e9) / 1e6;
  const own = { username: r.username, password: r.password, db: r.database && Number(r.database) };
  const options = {
    ...Object.fromEntries(Object.entries(own).filter(([, value]) => value !== undefined && value !== '')),
    lazyConnect: true, connectTimeout: io, commandTimeout: io, maxRetriesPerRequest: 0, enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false, retryStrategy: () => 50,
  };
  const clients = r.addrs.map((addr) => {
    const unix = addr.startsWith('unix://') && new URL(addr);
    const client = unix
      ? new Redis({ ...options, path: unix.pathname, ...(unix.password && { password: decodeURIComponent(unix.password) }),
        ...(unix.username && { username: decodeURIComponent(unix.username) }) })
      : new Redis(addr.includes('://') ? addr : 'redis://' + addr, options);
    client.on('error', () => {}); // each command has its own
    return client;
  });
  await Promise.all(clients.map((client) => client.connect().then(() => client.ping()))).catch((error) => {
    throw failed(error);
  });
  return clients;
}

// failed gives an error of ioredis its class. Nothing was done if there was no connection to write to.
function failed(error) {
  const text = error.message;
  if (/^(WRONGPASS|NOAUTH|NOPERM)/.test(text)) return new Failed('auth', text);
  if (error.name === 'ReplyError') return new Failed('server', text);
  if (text === 'Command timed out') return new Failed('timeout', text);
  if (/writeable|ECONNREFUSED|ENOENT|connect ETIMEDOUT/.test(text)) return new Failed('connect', text);
  return new Failed('closed', text);
}

const quit = (clients) => clients.forEach((client) => client.disconnect());

module.exports = { connect, failed, quit };
