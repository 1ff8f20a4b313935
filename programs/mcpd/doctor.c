/* doctor.c: the checks of mcpd --doctor, in the order of a manual diagnosis. */
#define _GNU_SOURCE
#include "doctor.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <common/text.h>
#include <mcp/io.h>
#include <mcp/sys/children.h>

#include "bus.h"
#include "capacity.h"
#include "certificate.h"
#include "commands.h"
#include "decisions.h"
#include "http.h"
#include "isolate.h"
#include "oauth.h"
#include "secret.h"
#include "secrets.h"
#include "tokens.h"

typedef struct item {
    finding status;
    char about[40], text[FINDING_TEXT];
} item;

/* The findings so far. They are global, like the program's output. */
static struct {
    item items[256];
    size_t count;
    bool wrong;
} found;

void doctor_find(finding status, const char *about, const char *format, ...)
{
    va_list args;
    if (found.count == sizeof(found.items) / sizeof(*found.items))
        return;
    size_t i = found.count++;
    found.items[i].status = status;
    found.wrong = found.wrong || status == FINDING_WRONG;
    snprintf(found.items[i].about, sizeof(found.items[i].about), "%s", about);
    va_start(args, format);
    vsnprintf(found.items[i].text, sizeof(found.items[i].text), format, args);
    va_end(args);
}

void doctor_tell(const char *line)
{
    doctor_find(FINDING_WRONG, "configuration", "%s", line);
}

void doctor_write(int fd)
{
    const char *at = (const char *)found.items, *end = (const char *)(found.items + found.count);
    for (ssize_t n = 1; at < end && n > 0; at += n)
        n = write(fd, at, (size_t)(end - at));
}

bool doctor_read(FILE *from)
{
    item one;
    size_t n;
    while ((n = fread(&one, 1, sizeof(one), from)) == sizeof(one))
        doctor_find(one.status, one.about, "%s", one.text);
    return n == 0;
}

void doctor_forget(void)
{
    found.count = 0;
}

/* ---- the system ------------------------------------------------------------------------------ */

static unsigned long long number_in(const char *path)
{
    char line[32] = "";
    FILE *f = fopen(path, "re");
    bool read = f && fgets(line, sizeof(line), f);
    if (f)
        fclose(f);
    return read ? strtoull(line, NULL, 10) : 0;
}

/* Reports which parts of the sandbox for the processes of sources are available. */
static void look_at_sandbox(const settings *now)
{
    mcp_sandbox_part part = {.size = sizeof(part)};
    bool any = false;
    if (now->no_isolate) {
        doctor_find(FINDING_OK, "sandbox", "switched off by no-isolate");
        return;
    }
    for (size_t i = 0; mcp_sandbox_probe(i, &part) == MCP_OK; i++) {
        if (!part.given)
            doctor_find(FINDING_WARNING, "sandbox",
                        "the kernel or the container denies the part \"%s\": %s", part.name,
                        part.without);
        any = any || !part.given;
    }
    if (!any)
        doctor_find(FINDING_OK, "sandbox", "all of its parts are available");
    doctor_find(FINDING_OK, "limits",
                "at most %llu processes of sources run at one time (--max-source-processes)",
                (unsigned long long)capacity_settings(now).max_source_processes);
}

static void look_at_machine(const settings *now)
{
    struct utsname u;
    struct rlimit files;
    unsigned long long watches = number_in("/proc/sys/fs/inotify/max_user_watches");
    unsigned long long budget = now->watch_budget ? now->watch_budget : 8192;
    if (uname(&u) == 0)
        doctor_find(FINDING_OK, "version", "mcpd %s on %s %s %s", mcp_version(), u.sysname,
                    u.release, u.machine);
    if (getrlimit(RLIMIT_NOFILE, &files) == 0)
        doctor_find(files.rlim_cur < 256 ? FINDING_WARNING : FINDING_OK, "descriptors",
                    "at most %llu files and connections are open at one time",
                    (unsigned long long)files.rlim_cur);
    if (now->no_watch)
        doctor_find(FINDING_OK, "watching", "switched off by no-watch");
    else if (!watches)
        doctor_find(FINDING_WARNING, "watching",
                    "inotify is not available: changes are polled every two seconds");
    else
        doctor_find(watches < budget ? FINDING_WARNING : FINDING_OK, "watching",
                    "%llu folders may be watched, of %llu that the system allows all programs of "
                    "this user%s",
                    now->watch_budget      ? budget
                    : watches / 4 < budget ? watches / 4
                                           : budget,
                    watches, watches < budget ? " (more: sysctl fs.inotify.max_user_watches)" : "");
}

