"""kazoo.recipe.lock.Lock, as its documentation shows it: KazooClient().Lock(path, identifier), and a listener for the
end of the session. Each of lockbench's sessions is a client of its own, like a process."""
import threading, time, urllib.parse
import kazoo, kazoo.exceptions as e, lines
from kazoo.client import KazooClient, KazooState
from kazoo.retry import RetryFailedError

TRAITS = {"exclusive": True, "owned": True, "fair": True, "waits": True, "session": True, "takes_owner": True}
HELLO = {
    "library": {"name": "kazoo", "version": kazoo.__version__ + lines.PYTHON},
    "service": "zookeeper", "topologies": ["ensemble"],
    "designs": [{
        "name": "library", "traits": TRAITS,
        "models": "kazoo.recipe.lock.Lock: a numbered ephemeral node each, the lowest holds, each other client watches "
                  "the one before",
        "wrong": "a holder paused beyond its session goes on unaware: no fencing token; the lock itself does not tell "
                 "of the end of its session; a refused attempt whose clean-up fails leaves its node in line until the "
                 "session ends (python-zk/kazoo#732); without a connection it asks again for ever, after ever longer "
                 "pauses",
        "loses": ["holder-pauses", "session-lost", "cleanup-lost"]}],
}


class Told(threading.Event):
    """What a lock that is not granted at once sleeps on: it tells of that."""

    def __init__(self, r):
        super().__init__()
        self.r = r

    def wait(self, timeout=None):
        if self.r:
            lines.refused(self.r)
            self.r = None
        return super().wait(timeout)


class Session:
    """A client, and a Lock for each acquisition."""

    def __init__(self, new, root):
        self.root, self.locks, self.ended, self.cuts = root, {}, 0, 0
        self.client = new()
        self.client.add_listener(self.listen)
        start(self.client)

    def listen(self, state):
        self.ended += state == KazooState.LOST
        self.cuts += state != KazooState.CONNECTED

    def lock(self, r):
        """A lock whose node bears the owner's name, in place of one that is known only when it is there."""
        lock = self.client.Lock(self.root + "/" + urllib.parse.quote(r["key"], safe="-._~$&+:=@"), r["key"])
        lock.prefix = r.get("owner", "") + lock._NODE_NAME
        lock.create_path = lock.path + "/" + lock.prefix
        return lock

    def acquire(self, r, **how):
        lock = self.lock(r)
        self.locks[r["lease"]] = lock, None
        lock.wake_event = Told(r)
        held = asked(lambda: lock.acquire(**how))
        self.locks[r["lease"]] = lock, self.ended  # it may have outlived sessions while it waited
        return {"held": held}

    def try_(self, r):
        return self.refusable(r, blocking=False)

    def wait(self, r):
        answer = self.refusable(r, timeout=r["timeout_ns"] / 1e9 if "timeout_ns" in r else None)
        return {**answer, "tries": 1}  # a node in line

    def refusable(self, r, **how):
        cuts, answer = self.cuts, {"held": False}
        try:
            answer = self.acquire(r, **how)
        except (e.LockTimeout, e.CancelledError):
            pass
        # The clean-up after a refusal may have failed, which the library does not tell. Listeners hear of a cut after
        # requests fail.
        if not answer["held"] and (self.cuts > cuts or not self.client.connected):
            raise lines.Failed("closed", "the connection was lost: the node of a refused attempt may stay in line")
        return answer

    def cancel(self, r):
        lock, _ = self.locks.get(r["lease"], (None, 0))
        if lock:
            lock.cancel()

    def release(self, r):
        lock, began = self.locks.get(r["lease"], (None, 0))
        if lock and lock.is_acquired and lock.create_path == self.lock(r).create_path:
            return {"owned": asked(lock.release) and began == self.ended}
        lock = self.lock(r)  # of an attempt without an answer
        again = lock._retry.copy()
        again.deadline = r["until"] - time.monotonic()
        return {"owned": "owner" in r and asked(lambda: again(remove, lock))}

    def close(self, r):
        stop(self.client)


def remove(lock):
    """Delete the node of a lock, and return whether it was there."""
    try:
        lock._delete_node(lock._find_node() or "none")
        return True
    except e.NoNodeError:
        return False


def asked(do):
    try:
        return do()
    except (e.LockTimeout, e.CancelledError):
        raise
    except (e.AuthFailedError, e.NoAuthError) as error:
        raise lines.Failed("auth", repr(error))
    except (e.ConnectionClosedError, e.ConnectionLoss, e.SessionExpiredError, RetryFailedError) as error:
        raise lines.Failed("closed", repr(error))


def start(client, limit=None):
    try:
        client.start(*limit or ())
    except client.handler.timeout_exception as error:
        raise lines.Failed("connect", f"no connection to ZooKeeper: {error}")


def stop(client):
    client.stop()
    client.close()


def open_(r):
    addrs = [urllib.parse.urlsplit(a if "://" in a else "zookeeper://" + a) for a in r["addrs"]]
    if any(a.scheme in ("zookeepers", "zks") for a in addrs):
        raise lines.Failed("other", "this adapter speaks no TLS: give an address with zookeeper://")
    root = addrs[0].path.rstrip("/")
    login = [urllib.parse.unquote(s or "") for s in (addrs[0].username, addrs[0].password)]
    user, password = r.get("username") or login[0], r.get("password") or login[1]

    def new():
        return KazooClient(
            hosts=",".join(a.netloc.rpartition("@")[2] for a in addrs), timeout=r.get("ttl_ns", 10e9) / 1e9,
            auth_data=[("digest", f"{user}:{password}")] if user else None)

    probe = new()
    start(probe, [r.get("io_timeout_ns", 3e9) / 1e9])
    stop(probe)
    return {"traits": TRAITS}, lambda: Session(new, root), None


lines.serve(HELLO, open_)
