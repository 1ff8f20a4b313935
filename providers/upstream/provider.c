/* provider.c: the provider's callbacks, which forward requests to the other server; mounting. */
#include <stdio.h>
#include <string.h>

#include "approval.h"
#include "listing.h"

/* ---- requests -------------------------------------------------------------------------------- */

static bool begins(mcp_str uri, const char *prefix)
{
    size_t len = strlen(prefix);
    return *prefix && uri.len > len && memcmp(uri.ptr, prefix, len) == 0;
}

static bool is_ui(const upstream *up, mcp_str uri)
{
    return begins(uri, up->ui_prefix);
}

static bool is_below(const upstream *up, mcp_str uri)
{
    return is_ui(up, uri) || uri.len > strlen(up->prefix);
}

/* Returns the URI that the other server knows, or a ptr of NULL if out of memory. */
static mcp_str uri_there(const upstream *up, mcp_request *req, mcp_str uri)
{
    bool ui = is_ui(up, uri);
    size_t len = strlen(ui ? up->ui_prefix : up->prefix);
    mcp_str rest = {uri.ptr + len, uri.len - len};
    char *copy = ui ? mcp_request_alloc(req, rest.len + 6) : NULL;
    if (!ui)
        return rest;
    if (copy)
        snprintf(copy, rest.len + 6, "ui://%.*s", (int)rest.len, rest.ptr);
    return (mcp_str){copy, copy ? rest.len + 5 : 0};
}

static int pass(upstream *up, mcp_request *req, const common_passing *change, upstream_ask *ask)
{
    ask->method = mcp_request_method(req);
    int rc = common_passing_params(req, change, &up->alloc, &ask->params);
    return rc == MCP_OK ? upstream_ask_begin(up, req, ask) : rc;
}

/* Forwards a call of a tool or prompt. */
static int call(upstream *up, mcp_request *req, const common_passing *change, upstream_ask *ask)
{
    ask->method = mcp_request_method(req);
    int rc = common_passing_params(req, change, &up->alloc, &ask->params);
    if (rc == MCP_OK && ask->item == MCP_ITEM_TOOL)
        rc = mcp_request_task_asked(req); /* the text of the params is gone afterwards */
    if (rc == MCP_OK)
        return upstream_ask_begin(up, req, ask);
    common_release(&up->alloc, ask->params);
    common_release(&up->alloc, ask->name);
    return rc;
}

static int list(mcp_request *req, mcp_str cursor, size_t max, void *user)
{
    return upstream_list(req, MCP_ITEM_RESOURCE, cursor, max, user);
}

static int read_one(mcp_request *req, mcp_str uri, void *user)
{
    upstream *up = user;
    upstream_ask ask = {.item = MCP_ITEM_RESOURCE};
    if (!is_below(up, uri))
        return MCP_ENOTFOUND;
    if (upstream_is_resumed(req))
        return upstream_resume(up, req);
    const common_passing change = {.uri = uri_there(up, req, uri)};
    if (!change.uri.ptr)
        return MCP_ENOMEM;
    return pass(up, req, &change, &ask);
}

/* Begins a request that reads the list of names first, because the original of a changed name may
 * not be known yet. */
static int look_up(upstream *up, mcp_request *req, mcp_item item, mcp_str name)
{
    upstream_ask ask = {.item = item, .learns = true, .method = mcp_request_method(req)};
    int rc = item == MCP_ITEM_TOOL ? mcp_request_task_asked(req) : MCP_OK;
    if (rc != MCP_OK)
        return rc;
    ask.name = common_copy(&up->alloc, name.ptr, name.len);
    return ask.name ? upstream_ask_begin(up, req, &ask) : MCP_ENOMEM;
}

static bool is_among(const char *const *texts, mcp_str text)
{
    while (*texts && !mcp_str_eq(mcp_str_from(*texts), text))
        texts++;
    return *texts != NULL;
}

