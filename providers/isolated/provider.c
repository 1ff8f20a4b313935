/* provider.c: the callbacks of the engine, and mounting. */
#include <mcp/sys/io.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "provider.h"

int64_t isolated_now(const isolated *r)
{
    const mcp_host *host = mcp_server_host(r->server);
    return host->now(host->user);
}

void isolated_say(const isolated *r, const char *level, const char *text)
{
    const mcp_host *host = mcp_server_host(r->server);
    char line[700];
    size_t len = strlen(r->options.name);
    bool named = strncmp(text, r->options.name, len) == 0;
    snprintf(line, sizeof(line), "%s%s%s", named ? "" : r->options.name, named ? "" : ": ", text);
    if (host && host->log)
        host->log(level, line, host->user);
}

/* ---- requests -------------------------------------------------------------------------------- */

static int pass(mcp_request *req, void *user)
{
    return isolated_call_begin(user, req, (mcp_str){NULL, 0}, 0);
}

int isolated_read(mcp_request *req, mcp_str uri, const mcp_uri_match *match, void *user)
{
    (void)uri, (void)match;
    return pass(req, user);
}

int isolated_complete(mcp_request *req, mcp_str name, mcp_str value, const mcp_json *context,
                      void *user)
{
    (void)name, (void)value, (void)context;
    return pass(req, user);
}

int isolated_run(mcp_request *req, const mcp_json *arguments, void *user)
{
    (void)arguments;
    return pass(req, user);
}

static int read_one(mcp_request *req, mcp_str uri, void *user)
{
    (void)uri;
    return pass(req, user);
}

static int list(mcp_request *req, mcp_str cursor, size_t max, void *user)
{
    return isolated_call_begin(user, req, cursor.len ? cursor : (mcp_str){NULL, 0}, max);
}

/* ---- URIs ------------------------------------------------------------------------------------ */

static int digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static bool is_unreserved(int c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr("-._~", c));
}

/* Decodes one byte, which may be percent-encoded. Returns the number of bytes read, or 0 if the
 * byte is not allowed. */
static size_t take_byte(mcp_str uri, size_t at, int *byte, bool *encoded)
{
    int high = uri.ptr[at] == '%' && at + 2 < uri.len ? digit(uri.ptr[at + 1]) : -1;
    int low = high >= 0 ? digit(uri.ptr[at + 2]) : -1;
    *encoded = low >= 0;
    *byte = *encoded ? high * 16 + low : (unsigned char)uri.ptr[at];
    return *byte == 0 ? 0 : *encoded ? 3 : 1;
}

/* Writes a normal form without parameters, in which only the necessary characters are
 * percent-encoded. */
static int normalize(mcp_str uri, char *canonical, size_t room)
{
    size_t n = 0, step;
    for (size_t i = 0; i < uri.len && uri.ptr[i] != '?' && uri.ptr[i] != '#'; i += step) {
        int c;
        bool encoded;
        step = take_byte(uri, i, &c, &encoded);
        if (!step)
            return MCP_ENOTFOUND;
        if (n + 4 > room)
            return MCP_ELIMIT;
        if (is_unreserved(c) || (!encoded && c > ' ' && c < 0x7f))
            canonical[n++] = (char)c;
        else
            n += (size_t)snprintf(canonical + n, room - n, "%%%02X", (unsigned)c);
    }
    canonical[n] = 0;
    return MCP_OK;
}

static bool begins_with(mcp_str uri, const char *prefix)
{
    size_t len = strlen(prefix), scheme = strcspn(prefix, ":");
    return uri.len >= len && strncasecmp(uri.ptr, prefix, scheme) == 0 &&
           memcmp(uri.ptr + scheme, prefix + scheme, len - scheme) == 0;
}

/* Returns the mount with the longest prefix of the URI, or NULL. */
static const isolated_prefix *find_prefix(const isolated *r, mcp_str uri)
{
    const isolated_prefix *found = NULL;
    for (size_t i = 0; i < r->n_prefixes; i++) {
        const isolated_prefix *p = &r->prefixes[i];
        if (begins_with(uri, p->text) && (!found || strlen(p->text) > strlen(found->text)))
            found = p;
    }
    return found;
}

bool isolated_owns(const isolated *r, mcp_str uri)
{
    return !r->n_prefixes || find_prefix(r, uri);
}

/* The module spells its URIs. If it does not say how, the process derives the canonical spelling of
 * what is read, and asks whether the caller may see that one. */
static int resolve(mcp_str uri, char *canonical, size_t room, void *user)
{
    const isolated_prefix *p = find_prefix(user, uri);
    return p && p->resolve ? p->resolve(p->text, uri, canonical, room)
                           : normalize(uri, canonical, room);
}

/* ---- mounting -------------------------------------------------------------------------------- */

static void isolated_free(isolated *r)
{
    mcp_allocator alloc = r->alloc;
    r->closing = true;
    mcp_service_done(r->link.service, &r->prestart);
    isolated_watch_free(r);
    isolated_pulse_stop(r);
    isolated_link_close(&r->link);
    isolated_calls_free(r);
    isolated_kills_free(r);
    while (r->n_prefixes)
        common_release(&alloc, r->prefixes[--r->n_prefixes].text);
    isolated_group_leave(r);
    common_release(&alloc, (void *)(uintptr_t)r->options.name);
    common_release(&alloc, (void *)(uintptr_t)r->options.line);
    common_free_texts(&alloc, r->options.argv);
    common_free_texts(&alloc, r->options.paths);
    common_free_texts(&alloc, r->options.beside);
    common_release(&alloc, r);
}

static void release(void *user)
{
    isolated_free(user);
}

static void nothing(void *user)
{
    (void)user;
}

