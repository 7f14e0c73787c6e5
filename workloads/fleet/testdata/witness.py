"""Counts, from what a Redis server says of the commands that it executes (MONITOR), the grants of locks whose key another
client held: witness.py HOST PORT. It says "ready", and what it has counted at the command ECHO end, as JSON.

It follows each key from SET, with NX or without, to DEL. What a client believes lies between two intervals: it holds the
key for the whole time from its ECHO in to its ECHO out, and for no longer than from its SET to its compare-and-delete. A
grant that came while another client held the key by the first is wrong for certain, by the second at the most.
"""

import json
import re
import socket
import sys


class Holds:
    """The holds of all keys, each by its owner, which is PROCESS.CLIENT.NUMBER."""

    def __init__(self):
        self.open, self.wrong, self.across = {}, 0, 0

    def begin(self, key, owner):
        others = self.open.setdefault(key, set())
        if others:
            self.wrong += 1
            process = owner.split(".")[0]
            self.across += all(other.split(".")[0] != process for other in others)
        others.add(owner)

    def end(self, key, owner):
        self.open[key].remove(owner)


certain, most = Holds(), Holds()
keys, grants, planted = {}, 0, 0
server = socket.create_connection((sys.argv[1], int(sys.argv[2])))
server.sendall(b"MONITOR\r\n")
lines = server.makefile("r", encoding="utf-8", newline="\r\n")
if next(lines) != "+OK\r\n":
    sys.exit("the server does not say what it executes")
print("ready", flush=True)
for line in lines:
    command, *args = re.findall(r'"((?:[^"\\]|\\.)*)"', line)
    match command.lower(), args:
        case "set", [key, owner, *options] if key.startswith("test:"):
            new = "nx" in (option.lower() for option in options)
            if new and key in keys:
                continue
            keys[key] = owner
            grants += 1
            planted += not new
            most.begin(key, owner)
        case "eval", [_, "1", key, owner]:
            most.end(key, owner)
        case "del", [key] if key.startswith("test:"):
            del keys[key]
        case "echo", ["end"]:
            break
        case "echo", [text]:
            what, key, owner = text.split()
            (certain.begin if what == "in" else certain.end)(key, owner)
print(json.dumps({
    "grants": grants, "planted": planted, "certain": certain.wrong, "most": most.wrong, "across": certain.across,
}))
