/* doctor_sources.c: the part of mcpd --doctor that opens each source, as it would be opened to be served.
 *
 * A source may take long to answer, or never do so. So each one is looked at in a process of its own, up to AT_ONCE at
 * a time: all of them take about as long as the slowest.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <common/text.h>

#include "about.h"
#include "approve.h"
#include "doctor.h"
#include "upstreams.h"

enum {
    AT_ONCE = 32,
    MOST_S = 120, /* a module's own limits should end its check before */
};

/* ---- one source ------------------------------------------------------------------------------ */

static size_t entries_of(const char *path)
{
    size_t n = 0;
    DIR *d = opendir(path);
    while (d && readdir(d))
        n++;
    if (d)
        closedir(d);
    return n > 2 ? n - 2 : 0;
}

static void say_folder(const char *path, size_t n)
{
    doctor_find(FINDING_OK, "source", "%s: a folder of %zu %s", path, n,
                n == 1 ? "entry" : "entries");
}

static void look_at_path(const char *path)
{
    struct stat st;
    if (stat(path, &st) < 0 || access(path, R_OK) < 0)
        doctor_find(FINDING_WRONG, "source", "%s: %s", path, strerror(errno));
    else if (S_ISDIR(st.st_mode) && access(path, X_OK) < 0)
        doctor_find(FINDING_WRONG, "source", "%s: its entries cannot be opened: %s", path,
                    strerror(errno));
    else if (S_ISDIR(st.st_mode))
        say_folder(path, entries_of(path));
    else if (S_ISREG(st.st_mode))
        doctor_find(FINDING_OK, "source", "%s: a file of %lld %s", path, (long long)st.st_size,
                    st.st_size == 1 ? "byte" : "bytes");
    else
        doctor_find(FINDING_WRONG, "source", "%s: neither a folder nor a file", path);
}

static void put_count(FILE *to, size_t count, const char *noun)
{
    if (count)
        fprintf(to, ", %zu %s%s", count, noun, count > 1 ? "s" : "");
}

static void put_texts(FILE *to, const char *before, const described_texts *list)
{
    for (size_t i = 0; i < list->count; i++)
        fprintf(to, "%s%s", i ? ", " : before, list->items[i]);
}

/* Reports what a source offers by its options alone, and what a sandbox has to allow for it. */
static void look_at_description(offer *o, const source *s, const char *shown)
{
    described d = {.n_templates = 0};
    mcp_error error = {0};
    char text[FINDING_TEXT] = "";
    int rc = offer_describe(o, s, &d, &error);
    FILE *to = rc == MCP_OK ? fmemopen(text, sizeof(text), "w") : NULL;
    if (to) {
        if (!d.alone)
            put_texts(to, "", &d.prefixes);
        put_count(to, d.n_resources, "resource");
        put_count(to, d.n_templates, "template");
        put_count(to, d.n_prompts, "prompt");
        put_texts(to, ", the tool ", &d.tools);
        put_texts(to, "; it opens ", &d.paths);
        fputs(d.in_process ? "; it needs the process of the server" : "", to);
        fclose(to);
        doctor_find(FINDING_OK, "source", "%s: %s", shown, text);
    } else if (rc < 0 && rc != MCP_EUNSUPPORTED)
        doctor_find(FINDING_WRONG, "source", "%s: %s", shown,
                    error.text[0] ? error.text : "it cannot be described");
    described_clear(&d);
}

static void tell_tool(const char *line, void *user)
{
    char *const *shown = user;
    doctor_find(FINDING_WARNING, "tools", "%s: %s", *shown ? *shown : "", line);
}

