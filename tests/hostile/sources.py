"""Hostile sources, with the same contents in every run.

A kind of KINDS makes three states of one source: make() a good one, harm() what it is about, mend() the good one again.
URIS are those that meet the harm, GOOD is one that only a mended source answers. `sources.py KIND FOLDER` makes the
harmful state.
"""
import hashlib
import os
import shutil
import sqlite3
import struct
import sys
import zlib

SCALE = float(os.environ.get("HOSTILE_SCALE", "1"))  # scales the large sources; the tests use less


def scaled(n):
    return max(1, int(n * SCALE))


# ---- git -------------------------------------------------------------------------------------------------------------


def deflate_zeros(size):
    z, block, out = zlib.compressobj(1), bytes(1 << 20), []
    for _ in range(size >> 20):
        out.append(z.compress(block))
    return b"".join(out) + z.compress(bytes(size & 0xFFFFF)) + z.flush()


def varint(n):
    out = bytearray()
    while n > 0x7F:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    return bytes(out) + bytes([n])


def entry_head(kind, size):
    first, size = kind << 4 | size & 15, size >> 4
    return bytes([first | 0x80]) + varint(size) if size else bytes([first])


def distance_bytes(n):
    out = [n & 0x7F]
    while n := n >> 7:
        n -= 1
        out.insert(0, 0x80 | n & 0x7F)
    return bytes(out)


def copy_all(size):
    return bytes([0xF0]) + struct.pack("<I", size)[:3] if size else b""


class Git:
    """A bare repository whose branch main is a commit of a tree of one file, f."""

    def __init__(self, folder):
        self.path = os.path.join(folder, "hostile.git")
        self.spec = "git:%s?name=h" % self.path
        self.template = "git://h/{rev}/{+path}{?offset,length,format}"

    def at(self, *parts):
        path = os.path.join(self.path, *parts)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return path

    def put(self, name, data):
        path = self.at(name)
        if os.path.lexists(path):
            os.unlink(path)
        with open(path, "wb") as f:
            f.write(data)

    def loose(self, name, data):
        self.put("objects/%s/%s" % (name[:2], name[2:]), data)

    def object(self, kind, body):
        raw = b"%s %d\0" % (kind, len(body)) + body
        name = hashlib.sha1(raw).hexdigest()
        self.loose(name, zlib.compress(raw))
        return name

    def tree(self, entries):
        return self.object(b"tree", b"".join(b"%s %s\0" % (m, n) + bytes.fromhex(i) for m, n, i in entries))

    def commit(self, tree, parents=()):
        lines = ["tree " + tree] + ["parent " + p for p in parents]
        who = "A <a@example.org> 1 +0000"
        return self.object(b"commit", ("\n".join(lines) + "\nauthor %s\ncommitter %s\n\nm\n" % (who, who)).encode())

    def main(self, commit):
        self.put("refs/heads/main", commit.encode() + b"\n")

    def file(self, name):
        self.main(self.commit(self.tree([(b"100644", b"f", name)])))

    def pack(self, entries):
        """entries: (id, bytes from its head on), or (id, function of all offsets so far and its own)."""
        body, at = bytearray(b"PACK" + struct.pack(">II", 2, len(entries))), []
        for _, made in entries:
            at.append(len(body))
            body += made(at) if callable(made) else made
        end = hashlib.sha1(body).digest()
        rows = sorted((bytes.fromhex(i), a) for (i, _), a in zip(entries, at, strict=True))
        index = b"\xfftOc" + struct.pack(">I", 2)
        index += b"".join(struct.pack(">I", sum(r[0][0] <= b for r in rows)) for b in range(256))
        index += b"".join(r[0] for r in rows) + bytes(4 * len(rows))
        index += b"".join(struct.pack(">I", r[1]) for r in rows) + end
        self.put("objects/pack/pack-1.pack", bytes(body) + end)
        self.put("objects/pack/pack-1.idx", index + hashlib.sha1(index).digest())
        return rows

    def good(self):
        self.put("HEAD", b"ref: refs/heads/main\n")
        for folder in ("objects/pack", "objects/info", "refs/heads", "refs/tags"):
            os.makedirs(os.path.join(self.path, folder), exist_ok=True)
        self.file(self.object(b"blob", b"good\n"))

    def mend(self):
        for name in ("objects/pack", "objects/info", "refs", "packed-refs"):
            path = os.path.join(self.path, name)
            shutil.rmtree(path) if os.path.isdir(path) else os.path.lexists(path) and os.unlink(path)
        self.good()


