"""The processes of a fleet for the driver: an issuer of tokens, Redis, instances of mcpd, a proxy."""
import base64
import http.client
import http.server
import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import threading
import time
import urllib.request

from clients import TASKS, request

MCPD = os.environ.get("MCPD", "mcpd")
JOBS = os.path.join(os.environ.get("MCP_BUILD_DIR") or os.path.join(os.path.dirname(MCPD), "../.."), "tests/conformance-server")
SOURCE = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
WAIT_S = 120
URI = "sqlite://shop/item/row/1"


def wait_for(what, condition):
    """Polls until the condition holds. A machine can be slow, so the time is generous."""
    began = time.monotonic()
    while not (found := condition()):
        if time.monotonic() > began + WAIT_S:
            raise SystemExit("drive: not within %d s: %s" % (WAIT_S, what))
        time.sleep(0.05)
    if time.monotonic() > began + 10:
        print("# waited %.0f s for %s" % (time.monotonic() - began, what), flush=True)
    return found


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Issuer:
    """A web server with the metadata and the key of an issuer, which signs one token."""

    def __init__(self, folder):
        self.key = folder + "/issuer.pem"
        subprocess.run(["openssl", "genrsa", "-out", self.key, "2048"], check=True, capture_output=True)
        text = subprocess.run(["openssl", "rsa", "-in", self.key, "-noout", "-modulus"], check=True, capture_output=True).stdout
        modulus = base64url(bytes.fromhex(text.decode().strip().split("=")[1]))
        pages = {}

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                body = pages.get(self.path, "").encode()
                self.send_response(200 if body else 404)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = "http://127.0.0.1:%d" % server.server_port
        pages["/keys"] = json.dumps({"keys": [{"kty": "RSA", "kid": "k", "use": "sig", "n": modulus, "e": "AQAB"}]})
        pages["/.well-known/oauth-authorization-server"] = json.dumps(
            {"issuer": self.url, "jwks_uri": self.url + "/keys", "code_challenge_methods_supported": ["S256"]})
        threading.Thread(target=server.serve_forever, daemon=True).start()

    def token(self, subject):
        now = int(time.time())
        claims = {"iss": self.url, "aud": "https://mcp.example/mcp", "sub": subject, "client_id": "drive", "jti": subject,
                  "iat": now, "exp": now + 86400}
        signed = ".".join(base64url(json.dumps(p).encode()) for p in ({"alg": "RS256", "typ": "at+jwt", "kid": "k"}, claims))
        signature = subprocess.run(["openssl", "dgst", "-sha256", "-sign", self.key], input=signed.encode(), check=True,
                                   capture_output=True).stdout
        return signed + "." + base64url(signature)


class Redis:
    def __init__(self, folder):
        self.folder, self.socket, self.process = folder, folder + "/redis.sock", None
        self.start()

    def start(self):
        self.process = subprocess.Popen(["redis-server", "--port", "0", "--unixsocket", self.socket, "--dir", self.folder,
                                         "--save", ""], stdout=open(self.folder + "/redis.log", "a"), stderr=subprocess.STDOUT)
        wait_for("Redis answers", lambda: self.command("ping") == "PONG")

    def command(self, *words):
        done = subprocess.run(["redis-cli", "-s", self.socket, *words], capture_output=True, text=True, check=False)
        return done.stdout.strip()

    def kill(self):
        self.process.kill()
        self.process.wait()


