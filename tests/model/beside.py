"""How the tasks of tasks.json are done by the tools of other servers: for run --beside.

Each server has a table of the calls that answer a task: the fewest and smallest that were found, for a model that knows what
the caller of mcpd knows (the names of files, tables and revisions that a plan has), or guesses well. Where a model has to read
an answer to know (it looks for a word in files that were read whole), a function reads it, and what it finds is judged; the
tokens are those of everything that was shown. A task without a row cannot be done.
"""

import os
import pathlib
import re
import subprocess
import sys

from server import Server, shown

FOLDER = pathlib.Path(__file__).resolve().parent

# Some tasks expect that an answer says how to go on. This answers their questions without it.
ANSWERED = {
    "folder-large": ["request 1 served", "request 12,?400 served"],
    "sqlite-rows": ["Person 1\\b", "\"truncated\": true|\\b300\\b"],
    "sqlite-all": ["parcel 1 was sent", "\\b20000\\b"],
    "postgres-all": ["A talk about offer 1\\b", "\\b10000\\b"],
}


# ---- what a model reads in an answer -------------------------------------------------------------------------------------


def with_word(word):
    """read_multiple_files: the files and lines with this word."""
    def read(peer):
        found = []
        for part in peer.last.split("\n---\n"):
            path, text = part.split(":\n", 1)
            found += [f"{path}:{n}" for n, line in enumerate(text.splitlines(), 1) if word in line]
        return "\n".join(found)
    return read


def commit_about(word, last):
    """git_log: the id of the first commit with this word."""
    return next(part.split()[0] for part in last.split("Commit: ")[1:] if word in part)


# ---- the servers ---------------------------------------------------------------------------------------------------------


def find(name):
    return "search_files", {"path": "{here}/ledger", "pattern": f"**/*{name}*"}


def read(path, **part):
    return "read_text_file", {"path": path, **part}


PYTHON = [("search_files", {"path": "{here}/ledger", "pattern": "**/*.py"}), ("read_multiple_files", {"paths": "{lines}"})]
FILESYSTEM = {
    "folder-version": [find("pyproject"), read("{last}")],
    "folder-definition": [*PYTHON, with_word("def round_half_even")],
    "folder-absolute": [read("{here}/ledger/config/production.yaml")],
    "folder-count": [find("app.log"), read("{last}")],  # nothing counts, searches, or reads the middle of a file
    "folder-end": [find("app.log"), read("{last}", tail=3)],
    "folder-line": [read("src/ledger/dates.py", head=124)],
    "folder-name": [read("docs/Jahresabschluß 2024.md")],
    "folder-large": [find("app.log"), read("{last}", head=50), read("{here}/ledger/logs/app.log", tail=2)],
    "folder-picture": [find("logo"), ("read_media_file", {"path": "{last}"})],
    "folder-users": [*PYTHON, with_word("parse_legacy")],
}

GIT = {
    "git-blame": [("git_log", {}), ("git_show", {"revision": "{commit VAT}"})],
    "git-release": [("git_diff", {"target": "v2.1", "context_lines": 0}), ("git_diff", {"target": "v2.3", "context_lines": 0})],
    "git-author": [("git_log", {"start_timestamp": "2024-03-01", "end_timestamp": "2024-03-31", "max_count": 100})],
    "git-reason": [("git_show", {"revision": ":/retry"})],
    "git-branches": [("git_branch", {"branch_type": "local"})],
    "git-newest": [("git_show", {"revision": "HEAD"})],
    "git-old": [("git_show", {"revision": "v2.0:src/ledger/rates.py"})],
    "git-uncommitted": [("git_status", {}), ("git_diff_unstaged", {})],
    "git-removed": [("git_log", {})],
    "git-search": [("git_show", {"revision": "v2.0"})],  # v2.0 is the first commit, which has all files
}


def sql(statement):
    return "execute_sql", {"sql": statement}


def objects(kind, pattern, detail="names"):
    return "search_objects", {"object_type": kind, "pattern": pattern, "detail_level": detail}


DBHUB_SQLITE = {
    "sqlite-tables": [sql("SELECT type, name FROM sqlite_schema WHERE type IN ('table', 'view')")],
    "sqlite-count": [sql("SELECT count(*) FROM orders WHERE status = 'open'")],
    "sqlite-columns": [sql("SELECT sql FROM sqlite_schema WHERE name = 'order_line'")],
    "sqlite-best": [sql("SELECT sql FROM sqlite_schema WHERE type IN ('table', 'view')"),
                    sql("SELECT name, total FROM revenue ORDER BY total DESC LIMIT 1")],
    "sqlite-rows": [objects("table", "%customer%"), sql("SELECT * FROM customer LIMIT 20"), sql("SELECT count(*) FROM customer")],
    "sqlite-email": [objects("column", "%mail%"), sql("SELECT * FROM customer WHERE email = 'rosa.klein@example.org'")],
    "sqlite-search": [sql("SELECT sql FROM sqlite_schema WHERE type = 'table'"),
                      sql("SELECT * FROM event WHERE message LIKE '%chargeback%'")],
    "sqlite-key": [sql("SELECT * FROM orders WHERE id = 1216")],
    "sqlite-wrong": [sql("SELECT sum(total) FROM revenues"), objects("view", "%revenue%")],
    "sqlite-all": [sql("SELECT * FROM event")],
}

TABLES = sql("SELECT table_schema, table_name FROM information_schema.tables "
             "WHERE table_schema NOT IN ('pg_catalog', 'information_schema')")
