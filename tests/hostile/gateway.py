"""The gateway of soak: its configuration, the servers behind it, what /proc, /metrics and its logs say."""
import asyncio
import collections
import glob
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
MCPD = os.environ.get("MCPD", "mcpd")
BAD = HERE + "/bad_server.py"
PROGRAMS = {"prog": "none", "dies": "killed", "frozen": "frozen", "late": "slow", "never": "never", "files": ""}  # and the kind of BAD
WAIT_S = 120


def wait_for(what, condition):
    began = time.monotonic()
    while not (found := condition()):
        if time.monotonic() > began + WAIT_S:
            raise SystemExit("soak: not within %d s: %s" % (WAIT_S, what))
        time.sleep(0.05)
    return found


class Tail:
    """The lines that were added to a file since the last look."""

    def __init__(self, path):
        self.file, self.rest = open(path, "rb"), b""

    def lines(self):
        while block := self.file.read(1 << 20):
            *lines, self.rest = (self.rest + block).split(b"\n")
            yield from lines


class Gateway:
    def __init__(self, soak):
        pid = os.getpid()
        self.soak, self.folder, self.books = soak, soak.folder, soak.books
        self.net = "127.%d.%d" % (1 + (pid >> 14 & 127), pid >> 7 & 127)
        self.at, self.web_at = (self.net + ".11", 8000 + (pid & 127)), (self.net + ".12", 8000 + (pid & 127))
        self.process = self.web = self.old = None
        self.started_file, self.log, self.audit = (self.folder + "/" + n for n in ("started", "log", "audit"))
        self.values, self.figures, self.memory = {}, {}, []
        self.hung, self.ended, self.seen = collections.Counter(), collections.Counter(), {}
        self.audited, self.logged, self.n = collections.Counter(), collections.Counter(), 0
        self.inner = 0

    # ---- beginning and end -----------------------------------------------------------------------------

    def start(self):
        folder = self.folder
        for name in ("notes", "files", "web"):
            os.mkdir("%s/%s" % (folder, name))
            with open("%s/%s/one.txt" % (folder, name), "w") as f:
                f.write("one\n" * 64)
        self.database = sqlite3.connect(folder + "/shop.db", check_same_thread=False, isolation_level=None)
        self.database.execute("PRAGMA synchronous = OFF")  # a slow disk would keep the database locked
        self.database.execute("CREATE TABLE item(id INTEGER PRIMARY KEY, n INTEGER)")
        self.database.execute("INSERT INTO item VALUES (1, 0)")
        open(self.started_file, "w").close()
        self.wrapper = folder + "/noted"
        with open(self.wrapper, "w") as f:
            f.write('#!/bin/sh\necho "$$ $1" >>%s\nshift\nexec "$@"\n' % self.started_file)
        os.chmod(self.wrapper, 0o755)
        self.uris = ["file://%s/notes/one.txt" % folder, "sqlite://shop/item/row/1", "mcp+files:file://%s/files/one.txt" % folder,
                     "mcp+web:file://%s/web/one.txt" % folder]
        self.start_web()
        self.old = subprocess.Popen([sys.executable, BAD, "none", "--http"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        port = int(self.old.stdout.readline())
        with open(folder + "/mcpd.json", "w") as f:
            json.dump(self.configuration(port), f)
        os.chmod(folder + "/mcpd.json", 0o600)
        self.process = subprocess.Popen([MCPD, "--config", folder + "/mcpd.json"], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=open(self.log, "w"),
                                        env={**os.environ, "HOME": folder})

    def configuration(self, port):
        times = {"call_ms": 5000, "timeout_ms": 5000, "ping_ms": 5000, "list_ms": 500}
        sources = [self.folder + "/notes", {"module": "sqlite", "source": self.folder + "/shop.db", "name": "shop"}]
        for name, kind in PROGRAMS.items():
            words = [sys.executable, BAD, kind, self.folder] if kind else [MCPD, "--no-resource-tools", self.folder + "/files"]
            sources.append({"module": "mcp", "source": self.wrapper, "name": name, "options": {
                "args": [name, *words], "shared": name != "prog", **times}})
        for name, url in (("web", "http://%s:%d/mcp" % self.web_at), ("old", "http://127.0.0.1:%d/mcp" % port)):
            sources.append({"module": "mcp", "source": url, "name": name, "options": {"shared": True, **times}})
        o = self.soak.options
        return {"sources": sources, "http": ["%s:%d" % self.at], "allow-host": ["mcp.example"], "tokens": self.soak.tokens,
                "audit": self.audit, "log-format": "json", "log-level": "info", "resource-tools": False,
                "max-sessions": o.sessions, "max-sessions-each": o.each, "max-memory": o.memory,
                "access": [{"effect": "allow"}, {"principal": "guest", "effect": "deny", "resources": "sqlite://**"}],
                "rates": [{"principal": "greedy", "per-minute": 60, "burst": 5}]}

    def start_web(self):
        self.web = subprocess.Popen([MCPD, "--http", "%s:%d" % self.web_at, "--allow-host", self.web_at[0],
                                     "--no-resource-tools", self.folder + "/web"],
                                    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                    stderr=open(self.folder + "/web.log", "a"))

    def wait_ready(self):
        wait_for("mcpd serves", lambda: self.process.poll() is not None or "at http://" in open(self.log).read())
        if self.process.poll() is not None:
            raise SystemExit("soak: mcpd ended: " + open(self.log).read())
        wait_for("the endpoint serves", lambda: "at http://" in open(self.folder + "/web.log").read())
        self.audit_tail, self.log_tail = Tail(self.audit), Tail(self.log)

    def stop(self):
        """Ends mcpd with a signal that lets it finish. Yields what was wrong with that."""
        self.process.terminate()
        wait_for("mcpd ends", lambda: self.process.poll() is not None)
        if self.process.returncode != 0:
            yield "mcpd ended with status %d" % self.process.returncode
        text = open(self.log, errors="replace").read()
        if report := re.search(r"Sanitizer|runtime error:", text):
            yield text[max(0, report.start() - 300):][:6000]
        time.sleep(0.5)
        left = [pid for pid, began in self.seen.items() if self.begun(pid) == began]
        if left:
            yield "processes are left: %s" % [open("/proc/%d/cmdline" % p).read().replace("\0", " ") for p in left]

    def kill(self):
        for process in (self.process, self.web, self.old):
            if process and process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.kill()
                process.wait()
        for pid, began in self.seen.items():
            if self.begun(pid) == began:
                os.kill(pid, signal.SIGKILL)

    # ---- changes and harm ------------------------------------------------------------------------------

    def change(self):
        """Changes each of the resources that have listeners."""
        self.n += 1
        self.database.execute("UPDATE item SET n = n + 1")
        for name in ("notes", "files"):
            with open("%s/%s/next" % (self.folder, name), "w") as f:
                f.write("%d\n" % self.n * 64)
            os.rename("%s/%s/next" % (self.folder, name), "%s/%s/one.txt" % (self.folder, name))

    def starts(self, name):
        with open(self.started_file) as f:
            return [int(line.split()[0]) for line in f if line.split()[1] == name]

    def started(self, name):
        return len(self.starts(name))

    @staticmethod
    def stat(pid):
        """The fields of /proc/PID/stat from the state on, or None."""
        try:
            with open("/proc/%d/stat" % pid) as f:
                return f.read().rpartition(") ")[2].split()
        except OSError:
            return None

    def begun(self, pid):
        """When a process began, or None if it is gone."""
        fields = self.stat(pid)
        return None if not fields or fields[0] in "ZX" else fields[19]

    def lives(self, pid):
        return self.begun(pid) is not None

    def running(self, name):
        return [pid for pid in self.starts(name)[-64:] if self.lives(pid) and self.is_ours(pid)]

    def is_ours(self, pid):
        """Whether the process has the folder among its words. Ids are used again."""
        try:
            with open("/proc/%d/cmdline" % pid, "rb") as f:
                return self.folder.encode() in f.read()
        except OSError:
            return False

    async def signal(self, name, how):
        """Hurts a process of a server. Returns its id, or None if there is none."""
        for _ in range(100):
            pids = self.running(name)
            if pids:
                break
            await asyncio.sleep(0.1)
        else:
            self.books.fault("%s does not run" % name)
            return None
        pid = pids[self.n % len(pids)]
        os.kill(pid, signal.SIGKILL if how == "kill" else signal.SIGSTOP)
        if how == "stop":
            self.note_hung(name)
        else:
            self.ended[name] += 1
        return pid

    def note_hung(self, name):
        self.ended[name] += 1
        self.hung[name] += 1

    def frozen(self, name):
        """The processes of a server that have stopped."""
        return [pid for pid in self.running(name) if (self.stat(pid) or " ")[0] == "T"]

    async def kill_web(self, name, line):
        self.web.kill()
        self.web.wait()
        await asyncio.sleep(2)
        self.start_web()

    async def stop_web(self, name, line):
        await self.pause(self.web)

    async def stop_old(self, name, line):
        await self.pause(self.old)

    @staticmethod
    async def pause(process):
        process.send_signal(signal.SIGSTOP)
        await asyncio.sleep(7)
        process.send_signal(signal.SIGCONT)

    # ---- what can be seen ------------------------------------------------------------------------------

    def descendants(self):
        children = collections.defaultdict(list)
        for path in glob.glob("/proc/[0-9]*/stat"):
            fields = self.stat(int(path.split("/")[2]))
            if fields and fields[0] not in "ZX":
                children[int(fields[1])].append((int(path.split("/")[2]), fields[19]))
        found, at = children[self.process.pid], 0
        while at < len(found):
            found += children[found[at][0]]
            at += 1
        self.seen.update(found)
        return len(found)

    def look(self):
        """The resident memory and the PSS in bytes, descriptors, and processes."""
        proc = "/proc/%d/" % self.process.pid
        rss = int(re.search(r"VmRSS:\s+(\d+)", open(proc + "status").read()).group(1)) << 10
        pss = int(re.search(r"Pss:\s+(\d+)", open(proc + "smaps_rollup").read()).group(1)) << 10
        self.now = (rss, pss, len(os.listdir(proc + "fd")), self.descendants())
        return self.now

    def read_metrics(self, text):
        self.values = collections.defaultdict(dict)
        for line in text.splitlines():
            if line[:1] == "#":
                continue
            name, labels, value = re.match(r"(\w+)(?:{(.*)})? (\S+)$", line).groups()
            labels = dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels or ""))
            self.values[name][tuple(sorted(labels.items()))] = float(value)
        self.figures = {name: v[()] for name, v in self.values.items() if () in v}

    def table(self, metric, *labels):
        """The values of a metric by these labels, those of the others added up."""
        found = collections.Counter()
        for key, value in self.values[metric].items():
            found[tuple(dict(key).get(label, "") for label in labels)] += int(value)
        return found

    def in_flight(self):
        return {name: sum(self.values[name].values()) for name in
                ("mcp_tool_calls_in_flight", "mcp_source_reads_in_flight", "mcp_upstream_requests_in_flight")
                if sum(self.values[name].values())}

    def read_logs(self):
        for text in self.audit_tail.lines():
            line = json.loads(text)
            if line.get("inner"):  # lists that mcpd asks for again, because a server was left out
                self.inner += 1
            elif "left_out" in line:
                self.audited["", "refused"] += line["left_out"]
            else:
                self.audited[line.get("method", ""), line["outcome"]] += 1
        for text in self.log_tail.lines():
            if text[:1] != b"{":
                self.books.fault("the log: %r" % text[:500])
                continue
            line = json.loads(text)
            if "status" in line:
                self.logged[str(line["status"]),] += 1

    def line(self):
        f, rss = self.figures, self.now
        return ("%4.1f min: %d requests, %.1f MiB (PSS %.1f), counted %.1f, stored %.1f, %d fds, %d processes, %d sessions, "
                "%d evicted, %d expired, %d events, %d starts, %d hung, %d changes, %.0f s CPU" % (
                    self.soak.since() / 60, self.books.asked, rss[0] / 2**20, rss[1] / 2**20, f["mcp_memory_bytes"] / 2**20,
                    f["mcp_memory_stored_bytes"] / 2**20, rss[2], rss[3], f["mcp_sessions"], f["mcp_sessions_evicted_total"],
                    f["mcp_sessions_expired_total"], f["mcp_stream_events_total"],
                    sum(self.table("mcp_upstream_process_starts_total", "source").values()),
                    sum(self.hung.values()), self.soak.changes, f["process_cpu_seconds_total"]))

    # ---- what must agree -------------------------------------------------------------------------------

    def differences(self):
        """Yields what the metrics and the logs say that the driver did not count. The last look at /metrics is not in it."""
        books = self.books
        books.want["requests"]["", "ok"] -= 1
        books.want["responses"]["200",] -= 1
        for table, metric, labels in (
                ("requests", "mcp_requests_total", ("method", "result")),
                ("responses", "mcp_http_responses_total", ("status",)),
                ("refusals", "mcp_http_refusals_total", ("reason",)),
                ("logins", "mcp_login_refusals_total", ("reason",)),
                ("calls", "mcp_tool_calls_total", ("tool", "source", "result")),
                ("reads", "mcp_source_reads_total", ("source", "result")),
                ("rates", "mcp_rate_refusals_total", ("limit",))):
            yield from books.compare(table, {k: v for k, v in self.table(metric, *labels).items() if v})
        self.read_logs()
        yield from self.logs_and_times()
        yield from books.compare("audit", self.audited)
        yield from self.forwarded()
        yield from self.processes()
        for name in ("mcp_connections_refused_total", "mcp_connections_shed_total", "mcp_memory_refusals_total",
                     "mcp_log_lines_lost_total", "mcp_audit_lines_lost_total", "mcp_work_memory_refusals_total"):
            if self.figures[name]:
                yield "%s: %d" % (name, self.figures[name])

    def logs_and_times(self):
        """Each request has a line in the log and a time, but streams have no time. The last look at /metrics has a line, too."""
        books = self.books
        books.want["log"].update(books.want["responses"])
        books.doubt["log"].update(books.doubt["responses"])
        books.want["log"]["200",] += 1
        books.doubt["log"]["0",] += books.want["requests dropped"][()]
        yield from books.compare("log", self.logged)
        answered = sum(self.table("mcp_requests_total", "method").values())
        streams = self.figures["mcp_streams_total"]
        if self.figures["mcp_request_duration_seconds_count"] != answered - streams:
            yield "%d times of %d requests without %d streams" % (
                self.figures["mcp_request_duration_seconds_count"], answered, streams)
        if self.figures["mcp_received_bytes_total"] != books.sent:
            yield "%d bytes were received, and the driver sent %d" % (self.figures["mcp_received_bytes_total"], books.sent)
        for (source,), opened in self.table("mcp_upstream_sessions_opened_total", "source").items():
            ended = self.table("mcp_upstream_sessions_ended_total", "source")[source,]
            if opened != ended + self.table("mcp_upstream_sessions", "source")[source,]:
                yield "%s: %d sessions were opened, %d have ended" % (source, opened, ended)

    def forwarded(self):
        """A list asks each server at most once, and not while its last answer is awaited."""
        lists = sum(self.books.want["lists"].values()) + self.inner
        got = self.table("mcp_upstream_requests_total", "source")
        for (source,), n in got.items():
            want, doubt = self.books.want["forwarded"][source,], self.books.doubt["forwarded"][source,]
            if not want <= n <= want + doubt + lists:
                yield "%s got %d requests, and the driver sent %d to %d" % (source, n, want, want + doubt + lists)

    def processes(self):
        for name in PROGRAMS:
            key = (("source", "mcp+%s:" % name),)
            said = [int(self.values["mcp_upstream_%s" % m].get(key, 0)) for m in (
                "process_starts_total", "process_failures_total", "process_hung_total", "processes")]
            starts, running = self.started(name), len(self.running(name))
            if name == "dies":
                self.ended[name] = starts - running
            counted = [starts, self.ended[name], self.hung[name], running]
            if said != counted:
                yield "%s: starts, ends, hung and running are %s, and the driver counted %s" % (name, said, counted)
