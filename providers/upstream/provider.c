/* provider.c: the provider's callbacks, which forward requests to the other server; mounting. */
#include <stdio.h>
#include <string.h>

#include "approval.h"
#include "listing.h"
#include "policy.h"
#include "uris.h"

/* ---- requests -------------------------------------------------------------------------------- */

static int pass(upstream *up, mcp_request *req, const common_forward_change *change,
                upstream_ask *ask)
{
    ask->f.method = mcp_request_method(req);
    int rc = upstream_ask_params(up, req, change, ask);
    return rc == MCP_OK ? upstream_ask_begin(up, req, ask) : rc;
}

/* Forwards a call of a tool or prompt. */
static int call(upstream *up, mcp_request *req, const common_forward_change *change,
                upstream_ask *ask)
{
    ask->f.method = mcp_request_method(req);
    int rc = upstream_ask_params(up, req, change, ask);
    if (rc == MCP_OK && ask->item == MCP_ITEM_TOOL)
        rc = mcp_request_task_asked(req); /* the text of the params is gone afterwards */
    if (rc == MCP_OK)
        return upstream_ask_begin(up, req, ask);
    common_release(&up->alloc, ask->f.params.members);
    common_release(&up->alloc, ask->name);
    return rc;
}

int upstream_take_rates(upstream *up, mcp_request *req, mcp_item item, mcp_str original)
{
    char name[64];
    int rc = MCP_OK;
    for (size_t i = 0; rc == MCP_OK && i < up->options.n_rates; i++) {
        const mcp_upstream_rate *r = &up->options.rates[i];
        if (!upstream_rate_counts(r, item, original))
            continue;
        snprintf(name, sizeof(name), "rates/%zu of %s", i, up->options.name);
        rc = mcp_request_take(req, MCP_OPTIONS(mcp_rate, .name = name, .per_minute = r->per_minute,
                                               .burst = r->burst));
    }
    if (rc == MCP_EREMOTE)
        up->totals.requests[MCP_UPSTREAM_LIMITED]++;
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
    if (!upstream_uri_is_below(up, uri))
        return MCP_ENOTFOUND;
    if (upstream_is_resumed(req))
        return upstream_resume(up, req);
    const common_forward_change change = {.uri = upstream_uri_there(up, req, uri)};
    if (!change.uri.ptr)
        return MCP_ENOMEM;
    if (!upstream_offers(up, ask.item, change.uri))
        return MCP_ENOTFOUND;
    int rc = upstream_take_rates(up, req, ask.item, change.uri);
    return rc == MCP_OK ? pass(up, req, &change, &ask) : rc;
}

/* Begins a request that reads the list of names first, because the original of a changed name may
 * not be known yet. */
static int look_up(upstream *up, mcp_request *req, mcp_item item, mcp_str name)
{
    upstream_ask ask = {.item = item,
                        .learns = true,
                        .compares = item == MCP_ITEM_TOOL && mcp_request_has_headers(req),
                        .f.method = mcp_request_method(req)};
    int rc = item == MCP_ITEM_TOOL ? mcp_request_task_asked(req) : MCP_OK;
    if (rc != MCP_OK)
        return rc;
    ask.name = common_copy(&up->alloc, name.ptr, name.len);
    return ask.name ? upstream_ask_begin(up, req, &ask) : MCP_ENOMEM;
}

bool upstream_offers(const upstream *up, mcp_item item, mcp_str original)
{
    return upstream_allows(&up->options, item, original, &up->alloc);
}

static int run(mcp_request *req, mcp_item item, mcp_str name, void *user)
{
    upstream *up = user;
    upstream_ask ask = {.item = item};
    const common_forward_change change = {.name = upstream_names_find(&up->names, item, name)};
    bool tool = change.name.ptr && item == MCP_ITEM_TOOL;
    int rc = tool ? upstream_headers_check(up, req, change.name) : MCP_OK;
    if (rc != MCP_OK && rc != MCP_ENOTFOUND)
        return rc;
    if (upstream_is_resumed(req))
        return upstream_resume(up, req);
    if (change.name.ptr && !upstream_offers(up, item, change.name))
        return MCP_ENOTFOUND;
    ask.compares = rc == MCP_ENOTFOUND;
    rc = change.name.ptr ? upstream_take_rates(up, req, item, change.name) : MCP_OK;
    if (rc != MCP_OK)
        return rc;
    if (tool && (ask.compares || upstream_approval_checks(up))) {
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
    common_forward_change change = {.ref = true};
    if (item == MCP_ITEM_PROMPT)
        change.name = upstream_names_find(&up->names, item, name);
    else if (upstream_uri_is_below(up, name))
        change.uri = upstream_uri_there(up, req, name);
    mcp_str original = change.name.ptr ? change.name : change.uri;
    return original.ptr && upstream_offers(up, item, original) ? pass(up, req, &change, &ask)
                                                               : MCP_ENOTFOUND;
}

/* ---- mounting -------------------------------------------------------------------------------- */

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
        &o->login.idp_token_endpoint,
        &o->login.idp_client_id,
        &o->login.idp_client_secret_file,
        &o->login.id_token_file,
        &o->client_name,
    };
    return texts[i];
}