/* Compares the limits of HTTP with what the machine, or the container, has. */
static void look_at_limits(const settings *now)
{
    struct rlimit files;
    unsigned long long needed = capacity_files(now);
    const settings all = capacity_settings(now);
    unsigned long long held = all.max_memory + all.max_work_memory;
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    unsigned long long memory = (unsigned long long)pages * (unsigned long long)page;
    unsigned long long group = number_in("/sys/fs/cgroup/memory.max");
    if (getrlimit(RLIMIT_NOFILE, &files) == 0)
        doctor_find(files.rlim_max < needed ? FINDING_WARNING : FINDING_OK, "limits",
                    "connections: up to %llu descriptors are needed, and the system allows %llu%s",
                    needed, (unsigned long long)files.rlim_max,
                    files.rlim_max < needed ? ": lower --max-connections, or raise the hard limit "
                                              "of open files (LimitNOFILE)"
                                            : "");
    if (pages <= 0 || page <= 0)
        return;
    if (group && group < memory)
        memory = group;
    doctor_find(held > memory / 4 * 3 ? FINDING_WARNING : FINDING_OK, "limits",
                "memory: clients may occupy %llu of %llu MiB%s", held >> 20, memory >> 20,
                held > memory / 4 * 3 ? ": lower --max-memory or --max-work-memory" : "");
}

/* ---- command tools --------------------------------------------------------------------------- */

static void look_at_tool(config *c, const mcp_json *tool)
{
    const char *name = config_text(c, mcp_json_get(tool, "name"));
    const char *program = config_text(c, mcp_json_at(mcp_json_get(tool, "command"), 0));
    const mcp_json *in = mcp_json_get(tool, "folder");
    const char *folder = config_place(c, in ? mcp_json_string(in) : MCP_STR("."));
    mcp_error error = {0};
    if (!name || !program || !folder || commands_lacks(c, tool, &error))
        doctor_find(FINDING_WRONG, "tool", "%s: %s", name ? name : "", error.text);
    else
        doctor_find(FINDING_OK, "tool", "%s: runs %s in %s", name, program, folder);
}

static void look_at_tools(const offer *o)
{
    mcp_json_iter it = {0};
    const mcp_json *tools = o->config ? mcp_json_get(config_root(o->config), "tools") : NULL;
    for (const mcp_json *v; (v = mcp_json_next(tools, &it, NULL)) != NULL;)
        look_at_tool(o->config, v);
}

/* ---- HTTP ------------------------------------------------------------------------------------ */

/* The configuration itself may have secrets among settings that are none; the other files are for secrets
 * alone. */
typedef enum contents { PLAIN, SETTINGS, SECRETS } contents;

static void look_at_file(const char *about, const char *path, contents kind)
{
    struct stat st;
    if (!path)
        return;
    if (stat(path, &st) < 0 || access(path, R_OK) < 0)
        doctor_find(FINDING_WRONG, about, "%s: %s", path, strerror(errno));
    else if (kind == SECRETS && secret_mode_of(&st) == SECRET_WRITABLE)
        doctor_find(FINDING_WRONG, about, "%s: other users can change it: chmod o-rwx it", path);
    else if (kind == SECRETS && secret_mode_of(&st) == SECRET_READABLE)
        doctor_find(FINDING_WARNING, about, "%s: other users can read it: chmod o-r it", path);
    else if (kind == SETTINGS && secrets_exposed(&st))
        doctor_find(FINDING_WARNING, about, "%s: other users can read it: chmod 600 it", path);
    else
        doctor_find(FINDING_OK, about, "%s: can be read%s", path,
                    kind != PLAIN ? ", by nobody else" : "");
}

static bool is_loopback(const char *address)
{
    static const char *const ours[] = {"127.", "localhost:", "[::1]:", "unix:", ":"};
    for (size_t i = 0; i < sizeof(ours) / sizeof(*ours); i++)
        if (strncmp(address, ours[i], strlen(ours[i])) == 0)
            return true;
    return false;
}

static void look_at_expiry(const char *path, int64_t expires)
{
    static const finding findings_of[] = {[CERTIFICATE_FINE] = FINDING_OK,
                                          [CERTIFICATE_SOON] = FINDING_WARNING,
                                          [CERTIFICATE_EXPIRED] = FINDING_WRONG};
    char text[CERTIFICATE_ROOM];
    certificate_state state = certificate_say(path, expires, text);
    doctor_find(findings_of[state], "certificate", "%s", text);
}

