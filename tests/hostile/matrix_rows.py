"""The table of matrix: sources, the ways in which each can fail, how that is done, and what has to say so.

A row has the name of its source and of its failure. harm() does the damage while mcpd runs. `ask` is the request about
what failed, and answer, log, metric and doctor are patterns of what its answer, the log, /metrics and the report of --doctor
say; an empty doctor means that the report cannot know, because only a request finds the fault. `entry` is what stands for
the source in resources/list.
"""
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace

BAD = os.path.dirname(os.path.abspath(__file__)) + "/bad_server.py"
ELSEWHERE = ["nice", "-n", "10"]  # what stands for another machine leaves this one to mcpd


def sh(folder, script):
    subprocess.run(["sh", "-ec", "cd '%s'; %s" % (folder, script)], check=True, stdout=subprocess.DEVNULL)


@dataclass
class Row:
    name: str
    make: Callable
    harm: Callable
    ask: tuple
    answer: str
    log: str = ""
    metric: str = ""
    doctor: str = ""
    entry: str = ""
    database: bool = False


class Ill:
    """The source of a row. `end` is an ExitStack for what has to be ended, `database` a script."""

    def __init__(self, row, folder, end, database):
        self.row, self.end, self.world, self.database = row, end, folder, database
        self.folder = folder + "/" + row.name
        os.mkdir(self.folder)
        self.at = self.folder + "/ill"
        self.config = row.make(self)

    def harm(self, server):
        self.row.harm(self, server)

    def asked(self):
        if not self.row.ask:
            return []
        method, params = self.row.ask
        params = {k: v.replace("$I", self.at).replace("$W", self.world) if isinstance(v, str) else v for k, v in params.items()}
        return [(method, params, params.get("uri", params.get("name", "")))]

    def sh(self, script):
        sh(self.folder, script)


def read(uri):
    return "resources/read", {"uri": uri}


def call(name):
    return "tools/call", {"name": name, "arguments": {}}


def hasty(make):
    """Lists wait for the source for two seconds only. A busy machine may take as long for a healthy one."""
    return lambda ill: {**make(ill), "list-ms": 2000}


def shell(script):
    return lambda ill, server: ill.sh(script)


def nothing(ill, server):
    pass


def fresh(pid):
    """Returns the processes of sources, and of programs, of mcpd."""
    with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
        return set(f.read().split())


def to_process(number):
    """Sends a signal to the process of the source, which is the one that starts at its first use."""
    def harm(ill, server):
        before = fresh(server.process.pid)
        server.ask(*ill.asked()[0])
        for pid in fresh(server.process.pid) - before:
            os.kill(int(pid), number)
    return harm


# ---- folders -------------------------------------------------------------------------------------------------------------


def folder(ill):
    ill.sh("mkdir ill; echo good >ill/b.txt")
    return {"sources": [ill.at]}


# ---- git -----------------------------------------------------------------------------------------------------------------


def git(isolate):
    def make(ill):
        ill.sh("git init -q -b main ill; cd ill; echo good >b.txt; git add .; git commit -qm c")
        return {"sources": [{"module": "git", "source": ill.at, "name": "ill", "isolate": isolate, "options": {"timeout_ms": 2000}}]}
    return make


# ---- SQLite --------------------------------------------------------------------------------------------------------------


def sqlite(isolate):
    def make(ill):
        ill.sh("sqlite3 ill \"PRAGMA page_size=1024; CREATE TABLE t(id INTEGER PRIMARY KEY, a); INSERT INTO t VALUES (1, 'good');"
               "CREATE VIEW slow AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT max(x) AS m FROM n;"
               "CREATE TABLE big(id INTEGER PRIMARY KEY, a); INSERT INTO big VALUES (1, hex(zeroblob(20000000)))\"")
        return {"sources": [{"module": "sqlite", "source": ill.at, "name": "ill", "isolate": isolate,
                             "options": {"timeout_ms": 500}}]}
    return make


