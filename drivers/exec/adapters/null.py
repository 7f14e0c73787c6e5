"""A lock that excludes nobody: what an adapter in Python costs. With "threads", each session has a thread."""
import json, os, queue, sys, threading

DESIGN = {"name": "none", "traits": {}, "models": "nothing"}
ANSWERS = {
    "hello": {"hello": {"version": 2, "library": {"name": "python", "version": sys.version.split()[0]}, "designs": [DESIGN]}},
    "open": {"traits": {}}, "session": {}, "try": {"held": True}, "release": {"owned": True}, "close": {},
}
UNKNOWN = {"error": {"class": "protocol", "field": "op", "text": "op: is unknown"}}
ENDS = {op: json.dumps(answer)[1:] for op, answer in ANSWERS.items()}
write, queues = threading.Lock(), {}


def answer(request):
    end = ENDS.get(request["op"]) or json.dumps(UNKNOWN)[1:]
    return '{"id":%d%s%s\n' % (request["id"], "" if end == "}" else ",", end)


def work(requests):
    while True:
        line = answer(requests.get()).encode()
        with write:
            os.write(1, line)


rest = b""
while chunk := os.read(0, 1 << 16):
    *lines, rest = (rest + chunk).split(b"\n")
    requests = [json.loads(line) for line in lines]
    if sys.argv[1:] == ["threads"]:
        for r in requests:
            session = r.get("session", 0)
            if session not in queues:
                queues[session] = queue.SimpleQueue()
                threading.Thread(target=work, args=(queues[session],), daemon=True).start()
            queues[session].put(r)
        continue
    os.write(1, "".join(map(answer, requests)).encode())  # what has come together is answered together
    if any(r["op"] == "close" and "session" not in r for r in requests):
        break
