"""mcpctl against one server that is slow, noisy and restarts: the same checks for each SDK.

usage: check.py [--small] NAME MCPCTL COMMAND...

COMMAND gets one more argument: stdio, or a port for HTTP. --small runs only the checks that are marked as small.
Prints TAP.

All of these servers have the following items, so that the checks are the same for all:

    mem://text, mem://live, mem://slow      three lines; changes all the time; takes 1.5 s to read
    mem://city/{name}                       with completion of the name
    prompt visit city=                      one message
    tool slow steps= tell=                  takes 0.1 s for each step, and reports progress if `tell` is set
    tool cancelled                          returns how many calls of slow were cancelled
    tool noise lines=                       writes `lines` lines to stderr, as log notifications, and as stray lines to stdout
    tool die                                reports progress, then ends the process during the call

Over stdio, each begins with a banner on stdout, where only messages are allowed.
"""

import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

SMALL = sys.argv[1] == "--small"
NAME, MCPCTL, *COMMAND = sys.argv[2 if SMALL else 1:]
LONG = 60  # seconds that count as "forever"
BANNER = r"warning: the server wrote something other than a message to stdout: Noisy MCP server 1\.0"
STRAY = 10  # a few stray lines; FLOOD is many
FLOOD = 2000

# Features that an SDK lacks, and why; a check that needs one is skipped with the reason.
LACKS = {
    "sdk1": {"watch": "SDK 1.x always declares resources.subscribe as false"},
    "fastmcp2": {
        "watch": "it has no subscriptions",
        "completion": "it has no completion",
    },
    "fastmcp3": {
        "watch": "it has no subscriptions",
        "completion": "it has no completion",
    },
    "fastmcp4": {"watch": "it has no subscriptions"},
}.get(NAME, {})

home = tempfile.mkdtemp()
env = {**os.environ, "HOME": home, "XDG_CONFIG_HOME": "", "XDG_STATE_HOME": "", "NO_COLOR": "1", "LC_ALL": "C.UTF-8"}


def until(so, what):
    end = time.monotonic() + LONG
    while time.monotonic() < end:
        if value := so():
            return value
        time.sleep(0.02)
    raise AssertionError(f"waited in vain: {what() if callable(what) else what}")


# ---- the two transports; each class returns the last words of mcpctl's command line --------------------------------


class Stdio:
    name = "stdio"
    starts = 0
    to = ("--", *COMMAND, "stdio")

    def restart(self, client):
        """Kills the server, which is the child of mcpctl that runs its command."""
        pid = until(lambda: self.child(client.pid), "the server's process")
        os.kill(pid, signal.SIGKILL)
        until(lambda: self.is_over(pid), "the end of the server")

    @staticmethod
    def child(of):
        found = subprocess.run(["pgrep", "-P", str(of)], capture_output=True, text=True, check=False).stdout.split()
        return int(found[0]) if found else None

    @staticmethod
    def is_over(pid):
        """Returns whether all of its threads have ended, so that its pipes are closed and its parent is notified."""
        process = pathlib.Path("/proc", str(pid))
        try:
            return "\nState:\tZ" in process.joinpath("status").read_text() and len(list(process.joinpath("task").iterdir())) == 1
        except FileNotFoundError:
            return True

    def ready(self):
        pass

    def died(self, starts):
        pass

    def close(self):
        pass