def locked(ill, server):
    holder = sqlite3.connect(ill.at, isolation_level=None, check_same_thread=False)
    holder.execute("BEGIN EXCLUSIVE")
    ill.end.callback(holder.close)


# ---- PostgreSQL ----------------------------------------------------------------------------------------------------------


def postgres(ill):
    subprocess.run([ill.database, "make", ill.at], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([*ELSEWHERE, ill.database, "start", ill.at], check=True)
    ill.end.callback(subprocess.run, [ill.database, "remove", ill.at], check=False)
    sql(ill, "CREATE ROLE reader LOGIN; CREATE TABLE t(id int PRIMARY KEY, a text); INSERT INTO t VALUES (1, 'good'); "
        "CREATE VIEW slow AS SELECT pg_sleep(1000)::text; GRANT SELECT ON t, slow TO reader; "
        "CREATE TABLE big AS SELECT 1 AS id, repeat('x', 30000000) AS a; GRANT SELECT ON big TO reader")
    return {"sources": [{"module": "postgres", "source": "host=%s user=reader dbname=postgres" % ill.at, "name": "ill",
                         "options": {"timeout_ms": 1000}}]}


def sql(ill, text):
    subprocess.run(["psql", "-q", "-h", ill.at, "-U", "postgres", "postgres"], input=text, text=True, check=True)


def sql_harm(text):
    return lambda ill, server: sql(ill, text)


def kill_database(ill, server):
    subprocess.run([ill.database, "kill", ill.at], check=True)


def stop_database(ill, server):
    with open(ill.at + "/data/postmaster.pid") as f:
        pid = int(f.readline())
    server.ask(*read("postgres://ill/public/t/rows"))
    all_of = [pid] + [int(p) for p in fresh(pid)]
    for one in all_of:
        os.kill(one, signal.SIGSTOP)
        ill.end.callback(os.kill, one, signal.SIGCONT)


def lock_table(ill, server):
    holder = subprocess.Popen(["psql", "-q", "-h", ill.at, "-U", "postgres", "postgres"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True)
    holder.stdin.write("BEGIN; LOCK TABLE t; SELECT 'locked';\n")
    holder.stdin.flush()
    while "locked" not in holder.stdout.readline():
        pass
    ill.end.callback(holder.wait)
    ill.end.callback(holder.kill)


def speaks(text):
    """A source that accepts connections and sends this, or nothing."""
    def make(ill):
        listener = socket.create_server(("127.0.0.1", 0))
        kept = []
        ill.end.callback(listener.close)

        def serve():
            while True:
                try:
                    kept.append(listener.accept()[0])
                    if text:
                        kept[-1].recv(8)
                        kept[-1].sendall(text)
                except OSError:
                    return
        threading.Thread(target=serve, daemon=True).start()
        return {"sources": [{"module": "postgres", "name": "ill", "options": {"timeout_ms": 1000},
                             "source": "host=127.0.0.1 port=%d user=reader dbname=x connect_timeout=2" % listener.getsockname()[1]}]}
    return make


# ---- prompts and tools ---------------------------------------------------------------------------------------------------


def prompts(ill):
    sh(ill.world, "echo good >prompts/ill.md")
    ill.end.callback(sh, ill.world, "rm -rf prompts prompts.kept; mkdir prompts; echo healthy >prompts/good.md")
    return {}


def world_sh(script):
    return lambda ill, server: sh(ill.world, script)


def tool(script, **options):
    def make(ill):
        with open(ill.at, "w") as f:
            f.write("#!/bin/sh\n" + script + "\n")
        os.chmod(ill.at, 0o755)
        return {"tools": [{"name": "ill", "description": "d", "command": [ill.at], **options}]}
    return make


# ---- other servers -------------------------------------------------------------------------------------------------------


def server_of(transport, way, **options):
    def make(ill):
        where = "'%s' '%s' %s" % (sys.executable, BAD, way)
        if transport == "http":
            other = subprocess.Popen([*ELSEWHERE, sys.executable, BAD, way, "--http"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            ill.end.callback(other.wait)
            ill.end.callback(other.kill)
            where = "http://127.0.0.1:%d/mcp" % int(other.stdout.readline())
        return {"sources": [{"module": "mcp", "source": where, "name": "ill",
                             "options": {"list_ms": 500, "first_list_ms": 1000, "timeout_ms": 3000, **options}}]}
    return make


def program(command):
    return lambda ill: {"sources": [{"module": "mcp", "source": command, "name": "ill",
                                     "options": {"list_ms": 500, "first_list_ms": 1000, "timeout_ms": 3000}}]}


def call_in_vain(ill, server):
    threading.Thread(target=server.ask, args=(*call("ill_x"), "ill_x"), daemon=True).start()


# ---- the table -----------------------------------------------------------------------------------------------------------

NAME = {"git": "repository", "sqlite": "database"}
ENTRY = {"folder": "file:", "git": "git://ill/", "sqlite": "sqlite://ill/", "postgres": "postgres://ill/", "mcp": "mcp+ill:"}


def left_out(kind):
    return r'mcp_source_left_out_total\{source="%s"\} [1-9]' % re.escape(ENTRY[kind])


def count(metric, **labels):
    return metric + r"\{%s\} [1-9]" % ",".join('%s="%s"' % (name, re.escape(value)) for name, value in labels.items())


def whole(kind, way, make, harm, ask, answer, why, **more):
    """A source that cannot be listed."""
    return Row(way, make, harm, ask, answer, ": lists of resources are without it: .*" + why, left_out(kind), why, ENTRY[kind], **more)


def one(kind, way, make, harm, ask, answer, log="", **more):
    """A source of which one thing cannot be read."""
    metric = count("mcp_source_reads_total", source=ENTRY[kind], result="error")
    return Row(way, make, harm, ask, answer, log, metric, **more)


def lost(way, make, harm, why, doctor=None, listed="The database ill cannot be reached now"):
    """A PostgreSQL that cannot be reached."""
    away = "The database ill cannot be reached now"
    log = r"(?s)(?=.*PostgreSQL database ill: [^\n]*%s)(?=.*: lists of resources are without it: %s)" % (why, listed)
    return Row("postgres-" + way, make, harm, TABLE, away if way != "silent" else away + "|It took too long", log, left_out("postgres"),
               "WRONG .*postgres: ill: .*" + (why if doctor is None else doctor), ENTRY["postgres"])


GONE = "No such file|is not there|now: not found"
FILE, GIT, TABLE = read("file://$I/b.txt"), read("git://ill/HEAD/b.txt"), read("sqlite://ill/t/rows")
ROWS = [
    *(Row("folder-" + way, folder, shell(script), read("file://$I"), "cannot be read now: " + why,
          ": lists of resources are without it: " + why, left_out("folder"), doctor, "file://$I") for way, script, why, doctor in (
        ("dead", "rm -r ill", "there is no folder", "No such file"), ("moved", "mv ill away", "there is no folder", "No such file"),
        ("malformed", "rm -r ill; echo x >ill", "there is no folder", ""),
        ("linked", "mv ill away; mkdir other; ln -s other ill", "what is at its path may not be read, or a link leads to it", ""))),
    Row("folder-hung", folder, shell("rm ill/b.txt; mkfifo ill/b.txt"), FILE, "not found"),
    Row("folder-long", folder, shell("truncate -s 100M ill/b.txt"), FILE, "more than the limit of 10485760",
        metric=count("mcp_source_reads_total", source="file:", result="error")),
]
for isolate in (True, False):
    kind, damaged = "git" if isolate else "git_here", "cannot be read now: something in it is damaged"
    objects = "find ill/.git/objects -type f -exec sh -c 'chmod u+w {}; echo x >{}' ';'"
    ROWS += [whole("git", "%s-%s" % (kind, way), git(isolate), shell(script), GIT, damaged, damaged) for way, script in (
        ("head", ": >ill/.git/HEAD"), ("branch", ": >ill/.git/refs/heads/main"), ("objects", objects),
        ("unreadable", "rm ill/.git/HEAD; ln -s HEAD ill/.git/HEAD"), ("hung", "rm ill/.git/HEAD; mkfifo ill/.git/HEAD"))]
    ROWS += [
        whole("git", kind + "-dead", git(isolate), shell("rm -rf ill"), read(ENTRY["git"]), GONE, GONE),
        one("git", kind + "-long", git(isolate), shell("cd ill; truncate -s 20M b.txt; git commit -qam c"), GIT,
            "20971520 bytes, more than the limit"),
    ]
    kind, make = "sqlite" if isolate else "sqlite_here", sqlite(isolate)
    slow, big = read("sqlite://ill/slow/rows"), read("sqlite://ill/big/cell/a/1")
    ROWS += [
        whole("sqlite", kind + "-encrypted", make, shell("openssl rand 8192 >ill"), TABLE, "file is not a database",
              "file is not a database"),
        whole("sqlite", kind + "-dead", make, shell("rm ill"), read(ENTRY["sqlite"]), GONE, GONE),
        whole("sqlite", kind + "-unreadable", make, shell("rm ill; ln -s ill ill"), TABLE, "Too many levels", "Too many levels"),
        whole("sqlite", kind + "-locked", make, locked, TABLE, "is busy or locked", "time-out"),
        one("sqlite", kind + "-damaged", make, shell("openssl rand 100000 | dd of=ill bs=1024 seek=1 conv=notrunc 2>&1"), TABLE,
            "cannot be read now: database disk image is malformed", "disk image is malformed"),
        one("sqlite", kind + "-slow", make, nothing, slow, "It took too long", "interrupted"),
        one("sqlite", kind + "-long", make, nothing, big, "A value has 40000000 bytes, more than the limit"),
    ]
for kind, make, ask in (("git", git(True), GIT), ("sqlite", sqlite(True), TABLE)):
    ends = "mcp_source_process_ends_total"
    ROWS += [ # the request is repeated
        Row(kind + "-killed", make, to_process(signal.SIGKILL), ask, "good", kind + ":ill: the process was ended by signal 9",
            count(ends, source=ENTRY[kind], cause="killed")),
        Row(kind + "-stopped", make, to_process(signal.SIGSTOP), ask, "good", kind + ":ill: it no longer answers, not even a ping",
            count(ends, source=ENTRY[kind], cause="aborted")),
    ]
TABLE = read("postgres://ill/public/t/rows")
late, said = "It took too long", "PostgreSQL database ill: a request took too long: "
ROWS += [replace(row, database=True) for row in (
    lost("dead", postgres, kill_database, "failed", ""),
    lost("unreadable", postgres, sql_harm("REVOKE CONNECT ON DATABASE postgres FROM public"), "permission denied"),
    lost("malformed", speaks(b"nonsense" * 1000), nothing, "invalid response"),
    lost("silent", hasty(speaks(b"")), nothing, "it does not answer", listed="(it did|The database)"),
    whole("postgres", "postgres-hung", hasty(postgres), stop_database, TABLE, late, "did not answer within"),
    one("postgres", "postgres-locked", postgres, lock_table, TABLE, late, said),
    one("postgres", "postgres-slow", postgres, nothing, read("postgres://ill/public/slow/rows"), late, said),
    Row("postgres-long", postgres, nothing, read("postgres://ill/public/big/rows"), r'\\"size\\":30000000'))]
PROMPT, kept = ("prompts/get", {"name": "ill"}), ".*; the previous version of the prompt is kept"
ROWS += [Row("prompts-" + way, prompts, world_sh(script), PROMPT, "good", why + kept, doctor=why) for way, script, why in (
    ("unreadable", "rm prompts/ill.md; ln -s ill.md prompts/ill.md", "the link does not point to a file"),
    ("malformed", r"printf -- '---\narguments: [' >prompts/ill.md", "arguments must be on the lines below"),
    ("hung", "rm prompts/ill.md; mkfifo prompts/ill.md", "it is not a readable file"),
    ("long", "truncate -s 20M prompts/ill.md", "more than 16 MiB"))]
ROWS += [Row("prompts-dead", prompts, world_sh("mv prompts prompts.kept"), PROMPT, "good", "the previous prompts are kept",
             doctor="WRONG   prompts: .*No such file")]
ROWS += [Row("command-" + way, make, harm, call("ill"), '"ill %s.*"isError":true' % says, "tool ill: it " + says,
             metric=count("mcp_tool_calls_total", tool="ill", result="tool_error"), doctor=doctor) for way, make, harm, says, doctor in (
    ("dead", tool("kill -9 $$"), nothing, "was ended by signal 9", ""),
    ("gone", tool("echo good"), shell("rm ill"), "cannot be started: No such file", "there is no executable program"),
    ("unreadable", tool("echo good"), shell("chmod 0 ill"), "cannot be started: Permission denied", "there is no executable program"),
    ("hung", tool("sleep 1000", timeout=1), nothing, "took longer than 1000 ms", ""),
    ("malformed", tool("exit 3"), nothing, "ended with status 3", ""),
    ("long", tool("yes"), nothing, "wrote more than 1048576 bytes", ""))]


THERE, SLOW = "The server ill does not answer", "neither an answer nor progress of x within 1.000 s"
ROWS += [whole("mcp", way, program(what), nothing, read("mcp+ill:"), THERE + ".*" + why, why) for way, what, why in (
    ("stdio-absent", "/nonexistent", "No such file"), ("stdio-ends", "false", "ended with exit status 1"),
    ("http-absent", "http://127.0.0.1:1/mcp", "Failed to connect"))]
FAILURES = {
    "killed": "the server ended|Empty reply|Server returned nothing",
    "half": "the server ended|transfer closed",
    "garbage": "the server answered with|Received HTTP/0.9",
    "huge": "longer than 16777216 bytes",
    "values": r"more values than the limit of 262144 \(max_values\)",
    "many": r"its answer to tools/list is too large: .*more values than the limit of 262144 \(max_values\)",
    "status": "500",
}
ROWS += [Row("%s-%s" % (transport, way), server_of(transport, way), nothing, call("ill_x"), THERE + ".*(%s)" % why,
             "mcp:ill: a request failed: .*(%s)" % why,
             count("mcp_upstream_requests_total", source=ENTRY["mcp"], outcome="unreachable"), why if way == "many" else "")
         for transport in ("stdio", "http") for way, why in FAILURES.items() if (transport, way) != ("stdio", "status")]
for transport in ("stdio", "http"):
    ROWS += [
        Row(transport + "-slow", server_of(transport, "slow"), nothing, call("ill_x"), "good"),
        whole("mcp", transport + "-silent", server_of(transport, "silent"), nothing, read("mcp+ill:x:/r"), THERE, THERE),
        Row(transport + "-mute", server_of(transport, "silent"), nothing, call("ill_x"), THERE,
            metric=count("mcp_upstream_requests_total", source=ENTRY["mcp"], outcome="unreachable")),
        Row(transport + "-never", server_of(transport, "never", call_ms=1000), call_in_vain, call("ill_x"), THERE + ".*" + SLOW,
            "mcp:ill: a request failed: " + SLOW,
            metric=count("mcp_upstream_requests_total", source=ENTRY["mcp"], outcome="unreachable")),
    ]
ROWS += [Row("stdio-frozen", server_of("stdio", "frozen", call_ms=1000, ping_ms=1000), call_in_vain, call("ill_x"),
             THERE + ".*(%s|it answered neither a request in time nor a ping)" % SLOW,
             "mcp:ill: it has answered neither tools/call of x in time nor a ping within 1.000 s, so it is ended",
             count("mcp_upstream_process_hung_total", source=ENTRY["mcp"]))]