A, B, C = "aa" * 20, "bb" * 20, "cc" * 20


def overflow(g):
    g.loose(A, zlib.compress(b"blob 10\0" + b"y" * scaled(10**8)))
    g.file(A)


def truncated(g):
    body = bytes(i * i * 7 % 251 for i in range(300))
    raw = b"blob %d\0" % len(body) + body
    name = hashlib.sha1(raw).hexdigest()
    g.loose(name, zlib.compress(raw)[:-8])
    g.file(name)


def delta_of(size, code=None):
    text = varint(size) + varint(size) + (copy_all(size) if code is None else code)
    return len(text), zlib.compress(text)


def self_delta(g):
    n, code = delta_of(10)
    g.pack([(A, entry_head(7, n) + bytes.fromhex(A) + code)])
    g.file(A)


def ofs_loop(g):
    n, code = delta_of(10)
    g.pack([(A, entry_head(6, n) + b"\0" + code), (B, entry_head(7, n) + bytes.fromhex(C) + code),
            (C, entry_head(7, n) + bytes.fromhex(B) + code)])
    g.main(g.commit(g.tree([(b"100644", b"f", A), (b"100644", b"g", B)])))


def pack_bomb(g):
    size = scaled(6 << 30)
    text = varint(size) + varint(1) + b"\x90\1"
    base = entry_head(3, size) + deflate_zeros(size)
    g.pack([(A, base), (B, lambda at: entry_head(6, len(text)) + distance_bytes(at[1] - at[0]) + zlib.compress(text))])
    g.file(B)


def delta_chain(g):
    size, n = scaled(1 << 20), 4000
    length, code = delta_of(size, b"".join(copy_all(min(0xFFFFF, size - i)) if i == 0 else
                                           bytes([0xFF]) + struct.pack("<I", i) + struct.pack("<I", min(0xFFFFF, size - i))[:3]
                                           for i in range(0, size, 0xFFFFF)))
    ids = ["%040x" % (0xAA << 152 | i) for i in range(n)]
    entries = [(ids[0], entry_head(3, size) + deflate_zeros(size))]
    for name in ids[1:]:
        entries.append((name, lambda at: entry_head(6, length) + distance_bytes(at[-1] - at[-2]) + code))
    g.pack(entries)
    g.file(ids[-1])


def tree_wide(g):
    blob = g.object(b"blob", b"x")
    g.main(g.commit(g.tree([(b"100644", b"%07d" % i, blob) for i in range(scaled(400000))])))


def tree_fanout(g):
    tree = g.tree([(b"100644", b"f", g.object(b"blob", b"x"))])
    for _ in range(40):
        tree = g.tree([(b"40000", b"%d" % i, tree) for i in range(8)])
    g.main(g.commit(tree))


def index_lies(g):
    g.pack([(A, entry_head(3, 4) + zlib.compress(b"text"))])
    path = g.at("objects/pack/pack-1.idx")
    data = bytearray(open(path, "rb").read())
    data[8 + 255 * 4:12 + 255 * 4] = b"\x7f\xff\xff\xff"
    g.put("objects/pack/pack-1.idx", bytes(data))
    g.file(A)


def multi_overlap(g):
    rows = g.pack([(A, entry_head(3, 4) + zlib.compress(b"text")), (B, entry_head(3, 4) + zlib.compress(b"more"))])
    names, fan = b"pack-1.idx\0\0", b"".join(struct.pack(">I", sum(r[0][0] <= b for r in rows)) for b in range(256))
    at, chunks = 12 + 5 * 12, b""
    parts = [(b"PNAM", names), (b"OIDF", fan), (b"OIDL", b"".join(r[0] for r in rows)),
             (b"OOFF", struct.pack(">IIII", 0, 13, 7, 13))]  # of the middle of one, and of a pack that is not there
    for name, part in parts:
        chunks += name + struct.pack(">Q", at)
        at += len(part)
    data = b"MIDX\1\1\4\0" + struct.pack(">I", 1) + chunks + bytes(4) + struct.pack(">Q", at) + b"".join(p for _, p in parts)
    g.put("objects/pack/multi-pack-index", data + hashlib.sha1(data).digest())
    os.unlink(g.at("objects/pack/pack-1.idx"))
    g.file(A)


