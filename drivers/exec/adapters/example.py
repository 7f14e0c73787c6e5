"""A lock of one's own: SET key owner NX PX on Redis, with Python's standard library alone.
lockbench -driver exec -param command='python3 example.py' -clients 8; lockbench help adapters explains the lines."""
import json, socket, sys

TRAITS = {"exclusive": True, "owned": True, "expires": True, "takes_owner": True}
DESIGN = {"name": "set-nx", "traits": TRAITS, "models": "SET key owner NX PX; a script compares and deletes",
          "loses": ["overrun", "holder-pauses", "late-grant", "server-clock", "failover", "restart-empty", "eviction"]}
DELETE = "return redis.call('GET',KEYS[1]) == ARGV[1] and redis.call('DEL',KEYS[1]) or 0"


def connect(url):  # unix:///path or redis://host:port
    if url.startswith("unix://"):
        server = socket.socket(socket.AF_UNIX)
        server.connect(url[len("unix://"):])
        return server.makefile("rwb")
    host, _, port = url.split("//")[1].partition(":")
    return socket.create_connection((host, int(port or 6379))).makefile("rwb")


def redis(*words):
    words = [str(word).encode() for word in words]
    server.write(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words))
    server.flush()
    reply = server.readline()
    if reply[:1] in b"-":  # an error, or the end
        raise RuntimeError(reply.decode() or "the connection has ended")
    return reply.strip()


for line in sys.stdin:
    r, answer = json.loads(line), {}
    try:
        match r["op"]:
            case "hello": answer = {"hello": {"version": 2, "service": "redis", "designs": [DESIGN]}}
            case "open": server, answer = connect(r["addrs"][0]), {"traits": TRAITS}
            case "try": answer = {"held": redis("SET", r["key"], r["owner"], "NX", "PX", r["ttl_ns"]//10**6) == b"+OK"}
            case "release": answer = {"owned": redis("EVAL", DELETE, 1, r["key"], r.get("owner", "")) == b":1"}
    except Exception as e:
        answer = {"error": {"class": "server" if isinstance(e, RuntimeError) else "closed", "text": str(e)}}
    print(json.dumps({"id": r["id"], **answer}), flush=True)
    if r["op"] == "close" and "session" not in r:
        break
