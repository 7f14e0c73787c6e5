"""A lock that excludes nobody: what an adapter in Python costs, with a thread a session, as libraries need it."""
import sys
import lines

DESIGN = {"name": "none", "traits": {}, "models": "nothing"}


class Session:
    def try_(self, r):
        return {"held": True}

    def release(self, r):
        return {"owned": True}


lines.serve({"library": {"name": "python", "version": sys.version.split()[0]}, "designs": [DESIGN]},
            lambda r: ({"traits": {}}, Session, None))