class Http:
    """A server that is restarted on the same port whenever it ends, as by an init system."""

    name = "HTTP"

    def __init__(self, log):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        self.to = ["-s", f"http://127.0.0.1:{self.port}/mcp"]
        self.log, self.closed, self.process = log, False, None
        self.starts = 0
        threading.Thread(target=self.supervise, daemon=True).start()
        self.ready()

    def supervise(self):
        while not self.closed:
            with open(self.log, "ab") as log:
                self.process = subprocess.Popen(
                    [*COMMAND, str(self.port)], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
            self.starts += 1
            self.process.wait()

    def listens(self):
        with socket.socket() as s:
            return s.connect_ex(("127.0.0.1", self.port)) == 0

    def ready(self):
        until(self.listens, lambda: f"a server; {pathlib.Path(self.log).read_text()[-2000:]}")

    def died(self, starts):
        """The old server may still listen for a moment, so this waits for the next one."""
        until(lambda: self.starts > starts, "another start")
        self.ready()

    def restart(self, _):
        starts = self.starts
        self.process.kill()
        self.died(starts)

    def close(self):
        self.closed = True
        self.process.kill()


# ---- mcpctl ---------------------------------------------------------------------------------------------------------


def run(way, words, typed=""):
    """status, stdout, stderr"""
    done = subprocess.run([MCPCTL, *words, *way.to], input=typed, capture_output=True, text=True, env=env, cwd=home,
                          timeout=2 * LONG, check=False)
    return done.returncode, done.stdout, done.stderr


running = []  # processes that may still be running after a failed check


class Running:
    """A running command: its output so far, and a method to type."""

    def __init__(self, way, words):
        self.process = subprocess.Popen(
            [MCPCTL, *words, *way.to], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=env, cwd=home)
        running.append(self.process)
        self.pid = self.process.pid
        self.out, self.err = [], []
        self.readers = [threading.Thread(target=self.collect, args=pair, daemon=True)
                        for pair in ((self.process.stdout, self.out), (self.process.stderr, self.err))]
        for reader in self.readers:
            reader.start()

    @staticmethod
    def collect(stream, lines):
        for line in stream:
            lines.append(line)

    def told(self):
        return f"status: {self.process.poll()}\nstdout: {''.join(self.out[-20:])}\nstderr: {''.join(self.err[-20:])}"

    def type(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def says(self, text, count=1):
        until(lambda: "".join(self.out).count(text) >= count or self.process.poll() is not None, self.told)
        assert "".join(self.out).count(text) >= count, self.told()

    def complains(self, pattern):
        until(lambda: re.search(pattern, "".join(self.err)) or self.process.poll() is not None, self.told)
        assert re.search(pattern, "".join(self.err)), self.told()

    def end(self):
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        status = self.process.wait(LONG)
        for reader in self.readers:
            reader.join(LONG)
        return status


# ---- commands: their output and status, over both transports --------------------------------------------------------

TIMEOUT = "{t}"  # long enough for the start, too short for the server's slow tools
SLOW = "{n}"  # this number of steps of the slow tool takes longer than that

# name, words, status, stdout, stderr (None: the banner and nothing else), needs
COMMANDS = [
    ("info", "info", 0, r"^name: +noisy\n(.*\n)*revision: +20", None, ""),
    ("ls", "ls", 0, r"^mem://text$", None, ""),
    ("ls --json is JSON", "ls --json", 0, r'^\{"resources":\[(.|\n)*\]\}$', None, ""),
    ("read", "read mem://text", 0, r"\Aone\ntwo\nthree\n\Z", None, ""),
    ("read of a template", "read mem://city/Rome", 0, r"\AThis is Rome\.\n\Z", None, ""),
    ("read of what is slow", "read mem://slow", 0, r"\Aslow\n\Z", None, ""),
    ("read of what is not there", "read mem://nothing", 1, r"\A\Z", r"mcpctl: read mem://nothing: the server answered", ""),
    ("template", "template", 0, r"^mem://city/\{name\}\t", None, ""),
    ("complete", "complete mem://city/{name} name B", 0, r"\ABerlin\nBern\n\Z", None, "completion"),
    ("prompts", "prompts", 0, r"^visit$", None, ""),
    ("prompt", "prompt visit city=Rome", 0, r"\APlan a visit to Rome\.\n\Z", None, ""),
    ("tools", "tools", 0, r"^slow$", None, ""),
    ("progress goes on", f"call --yes slow steps={SLOW} tell=true --timeout {TIMEOUT}", 0, r"\A\d+ steps\n\Z", None, ""),
    ("time-out of a call", f"call --yes slow steps={SLOW} tell=false --timeout {TIMEOUT}", 4, r"\A\Z",
     r"mcpctl: call slow: no answer within \d+\.\d+ s\n        --timeout", ""),
    ("noise", f"call --yes noise lines={FLOOD}", 0, r"\Aquiet again\n\Z", None, ""),
    ("noise, quietly", f"call --yes noise lines={STRAY} --quiet", 0, r"\Aquiet again\n\Z", "", ""),
    ("death in a call", "call --yes die", 3, r"\A\Z", r"mcpctl: call die: (the connection to the server was lost: the server ended with exit "
     r"status 3; (.|\n)*this is the end|.*before .* complete|.*(reset|closed|ended|Empty reply))", ""),
]


def run_command(way, pattern, status, out, err, t):
    words = [w.replace(TIMEOUT, str(t)).replace(SLOW, str(int(t * 15))) for w in pattern.split()]
    starts = way.starts
    got = run(way, words)
    if got[0] == 4 and t < LONG and not re.search("^mcpctl: call ", got[2], re.M):
        # The server was not there in time: this start took longer than the first one. What is checked begins after it.
        run_command(way, pattern, status, out, err, 2 * t)
        return
    if "die" in words:
        way.died(starts)
    told = f"{words}: {got[0]}\nstdout: {got[1][-2000:]}\nstderr: {got[2][-2000:]}"
    assert got[0] == status, told
    assert re.search(out, got[1], re.M), told
    if err is None and way.name == "stdio":
        # There is one warning, with a hint, for all stray lines.
        assert re.search(BANNER, got[2]) and got[2].count("\n") == 2, told
    elif err is None:
        assert got[2] == "", told
    elif err == "":
        assert got[2] == "", told
    else:
        assert re.search(err, got[2]), told


# ---- checks that need more than one command -------------------------------------------------------------------------


def shell_cancels(way, t):
    """A call that timed out is cancelled in the server, and the session continues."""
    shell = Running(way, ["shell", "--yes", "--timeout", str(t)])
    shell.type(f"call slow steps={int(t * 15)} tell=false")
    shell.complains(r"call slow: no answer within")

    def seen():
        before = len(shell.out)
        shell.type("call cancelled")
        until(lambda: len(shell.out) > before, shell.told)
        return shell.out[-1].strip() not in ("", "0")

    until(seen, shell.told)
    assert shell.end() == 0, shell.told()


def shell_survives(way, _):
    """The server ends during a call: the call fails, and the next command starts a server again."""
    shell = Running(way, ["shell", "--yes"])
    shell.type("read mem://text")
    shell.says("three\n")
    starts = way.starts
    shell.type("call die")
    shell.complains(r"mcpctl: call die: ")
    way.died(starts)
    shell.type("read mem://text")
    shell.says("three\n", 2)
    assert shell.end() == 0, shell.told()


def shell_restarts(way, _):
    """The server is restarted between two commands: both work, although the session was lost."""
    shell = Running(way, ["shell", "--yes"])
    lines = [("call cancelled", "0\n"), ("read mem://text", "three\n"), ("ls", "mem://slow\n")]
    for i, (line, text) in enumerate(lines[:1] if SMALL else lines):
        shell.type("read mem://city/Rome")
        shell.says("This is Rome.\n", i + 1)
        way.restart(shell)
        shell.type(line)
        shell.says(text)
    assert shell.end() == 0, shell.told()
    assert not re.search("error|status", "".join(shell.err)), shell.told()


def watch_survives(way, _):
    """watch reports changes, also after a restart, and reports the gap."""
    watch = Running(way, ["watch", "mem://live"])
    watch.says("\tupdated\tmem://live\n", 2)
    way.restart(watch)
    watch.complains("again")
    before = "".join(watch.out).count("updated")
    watch.says("\tupdated\tmem://live\n", before + 2)
    watch.process.terminate()
    assert watch.end() == 128 + signal.SIGTERM, watch.told()


def verbose_shows(way, _):
    """--verbose shows what the server logs, and over stdio what it writes to stderr."""
    status, out, err = run(way, ["call", "--yes", "noise", f"lines={STRAY}", "--verbose"])
    told = f"{status}\n{out}\n{err}"
    assert status == 0 and out == "quiet again\n", told
    assert way.name == "HTTP" or f"noise {STRAY} ..." in err, told
    assert err.count("the server says (info") == STRAY, told


STORIES = [
    ("a time-out cancels", shell_cancels, ""),
    ("the shell survives a death in a call", shell_survives, ""),
    ("the shell survives restarts", shell_restarts, ""),
    ("watch survives a restart", watch_survives, "watch"),
    ("--verbose", verbose_shows, "log"),
]

FOR_EACH_DAY = {
    "read", "progress goes on", "noise", "death in a call", "the shell survives restarts",
    "watch survives a restart",
}

# ---- all of them ----------------------------------------------------------------------------------------------------

count = failed = 0


def report(way, name, check, needs):
    global count, failed
    if SMALL and name not in FOR_EACH_DAY:
        return
    count += 1
    label = f"{NAME} {way.name}: {name}"
    if needs in LACKS:
        print(f"ok {count} - {label} # SKIP {LACKS[needs]}", flush=True)
        return
    try:
        way.ready()
        check()
        print(f"ok {count} - {label}", flush=True)
    except (AssertionError, subprocess.TimeoutExpired, OSError) as e:
        failed += 1
        print(f"not ok {count} - {label}", *(f"\n#   {line}" for line in str(e).splitlines()), sep="", flush=True)
    finally:
        while running:
            running.pop().kill()


def check_all(way):
    status, out, err = run(way, ["info", "--json"])
    assert status == 0, err
    info = json.loads(out)
    print(f"# {NAME} {way.name}: {info['revision']}, first answer after {info['firstAnswerMs']:.0f} ms", flush=True)
    t = round(0.5 + 2 * info["firstAnswerMs"] / 1000, 1)
    for name, words, status, out, err, needs in COMMANDS:
        report(way, name, lambda: run_command(way, words, status, out, err, t), needs)  # noqa: B023
    for name, story, needs in STORIES:
        report(way, name, lambda: story(way, t), needs)  # noqa: B023


ways = [Stdio, lambda: Http(os.path.join(home, "log"))]
for make in ways:
    with contextlib.closing(make()) as the_way:
        check_all(the_way)
shutil.rmtree(home, ignore_errors=True)
print(f"1..{count}")
sys.exit(1 if failed else 0)