class Instance:
    """One instance of mcpd, with a database of its own: that of another one is changed only where its bus says so."""

    def __init__(self, fleet, name, number):
        self.name, self.at = name, ("%s.%d" % (fleet.net, number), fleet.port)
        self.folder, self.log = fleet.folder + "/" + name, fleet.folder + "/%s.log" % name
        self.process = self.pid = None
        os.mkdir(self.folder)
        self.sql("CREATE TABLE item(id INTEGER PRIMARY KEY, n INTEGER); INSERT INTO item VALUES (1, 0)")
        database = self.folder + "/shop.db"
        number = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}
        config = {
            "sources": [{"module": "sqlite", "source": database, "name": "shop"}, fleet.folder + "/notes",
                        "git:%s/repository?name=app" % fleet.folder, *fleet.upstreams],
            "http": ["%s:%d" % self.at], "name": "fleet", "allow-host": ["mcp.example"], "trusted-proxy": ["127.0.0.1"],
            "bus": "redis:" + fleet.redis.socket, "seal-key-file": fleet.folder + "/key", "log-level": "info",
            "instance-address": "unix:%s/%s.sock" % (fleet.folder, name), "resource-tools": False,
            **({"drain-delay": fleet.delay} if fleet.delay else {}),
            **({"tls-cert": fleet.certificate, "tls-key": fleet.key} if fleet.tls else {}),
            "oauth": {"resource": "https://mcp.example/mcp",
                      "issuers": [{"issuer": fleet.issuer.url, "audiences": ["https://mcp.example/mcp"]}]},
            "tools": [
                {"name": "mark", "concurrency": 1000, "input-schema": number, "timeout": 300,
                 "command": ["sh", "-c", 'echo "$0" >>%s/ran' % fleet.folder, "{n}"]},
                {"name": "write", "concurrency": 1000, "timeout": 300,
                 "command": ["sqlite3", "-cmd", ".timeout 60000", database, "UPDATE item SET n = n + 1"]}],
        }
        self.config = fleet.folder + "/%s.json" % name
        with open(self.config, "w") as f:
            json.dump(config, f)

    def sql(self, text):
        subprocess.run(["sqlite3", "-cmd", ".timeout 60000", self.folder + "/shop.db", text], check=True)

    def logged(self, text):
        return len(re.findall(text, open(self.log).read()))

    def start(self):
        served = self.logged(" at http") if os.path.exists(self.log) else 0
        connected = self.logged("the bus is connected") if served else 0
        self.process = subprocess.Popen([MCPD, "--config", self.config], stdin=subprocess.DEVNULL,
                                        stderr=open(self.log, "a"))
        self.pid = self.process.pid
        wait_for(self.name + " serves", lambda: self.process.poll() is not None or
                 (self.logged(" at http") > served and self.logged("the bus is connected") > connected))
        if self.process.poll() is not None:
            raise SystemExit("drive: %s ended: %s" % (self.name, open(self.log).read()))

    def kill(self):
        os.kill(self.pid, signal.SIGKILL)
        if self.process.pid == self.pid:
            self.process.wait()

    def find_successor(self):
        """Takes the process that the log names as the one that takes over."""
        self.pid = int(re.findall(r"process (\d+) takes over", open(self.log).read())[-1])

    def ended(self):
        """Whether the process is gone. A successor is no child of the driver."""
        if self.process.pid == self.pid:
            return self.process.poll() is not None
        try:
            with open("/proc/%d/stat" % self.pid) as f:
                return f.read().rpartition(") ")[2][0] in "ZX"
        except OSError:
            return True