def graph_lies(g):
    fan = struct.pack(">I", 0x7FFFFFFF) * 256
    data = b"CGPH\1\1\3\0" + b"".join(n + struct.pack(">Q", a) for n, a in
                                     ((b"OIDF", 56), (b"OIDL", 1 << 40), (b"CDAT", 57), (bytes(4), 1 << 62)))
    data += fan
    g.put("objects/info/commit-graph", data + hashlib.sha1(data).digest())
    tip = []
    tree = g.tree([])
    for _ in range(scaled(3000)):  # each contains the previous one twice
        tip = [g.commit(tree, tip * 2)]
    g.main(tip[0])


def refs_loop(g):
    for i in range(50):
        g.put("refs/heads/l%d" % i, b"ref: refs/heads/l%d\n" % ((i + 1) % 50))
    g.put("refs/heads/main", b"ref: refs/heads/l0\n")


def packed_refs(g):
    line = A.encode() + b" refs/heads/%08d\n"
    g.put("packed-refs", b"# pack-refs with: peeled fully-peeled sorted\n" + b"".join(line % i for i in range(scaled(1700000))))
    os.unlink(g.at("refs/heads/main"))


def alternates(g):
    g.put("objects/info/alternates", b"../objects\n./\n../objects/info/..\n/\n/proc/self/root\n" * 1000)
    g.file(A)


GIT = ["", "HEAD/", "HEAD/f", "HEAD/f?offset=0", "HEAD/g", "-/log/HEAD", "-/log/HEAD/f", "-/commit/HEAD", "-/branches",
       "-/tags", "-/blame/HEAD/f", "-/diff/HEAD~1/HEAD", "-/search/HEAD?text=y", "%s/f" % A[:10]]

# ---- SQLite ----------------------------------------------------------------------------------------------------------


class SQLite:
    """A database with a table t of one row."""

    def __init__(self, folder):
        self.path = os.path.join(folder, "hostile.db")
        self.spec = "sqlite:%s?name=h" % self.path
        self.template = "sqlite://h/{table}/rows{?limit,after}"

    def write(self, statements, change=None):
        new = self.path + ".new"
        if os.path.exists(new):
            os.unlink(new)
        db = sqlite3.connect(new)
        for sql in ["CREATE TABLE t(id INTEGER PRIMARY KEY, a, b)", "INSERT INTO t VALUES (1, 'good', 2)"] + statements:
            db.executescript(sql)
        db.commit()
        db.close()
        if change:
            data = bytearray(open(new, "rb").read())
            change(data)
            open(new, "wb").write(data)
        os.rename(new, self.path)

    def good(self):
        self.write([])

    mend = good


SLOW_ROW = ("DELETE FROM t; INSERT INTO t VALUES (1, printf('%.*c', 200000, 'a'), '*' || printf('%.*c', 900, 'a') || 'b');")


def slow_columns(s):
    s.write(["".join("ALTER TABLE t ADD COLUMN g%d AS (a GLOB b);" % i for i in range(60)), SLOW_ROW])


def slow_query(s):
    s.write([SLOW_ROW])


def view_bomb(s):
    s.write(["CREATE VIEW v AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x, zeroblob(1000000) AS z FROM n",
             "CREATE VIEW w AS SELECT count(*) AS n FROM v, v AS x, v AS y"])


def expressions(s):
    deep = "a"
    for _ in range(25):
        deep = "coalesce(%s, b)" % deep
    s.write(["CREATE INDEX e%d ON t(%s, length(%s) + %d);" % (i, deep, deep, i) for i in range(200)])


