"""The loop of an adapter in Python: lockbench help protocol explains the lines. Each session is an object of the
adapter's, which a thread of its own uses, since libraries keep tokens by thread: it has try_, release and close, and
perhaps wait, cancel, renew and crash, each of which takes a request and returns the fields of its answer. cancel comes
while wait waits."""
import collections, json, os, queue, sys, threading, time

PYTHON = " on Python " + sys.version.split()[0]  # behind the version of a library
out = os.dup(1)
os.dup2(2, 1)  # what a library prints is no line
writing, pending = threading.Lock(), collections.deque()


class Failed(Exception):
    """An error of one of the protocol's classes."""

    def __init__(self, error_class, text, field=None):
        super().__init__(text)
        self.fields = {"class": error_class, "text": text, **({"field": field} if field else {})}


def send(request, fields):
    write({"id": request["id"], **fields})


def refused(request):
    """Tell of the first refusal of a wait, when its answer has been read."""
    write({"event": "refused", "session": request["session"]})


def write(line):
    """Whoever writes takes the lines of others along."""
    pending.append((json.dumps(line) + "\n").encode())
    while pending and writing.acquire(blocking=False):
        rest = b"".join(pending.popleft() for _ in range(len(pending)))
        while rest:
            rest = rest[os.write(out, rest):]
        writing.release()


def failure(e):
    return {"error": e.fields if isinstance(e, Failed) else {"class": "other", "text": f"{type(e).__name__}: {e}"}}


def answer(request, do):
    try:
        send(request, do(request) or {})
    except Exception as e:
        send(request, failure(e))


class Worker:
    """A session, and its thread."""

    def __init__(self, new):
        self.requests, self.new, self.session = queue.SimpleQueue(), new, None
        threading.Thread(target=self.work, daemon=True).start()

    def work(self):
        while request := self.requests.get():
            answer(request, self.do)

    def do(self, request):
        op = request["op"]
        if op == "session":
            self.session = self.new()
            return None
        if op == "close":
            self.requests.put(None)
        do = getattr(self.session, "try_" if op == "try" else op, None)
        if do is None and op != "close":
            raise Failed("protocol", f"op: {op!r} is unknown", "op")
        if op == "try":
            return self.try_(request)
        return do and do(request)

    def try_(self, request):
        """A library may go on with an attempt that lockbench has given up, and nobody would know of the grant."""
        if time.monotonic() > request["until"]:
            raise Failed("timeout", "the requests before it took too long")
        fields = self.session.try_(request)
        if time.monotonic() > request["until"] and fields["held"]:
            self.session.release(request)
            raise Failed("timeout", "the lock was granted too late, and is released")
        return fields


def requests():
    rest = b""
    while chunk := os.read(0, 1 << 16):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            yield json.loads(line)


def serve(hello, open_):
    """Answer requests until a close, or the end of the input. open_ returns the fields of its answer, what makes a
    session, and what closes all."""
    workers, new, close, limit = {}, None, None, 3e9
    for r in requests():
        op, number = r["op"], r.get("session")
        r["until"] = time.monotonic() + min(limit, r.get("timeout_ns", limit)) / 1e9
        try:
            if op == "hello":
                send(r, {"hello": {"version": 2, **hello}})
            elif op == "open":
                fields, new, close = open_(r)
                limit = r.get("io_timeout_ns", limit)
                send(r, fields)
            elif op == "close" and not number:
                if close:
                    close()
                send(r, {})
                while pending or writing.locked():  # by another thread
                    time.sleep(0.001)
                return
            elif op == "session":
                workers[number] = Worker(new)
                workers[number].requests.put(r)
            elif number not in workers:
                raise Failed("protocol", f"session: {number} is not open", "session")
            elif op == "cancel":
                answer(r, workers[number].session.cancel)
            elif op == "close":
                workers.pop(number).requests.put(r)
            else:
                workers[number].requests.put(r)
        except Exception as e:
            send(r, failure(e))
    os._exit(0)  # the parent has died
