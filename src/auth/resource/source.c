/* source.c: fetches the keys of an issuer: from a URL of the options, or from the URL that the
 * metadata of the issuer names. Documents are parsed on worker threads. */
#include <stdio.h>

#include "auth/discover.h"
#include "auth/resource/resource.h"
#include "uri/uri.h"

enum {
    METADATA_BYTES = 256 << 10,
    LIMITED_MS = 5000, /* how long a check may wait until a fetch is allowed */
    MAX_LIMITED = 64,  /* how many checks of an issuer may */
};

/* ---- outcomes -------------------------------------------------------------------------------- */

static mcp_str name_of(const mcp__rs_issuer *issuer)
{
    return issuer->rs->rules[issuer->index].issuer;
}

/* Continues the checks that wait. Each may free itself, or wait again. */
static void release_waiting(mcp__rs_issuer *issuer)
{
    mcp__link waiting;
    mcp__list_init(&waiting);
    while (!mcp__list_empty(&issuer->waiting)) {
        mcp__link *one = issuer->waiting.next;
        mcp__list_remove(one);
        mcp__list_append(&waiting, one);
    }
    while (!mcp__list_empty(&waiting)) {
        mcp__rs_check *check = mcp__container(waiting.next, mcp__rs_check, waiting);
        mcp__list_remove(&check->waiting);
        mcp__rs_check_keys(check);
    }
}

static void stop_timer(mcp__rs_issuer *issuer)
{
    const mcp_auth_host *host = &issuer->rs->host;
    if (issuer->timer)
        host->timer_stop(issuer->timer, host->user);
    issuer->timer = NULL;
}

static void on_allowed(void *arg)
{
    mcp__rs_issuer *issuer = arg;
    stop_timer(issuer);
    release_waiting(issuer);
}

bool mcp__rs_source_limit(mcp__rs_check *check)
{
    mcp__rs_issuer *issuer = check->issuer;
    const mcp_auth_host *host = &issuer->rs->host;
    uint64_t left = mcp__keyset_limited(&issuer->keys, (uint64_t)mcp__rs_now(issuer->rs));
    if (!left || left > LIMITED_MS || check->was_limited || issuer->n_limited >= MAX_LIMITED)
        return false;
    if (!issuer->timer && host->timer_start && host->timer_stop)
        issuer->timer = host->timer_start(left, on_allowed, issuer, host->user);
    if (!issuer->timer)
        return false;
    check->limited = check->was_limited = true;
    issuer->n_limited++;
    mcp__list_append(&issuer->waiting, &check->waiting);
    return true;
}

void mcp__rs_source_unlimit(mcp__rs_check *check)
{
    if (!check->limited)
        return;
    check->limited = false;
    if (--check->issuer->n_limited == 0)
        stop_timer(check->issuer);
}

static void succeeded(mcp__rs_issuer *issuer)
{
    mcp_resource_server *rs = issuer->rs;
    mcp_str name = name_of(issuer);
    if (issuer->is_away)
        mcp__rs_log(rs, "info", "the keys of %.*s are available again", (int)name.len, name.ptr);
    issuer->is_away = false;
    mcp__jwk_set *set = issuer->read;
    issuer->read = NULL;
    mcp__keyset_on_set(&issuer->keys, set, mcp__buf_view(&issuer->caching),
                       (uint64_t)mcp__rs_now(rs));
    release_waiting(issuer);
}

static void failed(mcp__rs_issuer *issuer, const char *why)
{
    mcp_resource_server *rs = issuer->rs;
    mcp_str name = name_of(issuer);
    rs->usage.fetches_failed++;
    if (!issuer->is_away)
        mcp__rs_log(rs, "warning", "the keys of %.*s cannot be fetched: %s", (int)name.len,
                    name.ptr, why);
    issuer->is_away = true;
    mcp__release(rs->allocator, issuer->found); /* the metadata may have changed */
    issuer->found = NULL;
    mcp__keyset_on_failure(&issuer->keys, why, (uint64_t)mcp__rs_now(rs));
    release_waiting(issuer);
}

/* ---- reading, on a worker thread ------------------------------------------------------------- */

static int read_metadata(mcp__rs_issuer *issuer)
{
    const mcp_allocator *a = issuer->rs->allocator;
    mcp_json_doc *doc;
    int rc = mcp_json_parse(mcp__buf_view(&issuer->body), NULL, a, &doc, &issuer->error);
    if (rc != MCP_OK)
        return rc;
    const mcp_json *root = mcp_json_root(doc);
    mcp_str url = mcp_json_string(mcp_json_get(root, "jwks_uri"));
    if (!mcp_str_eq(mcp_json_string(mcp_json_get(root, "issuer")), name_of(issuer)))
        rc = mcp__fail(&issuer->error, MCP_EACCESS, 0,
                       "its metadata is of another issuer (compared byte for byte)");
    else if (!url.len || memchr(url.ptr, 0, url.len))
        rc = mcp__fail(&issuer->error, MCP_EPROTOCOL, 0, "its metadata has no jwks_uri");
    else if (!(issuer->read_url = mcp__strdup(a, url)))
        rc = mcp__fail(&issuer->error, MCP_ENOMEM, 0, "out of memory");
    mcp_json_free(doc);
    return rc;
}

