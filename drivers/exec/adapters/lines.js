'use strict';
// The loop of an adapter in Node: lockbench help protocol explains the lines. Each session is an object of the
// adapter's with the methods try, release and close, and perhaps wait, cancel, renew and crash, which take a request
// and return the fields of their answer, or a promise of them. They are called one at a time, but for cancel, which
// comes while wait waits.

const write = process.stdout.write.bind(process.stdout);
process.stdout.write = process.stderr.write.bind(process.stderr); // what a library prints is no line

// A promise of a library that fails unheard must not end the sessions of all others.
process.on('unhandledRejection', (error) => process.stderr.write(`unhandled rejection: ${error}\n`));

// Failed is an error of one of the protocol's classes.
class Failed extends Error {
  constructor(kind, text, field) {
    super(text);
    this.fields = { class: kind, text, field };
  }
}

let lines = '';
function send(id, fields) {
  if (lines === '') setImmediate(flush); // all answers of a turn in one write
  lines += JSON.stringify({ id, ...fields }) + '\n';
}
function flush() {
  write(lines);
  lines = '';
}

// refused tells of the first refusal of a wait, when its answer has been read.
function refused(r) {
  if (lines === '') setImmediate(flush);
  lines += JSON.stringify({ event: 'refused', session: r.session }) + '\n';
}

function answer(r, fields) {
  if (!(fields instanceof Promise)) return send(r.id, fields);
  return fields.then((fields) => send(r.id, fields), (error) => fail(r, error));
}
function fail(r, error) {
  const failed = error instanceof Failed;
  send(r.id, { error: failed ? error.fields : { class: 'other', text: String(error.stack || error).slice(0, 1000) } });
}
function attempt(r, call) {
  try {
    return answer(r, call());
  } catch (error) {
    fail(r, error);
  }
}

// Queue calls one after the other. A call that returns no promise takes no turn of the event loop.
class Queue {
  waiting = [];
  busy = false;

  add(call) {
    if (this.busy) return this.waiting.push(call);
    const done = call();
    if (!(done instanceof Promise)) return;
    this.busy = true;
    done.then(() => {
      this.busy = false;
      while (!this.busy && this.waiting.length > 0) this.add(this.waiting.shift());
    });
  }
}

// serve answers requests until a close, or the end of the input. open returns the traits of its answer, session, which
// makes one, and perhaps close.
function serve(hello, open) {
  const sessions = new Map();
  let opened;
  async function begin(r) {
    opened = await open(r);
    return { traits: opened.traits };
  }
  async function end() {
    if (opened && opened.close) await opened.close();
    return {};
  }
  function take(r) {
    const { op, session: number } = r;
    if (op === 'hello') return attempt(r, () => ({ hello: { version: 2, ...hello } }));
    if (op === 'open') return attempt(r, () => begin(r));
    if (op === 'close' && !number) {
      return Promise.resolve(attempt(r, end)).then(() => setImmediate(() => process.exit(0)));
    }
    if (op === 'session') {
      sessions.set(number, { queue: new Queue(), client: opened.session() });
      return send(r.id, {});
    }
    const s = sessions.get(number);
    if (!s) return fail(r, new Failed('protocol', `session: ${number} is not open`, 'session'));
    if (op === 'close') sessions.delete(number);
    if (!s.client[op] && op !== 'close') return fail(r, new Failed('protocol', `op: ${op} is unknown`, 'op'));
    if (s.crashed && op !== 'close' && op !== 'cancel') return fail(r, new Failed('closed', 'the session has crashed'));
    s.crashed ||= op === 'crash';
    const call = () => attempt(r, () => (s.client[op] ? s.client[op](r) : {}));
    return op === 'cancel' ? call() : s.queue.add(call);
  }
  let rest = '';
  process.stdin.setEncoding('utf8');
  process.stdin.on('data', (chunk) => {
    const list = (rest + chunk).split('\n');
    rest = list.pop();
    const read = performance.timeOrigin + performance.now(); // ms, as Date.now
    for (const line of list) take(Object.assign(JSON.parse(line), { read }));
  });
  process.stdin.on('end', () => process.exit(0)); // the parent has died
}

// versionOf returns the version of an installed package, and what it runs on.
const versionOf = (name) => `${require(name + '/package.json').version} on Node.js ${process.versions.node}`;

module.exports = { Failed, refused, serve, versionOf };