bool upstream_offers(const upstream *up, mcp_item item, mcp_str original)
{
    const mcp_upstream_options *o = &up->options;
    return item != MCP_ITEM_TOOL || ((!o->only_tools || is_among(o->only_tools, original)) &&
                                     !(o->hide_tools && is_among(o->hide_tools, original)));
}

static int run(mcp_request *req, mcp_item item, mcp_str name, void *user)
{
    upstream *up = user;
    upstream_ask ask = {.item = item};
    if (upstream_is_resumed(req))
        return upstream_resume(up, req);
    const common_passing change = {.name = upstream_names_find(&up->names, name)};
    if (change.name.ptr && !upstream_offers(up, item, change.name))
        return MCP_ENOTFOUND;
    if (change.name.ptr && item == MCP_ITEM_TOOL && upstream_approval_checks(up)) {
        ask.learns = true; /* unless the session has shown the approved definition */
        ask.name = common_copy(&up->alloc, name.ptr, name.len);
        if (!ask.name)
            return MCP_ENOMEM;
    }
    if (change.name.ptr)
        return call(up, req, &change, &ask);
    return upstream_names_is_changed(&up->names, name) ? look_up(up, req, item, name)
                                                       : MCP_ENOTFOUND;
}

static int complete(mcp_request *req, mcp_item item, mcp_str name, void *user)
{
    upstream *up = user;
    upstream_ask ask = {.item = item};
    common_passing change = {.ref = true};
    if (item == MCP_ITEM_PROMPT)
        change.name = upstream_names_find(&up->names, name);
    else if (is_below(up, name))
        change.uri = uri_there(up, req, name);
    return change.name.ptr || change.uri.ptr ? pass(up, req, &change, &ask) : MCP_ENOTFOUND;
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

/* Returns whether a path segment is "." or "..". The other server might resolve such a URI to
 * another resource than the one that was checked. */
static bool has_dots(const char *uri)
{
    for (const char *at = uri; *at;) {
        size_t len = strcspn(at, "/:?#");
        if ((len == 1 && at[0] == '.') || (len == 2 && at[0] == '.' && at[1] == '.'))
            return true;
        at += len + (at[len] != 0);
    }
    return false;
}

/* Writes a canonical form, so that URIs that the other server might treat as equal are equal here:
 * unreserved characters are never percent-encoded. */
static int resolve(mcp_str uri, char *canonical, size_t room, void *user)
{
    upstream *up = user;
    bool ui = is_ui(up, uri);
    size_t start = strlen(ui ? up->ui_prefix : up->prefix);
    if (!is_below(up, uri))
        return MCP_ENOTFOUND;
    int begun = snprintf(canonical, room, "%s%s", up->prefix, ui ? "ui://" : "");
    if (begun < 0 || (size_t)begun >= room)
        return MCP_ELIMIT;
    size_t n = (size_t)begun;
    for (size_t i = start; i < uri.len; i++) {
        int high = uri.ptr[i] == '%' && i + 2 < uri.len ? digit(uri.ptr[i + 1]) : -1;
        int low = high >= 0 ? digit(uri.ptr[i + 2]) : -1;
        int c = low >= 0 ? high * 16 + low : (unsigned char)uri.ptr[i];
        if (c == 0)
            return MCP_ENOTFOUND;
        bool stays = low >= 0 && !is_unreserved(c);
        if (n + 4 > room)
            return MCP_ELIMIT;
        if (stays)
            n += (size_t)snprintf(canonical + n, room - n, "%%%02X", (unsigned)c);
        else
            canonical[n++] = (char)c;
        i += low >= 0 ? 2 : 0;
    }
    canonical[n] = 0;
    return has_dots(canonical + strlen(up->prefix)) ? MCP_ENOTFOUND : MCP_OK;
}

/* ---- mounting -------------------------------------------------------------------------------- */

static void free_texts(upstream *up, const char *const *texts)
{
    for (size_t i = 0; texts && texts[i]; i++)
        common_release(&up->alloc, (void *)(uintptr_t)texts[i]);
    common_release(&up->alloc, (void *)(uintptr_t)texts);
}

const char **upstream_text(mcp_upstream_options *o, size_t i)
{
    const char **const texts[UPSTREAM_TEXTS] = {
        &o->name,
        &o->url,
        &o->cwd,
        &o->revision,
        &o->login.oauth,
        &o->login.account,
        &o->login.issuer,
        &o->login.client_id,
        &o->login.scope,
        &o->login.client_secret_file,
        &o->login.client_key_file,
        &o->login.login_file,
    };
    return texts[i];
}

static void release(void *user)
{
    upstream *up = user;
    mcp_allocator alloc = up->alloc;
    upstream_hand_over(up);
    upstream_group_remove(up);
    upstream_sessions_close(up);
    upstream_names_free(&up->names);
    upstream_approval_free(up);
    upstream_kept_clear(up);
    free_texts(up, up->options.argv);
    free_texts(up, up->options.env);
    free_texts(up, up->options.env_add);
    free_texts(up, up->options.headers);
    free_texts(up, up->options.only_tools);
    free_texts(up, up->options.hide_tools);
    for (size_t i = 0; i < UPSTREAM_TEXTS; i++)
        common_release(&alloc, (void *)(uintptr_t)*upstream_text(&up->options, i));
    common_release(&alloc, up);
}

static bool copy_text(const upstream *up, const char **text)
{
    const char *given = *text;
    *text = given ? common_copy(&up->alloc, given, strlen(given)) : NULL;
    return !given || *text;
}

static bool copy_texts(const upstream *up, const char *const **texts)
{
    const char *const *given = *texts;
    size_t n = 0;
    while (given && given[n])
        n++;
    const char **copy = given ? common_alloc(&up->alloc, (n + 1) * sizeof(*copy)) : NULL;
    *texts = copy;
    if (!copy)
        return !given;
    memset((void *)copy, 0, (n + 1) * sizeof(*copy));
    for (size_t i = 0; i < n; i++) {
        copy[i] = given[i];
        if (!copy_text(up, &copy[i]))
            return false;
    }
    return true;
}

/* Copies all strings, even after a failure, so that no member still points to the caller's
 * memory. */
static bool copy_options(upstream *up, const mcp_upstream_options *given)
{
    mcp_upstream_options *o = &up->options;
    *o = *given;
    bool texts = true;
    for (size_t i = 0; i < UPSTREAM_TEXTS; i++)
        texts = copy_text(up, upstream_text(o, i)) && texts;
    bool argv = copy_texts(up, &o->argv), env = copy_texts(up, &o->env),
         env_add = copy_texts(up, &o->env_add), headers = copy_texts(up, &o->headers),
         only = copy_texts(up, &o->only_tools), hide = copy_texts(up, &o->hide_tools);
    o->approvals = mcp_approvals_hold(given->approvals);
    o->max_sessions = o->max_sessions ? o->max_sessions : 64;
    o->idle_ms = o->idle_ms ? o->idle_ms : 300000;
    o->timeout_ms = o->timeout_ms ? o->timeout_ms : 60000;
    o->max_calls = o->max_calls ? o->max_calls : 256;
    o->max_calls_in_all = o->max_calls_in_all ? o->max_calls_in_all : 1024;
    o->max_answer = o->max_answer ? o->max_answer : 16 << 20;
    o->list_ms = o->list_ms ? o->list_ms : 1000;
    o->first_list_ms = o->first_list_ms ? o->first_list_ms : 10000;
    o->question_ms = o->question_ms ? o->question_ms : 900000;
    o->max_parked = o->max_parked ? o->max_parked : 64;
    o->max_parked_in_all = o->max_parked_in_all ? o->max_parked_in_all : 1024;
    return texts && argv && env && env_add && headers && only && hide;
}

static int fail(mcp_error *error, int rc, const char *text)
{
    if (error) {
        error->code = rc;
        snprintf(error->text, sizeof(error->text), "%s", text);
    }
    return rc;
}

void upstream_put_prefixes(const char *name, char prefix[UPSTREAM_PREFIX_ROOM],
                           char names[UPSTREAM_PREFIX_ROOM])
{
    snprintf(prefix, UPSTREAM_PREFIX_ROOM, "mcp+%s:", name);
    snprintf(names, UPSTREAM_PREFIX_ROOM, "%s_", name);
}

/* Checks the revision by making a client with it. */
static int check_revision(const mcp_upstream_options *o, mcp_error *error)
{
    mcp_client *client = NULL;
    if (!o->revision)
        return MCP_OK;
    int rc = mcp_client_new(MCP_OPTIONS(mcp_client_options, .name = "mcpd",
                                        .version = MCP_VERSION_STRING, .revision = o->revision,
                                        .allocator = o->allocator),
                            &client, error);
    mcp_client_free(client);
    return rc;
}

int upstream_check(const mcp_upstream_options *o, mcp_error *error)
{
    if (!o->name || !upstream_is_name(o->name))
        return fail(error, MCP_EINVAL,
                    "the name may have at most 24 characters of a-z, 0-9 and \"-\", and must begin "
                    "with a letter");
    if ((o->argv && o->argv[0]) + (o->url != NULL) + (o->connect != NULL) != 1)
        return fail(error, MCP_EINVAL, "a program or a URL is needed");
    if (o->idle_ms > INT32_MAX || o->timeout_ms > INT32_MAX || o->question_ms > INT32_MAX ||
        o->list_ms > INT32_MAX || o->first_list_ms > INT32_MAX)
        return fail(error, MCP_EINVAL, "a time is out of range");
    int rc = upstream_login_check(o, error);
    return rc == MCP_OK ? check_revision(o, error) : rc;
}

int mcp_upstream_mount(mcp_server *server, const mcp_upstream_options *options, mcp_error *error)
{
    mcp_provider provider = {
        .size = sizeof(provider),
        .items = UPSTREAM_ITEMS,
        .opaque = true,
        .list = list,
        .list_items = upstream_list,
        .list_begin = upstream_list_begin,
        .list_end = upstream_list_end,
        .read = read_one,
        .run = run,
        .complete = complete,
        .resolve = resolve,
        .watch_for = upstream_watch,
        .unwatch_for = upstream_unwatch,
        .watch_list = upstream_watch_list,
        .unwatch_list = upstream_unwatch_list,
        .release = release,
        .logs = true,
        .tasks = true,
    };
    int rc = upstream_check(options, error);
    if (rc != MCP_OK)
        return rc;
    mcp_allocator alloc = common_allocator(options->allocator);
    upstream *up = common_alloc(&alloc, sizeof(*up));
    if (!up)
        return fail(error, MCP_ENOMEM, "out of memory");
    *up = (upstream){.server = server, .alloc = alloc};
    upstream_names_init(&up->names, up->name_prefix, &alloc);
    if (!copy_options(up, options)) {
        release(up);
        return fail(error, MCP_ENOMEM, "out of memory");
    }
    if (!options->transparent) {
        upstream_put_prefixes(up->options.name, up->prefix, up->name_prefix);
        snprintf(up->ui_prefix, sizeof(up->ui_prefix), "ui://mcp+%s/", up->options.name);
        provider.alias = up->ui_prefix;
    }
    provider.name = up->options.name;
    provider.names = up->name_prefix;
    rc = mcp_server_mount(server, up->prefix, &provider, up, error);
    if (rc == MCP_OK) {
        upstream_group_add(up);
        upstream_take_kept(up);
    }
    return rc;
}