static void read_document(mcp__rs_job *job)
{
    mcp__rs_issuer *issuer = mcp__container(job, mcp__rs_issuer, job);
    const mcp_resource_server *rs = job->rs;
    mcp__no_error(&issuer->error);
    issuer->rc = issuer->reads_keys
                     ? mcp__jwk_set_read(&rs->crypto, mcp__buf_view(&issuer->body), rs->allocator,
                                         &issuer->read, &issuer->error)
                     : read_metadata(issuer);
}

/* ---- fetching -------------------------------------------------------------------------------- */

static void start(mcp__rs_issuer *issuer);

/* Returns whether the URL of keys that the metadata names may be used. */
static bool may_use(const mcp__rs_issuer *issuer, mcp_str url)
{
    mcp_error error;
    bool secure = mcp__str_starts(url, MCP_STR("https://"));
    return mcp__url_check(url, &error) == MCP_OK && (secure || issuer->allow_private);
}

static void on_read(mcp__rs_job *job, bool ran)
{
    mcp__rs_issuer *issuer = mcp__container(job, mcp__rs_issuer, job);
    mcp_resource_server *rs = job->rs;
    if (rs->freed)
        return;
    int rc = ran ? issuer->rc : MCP_ECANCELLED;
    char *url = issuer->read_url;
    issuer->read_url = NULL;
    mcp__buf_reset(&issuer->body, 0);
    if (rc == MCP_OK && issuer->reads_keys) {
        succeeded(issuer);
    } else if (rc == MCP_OK && may_use(issuer, mcp_str_from(url))) {
        issuer->found = url;
        url = NULL;
        start(issuer);
    } else if (rc == MCP_OK) {
        failed(issuer, "the jwks_uri in its metadata is not an https URL");
    } else if (!issuer->reads_keys && rc == MCP_EPARSE) {
        issuer->step++; /* a page instead of metadata */
        start(issuer);
    } else {
        failed(issuer, ran ? issuer->error.text : "the server ends");
    }
    mcp__release(rs->allocator, url);
}

static void on_fetched(int rc, const mcp_fetched *fetched, const mcp_error *error, void *user)
{
    mcp__rs_issuer *issuer = user;
    char text[64];
    issuer->fetch = NULL;
    if (rc != MCP_OK) {
        failed(issuer, error ? error->text : mcp_error_text(rc));
        return;
    }
    if (fetched->status != 200 && !issuer->reads_keys) {
        issuer->step++;
        start(issuer);
        return;
    }
    mcp__buf_reset(&issuer->body, 0);
    mcp__buf_reset(&issuer->caching, 0);
    mcp__buf_str(&issuer->body, fetched->body);
    mcp__buf_str(&issuer->caching, fetched->cache_control);
    if (fetched->status != 200) {
        snprintf(text, sizeof(text), "HTTP status %d", fetched->status);
        failed(issuer, text);
    } else if (issuer->body.failed) {
        failed(issuer, "out of memory");
    } else {
        issuer->job.rs = issuer->rs;
        issuer->job.run = read_document;
        issuer->job.done = on_read;
        mcp__rs_job_start(&issuer->job);
    }
}

/* Starts the next fetch of a flight. */
static void start(mcp__rs_issuer *issuer)
{
    mcp_resource_server *rs = issuer->rs;
    const char *url = issuer->jwks_url ? issuer->jwks_url : issuer->found;
    mcp__buf address;
    mcp_error error = {0};
    mcp__buf_init(&address, rs->allocator, 0);
    issuer->reads_keys = url != NULL;
    if (!url && mcp__issuer_url(&address, name_of(issuer), issuer->step) == MCP_OK) {
        mcp__buf_char(&address, '\0');
        url = address.failed ? NULL : address.ptr;
    }
    mcp_fetch_options options = {
        .size = sizeof(options),
        .url = url,
        .accept = "application/json, application/jwk-set+json;q=0.9",
        .max_bytes = issuer->reads_keys ? MCP__JWK_SET_BYTES : METADATA_BYTES,
        .timeout_ms = rs->options.fetch_ms,
        .allow_private = issuer->allow_private,
        .proxy = issuer->proxy,
        .ca_file = issuer->ca_file,
        .no_redirect = true,
        .done = on_fetched,
        .user = issuer,
    };
    int rc = url ? rs->host.fetch(&options, &issuer->fetch, &error, rs->host.user) : MCP_ENOTFOUND;
    rs->usage.fetches += url != NULL;
    mcp__buf_free(&address);
    if (rc != MCP_OK) {
        issuer->fetch = NULL;
        failed(issuer, url ? error.text : "no metadata at any of its addresses");
    }
}

void mcp__rs_source_wake(mcp__rs_issuer *issuer)
{
    if (!mcp__keyset_wants_fetch(&issuer->keys))
        return;
    issuer->step = 0;
    start(issuer);
}

void mcp__rs_source_stop(mcp__rs_issuer *issuer)
{
    if (issuer->fetch)
        issuer->rs->host.fetch_cancel(issuer->fetch, issuer->rs->host.user);
    issuer->fetch = NULL;
    stop_timer(issuer);
}