def freelist(s):
    def change(data):
        data[32:40] = struct.pack(">II", 2, 0x7FFFFFFF)
        size = struct.unpack(">H", data[16:18])[0]
        for page in range(2, min(len(data) // size, 200)):
            data[page * size + 5:page * size + 20] = b"\xff" * 15
    s.write(["CREATE TABLE f(x); INSERT INTO f SELECT zeroblob(3000) FROM (WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL "
             "SELECT x + 1 FROM n WHERE x < 500) SELECT x FROM n); DELETE FROM f WHERE rowid % 2"], change)


def huge_schema(s):
    s.write(["BEGIN;" + "".join("CREATE TABLE x%d(%s);" % (i, ",".join("c%d" % c for c in range(20)))
                                for i in range(scaled(20000))) + "COMMIT"])


def triggers(s):
    s.write(["CREATE VIRTUAL TABLE v USING rtree(id, x1, x2); INSERT INTO v SELECT value, value, value + 1 FROM json_each('[1,2,3]');"
             "CREATE VIEW w AS SELECT * FROM t; CREATE TRIGGER r INSTEAD OF INSERT ON w BEGIN SELECT zeroblob(1000000000); END;"
             "PRAGMA writable_schema = 1; UPDATE sqlite_schema SET sql = 'CREATE VIRTUAL TABLE v USING nowhere(x)' WHERE name = 'v'"])


def full_text(s):
    def change(data):
        at = 0
        while (at := data.find(b"hostile", at)) >= 0:
            data[at - 3:at] = b"\xff\xff\x7f"
            at += 7
    s.write(["CREATE VIRTUAL TABLE v USING fts5(a); WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 20000) "
             "INSERT INTO v SELECT 'hostile word' || x FROM n"], change)


SQL = ["", "t", "t/rows", "t/row/1", "t/cell/a/1", "t/cell/g3/1", "t/rows?g1=1", "v", "v/rows", "w/rows", "f/rows", "x7/rows"]
QUERIES = ["SELECT a GLOB b FROM t", "SELECT count(*) FROM t AS x, t AS y WHERE x.a GLOB y.b", "SELECT * FROM v LIMIT 100000",
           "SELECT * FROM v WHERE v MATCH 'host* OR word*'",
           "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT max(x) FROM n",
           "SELECT hex(zeroblob(500000000))", "SELECT replace(printf('%.*c', 1000000, 'a'), 'a', 'bbbb')"]

# ---- a process that is no longer ours ------------------------------------------------------------------------------


class Flood:
    """A module whose process sends without end what its server did not ask for (tests/programs/child/flood.c)."""

    def __init__(self, folder):
        self.spec = "flood:f"
        self.options = ["--module", os.environ["HOSTILE_FLOOD"]]

    def good(self):
        pass

    mend = good


FLOODS = ("notices", "updates", "answers", "requests", "junk", "noise", "batches", "progress", "line", "questions", "nonsense",
          "logs", "letters", "values", "entries")

def none(g):
    pass


KINDS = {f.__name__.replace("_", "-"): (Git, f) for f in (
    none,
    overflow, truncated, self_delta, ofs_loop, pack_bomb, delta_chain, tree_wide, tree_fanout, index_lies, multi_overlap,
    graph_lies, refs_loop, packed_refs, alternates)}
KINDS.update({f.__name__.replace("_", "-"): (SQLite, f) for f in (
    slow_columns, slow_query, view_bomb, expressions, freelist, huge_schema, triggers, full_text)})
if "HOSTILE_FLOOD" in os.environ:
    KINDS.update({"flood-" + f: (Flood, f) for f in FLOODS})


class Hostile:
    def __init__(self, kind, folder):
        maker, self._harm = KINDS[kind]
        self.source = maker(folder)
        self.source.good()
        self.spec = self.source.spec
        self.options = getattr(self.source, "options", [])
        self.kind = maker
        if maker is Flood:
            self.uris, self.good = ["flood://f/" + self._harm, "flood://f/a"], "flood://f/a"
            self.spec = "flood:" + self._harm
        elif maker is Git:
            self.uris, self.good = ["git://h/" + u for u in GIT], "git://h/HEAD/f"
        else:
            self.uris, self.good = ["sqlite://h/" + u for u in SQL], "sqlite://h/t/row/1"
        self.mend = self.source.mend

    def harm(self):
        if self.kind is not Flood:
            self._harm(self.source)

    def requests(self):
        """Returns (method, parameters, name for the header) for every method that uses the source."""
        yield from ((m, {}, None) for m in ("resources/list", "resources/templates/list", "tools/list", "prompts/list"))
        yield from (("resources/read", {"uri": u}, u) for u in self.uris)
        for name in {Git: ("rev", "path"), SQLite: ("table",), Flood: ()}[self.kind]:
            yield "completion/complete", {"ref": {"type": "ref/resource", "uri": self.source.template},
                                          "argument": {"name": name, "value": ""}}, None
        yield "subscriptions/listen", {"notifications": {"resourcesListChanged": True,
                                                         "resourceSubscriptions": self.uris[:6]}}, None
        if self.kind is SQLite:
            yield from (("tools/call", {"name": "query_sqlite_h", "arguments": {"sql": q}}, "query_sqlite_h") for q in QUERIES)


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in KINDS:
        sys.exit("usage: sources.py KIND FOLDER; kinds: " + " ".join(KINDS))
    made = Hostile(sys.argv[1], sys.argv[2])
    made.harm()
    print(made.spec)
