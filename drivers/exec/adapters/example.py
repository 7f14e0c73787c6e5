"""A lock of one's own: SET key owner NX PX on Redis, with Python's standard library alone.
lockbench -driver 'exec:python3 example.py' -clients 8; lockbench help protocol explains the lines."""
import json, socket, sys, urllib.parse

TRAITS = {"exclusive": True, "owned": True, "expires": True, "takes_owner": True}
DESIGN = {"name": "set-nx", "traits": TRAITS, "models": "SET key owner NX PX; a script compares and deletes",
          "wrong": "no fencing token: a holder that outlives its lease goes on beside the next",
          "loses": ["overrun", "holder-pauses", "late-grant", "server-clock", "failover", "restart-empty", "eviction"]}
DELETE = "return redis.call('GET',KEYS[1]) == ARGV[1] and redis.call('DEL',KEYS[1]) or 0"


def connect(url):  # unix:///path or redis://host:port
    place = urllib.parse.urlsplit(url)
    server = socket.socket(socket.AF_INET if place.hostname else socket.AF_UNIX)
    server.connect((place.hostname, place.port or 6379) if place.hostname else place.path)
    return server.makefile("rwb")


def redis(*words):
    global server
    server = server or connect(address)  # again, if it was gone
    words = [str(word).encode() for word in words]
    server.write(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words))
    server.flush()
    reply = server.readline()
    if not reply:
        raise EOFError("the connection has ended")
    if reply[:1] == b"-":
        raise RuntimeError(reply.decode())
    return reply.strip()


for line in sys.stdin:
    r, answer = json.loads(line), {}
    try:
        match r["op"]:
            case "hello": answer = {"hello": {"version": 2, "service": "redis", "designs": [DESIGN]}}
            case "open": address, server, answer = r["addrs"][0], connect(r["addrs"][0]), {"traits": TRAITS}
            case "try": answer = {"held": redis("SET", r["key"], r["owner"], "NX", "PX", r["ttl_ns"]//10**6) == b"+OK"}
            case "release": answer = {"owned": redis("EVAL", DELETE, 1, r["key"], r.get("owner", "")) == b":1"}
    except RuntimeError as e:  # Redis refuses
        answer = {"error": {"class": "server", "text": str(e)}}
    except (OSError, EOFError) as e:
        server, answer = None, {"error": {"class": "closed", "text": repr(e)}}
    print(json.dumps({"id": r["id"], **answer}), flush=True)
    if r["op"] == "close" and "session" not in r:
        break