static void on_end(const mcp_service_end *end, void *user)
{
    isolated *r = user;
    r->stamped = false;
    r->announces = r->announces || isolated_watches(r);
    isolated_crash(r, end);
    isolated_watch_keep(r);
}

static int fail(mcp_error *error, int rc, const char *text)
{
    if (error) {
        error->code = rc;
        error->offset = 0;
        snprintf(error->text, sizeof(error->text), "%s", text);
    }
    return rc;
}

/* Returns whether one of two prefixes, this one and that of another source, begins with the other.
 * The process has read untrusted data before it says what it mounts, and a request goes to the
 * mount with the longest prefix. So a process could otherwise get requests for another source. */
static bool is_of_another(isolated *r, const char *prefix)
{
    const char *other;
    if (!r->n_prefixes)
        for (r->others = 0; mcp_server_mount_prefix(r->server, r->others);)
            r->others++;
    for (size_t i = 0; i < r->others; i++) {
        other = mcp_server_mount_prefix(r->server, i);
        size_t len = strlen(prefix), its = strlen(other), scheme = strcspn(other, ":");
        len = len < its ? len : its;
        if (strlen(prefix) != its && scheme < len && strncasecmp(prefix, other, scheme) == 0 &&
            strncmp(prefix + scheme, other + scheme, len - scheme) == 0)
            return true; /* equal prefixes are refused by the server itself */
    }
    return false;
}

/* Only the first of several mounts serves lists, because the process has one list for all
 * mounts. With access rules nothing is watched whose spelling is unknown here: a rule would not
 * cover what has another spelling than the one that was subscribed to. */
int isolated_mount(isolated *r, const mcp_source *source, mcp_error *error)
{
    const char *prefix = source->prefix;
    bool first = !r->n_prefixes,
         watches = source->subscribe && (source->resolve || !r->options.may);
    char *copy;
    if (prefix && is_of_another(r, prefix))
        return fail(error, MCP_EEXIST, "it wants to serve URIs of another source");
    if (!prefix || r->n_prefixes == ISOLATED_MOUNTS)
        return fail(error, MCP_ELIMIT, "it mounts nothing that has a name, or too much");
    copy = common_copy(&r->alloc, prefix, strlen(prefix));
    if (!copy)
        return fail(error, MCP_ENOMEM, mcp_error_text(MCP_ENOMEM));
    const mcp_provider provider = {
        .size = sizeof(provider),
        .name = r->options.name,
        .list = source->lists && first ? list : NULL,
        .read = read_one,
        .resolve = resolve,
        .watch = watches ? isolated_watch : NULL,
        .unwatch = watches ? isolated_unwatch : NULL,
        .watch_list = source->list_changed && first ? isolated_watch_list : NULL,
        .unwatch_list = source->list_changed && first ? isolated_unwatch_list : NULL,
        .release = nothing,
        .opaque = true, /* the process parses URIs and matches them against its templates */
    };
    r->prefixes[r->n_prefixes++] = (isolated_prefix){copy, source->resolve};
    r->lists = r->lists || provider.list;
    int rc = mcp_server_mount(r->server, prefix, &provider, r, error);
    if (rc == MCP_EEXIST && error)
        snprintf(error->text, sizeof(error->text),
                 "%.80s: another source has its name (%.80s is mounted already); choose one: "
                 "?name=NAME",
                 r->options.name, prefix);
    return rc;
}

static const mcp_default defaults[] = {
    MCP_DEFAULT(mcp_isolated_options, timeout_ms, 60000),
};

/* Copies all strings, even after a failure, so that no member still points to the caller's
 * memory. */
static bool copy_options(isolated *r, const mcp_isolated_options *given)
{
    mcp_isolated_options *o = &r->options;
    *o = *given;
    bool name = common_own_text(&r->alloc, &o->name), line = common_own_text(&r->alloc, &o->line),
         argv = common_own_texts(&r->alloc, &o->argv),
         paths = common_own_texts(&r->alloc, &o->paths),
         beside = common_own_texts(&r->alloc, &o->beside);
    MCP_SET_DEFAULTS(o, defaults);
    return name && line && argv && paths && beside;
}

static int make(mcp_server *server, const mcp_isolated_options *options, isolated **ret)
{
    mcp_allocator alloc = common_allocator(options->allocator);
    isolated *r = common_alloc(&alloc, sizeof(*r));
    if (!r)
        return MCP_ENOMEM;
    memset(r, 0, sizeof(*r));
    r->server = server;
    r->alloc = alloc;
    r->link.fd = -1;
    r->n_paths = common_count_texts(options->paths);
    r->n_beside = r->n_paths ? common_count_texts(options->beside) : 0;
    *ret = r;
    return copy_options(r, options) ? MCP_OK : MCP_ENOMEM;
}

int mcp_isolated_mount(mcp_server *server, const mcp_isolated_options *options, mcp_error *error)
{
    const mcp_host *host = mcp_server_host(server);
    mcp_loop *loop = host ? mcp_host_loop(host) : NULL;
    isolated *r = NULL;
    if (!options->name || !options->argv || !options->line || !loop ||
        common_count_texts(options->paths) + common_count_texts(options->beside) > ISOLATED_PATHS)
        return fail(error, MCP_EINVAL, "a name, a program, a line and a loop are needed");
    int rc = make(server, options, &r);
    if (rc == MCP_OK)
        rc = isolated_link_open(&r->link, r, loop, host, error);
    if (rc == MCP_OK)
        rc = mcp_server_on_release(server, release, r);
    if (rc != MCP_OK) {
        if (r)
            isolated_free(r);
        return error && error->text[0] ? rc : fail(error, rc, mcp_error_text(rc));
    }
    r->link.on_end = on_end;
    isolated_group_enter(r);
    return options->describe ? isolated_describe(r, error) : isolated_learn(r, error);
}