static void try_address(const settings *now, size_t index, tokens *const *known, bool oauth,
                        mcp_loop *loop, mcp_server *server)
{
    const char *address = now->http.items[index];
    http_logins logins = {.known = known};
    bool authenticated = *known != NULL || oauth;
    mcp_error error = {0};
    int64_t expires = 0;
    int rc = http_try(now, index, loop, server, &logins, &expires, &error);
    if (expires && index == 0)
        look_at_expiry(now->tls_cert, expires);
    if (rc == MCP_EEXIST)
        doctor_find(FINDING_WARNING, "http",
                    "%s: the address is in use, possibly by this server itself", address);
    else if (rc != MCP_OK)
        doctor_find(FINDING_WRONG, "http", "%s: %s", address,
                    error.text[0] ? error.text : mcp_error_text(rc));
    else if (!authenticated && !is_loopback(address))
        doctor_find(FINDING_WARNING, "http",
                    "%s: everybody who can reach it is served: there are no tokens", address);
    else
        doctor_find(FINDING_OK, "http", "%s: free, %s, %s", address,
                    now->tls_cert ? "HTTPS" : "HTTP",
                    authenticated ? "with tokens" : "for everybody");
}

static void look_at_http(const settings *now, offer *o)
{
    mcp_error error = {0};
    mcp_loop *loop = NULL;
    mcp_server *server = NULL;
    tokens *known = NULL;
    look_at_file("tokens", now->token_file, SECRETS);
    look_at_file("certificate", now->tls_cert, PLAIN);
    look_at_file("key", now->tls_key, SECRETS);
    if (tokens_load(now->token_file, o->config, &known, &error) != MCP_OK && error.text[0])
        doctor_find(FINDING_WRONG, "tokens", "%s", error.text);
    else if (o->config)
        (void)principals_check(o->config, known);
    if (now->http.count && mcp_loop_new(NULL, &loop, &error) == MCP_OK &&
        mcp_server_new(MCP_OPTIONS(mcp_server_options, .name = "mcpd", .version = "1"), &server,
                       &error) == MCP_OK)
        for (size_t i = 0; i < now->http.count; i++)
            try_address(now, i, &known, oauth_section(o->config) != NULL, loop, server);
    if (loop && o->config)
        doctor_oauth(now, o->config, loop);
    if (loop)
        mcp_loop_drain(loop, 1000);
    mcp_server_free(server);
    mcp_loop_free(loop);
    tokens_free(known);
}

/* ---- the report ------------------------------------------------------------------------------ */

static void print_findings(void)
{
    static const char *const marks[] = {"ok      ", "warning ", "WRONG   "};
    for (size_t i = 0; i < found.count; i++) {
        fputs(marks[found.items[i].status], stdout);
        text_put(stdout, mcp_str_from(found.items[i].about), TEXT_LINE);
        fputs(": ", stdout);
        text_put(stdout, mcp_str_from(found.items[i].text), TEXT_LINE);
        putchar('\n');
    }
}

static void put_findings(mcp_json_writer *w)
{
    static const char *const names[] = {"ok", "warning", "wrong"};
    mcp_json_put_bool(w, "ok", !found.wrong);
    mcp_json_key(w, "findings");
    mcp_json_begin_array(w);
    for (size_t i = 0; i < found.count; i++) {
        mcp_json_begin_object(w);
        mcp_json_put_string(w, "status", names[found.items[i].status]);
        mcp_json_put_string(w, "about", found.items[i].about);
        mcp_json_put_string(w, "text", found.items[i].text);
        mcp_json_end(w);
    }
    mcp_json_end(w);
}

static int report_json(const settings *now, offer *o, bool configured)
{
    mcp_json_writer *w = mcp_json_writer_new(NULL, 0);
    mcp_str text;
    mcp_json_begin_object(w);
    mcp_json_key(w, "offers");
    mcp_json_begin_array(w);
    if (configured)
        doctor_offer(now, o, w);
    mcp_json_end(w);
    put_findings(w);
    mcp_json_end(w);
    int rc = w ? mcp_json_writer_finish(w, &text) : MCP_ENOMEM;
    if (rc == MCP_OK)
        config_pretty(stdout, text);
    else
        say("%s", mcp_error_text(rc));
    mcp_json_writer_free(w);
    return rc == MCP_OK && !found.wrong ? 0 : 1;
}

int doctor_look(const settings *now, offer *o, bool configured)
{
    look_at_machine(now);
    if (now->http.count)
        look_at_limits(now);
    look_at_sandbox(now);
    if (configured) {
        if (o->config)
            doctor_find(FINDING_OK, "configuration", "%s: it is valid", now->config);
        if (o->config && secrets_in(config_written(o->config)))
            look_at_file("configuration", now->config, SETTINGS);
        doctor_sources(now, o);
        look_at_tools(o);
        look_at_http(now, o);
        doctor_views(now, o->config);
        bus_look(now);
        decisions_look(now);
    }
    if (now->json)
        return report_json(now, o, configured);
    print_findings();
    doctor_forget();
    if (configured)
        doctor_offer(now, o, NULL);
    print_findings();
    return found.wrong ? 1 : 0;
}
