"""Compares the defaults that are documented with the rows MCP_DEFAULT() of the tables that fill them in.

Prints each difference, and exits with 1 if there is one. What is compared:
- each member of a struct in a header whose comment has "default N" or "0 means N", with a maximum after it, and each
  row for such a struct: both exist and have the same numbers;
- the schemas of the options of providers: "default N" in the description of a member;
- the help of mcpd's options: "Default N".
A default that depends on something is written "default N, or ...", and has no row.
"""
import re
import sys
from pathlib import Path

UNITS = {"K": 1 << 10, "KiB": 1 << 10, "M": 1 << 20, "MiB": 1 << 20, "G": 1 << 30, "GiB": 1 << 30,
         "ms": 1, "minutes": 60000, "hours": 3600000}
NUMBER = r"(\d[\d,]*\d|\d)(?: ?(KiB|MiB|GiB|ms|minutes|hours|[KMG])\b)?"
DEFAULT = re.compile(rf"(?:[Dd]efaults?(?: is| are)?|\b0 means) {NUMBER}(?:,? (?:and )?{NUMBER})?"
                     rf"(?:,(?: and the)? (?:maximum|at most) {NUMBER})?(, or\b)?")
folders = ["include", "src", "providers", "bus", "programs"]
texts = {path: path.read_text() for folder in folders for path in sorted(Path(folder).rglob("*.[ch]"))}
faults = []


def number(digits, unit):
    digits = digits.replace(",", "")
    return int(digits, 8 if digits.startswith("0") else 10) * UNITS.get(unit, 1)


def defaults_in(text):
    """Returns the defaults and the maximum that a comment names, or None if they depend on something."""
    found, maximum = [], None
    for m in DEFAULT.finditer(" ".join(text.split())):
        if m[7]:
            return None
        found += [number(m[i], m[i + 1]) for i in (1, 3) if m[i]]
        maximum = number(m[5], m[6]) if m[5] else maximum
    return found, maximum


def constants_in(text):
    return dict(re.findall(r"^#define ([A-Z][A-Z0-9_]*) +(.+)", text, re.M) +
                re.findall(r"\b([A-Z][A-Z0-9_]*) = ([^,\n}]*?)(?= \}|,)", text))


shared = {"INT64_MAX": str((1 << 63) - 1)}
for path, text in texts.items():
    shared.update(constants_in(text) if path.suffix == ".h" else {})


def value_of(expression, path):
    constants = shared | constants_in(texts[path])
    while names := re.findall(r"\b[A-Z][A-Z0-9_]*\b", expression):
        expression = re.sub(rf"\b{names[0]}\b", f"({constants[names[0]]})", expression)
    expression = re.sub(r"\(\w+_t\)", "", expression)
    return eval(re.sub(r"\b0(?=\d)", "0o", expression.replace("/", "//")), {"__builtins__": {}})


rows = {}
for path, text in texts.items():
    for struct, member, expression, maximum in re.findall(
            r"MCP_DEFAULT\(\s*(\w+),\s*(\w+),\s*([^;]*?)(?:,\s*\.maximum =\s*([^;]*?))?\),?(?=\s*(?:MCP_DEFAULT|\};))", text):
        if (struct, member) in rows:
            faults.append(f"{path}: {struct}.{member} has two rows")
        rows[struct, member] = value_of(expression, path), value_of(maximum, path) if maximum else None

# The structs of the headers.
documented = {}
structs = {}
for path, text in texts.items():
    for body, struct in re.findall(r"^typedef struct \w* ?\{\n(.*?)^\} (\w+);", text, re.M | re.S) if path.suffix == ".h" and path.parts[0] != "programs" else []:
        structs[struct] = path
        # A comment belongs to the member on whose line it begins, or else to the next one.
        for before, declared, behind in re.findall(
                r"((?:^\s*/\*(?:(?!\*/).)*\*/\s*)*)^\s*(?!/\*)[^;/*]*?[ *](\w+(?:, \*?\w+)*);((?:[ \t]*/\*(?:(?!\*/).)*\*/)?)",
                body, re.M | re.S):
            plain = re.sub(r"/\*|\*/|^\s*\*", " ", before + behind, flags=re.M)
            told = defaults_in(plain)
            names = re.findall(r"\w+", declared)
            if not told or not any(told[0]):
                continue
            values = told[0] * len(names) if len(told[0]) == 1 else told[0]
            if len(values) != len(names):
                faults.append(f"{path}: {struct}.{', '.join(names)}: {len(values)} defaults for {len(names)} members")
            for name, value in zip(names, values, strict=False):
                documented[struct, name] = value, told[1]

for key in sorted(documented.keys() | rows.keys()):
    struct, member = key
    if key not in rows:
        faults.append(f"{structs[struct]}: {struct}.{member} has the default {documented[key][0]}, and no row MCP_DEFAULT()")
    elif key not in documented and struct != "settings":
        faults.append(f"{structs.get(struct)}: {struct}.{member} has a row, and no \"default {rows[key][0]}\"")
    elif struct != "settings":
        value, maximum = documented[key]
        if value != rows[key][0]:
            faults.append(f"{structs[struct]}: {struct}.{member}: the comment says {value}, its row {rows[key][0]}")
        most = rows[key][1]
        if maximum != (most if most and most < 1 << 60 else None):
            faults.append(f"{structs[struct]}: {struct}.{member}: the comment says the maximum {maximum}, its row {most}")


def compare(what, told, members):
    """Compares the number in a text with the rows of the given members."""
    found = {rows[key][0] for key in members if key in rows}
    if found != {told}:
        faults.append(f"{what} has the default {told}, and its row {sorted(found)}")


def joined(path):
    """Returns a file in which adjacent literals are one, without the backslashes of quotation marks."""
    return re.sub(r'"[ \\]*\n\s*"', "", texts[path]).replace('\\"', '"')


n_schemas = n_options = 0
for path in [p for p in texts if p.parts[0] == "providers" and p.name != "query_tool.c"]:  # arguments of a tool
    for member, about in re.findall(r'"(\w+)":\{"type":"integer",[^{}]*?"description":"([^"]*)"', joined(path)):
        told = defaults_in(about)
        if told and told[0]:
            beside = [s for s in structs if structs[s].parent == path.parent or
                      (path.parts[1] == "common" and s in ("mcp_sqlite_options", "mcp_postgres_options"))]
            compare(f"{path}: {member}", told[0][0], [(s, member) for s in beside])
            n_schemas += 1

rates = dict(re.findall(r'"(\w+_per_second)", \{\.per_second = (\d+),', texts[Path("src/server/core/rate.c")]))
rows.update({("mcp_server_options", name): (int(value), None) for name, value in rates.items()})
options = joined(Path("programs/mcpd/options.c"))
for option in re.split(r"\n    \{", options):
    member = re.match(r'NUMBER\("[\w-]*", (\w+)\)', option) or re.search(r"\.at = AT\((\w+)\)", option)
    told = defaults_in(option[option.find(".help"):])
    if member and told and told[0]:
        name, value = member[1], told[0][0]
        if ("mcp_http_options", name + "_ms") in rows:
            name, value = name + "_ms", value * 1000
        compare(f"mcpd: --{member[1]}", value, [(s, name) for s in (
            "settings", "mcp_http_options", "mcp_http_budget_options", "mcp_server_options", "mcp_files_options",
            "mcp_files_changes")])
        n_options += 1

print("\n".join(faults))
print(f"{len(documented)} members, {n_schemas} options of providers, {n_options} options of mcpd")
sys.exit(1 if faults or len(documented) < 100 or n_schemas < 15 or n_options < 15 else 0)