/* A database can be mounted although it is not reachable, so the module checks it. */
static void look_at_module(offer *o, const source *s)
{
    const mcp_module *module;
    mcp_error error = {0};
    mcp_str name = mcp_str_from(s->module);
    if (!s->module)
        name = (mcp_str){s->text, strcspn(s->text, ":")};
    char *shown = about_source(s);
    if (modules_find(o->modules, name, &module, &error) != MCP_OK)
        doctor_find(FINDING_WRONG, "source", "%s", error.text);
    else if (approve_compare(o, s, tell_tool, &shown, &error) != MCP_OK)
        doctor_find(FINDING_WRONG, "source", "%s: %s", shown ? shown : "",
                    error.text[0] ? error.text : "its options are wrong");
    else {
        bool tried = modules_can_try(module), server = strcmp(module->name, "mcp") == 0;
        doctor_find(FINDING_OK, "source", "%s: %s%sby the module %s (%s), built with libmcp %s",
                    shown ? shown : "",
                    server  ? upstreams_summary()
                    : tried ? "answers"
                            : "",
                    tried ? "; " : "", module->name,
                    module->about ? module->about : "no description", module->version);
        look_at_description(o, s, shown ? shown : "");
    }
    free(shown);
}

static void look_at(offer *o, const source *s)
{
    if (source_is_module(s))
        look_at_module(o, s);
    else
        look_at_path(s->text);
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* The check of one source. */
typedef struct check {
    pid_t pid; /* 0 if it could not be started */
    int fd;    /* its findings */
    int64_t end;
} check;

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static check begin(offer *o, const source *s)
{
    int ends[2];
    check c = {.fd = -1};
    fflush(stdout);
    if (pipe2(ends, O_CLOEXEC) < 0)
        return c;
    pid_t pid = fork();
    if (pid == 0) {
        doctor_forget();
        look_at(o, s);
        doctor_write(ends[1]);
        _exit(0);
    }
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return c;
    }
    return (check){pid, ends[0], now_ms() + MOST_S * 1000};
}

/* Takes the findings of a check, which is ended if it has none in time. */
static void take(const check *c, const source *s)
{
    struct pollfd ready = {.fd = c->fd, .events = POLLIN};
    int64_t left = c->end - now_ms();
    int status = 0;
    char *shown = about_source(s);
    bool late = poll(&ready, 1, left > 0 ? (int)left : 0) <= 0;
    FILE *from = fdopen(c->fd, "r");
    if (late)
        kill(c->pid, SIGKILL);
    bool whole = from && doctor_read(from);
    if (from)
        fclose(from);
    waitpid(c->pid, &status, 0);
    if (late)
        doctor_find(FINDING_WRONG, "source", "%s: nothing is known of it after %d s",
                    shown ? shown : "", MOST_S);
    else if (!whole || status)
        doctor_find(FINDING_WRONG, "source", "%s: the process that looked at it has crashed",
                    shown ? shown : "");
    free(shown);
}

static void look_at_all(offer *o, const sources *list)
{
    check checks[AT_ONCE];
    size_t begun = 0;
    for (size_t i = 0; i < list->count; i++) {
        for (; begun < list->count && begun < i + AT_ONCE; begun++)
            checks[begun % AT_ONCE] = begin(o, &list->items[begun]);
        const check *c = &checks[i % AT_ONCE];
        if (c->pid)
            take(c, &list->items[i]);
        else
            look_at(o, &list->items[i]);
    }
}

void doctor_sources(const settings *now, offer *o)
{
    mcp_error error = {0};
    for (size_t i = 0; i < now->modules.count; i++)
        if (modules_load(o->modules, now->modules.items[i], &error) != MCP_OK)
            doctor_find(FINDING_WRONG, "module", "%s", error.text);
    if (upstreams_use_approvals(now->approved, now->withhold_changed, &error) != MCP_OK)
        doctor_find(FINDING_WRONG, "approved", "%s", error.text);
    look_at_all(o, &now->sources);
    if (!now->sources.count && !now->prompts)
        doctor_find(FINDING_WRONG, "source", "nothing is served: name a folder or a file");
    if (now->prompts && access(now->prompts, R_OK | X_OK) < 0)
        doctor_find(FINDING_WRONG, "prompts", "%s: %s", now->prompts, strerror(errno));
}
