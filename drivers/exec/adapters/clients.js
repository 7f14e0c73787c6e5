'use strict';
// Clients of Redis for the libraries over ioredis: one a server and process, as Node has it.
const Redis = require('ioredis');
const { Failed } = require('./lines.js');

// connect returns a client of each server that open names, of which a majority has answered. Nothing is sent again or later: a
// hidden retry would falsify times and safety. Of several servers, none may take longer than node_timeout_ns, if that is given.
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
      ? new Redis({ ...options, path: unix.pathname, ...(unix.password && { password: decodeURIComponent(unix.password) }),
        ...(unix.username && { username: decodeURIComponent(unix.username) }) })
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

// failed gives an error of ioredis its class. Nothing was done if there was no connection to write to, and only one server.
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

module.exports = { connect, failed, minority, quit, settingsOf };