/* The members that are arrays of strings. */
enum { UPSTREAM_LISTS = 10 };
static const char *const **texts_of(mcp_upstream_options *o, size_t i)
{
    const char *const **const lists[UPSTREAM_LISTS] = {
        &o->argv,       &o->env,          &o->env_add,      &o->headers,        &o->only_tools,
        &o->hide_tools, &o->only_prompts, &o->hide_prompts, &o->only_resources, &o->hide_resources};
    return lists[i];
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
    upstream_snapshots_clear(up);
    for (size_t i = 0; i < UPSTREAM_LISTS; i++)
        common_free_texts(&alloc, *texts_of(&up->options, i));
    upstream_changes_free(&up->options, &alloc);
    upstream_rates_free(&up->options, &alloc);
    for (size_t i = 0; i < UPSTREAM_TEXTS; i++)
        common_release(&alloc, (void *)(uintptr_t)*upstream_text(&up->options, i));
    common_release(&alloc, up);
}

static const mcp_default defaults[] = {
    MCP_DEFAULT(mcp_upstream_options, max_sessions, 64),
    MCP_DEFAULT(mcp_upstream_options, max_sessions_each, 8),
    MCP_DEFAULT(mcp_upstream_options, idle_ms, 300000),
    MCP_DEFAULT(mcp_upstream_options, timeout_ms, 60000),
    MCP_DEFAULT(mcp_upstream_options, call_ms, 600000),
    MCP_DEFAULT(mcp_upstream_options, ping_ms, 30000),
    MCP_DEFAULT(mcp_upstream_options, max_calls, 256),
    MCP_DEFAULT(mcp_upstream_options, max_calls_in_all, 1024),
    MCP_DEFAULT(mcp_upstream_options, max_answer, 16 << 20),
    MCP_DEFAULT(mcp_upstream_options, max_values, 1 << 18),
    MCP_DEFAULT(mcp_upstream_options, max_entries, 10000),
    MCP_DEFAULT(mcp_upstream_options, messages_per_second, 10000),
    MCP_DEFAULT(mcp_upstream_options, list_ms, 1000),
    MCP_DEFAULT(mcp_upstream_options, first_list_ms, 10000),
    MCP_DEFAULT(mcp_upstream_options, question_ms, 900000),
    MCP_DEFAULT(mcp_upstream_options, max_parked, 64),
    MCP_DEFAULT(mcp_upstream_options, max_parked_in_all, 1024),
};

/* Copies all strings, even after a failure, so that no member still points to the caller's
 * memory. */
static bool copy_options(upstream *up, const mcp_upstream_options *given)
{
    mcp_upstream_options *o = &up->options;
    *o = *given;
    bool texts = true;
    for (size_t i = 0; i < UPSTREAM_TEXTS; i++)
        texts = common_own_text(&up->alloc, upstream_text(o, i)) && texts;
    for (size_t i = 0; i < UPSTREAM_LISTS; i++)
        texts = common_own_texts(&up->alloc, texts_of(o, i)) && texts;
    texts = upstream_changes_copy(o, &up->alloc) && texts;
    texts = upstream_rates_copy(o, &up->alloc) && texts;
    o->approvals = mcp_approvals_hold(given->approvals);
    MCP_SET_DEFAULTS(o, defaults);
    return texts;
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
        o->list_ms > INT32_MAX || o->first_list_ms > INT32_MAX || o->call_ms > INT32_MAX ||
        o->ping_ms > INT32_MAX)
        return fail(error, MCP_EINVAL, "a time is out of range");
    int rc = upstream_login_check(o, error);
    if (rc == MCP_OK)
        rc = upstream_names_check(o, error);
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
        .resolve = upstream_uri_resolve,
        .watch_as = upstream_watch,
        .unwatch_as = upstream_unwatch,
        .watch_list = upstream_watch_list,
        .unwatch_list = upstream_unwatch_list,
        .release = release,
        .logs = true,
        .tasks = true,
        .declares = upstream_declares,
    };
    int rc = upstream_check(options, error);
    if (rc != MCP_OK)
        return rc;
    if (options->shared) {
        provider.seals_cursors = true;
        provider.watch_as = NULL;
        provider.unwatch_as = NULL;
        provider.watch = upstream_watch_shared;
        provider.unwatch = upstream_unwatch_shared;
    }
    mcp_allocator alloc = common_allocator(options->allocator);
    upstream *up = common_alloc(&alloc, sizeof(*up));
    if (!up)
        return fail(error, MCP_ENOMEM, "out of memory");
    *up = (upstream){.server = server, .alloc = alloc};
    upstream_names_init(&up->names, up->name_prefix, &up->options, &alloc);
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
        upstream_take_snapshots(up);
        upstream_remember_take(up);
    }
    return rc;
}
