/* options.c: the table of mcpd's options, of which --help and the manual page are made. */
#include "options.h"

#include <common/completion.h>
#include <common/text.h>

#include "hosts.h"

const char *program_name = "mcpd";

#define AT(field) offsetof(settings, field)
#define LINE_ONLY .unkept = true, .line_only = true
#define IS_PATH   .unkept = true, .is_path = true
#define TEXT(name_, field, argument_) \
    .name = name_, .kind = OPTION_TEXT, .at = AT(field), .argument = argument_
#define NUMBER(name_, field) .name = name_, .kind = OPTION_COUNT, .at = AT(field), .argument = "N"
#define RANGE(least, most)   .min = (least), .max = (most)

static const option table[] = {
    {.name = "config",
     .kind = OPTION_TEXT,
     .at = AT(config),
     .argument = "FILE",
     LINE_ONLY,
     .help = "Read the configuration from FILE, JSON with comments: sources, access rules, "
             "tools and every option below. The command line takes precedence. SIGHUP "
             "reloads the file."},
    {.name = "check-config",
     .kind = OPTION_FLAG,
     .at = AT(check_config),
     LINE_ONLY,
     .help = "Report errors in the configuration, with line and column, and exit. This "
             "performs the whole start, including opening every source and address, but "
             "serves nothing, so mcpd can start with a configuration that passes."},
    {.name = "doctor",
     .kind = OPTION_FLAG,
     .at = AT(doctor),
     LINE_ONLY,
     .help = "Check the whole setup, report what works, what does not and what a host would "
             "see, and exit. With the names of configured sources, look only at these."},
    {.name = "as",
     .kind = OPTION_TEXT,
     .at = AT(as),
     .argument = "CALLER",
     LINE_ONLY,
     .help = "With --doctor: show what CALLER would see: the name of a token, anonymous, or the "
             "claims of an access token as JSON, such as '{\"groups\":[\"admins\"]}'."},
    {.name = "json",
     .kind = OPTION_FLAG,
     .at = AT(json),
     LINE_ONLY,
     .help = "With --doctor: print JSON."},
    {.name = "check-health",
     .kind = OPTION_TEXT,
     .at = AT(check_health),
     .argument = "URL",
     LINE_ONLY,
     .help = "Ask a server that runs already, at a URL such as http://127.0.0.1:8642/readyz, and "
             "exit: with 0 if the answer has the status 200. For health checks of containers, "
             "whose image has no other program."},
    {.name = "hidden",
     .kind = OPTION_FLAG,
     .at = AT(hidden),
     .help = "Also serve hidden files and folders (names that begin with a dot), except "
             ".git."},
    {.name = "no-ignore",
     .kind = OPTION_FLAG,
     .at = AT(no_ignore),
     .help = "Also serve files that .gitignore files and .git/info/exclude leave out."},
    {.name = "include",
     .kind = OPTION_LIST,
     .at = AT(include),
     .argument = "GLOB",
     .help = "Serve only files that match GLOB, in the syntax of .gitignore."},
    {.name = "exclude",
     .kind = OPTION_LIST,
     .at = AT(exclude),
     .argument = "GLOB",
     .help = "Leave out files and folders that match GLOB. Takes precedence over --include."},
    {.name = "page-size",
     .kind = OPTION_COUNT,
     .at = AT(page_size),
     .argument = "N",
     RANGE(1, 100000),
     .help = "Number of entries on one page of a list. Default 1000; many hosts read only "
             "the first page."},
    {.name = "list-ms",
     .kind = OPTION_COUNT,
     .at = AT(list_ms),
     .argument = "N",
     RANGE(1, INT32_MAX),
     .help = "How long a list waits for one source, in milliseconds; then it is left out until it "
             "answers. Default 10000."},
    {.name = "max-read",
     .kind = OPTION_SIZE,
     .at = AT(max_read),
     .argument = "SIZE",
     RANGE(1, (uint64_t)1 << 30),
     .help = "Maximum size of the contents that one read returns, in bytes or as 64K, 10M, "
             "1G. Default 10M."},
    {.name = "resource-tools",
     .kind = OPTION_FLAG,
     .at = AT(resource_tools),
     .help = "Offer the resources of all sources to every host as the tools list_resources, "
             "find_resources (by name), search_resources (by content) and read_resource. By "
             "default only hosts that are known to show nothing but tools get them."},
    {.name = "no-resource-tools",
     .kind = OPTION_FLAG,
     .at = AT(no_resource_tools),
     .help = "Offer the resources as tools to no host."},
    {.name = "answer-tokens",
     .kind = OPTION_COUNT,
     .at = AT(answer_tokens),
     .argument = "N",
     RANGE(100, 100000),
     .help = "Maximum size of an answer of these tools, and of those for queries, in tokens (of "
             "about four bytes); the rest follows in further calls. A call may set max_tokens "
             "instead. Default 10000."},
    {.name = "no-watch",
     .kind = OPTION_FLAG,
     .at = AT(no_watch),
     .help = "Do not watch for changes: the same as --no-subscribe and --no-list-changed."},
    {.name = "no-subscribe",
     .kind = OPTION_FLAG,
     .at = AT(no_subscribe),
     .help = "Do not offer subscriptions to single files and folders."},
    {.name = "no-list-changed",
     .kind = OPTION_FLAG,
     .at = AT(no_list_changed),
     .help = "Do not notify clients when files appear or disappear."},
    {.name = "watch-budget",
     .kind = OPTION_COUNT,
     .at = AT(watch_budget),
     .argument = "N",
     RANGE(1, 1u << 24),
     .help = "Maximum number of folders to watch with inotify; the others are polled every "
             "two seconds. Default 8192, or a quarter of the system's limit if that is less."},
    {.name = "prompts",
     .kind = OPTION_TEXT,
     .at = AT(prompts),
     .argument = "DIR",
     IS_PATH,
     .help = "Offer the Markdown files (*.md) in DIR as prompts, and read them again when "
             "they change."},
    {.name = "module",
     .kind = OPTION_LIST,
     .at = AT(modules),
     .argument = "FILE",
     IS_PATH,
     .help = "Load a module from FILE, for sources NAME:..., where NAME is the name of the "
             "module."},
    {.name = "servers",
     .kind = OPTION_LIST,
     .at = AT(servers),
     .argument = "FILE",
     IS_PATH,
     .help = "Serve the MCP servers that FILE names, the configuration file of a host: Claude, VS "
             "Code, Cursor, Codex, Gemini CLI, opencode, Copilot CLI."},
    {TEXT("approved", approved, "FILE"), IS_PATH,
     .help = "Compare the tools of other MCP servers with the definitions in FILE, which --approve "
             "writes, and log those that are new or have changed."},
    {.name = "withhold-changed",
     .kind = OPTION_FLAG,
     .at = AT(withhold_changed),
     .unkept = true,
     .help = "With --approved: offer no tool of another MCP server that is new or has changed."},
    {TEXT("remember", remember, "FILE"), IS_PATH,
     .help = "Keep in FILE what other MCP servers said about themselves (instructions, versions, "
             "kinds of items), so that it is known at the next start, before they are used. One "
             "mcpd writes it."},
    {TEXT("journal", journal, "FOLDER"), IS_PATH,
     .help = "Keep in FOLDER what the tools that change files have changed, with the old contents, "
             "so that mcpctl undo "
             "can take it back. Default: the state folder of the service, or mcpd/journal in "
             "$XDG_STATE_HOME."},
    {.name = "journal-size",
     .kind = OPTION_SIZE,
     .at = AT(journal_size),
     .argument = "SIZE",
     .min = 1 << 20,
     .max = UINT64_C(1) << 50,
     .unkept = true,
     .help = "Size of the journal. Entries younger than a day are never dropped: if it is full of "
             "them, nothing can be "
             "changed. Default 256M."},
    {.name = "approve",
     .kind = OPTION_FLAG,
     .at = AT(approve),
     LINE_ONLY,
     .help =
         "Connect to the other MCP servers, print which of their tools are new, have changed or "
         "are gone since they were approved, write their definitions to the file of "
         "--approved, and exit. A server that does not answer keeps its approvals. --doctor "
         "prints the same without writing."},
    {.name = "no-isolate",
     .kind = OPTION_FLAG,
     .at = AT(no_isolate),
     .help = "Serve all sources in the server's own process, without a sandbox. Use it only for "
             "trusted data. By default each git and SQLite source, and each source of another "
             "module, has a process of its own."},
    {.name = "list-modules",
     .kind = OPTION_FLAG,
     .at = AT(list_modules),
     LINE_ONLY,
     .help = "List the modules, their sources and their options, with the reason if a "
             "module cannot be loaded, and exit."},
    {.name = "name",
     .kind = OPTION_TEXT,
     .at = AT(name),
     .argument = "NAME",
     .help = "The server's name, shown by hosts and used by --print-config. Default mcpd."},
    {.name = "instructions",
     .kind = OPTION_TEXT,
     .at = AT(instructions),
     .argument = "TEXT",
     .help = "Instructions for the model about the served files. Default: a list of the "
             "sources."},
    {.name = "http",
     .kind = OPTION_LIST,
     .at = AT(http),
     .argument = "ADDR",
     .unkept = true,
     .help = "Serve over HTTP at ADDR, path /mcp, instead of standard input and output. ADDR "
             "is 127.0.0.1:8642, [::1]:8642 or unix:PATH; port 0 stands for any free port. "
             "Other machines can connect only if the address is not a loopback address."},
    {.name = "workers",
     .kind = OPTION_COUNT,
     .at = AT(workers),
     .argument = "N",
     RANGE(1, 64),
     .automatic = true,
     .unkept = true,
     .help = "With --http: the number of processes that serve, under a supervisor; auto means one "
             "for each processor. Default 1, without a supervisor."},
    {.name = "http-sse",
     .kind = OPTION_FLAG,
     .at = AT(http_sse),
     .unkept = true,
     .help = "With --http: also serve HTTP+SSE, the transport of revision 2024-11-05, at "
             "the path /sse, for clients that support no other."},
    {.name = "page",
     .kind = OPTION_FLAG,
     .at = AT(page),
     .unkept = true,
     .help = "With --http: also serve a web page at the path /, in which people see what the "
             "server offers. It asks for a token if the server wants one."},
    {.name = "stdio",
     .kind = OPTION_FLAG,
     .at = AT(stdio),
     .unkept = true,
     .help = "With --http: also serve standard input and output. When standard input ends, "
             "the whole server stops."},
    {.name = "view",
     .kind = OPTION_TEXT,
     .at = AT(view),
     .argument = "NAME",
     .line_only = true,
     .help =
         "Serve only the view NAME of the configuration (views) over standard input and output. "
         "With --doctor: show what it offers."},
    {.name = "allow-host",
     .kind = OPTION_LIST,
     .at = AT(allow_host),
     .argument = "HOST",
     .unkept = true,
     .help = "Also answer requests for this host name (without port), besides those for "
             "localhost. * allows any host."},
    {.name = "allow-origin",
     .kind = OPTION_LIST,
     .at = AT(allow_origin),
     .argument = "ORIGIN",
     .unkept = true,
     .help = "Allow web pages from this origin, such as https://app.example, to use the "
             "server. * allows any origin."},
    {.name = "trusted-proxy",
     .kind = OPTION_LIST,
     .at = AT(trusted_proxy),
     .argument = "ADDRESS[/BITS]",
     .unkept = true,
     .help = "Trust the header X-Forwarded-For (or that of --proxy-header) of requests from this "
             "proxy: limits per "
             "address and the log use the client address in that header. unix trusts all "
             "connections over Unix sockets."},
    {.name = "proxy-header",
     .kind = OPTION_CHOICE,
     .at = AT(proxy_header),
     .argument = "NAME",
     .choices = "x-forwarded-for|forwarded",
     .unkept = true,
     .help =
         "The header in which trusted proxies name the client: x-forwarded-for, the default, "
         "or forwarded (RFC 7239). The other one is ignored. The proxy has to replace or extend "
         "what the client sent in it."},
    {.name = "token-file",
     .kind = OPTION_TEXT,
     .at = AT(token_file),
     .argument = "FILE",
     IS_PATH,
     .is_secret = true,
     .help = "Over HTTP, serve only clients that send one of the bearer tokens in FILE. "
             "Each line is TOKEN or NAME:TOKEN. OAuth access tokens are accepted with the section "
             "oauth of the configuration file."},
    {TEXT("bus", bus, "ADDRESS"), .unkept = true,
     .help = "Tell the other instances of this server what changed, and learn it from them: "
             "redis:HOST:PORT or redis:/SOCKET, for Redis or Valkey. Requires --seal-key-"
             "file, and --bus-name or --name."},
    {TEXT("bus-name", bus_name, "NAME"), .unkept = true,
     .help = "The name that all instances have in common on the bus, and other servers do "
             "not. Default the value of --name."},
    {TEXT("bus-password-file", bus_password_file, "FILE"), IS_PATH, .is_secret = true,
     .help = "The password for the bus: FILE has one line, PASSWORD or USER:PASSWORD. Other "
             "users should not be able to read it."},
    {TEXT("seal-key-file", seal_key_file, "FILE"), IS_PATH, .is_secret = true,
     .help = "The key that seals what instances tell each other and what clients keep for "
             "the server; the same at all instances. FILE has one line of at least 43 random"
             " characters (openssl rand -base64 32), and possibly a second line, another key"
             " whose seals are accepted too. Other users should not be able to read it. SIGHUP"
             " reads it again."},
    {TEXT("instance-address", instance_address, "ADDRESS"), .unkept = true,
     .help =
         "Where the other instances of this server reach this one, for the requests of sessions "
         "that began here (revisions before 2026-07-28): unix:PATH, https://HOST:PORT (with "
         "--tls-cert), or http://HOST:PORT on this machine. mcpd listens there too. Requires "
         "--http and --seal-key-file. Several --workers reach each other without it."},
    {TEXT("instance-ca-file", instance_ca_file, "FILE"), IS_PATH,
     .help = "The certificates (PEM) with which those of other instances are verified. Default the "
             "certificates of the system."},
    {.name = "tls-cert",
     .kind = OPTION_TEXT,
     .at = AT(tls_cert),
     .argument = "FILE",
     IS_PATH,
     .help = "Serve HTTPS with this certificate (PEM, with its chain). Requires --tls-key."},
    {.name = "tls-key",
     .kind = OPTION_TEXT,
     .at = AT(tls_key),
     .argument = "FILE",
     IS_PATH,
     .is_secret = true,
     .help = "The private key of --tls-cert (PEM)."},
    {NUMBER("max-connections", max_connections), RANGE(1, 1000000), .unkept = true,
     .help = "Maximum number of HTTP connections. Default 20000."},
    {NUMBER("max-per-address", max_per_address), RANGE(1, 1000000), .unkept = true,
     .help = "Maximum number of HTTP connections from one address (for IPv6, from one /64). "
             "Default 1000; for addresses of this machine, --max-connections."},
    {NUMBER("max-per-principal", max_per_principal), RANGE(1, 1000000), .unkept = true,
     .help = "Maximum number of HTTP connections that carry requests or streams of one token. "
             "Default 5000; for addresses of this machine, --max-connections."},
    {NUMBER("max-sessions", max_sessions), RANGE(1, 1000000), .unkept = true,
     .help =
         "Maximum number of HTTP sessions (revisions before 2026-07-28). If there are as many, an "
         "idle one of the client that has most ends for a new one. Default 10000."},
    {NUMBER("max-sessions-each", max_sessions_each), RANGE(1, 1000000), .unkept = true,
     .help =
         "Maximum number of these sessions of one token or, without tokens, of one address (for "
         "IPv6, of one /64). A client that has as many loses the one that was idle longest. "
         "Default a quarter of --max-sessions; for addresses of this machine, --max-sessions."},
    {.name = "max-memory",
     .kind = OPTION_SIZE,
     .at = AT(max_memory),
     .argument = "SIZE",
     RANGE(1 << 20, (uint64_t)1 << 40),
     .unkept = true,
     .help = "Maximum memory for the requests and answers of all HTTP clients together. It "
             "covers requests that are being received or answered, answers that clients have "
             "not read, and events that are kept for replay. Default 512M."},
    {.name = "max-share",
     .kind = OPTION_SIZE,
     .at = AT(max_share),
     .argument = "SIZE",
     RANGE(1 << 16, (uint64_t)1 << 40),
     .unkept = true,
     .help = "The part of --max-memory that one client may use. A client is identified by "
             "its token, or by its address if it sends none. Default: a quarter."},
    {.name = "max-work-memory",
     .kind = OPTION_SIZE,
     .at = AT(max_work_memory),
     .argument = "SIZE",
     RANGE(1 << 20, (uint64_t)1 << 40),
     .unkept = true,
     .help = "Maximum memory for contents of 64K and more (files, database values, "
             "repository objects) while they are read and encoded, for all clients together. "
             "Reads that do not fit wait. Default 128M."},
    {NUMBER("max-source-processes", max_source_processes), RANGE(1, 100000), .unkept = true,
     .help = "Maximum number of processes for sources that run at one time. One that has no "
             "requests is ended if another source needs it. Default 64."},
    {NUMBER("max-upstream-calls", max_upstream_calls), RANGE(1, 1000000), .unkept = true,
     .help = "Maximum number of requests of one caller that are in flight at other MCP servers, at "
             "all of them together. Default 1024."},
    {NUMBER("max-upstream-sessions", max_upstream_sessions), RANGE(1, 1000000), .unkept = true,
     .help = "Maximum number of sessions of one caller with other MCP servers, with all of them "
             "together. An idle one is ended if another one is needed. Default 256."},
    {NUMBER("max-upstream-sessions-in-all", max_upstream_sessions_in_all), RANGE(1, 1000000),
     .unkept = true,
     .help = "Maximum number of sessions with other MCP servers, of all callers with all of them "
             "together. For a program, each is a process. An idle one is ended if another one is "
             "needed. Default 1024."},
    {.name = "max-upstream-bytes",
     .kind = OPTION_SIZE,
     .at = AT(max_upstream_bytes),
     .argument = "SIZE",
     RANGE(1 << 10, (uint64_t)1 << 40),
     .unkept = true,
     .help = "Maximum memory for the requests of one caller that are in flight at other MCP "
             "servers, and for their answers that are kept until the caller asks for them. Default "
             "64M."},
    {NUMBER("keep-files", keep_files), RANGE(1, 1000000), .unkept = true,
     .help = "Number of file descriptors that HTTP connections leave free for other uses. "
             "Default: a quarter of the limit on open files, at most 512."},
    {.name = "max-body",
     .kind = OPTION_SIZE,
     .at = AT(max_body),
     .argument = "SIZE",
     RANGE(1024, (uint64_t)1 << 30),
     .unkept = true,
     .help = "Maximum size of the body of an HTTP request. Default 4M."},
    {NUMBER("calls-per-second", calls_per_second), RANGE(1, 1000000), .unkept = true,
     .help = "Maximum number of tool calls per second by one caller, with bursts of four "
             "times as many. A caller is identified by its token, or by its address if it "
             "sends none. Default 500; by default, callers on this machine have no limit."},
    {NUMBER("completions-per-second", completions_per_second), RANGE(1, 1000000), .unkept = true,
     .help = "The same for completions. Default 200; by default, callers on this machine "
             "have no limit."},
    {NUMBER("polls-per-second", polls_per_second), RANGE(1, 1000000), .unkept = true,
     .help = "The same for requests about tasks (tasks/get, tasks/result, tasks/list). "
             "Default 500; by default, callers on this machine have no limit."},
    {.name = "no-rate-limits",
     .kind = OPTION_FLAG,
     .at = AT(no_rate_limits),
     .unkept = true,
     .help = "Do not limit the rates of tool calls, completions and requests about tasks."},
    {.name = "share-limits",
     .kind = OPTION_FLAG,
     .at = AT(share_limits),
     .unkept = true,
     .help = "Count the calls of each caller at all workers, and with --bus at all instances, "
             "together, for the limits above and the rates of other servers. Without this, each "
             "has a share, "
             "or with --bus a limit of its own."},
    {.name = "drain-delay",
     .kind = OPTION_COUNT,
     .at = AT(drain_delay),
     .argument = "SECONDS",
     RANGE(1, 86400),
     .unkept = true,
     .help = "With --http: time after SIGTERM or SIGINT in which everything is served as before, "
             "and only "
             "/readyz says \"draining\", so that load balancers send requests elsewhere; then "
             "--drain-time begins, in which connections that are idle stay open for as long again. "
             "A further signal ends it. By default there is no such time."},
    {.name = "drain-time",
     .kind = OPTION_COUNT,
     .at = AT(drain_time),
     .argument = "SECONDS",
     RANGE(1, 86400),
     .unkept = true,
     .help = "Time that HTTP requests in flight get to finish after SIGTERM or SIGINT. "
             "Requests that take longer get an error, and the exit status is 1. Default 10."},
    {.name = "heartbeat",
     .kind = OPTION_COUNT,
     .at = AT(heartbeat),
     .argument = "SECONDS",
     RANGE(1, 86400),
     .unkept = true,
     .help = "Interval between comments on a quiet event stream, which keep proxies from "
             "closing it. Default 15."},
    {.name = "log-level",
     .kind = OPTION_CHOICE,
     .at = AT(log_level),
     .argument = "LEVEL",
     .choices = "debug|info|warning|error|none",
     .help = "Minimum level of messages that are logged to stderr: debug, info, warning, "
             "error or none. Default warning."},
    {.name = "log-format",
     .kind = OPTION_CHOICE,
     .at = AT(log_format),
     .argument = "FORMAT",
     .choices = "text|json",
     .unkept = true,
     .help = "Format of the log: text or json. Also logs one line for every HTTP request, "
             "as --log-level info does."},
    {.name = "audit",
     .kind = OPTION_TEXT,
     .at = AT(audit),
     .argument = "FILE",
     IS_PATH,
     .help = "Append one line of JSON to FILE for each request, from stdio and HTTP: time, "
             "caller, method, name or URI, source, outcome. SIGHUP reopens FILE. - stands for "
             "standard error."},
    {.name = "audit-required",
     .kind = OPTION_FLAG,
     .at = AT(audit_required),
     .help = "Answer nothing that the log of --audit does not have: while it cannot be written, "
             "requests get an error."},
    {.name = "audit-claim",
     .kind = OPTION_TEXT,
     .at = AT(audit_claim),
     .argument = "NAME",
     .help = "Also write this claim of access tokens to the lines of --audit, as the member who: "
             "for example email or preferred_username, because the principal of such a token is "
             "often a number."},
    {TEXT("traces", traces, "URL"), .unkept = true,
     .help =
         "Send what requests did, and how long each part took, to a collector of OpenTelemetry: "
         "OTLP over HTTP in JSON, usually http://HOST:4318/v1/traces. Arguments, contents, queries "
         "of URIs, identities and tokens are never sent."},
    {NUMBER("traces-one-in", traces_one_in), RANGE(1, 1000000), .unkept = true,
     .help = "Send one of N traces. By default all are sent."},
    {TEXT("traces-auth-file", traces_auth_file, "FILE"), IS_PATH, .is_secret = true,
     .help = "The value of the header Authorization for --traces, such as \"Bearer TOKEN\". SIGHUP "
             "reads it again."},
    {TEXT("decisions", decisions, "URL"), .unkept = true,
     .help =
         "Ask a policy server about each request before it runs, after all rules, by the data API "
         "of Open Policy Agent: http://HOST:8181/v1/data/RULE, https or unix:SOCKET:/v1/data/RULE. "
         "It gets caller, method, names and arguments, never a token. Without an answer of the "
         "right form, the request is denied."},
    {NUMBER("decisions-ms", decisions_ms), RANGE(10, 60000), .unkept = true,
     .help = "How long a decision may take, in milliseconds. Default 2000."},
    {TEXT("decisions-auth-file", decisions_auth_file, "FILE"), IS_PATH, .is_secret = true,
     .help =
         "The value of the header Authorization for --decisions, such as \"Bearer TOKEN\". SIGHUP "
         "reads it again."},
    {.name = "print-config",
     .kind = OPTION_CHOICE,
     .at = AT(print_config),
     .argument = "HOST",
     .choices = HOST_NAMES "|mcpd",
     LINE_ONLY,
     .help = "Print the entry for the configuration file of HOST, made from the other "
             "options and the sources, and exit. HOST is one of claude, claude-code, "
             "claude-desktop, codex, copilot, cursor, gemini, kiro, lmstudio, opencode, "
             "vscode, windsurf and zed. The entry has --resource-tools unless "
             "--no-resource-tools is given. If HOST is mcpd, print all settings in force as "
             "a file for --config, without secrets."},
    {.name = "install",
     .kind = OPTION_CHOICE,
     .at = AT(install),
     .argument = "HOST",
     .choices = HOST_NAMES,
     LINE_ONLY,
     .help = "Add that entry to the configuration file of HOST, and exit. It shows the "
             "change, asks for confirmation, and keeps a copy of the file beside it. For "
             "claude-code the file is .mcp.json in the current folder, for the others the "
             "user's own file."},
    {.name = "via",
     .kind = OPTION_CHOICE,
     .at = AT(via),
     .argument = "WAY",
     .choices = "path|npx|uvx|docker|wsl",
     LINE_ONLY,
     .help = "With --print-config or --install: how the host starts mcpd. path, the default, is "
             "this program by its full path; npx and uvx are the packages of npm and PyPI, in "
             "this version; docker is the image, with the folders read-only at the same paths; "
             "wsl is this program, for a host on Windows."},
    {.name = "install-file",
     .kind = OPTION_TEXT,
     .at = AT(install_file),
     .argument = "FILE",
     LINE_ONLY,
     .help = "With --install: change FILE instead, for example that of a project."},
    {.name = "yes",
     .kind = OPTION_FLAG,
     .at = AT(yes),
     LINE_ONLY,
     .help = "With --install: write without confirmation."},
    {.name = "version",
     .letter = 'V',
     .kind = OPTION_FLAG,
     .at = AT(version),
     LINE_ONLY,
     .help = "Print the version and the protocol revisions, and exit."},
    {.name = "verbose",
     .kind = OPTION_FLAG,
     .at = AT(verbose),
     LINE_ONLY,
     .help = "With --version: also print the libraries of others that the program contains, with "
             "their versions."},
    {.name = "help",
     .letter = 'h',
     .kind = OPTION_FLAG,
     .at = AT(help),
     LINE_ONLY,
     .help = "Print this help and exit."},
    {.name = "completion",
     .kind = OPTION_CHOICE,
     .at = AT(completion),
     .argument = "SHELL",
     .choices = COMPLETION_SHELLS,
     LINE_ONLY,
     .help = "Print the completion script for bash, zsh or fish, and exit. For bash, use: "
             "source <(mcpd --completion bash)."},
    {.name = "help-man",
     .kind = OPTION_FLAG,
     .at = AT(help_man),
     LINE_ONLY,
     .help = "Print the manual page as roff and exit."},
    {.name = "help-schema",
     .kind = OPTION_FLAG,
     .at = AT(help_schema),
     LINE_ONLY,
     .help = "Print the JSON Schema of the configuration file and exit."},
};

const option *options_table(size_t *count)
{
    *count = sizeof(table) / sizeof(*table);
    return table;
}
