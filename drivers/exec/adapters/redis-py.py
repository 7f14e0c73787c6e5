"""redis.lock.Lock of redis-py, as its documentation shows it: redis.Redis().lock(name, timeout=…). Its wait polls
every 0.1 s."""
import threading, time
import lines, redis, redis.lock
from redis import exceptions as e

TRAITS = {"exclusive": True, "owned": True, "expires": True, "renews": True, "waits": True, "takes_owner": True}
HELLO = {
    "library": {"name": "redis-py", "version": redis.__version__ + lines.PYTHON}, "service": "redis",
    "designs": [{
        "name": "library", "traits": TRAITS,
        "models": "redis.lock.Lock: SET key token NX PX ttl, scripts that compare and delete or extend, a poll every "
                  "0.1 s",
        "wrong": "no fencing token: a holder that outlives its lease goes on beside the next; a fail-over, or a restart "
                 "without persistence, can grant it twice; waiters poll, so that the client that has just released "
                 "comes first",
        "loses": ["overrun", "holder-pauses", "late-grant", "server-clock", "orphan-watchdog", "failover",
                  "restart-empty", "eviction"]}],
    "params": [{"name": "sleep", "default": "0.1", "text": "seconds between the attempts of a wait"}],
}


class Cancelled(Exception):
    """A wait was given up."""


class Clock:
    """The library's clock, whose sleep can be cancelled: the library has nothing else that ends a wait."""

    monotonic = staticmethod(time.monotonic)

    def sleep(self, seconds):
        if session.here.cancelled.wait(seconds):
            raise Cancelled
        session.here.began = time.monotonic()


class Lock(redis.lock.Lock):
    """The library's lock, which counts its attempts."""

    def do_acquire(self, token):
        held = super().do_acquire(token)
        session.here.asked(held)
        return held


class Local(threading.local):
    here = None  # the session of this thread


session = Local()
redis.lock.mod_time = Clock()


class Session:
    def __init__(self, client, sleep):
        self.client, self.sleep, self.locks = client, sleep, {}
        self.cancelled, self.cancel_id, self.tries, self.waits = threading.Event(), 0, 0, None

    def lock(self, r):
        """The lock of a lease, for which its owner speaks, whatever became of the attempt."""
        lock = self.locks.get(r["lease"])
        if r["op"] in ("try", "wait") or lock is None or lock.name != r["key"]:
            lock = self.client.lock(r["key"], timeout=r.get("ttl_ns", 0) / 1e9 or None, sleep=self.sleep,
                                    lock_class=Lock)
            self.locks[r["lease"]] = lock
        if r["op"] in ("release", "renew"):
            lock.local.token = r.get("owner", "").encode()
        return lock

    def asked(self, held):
        self.tries += 1
        if self.tries == 1 and not held and self.waits:
            lines.refused(self.waits)

    def try_(self, r):
        session.here, self.waits = self, None
        return {"held": asked(lambda: self.lock(r).acquire(blocking=False, token=r["owner"]))}

    def wait(self, r):
        session.here, self.began, read = self, time.monotonic(), time.monotonic()
        self.tries, self.waits = 0, r
        self.cancelled.clear()
        if self.cancel_id > r["id"]:
            return {"held": False}
        limit = r["timeout_ns"] / 1e9 if "timeout_ns" in r else None
        try:
            held = asked(lambda: self.lock(r).acquire(blocking_timeout=limit, token=r["owner"]))
        except Cancelled:
            held = False
        # The lease began with the last attempt.
        return {"held": held, "tries": self.tries, **({"valid_ns": int((self.began - read) * 1e9) + r["ttl_ns"]} if held else {})}

    def cancel(self, r):
        self.cancel_id = r["id"]  # of this wait, if it is higher, and else of an earlier one
        self.cancelled.set()

    def release(self, r):
        try:
            asked(self.lock(r).release)
        except e.LockNotOwnedError:
            return {"owned": False}
        return {"owned": True}

    def renew(self, r):
        try:
            return {"owned": asked(self.lock(r).reacquire)}
        except e.LockNotOwnedError:
            return {"owned": False}


def asked(do):
    """Ask the server. Of the library's errors, only these tell that nothing was done."""
    try:
        return do()
    except e.AuthenticationError as error:
        raise lines.Failed("auth", str(error))
    except (e.ResponseError, e.BusyLoadingError) as error:
        raise lines.Failed("server", str(error))
    except (e.ConnectionError, e.TimeoutError) as error:
        broken = "timeout" if isinstance(error, e.TimeoutError) else "closed"
        raise lines.Failed("connect" if " connecting to " in str(error) else broken, str(error))


def open_(r):
    url, limit = r["addrs"][0], r.get("io_timeout_ns", 3e9) / 1e9
    own = {"username": r.get("username"), "password": r.get("password"), "db": r.get("database")}
    own = {name: value for name, value in own.items() if value}
    client = redis.Redis.from_url(url if "://" in url else "redis://" + url, socket_timeout=limit, **own)
    asked(client.ping)
    sleep = float(r.get("params", {}).get("sleep", 0.1))
    return {"traits": TRAITS}, lambda: Session(client, sleep), client.close


lines.serve(HELLO, open_)