STAGES = sql("SELECT enumlabel FROM pg_enum JOIN pg_attribute ON atttypid = enumtypid WHERE attname = 'stage' ORDER BY enumsortorder")
REFERENCES = sql("SELECT conrelid::regclass::text AS referring, pg_get_constraintdef(oid) FROM pg_constraint "
                 "WHERE contype = 'f' AND confrelid::regclass::text LIKE '%customer'")
OWNER = sql("SELECT * FROM sales.customer WHERE email = 'hello@zenith.example'")
COLUMNS = "SELECT table_schema, table_name, column_name FROM information_schema.columns WHERE "

DBHUB_POSTGRES = {
    "postgres-tables": [TABLES],
    "postgres-enum": [objects("table", "deal", "full"), STAGES],
    "postgres-sum": [sql("SELECT sum(amount) FROM sales.deal WHERE stage = 'won'")],
    "postgres-comment": [objects("column", "margin", "full")],
    "postgres-references": [REFERENCES],
    "postgres-email": [objects("column", "%mail%"), OWNER],
    "postgres-search": [objects("table", "%visit%", "full"), sql("SELECT * FROM sales.visit WHERE note LIKE '%noise%'")],
    "postgres-function": [objects("function", "%discount%", "full")],
    "postgres-wrong": [sql("SELECT count(*) FROM customer"), TABLES, sql("SELECT count(*) FROM sales.customer")],
    "postgres-all": [sql("SELECT * FROM sales.visit")],
}

POSTGRES_MCP = {
    "postgres-tables": [TABLES],
    "postgres-enum": [("get_object_details", {"schema_name": "sales", "object_name": "deal"}), STAGES],
    "postgres-sum": [sql("SELECT sum(amount) FROM sales.deal WHERE stage = 'won'")],
    "postgres-comment": [sql("SELECT attname, description FROM pg_description JOIN pg_attribute ON attrelid = objoid AND attnum = objsubid "
                             "WHERE attname = 'margin'")],
    "postgres-references": [REFERENCES],
    "postgres-email": [sql(COLUMNS + "column_name LIKE '%mail%'"), OWNER],
    "postgres-search": [sql(COLUMNS + "table_name LIKE '%visit%'"), sql("SELECT * FROM sales.visit WHERE note LIKE '%noise%'")],
    "postgres-function": [sql("SELECT pg_get_functiondef(oid) FROM pg_proc WHERE proname LIKE '%discount%'")],
    "postgres-wrong": [sql("SELECT count(*) FROM customer"), sql("SELECT oid::regclass::text FROM pg_class WHERE relname = 'customer'")],
    # It has no limit: all rows are half a million tokens.
    "postgres-all": [sql("SELECT count(*) FROM sales.visit"), sql("SELECT * FROM sales.visit ORDER BY id LIMIT 100")],
}


def dbhub(dsn):
    """Read-only and at most 100 rows, as mcpd is."""
    def arguments(here):
        settings = here / "dbhub.toml"
        settings.write_text(f'[[sources]]\nid = "it"\ndsn = "{dsn.format(here=here)}"\n'
                            '[[tools]]\nname = "search_objects"\nsource = "it"\n'
                            '[[tools]]\nname = "execute_sql"\nsource = "it"\nreadonly = true\nmax_rows = 100\n')
        return ["--config", settings]
    return arguments


# The kind of source, the server, its plans, its arguments.
PEERS = [
    ("folder", "filesystem", FILESYSTEM, lambda here: [here / "ledger"]),
    ("git", "git", GIT, lambda here: ["--repository", here / "ledger"]),
    ("sqlite", "dbhub", DBHUB_SQLITE, dbhub("sqlite://{here}/orders.db")),
    ("postgres", "dbhub", DBHUB_POSTGRES, dbhub("postgres://reader:none@/crm?sslmode=disable")),
    ("postgres", "postgres-mcp", POSTGRES_MCP, lambda here: ["--access-mode=restricted", f"postgresql://reader@/crm?host={here}/pg"]),
]


# ---- the caller ----------------------------------------------------------------------------------------------------------


def install(name):
    """Version and command of each server, and their names."""
    done = subprocess.run([FOLDER.parent / "interop/peers/model/install", name], stdout=subprocess.PIPE, text=True)
    if done.returncode:
        print(done.stdout, end="")
        sys.exit(done.returncode)
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    return {name: (version, command) for name, version, *command in rows}


def start(command, arguments, here, client):
    return Server([*command, *arguments(here)], {**os.environ, "LC_ALL": "C.UTF-8", "PGHOST": str(here / "pg")}, client,
                  stderr=subprocess.DEVNULL)


class Peer:
    def __init__(self, server, here):
        self.server, self.here = server, here
        self.calls = self.tokens = 0
        self.texts, self.last, self.result = [], "", {}

    def given(self, value):
        if value == "{lines}":
            return self.last.splitlines()
        if not isinstance(value, str):
            return value
        if about := re.fullmatch(r"\{commit (\w+)\}", value):
            return commit_about(about.group(1), self.last)
        return value.replace("{here}", str(self.here)).replace("{last}", self.last.split("\n")[0])

    def call(self, name, arguments):
        tool = next(t for t in self.server.tools if t["name"] == name)
        if "repo_path" in tool["inputSchema"].get("properties", {}):
            arguments = {"repo_path": f"{self.here}/ledger", **arguments}
        self.calls += 1
        self.result = self.server.ask("tools/call", name=name, arguments={k: self.given(v) for k, v in arguments.items()})
        texts, tokens = shown(self.result, self.server.alone)
        self.tokens += tokens
        self.last = self.result["content"][0].get("text", "")  # structured content only repeats it
        self.texts.append("\n".join(texts))

    def run(self, plan):
        for step in plan:
            if callable(step):
                self.texts = [step(self)]
            else:
                self.call(*step)