class Fleet:
    """Everything that clients need. The addresses are those of one network below 127.0.0.0/8 that no other test has."""

    def __init__(self, folder, options):
        self.folder, self.proxy_name, self.delay, self.tls = folder, options.proxy, options.delay, None
        self.certificate, self.key = folder + "/cert.pem", folder + "/key.pem"
        if options.tls:
            self.make_certificate()
        pid = os.getpid()
        self.net = "127.%d.%d" % (1 + (pid >> 14 & 127), pid >> 7 & 127)
        self.port, self.front = 8000 + (pid & 127), ("127.%d.%d.10" % (1 + (pid >> 14 & 127), pid >> 7 & 127), 9000 + (pid & 127))
        self.processes, self.instances, self.redis, self.proxy = [], [], None, None

    def begin(self):
        """Makes the contents, and starts everything."""
        folder = self.folder
        for name in ("notes", "first", "second"):
            os.mkdir("%s/%s" % (folder, name))
            with open("%s/%s/one.txt" % (folder, name), "w") as f:
                f.write("one\n" * 64)
        self.make_repository()
        descriptor = os.open(folder + "/key", os.O_WRONLY | os.O_CREAT, 0o600)
        os.write(descriptor, base64.b64encode(os.urandom(48)) + b"\n")
        os.close(descriptor)
        self.issuer = Issuer(folder)
        self.token = self.issuer.token("ada")
        self.redis = Redis(folder)
        self.upstreams = ["mcp:'%s' --no-resource-tools %s/first?name=first" % (MCPD, folder),
                          "mcp:%s?name=second" % self.start_upstream(),
                          "mcp:'%s' --stdio?name=jobs" % JOBS]
        self.instances = [Instance(self, name, 11 + i) for i, name in enumerate("abc")]
        for instance in self.instances:
            instance.start()
        self.start_proxy()
        self.reads = [URI, "file://%s/notes/one.txt" % folder, "git://app/main/one.txt",
                      "mcp+first:file://%s/first/one.txt" % folder, "mcp+second:file://%s/second/one.txt" % folder]

    def make_certificate(self):
        """One for the proxy and the instances. Its key is in another file and, for HAProxy, in a file with it."""
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                        "-keyout", self.key, "-out", self.certificate, "-days", "2", "-subj", "/CN=mcp.internal", "-addext",
                        "subjectAltName=DNS:mcp.internal,DNS:mcp.example"], check=True, capture_output=True)
        with open(self.folder + "/both.pem", "w") as f:
            f.write(open(self.certificate).read() + open(self.key).read())
        self.tls = ssl.create_default_context(cafile=self.certificate)
        self.tls.check_hostname = False  # addresses

    def make_repository(self):
        repository = self.folder + "/repository"
        shutil.copytree(self.folder + "/notes", repository)
        git = ["git", "-C", repository, "-c", "user.name=drive", "-c", "user.email=drive@example.com"]
        for words in (["init", "-q", "-b", "main"], ["add", "one.txt"], ["commit", "-q", "-m", "one"]):
            subprocess.run(git + words, check=True)

    def start_upstream(self):
        log = self.folder + "/second.log"
        self.processes.append(subprocess.Popen([MCPD, "--http", "127.0.0.1:0", "--no-resource-tools", self.folder + "/second"],
                                               stdin=subprocess.DEVNULL, stderr=open(log, "w")))
        return wait_for("the second upstream serves", lambda: re.search(r" at (http://\S*/mcp)", open(log).read())).group(1)

    def start_proxy(self):
        """The configuration of docs/deploy, with the addresses of this fleet, and without TLS unless it is wanted."""
        files = {"haproxy": "haproxy.cfg", "nginx": "nginx.conf"}
        text = open("%s/docs/deploy/%s" % (SOURCE, files[self.proxy_name])).read()
        text = re.sub(r"10\.0\.0\.(1[123]):8642", r"%s.\1:%d" % (self.net, self.port), text)
        text, words = getattr(self, self.proxy_name)(text)
        path = "%s/%s" % (self.folder, files[self.proxy_name])
        with open(path, "w") as f:
            f.write(text)
        program = shutil.which(self.proxy_name) or "/usr/sbin/" + self.proxy_name
        self.proxy = subprocess.Popen([program, *words, path], stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT,
                                      stdout=open(self.folder + "/proxy.log", "w"))
        self.wait_for_proxy()

    def haproxy(self, text):
        text = text.replace("bind :443", "bind %s:%d" % self.front)
        text = text.replace("/etc/haproxy/mcp.example.pem", self.folder + "/both.pem")
        text = text.replace("/etc/haproxy/instances.pem", self.certificate)
        if not self.tls:
            text = re.sub(r" ssl crt .*|default-server ssl.*", "", text)
        own = "global\n    stats socket %s/haproxy.sock level admin\n\n" % self.folder
        return own + text, ("-db", "-f")

    def nginx(self, text):
        text = text.replace("listen 443", "listen %s:%d" % self.front)
        text = re.sub(r"/etc/nginx/(mcp\.example|instances)\.pem", self.certificate, text)
        text = text.replace("/etc/nginx/mcp.example.key", self.key)
        if not self.tls:
            text = re.sub(r" *(proxy_)?ssl_.*\n", "", text).replace("%d ssl;" % self.front[1], "%d;" % self.front[1])
            text = text.replace("https://", "http://")
        temporary = "".join("%s_temp_path %s/temp_%s; " % (kind, self.folder, kind)
                            for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        own = "daemon off; worker_processes 2; pid %s/nginx.pid; error_log %s/proxy.log;\n" % (self.folder, self.folder)
        user = "user root;\n" if os.geteuid() == 0 else ""
        return "%s%sevents { worker_connections 8192; }\nhttp { access_log off; %s\n%s}\n" % (user, own, temporary, text), \
            ("-p", self.folder, "-e", self.folder + "/proxy.log", "-c")

    def tell_haproxy(self, command):
        """The answer of HAProxy's runtime API."""
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(self.folder + "/haproxy.sock")
            s.sendall(command.encode() + b"\n")
            return b"".join(iter(lambda: s.recv(65536), b"")).decode()

    def up(self):
        """How many instances HAProxy uses."""
        try:
            return len(re.findall(r"^instances,[abc],.*,UP,", self.tell_haproxy("show stat"), re.M))
        except OSError:
            return 0

    def wait_for_proxy(self):
        """Until the proxy uses all instances. nginx leaves one out for a second, and asks nobody."""
        if self.proxy_name == "haproxy":
            wait_for("HAProxy sees three instances", lambda: self.up() == 3)
        else:
            time.sleep(1.5)

    def metric(self, instance, name):
        done = subprocess.run(["curl", "-s", "-m", "30", "-H", "Host: mcp.example", "-H", "Authorization: Bearer " + self.token,
                               "-k", "%s/metrics" % self.url(instance.at)], capture_output=True, text=True, check=False)
        return float((re.findall(r"^%s (\S+)$" % re.escape(name), done.stdout, re.M) or ["0"])[0])

    def url(self, at):
        return "%s://%s:%d" % ("https" if self.tls else "http", *at)

    def ask(self, at, method, params, name):
        """Sends one request, and returns its result; empty if there is none."""
        message, headers = request(method, params, name, TASKS)
        headers.update({"Host": "mcp.example", "Authorization": "Bearer " + self.token, "Content-Type": "application/json",
                        "Accept": "application/json, text/event-stream"})
        asked = urllib.request.Request(self.url(at) + "/mcp", json.dumps(message).encode(), headers)
        try:
            with urllib.request.urlopen(asked, timeout=60, context=self.tls) as answer:
                return json.loads(answer.read()).get("result", {})
        except (OSError, http.client.HTTPException):
            return {}

    def make_task(self, at, seconds):
        arguments = {"seconds": seconds, "label": "kept"}
        return self.ask(at, "tools/call", {"name": "jobs_slow_compute", "arguments": arguments}, "jobs_slow_compute")["taskId"]

    def task(self, at, id):
        return self.ask(at, "tasks/get", {"taskId": id}, id)

    def stop(self):
        """Ends everything, the instances with a signal that lets them finish. Yields what was wrong with that."""
        for instance in self.instances:
            if not instance.ended():
                os.kill(instance.pid, signal.SIGTERM)
        for instance in self.instances:
            wait_for(instance.name + " ends", instance.ended)
            if instance.process.pid == instance.pid and instance.process.returncode != 0:
                yield "%s ended with status %d" % (instance.name, instance.process.returncode)
            text = open(instance.log).read()
            if report := re.search(r"Sanitizer|runtime error:", text):
                yield "%s: %s" % (instance.name, text[max(0, report.start() - 300):][:6000])

    def kill(self):
        parts = [part for part in [self.redis, *self.instances] if part and part.process]
        if self.proxy:
            self.proxy.terminate()  # nginx ends its workers
            self.proxy.wait()
        for process in self.processes + [part.process for part in parts]:
            if process.poll() is None:
                os.kill(process.pid, signal.SIGCONT)
                process.kill()
                process.wait()
        for pid in filter(str.isdigit, os.listdir("/proc")):  # a successor that nobody took note of
            try:
                with open("/proc/%s/cmdline" % pid, "rb") as f:
                    if self.folder.encode() in f.read():
                        os.kill(int(pid), signal.SIGKILL)
            except OSError:
                pass
