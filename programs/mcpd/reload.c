/* reload.c: receives SIGHUP by a descriptor (signalfd), so that it is handled between two events of
 * the loop, and reloads the configuration.
 */
#define _GNU_SOURCE
#include "reload.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "decisions.h"
#include "log.h"
#include "oauth.h"
#include "oauth_server.h"
#include "seal_key.h"
#include "supervisor/notify.h"
#include "supervisor/share.h"
#include "traces.h"

/* A loaded configuration. */
typedef struct reading {
    config *config;
    settings now;
} reading;

struct reload {
    reload_context c;
    int fd;
    mcp_host_poll *poll;
    reading *last; /* NULL while the first configuration is in force */
};

static sigset_t hangup(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGHUP);
    return set;
}

void reload_hold(void)
{
    sigset_t set = hangup();
    sigaddset(&set, SIGUSR2);
    sigprocmask(SIG_BLOCK, &set, NULL);
}

/* ---- loading --------------------------------------------------------------------------------- */

static void reading_free(reading *r)
{
    if (!r)
        return;
    options_clear(&r->now);
    config_free(r->config);
    free(r);
}

static void tell(const char *line)
{
    log_line("error", line, NULL);
}

/* Reads the configuration again. Returns NULL after reporting the error. */
static reading *read_again(const settings *line, size_t workers)
{
    reading *r = calloc(1, sizeof(*r));
    if (!r) {
        tell("out of memory");
        return NULL;
    }
    if (config_settings(line, false, tell, &r->config, &r->now) == MCP_OK) {
        share_limits(&r->now, workers);
        return r;
    }
    reading_free(r);
    return NULL;
}

/* ---- what needs a restart -------------------------------------------------------------------- */

static bool same_texts(const texts *a, const texts *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (strcmp(a->items[i], b->items[i]) != 0)
            return false;
    return true;
}

static bool same(const option *o, const settings *a, const settings *b)
{
    const void *x = (const char *)a + o->at, *y = (const char *)b + o->at;
    switch (o->kind) {
    case OPTION_FLAG: return *(const bool *)x == *(const bool *)y;
    case OPTION_LIST: return same_texts(x, y);
    case OPTION_TEXT:
    case OPTION_CHOICE: {
        const char *s = *(const char *const *)x, *t = *(const char *const *)y;
        return s && t ? strcmp(s, t) == 0 : s == t;
    }
    case OPTION_COUNT:
    case OPTION_SIZE:
    case OPTION_SECONDS: return *(const uint64_t *)x == *(const uint64_t *)y;
    }
    return true;
}

/* Settings that are read only when the program starts. */
static const char restart[] =
    "workers|page-size|list-ms|no-watch|no-subscribe|no-list-changed|prompts|module|name|http|http-"
    "sse|"
    "page|stdio|"
    "allow-host|allow-origin|trusted-proxy|proxy-header|tls-cert|tls-key|max-connections|max-per-"
    "address|max-"
    "per-principal|"
    "max-memory|max-share|max-work-memory|keep-files|max-body|heartbeat|drain-time|drain-"
    "delay|"
    "calls-per-second|completions-per-second|polls-per-second|no-rate-limits|share-limits|bus|bus-"
    "name|"
    "bus-password-file|traces|traces-one-in|traces-auth-file|decisions|decisions-ms|decisions-auth-"
    "file";

static void mention_restart(const settings *start, const settings *now)
{
    size_t count;
    char line[200];
    const option *table = options_table(&count);
    for (size_t i = 0; i < count; i++) {
        if (!option_has_word(restart, table[i].name) || same(&table[i], start, now))
            continue;
        snprintf(line, sizeof(line), "%s changed, which takes effect after a restart",
                 table[i].name);
        log_line("warning", line, NULL);
    }
}

static void reopen_audit(const reload *r, const settings *next)
{
    if (!next->audit == audit_is_on(r->c.audit))
        log_line("warning", "switching audit on or off takes effect after a restart", NULL);
    else if (next->audit)
        audit_reopen(r->c.audit, next->audit);
    audit_show(r->c.audit, next->audit_claim);
    traces_renew(r->c.traces);
    r->c.audit->required = next->audit_required && audit_is_on(r->c.audit);
    mcp_server_require_audit(r->c.server, r->c.audit->required ? audit_kept : NULL);
}

static void mention_oauth(const reload *r, const config *next)
{
    if (!oauth_same(r->c.config, next))
        log_line("warning", "oauth changed, which takes effect after a restart", NULL);
}

/* ---- applying -------------------------------------------------------------------------------- */

static int fail(const mcp_error *error, int rc)
{
    if (error->text[0])
        tell(error->text);
    return rc;
}

/* Loads the tokens. A reload cannot switch tokens on or off, so a server that requires tokens never
 * continues without them. */
static int change_tokens(const reload *r, reading *next, tokens **ret)
{
    mcp_error error = {0};
    int rc = tokens_load(next->now.token_file, next->config, ret, &error);
    if (rc == MCP_OK && !*ret != !*r->c.known) {
        tokens_free(*ret);
        tell("switching tokens on or off requires a restart");
        return MCP_EINVAL;
    }
    return fail(&error, rc);
}

/* Ends what was opened with a removed token, here and at the other instances. */
static void on_gone(void *user, const mcp_identity *identity, bool last)
{
    const reload *r = user;
    http_revoke(r->c.at, identity, last);
    bus_tell_removed(r->c.bus, identity);
}

/* The old keys stay in use if the file is wrong. */
static void change_keys(const reload *r, const settings *next)
{
    mcp_error error = {0};
    if (!next->seal_key_file != !r->c.start->seal_key_file)
        log_line("warning", "switching seal-key-file on or off takes effect after a restart", NULL);
    else if (next->seal_key_file &&
             seal_key_use(next->seal_key_file, bus_name(r->c.start), r->c.server, &error) != MCP_OK)
        tell(error.text);
}

/* The audiences of the views are again those of the configuration that stays in use. */
static void change_back(const reload *r, config *before)
{
    mcp_error error = {0};
    if (r->c.oauth && oauth_set_views(before, r->c.oauth, &error) != MCP_OK)
        tell(error.text[0] ? error.text
                           : "out of memory: views ask for the tokens of the new file");
}

static int change(reload *r, reading *next)
{
    offer *o = r->c.offer, before = *o;
    mcp_error error = {0};
    tokens *known = NULL;
    int rc = change_tokens(r, next, &known);
    if (rc != MCP_OK)
        return rc;
    /* Errors are only reported. If the configuration were refused, a removed token would stay valid
     * as long as a rule mentions its principal. */
    (void)principals_check(next->config, known);
    o->config = next->config;
    o->now = &next->now;
    /* Without a file there is nothing to apply. */
    if (next->config && r->c.oauth)
        rc = oauth_set_views(next->config, r->c.oauth, &error);
    if (next->config && rc == MCP_OK && (rc = offer_make(o, r->c.server, &error)) != MCP_OK)
        change_back(r, before.config);
    if (rc != MCP_OK) {
        o->config = before.config;
        o->now = before.now;
        tokens_free(known);
        return fail(&error, rc);
    }
    tokens *old = *r->c.known;
    *r->c.known = known;
    tokens_gone(old, known, on_gone, r);
    tokens_free(old);
    return MCP_OK;
}

/* Returns the settings in force. */
static const settings *now_of(const reload *r)
{
    return r->last ? &r->last->now : r->c.start;
}

static reload_counts counts; /* of this process, which /metrics shows */

reload_counts reload_count(void)
{
    return counts;
}

static void note(bool succeeded)
{
    if (succeeded)
        counts.succeeded++;
    else
        counts.failed++;
    if (succeeded)
        counts.read_at = (int64_t)time(NULL);
}

bool reload_again(reload *r)
{
    reading *next = read_again(r->c.line, r->c.workers);
    if (!next || change(r, next) != MCP_OK) {
        tell("the configuration was not reloaded: the old one stays in use");
        reading_free(next);
        next = NULL;
    }
    if (r->c.start->tls_cert)
        http_reload_tls(r->c.at, r->c.start);
    reopen_audit(r, next ? &next->now : now_of(r));
    decisions_renew(r->c.decisions);
    note(next != NULL);
    if (!next)
        return false;
    if (r->c.prompts) /* watched or not */
        mcp_prompts_reread(r->c.prompts);
    if (r->c.oauth)
        mcp_resource_server_forget(r->c.oauth);
    bus_tell_forget(r->c.bus);
    change_keys(r, &next->now);
    mention_restart(r->c.start, &next->now);
    mention_oauth(r, next->config);
    log_configure(&next->now);
    reading_free(r->last);
    r->last = next;
    if (next->config)
        log_notice("the configuration was reloaded");
    else if (next->now.token_file)
        log_notice("the tokens were reloaded");
    return true;
}

/* ---- the signal ------------------------------------------------------------------------------ */

static void on_readable(void *arg)
{
    reload *r = arg;
    struct signalfd_siginfo info;
    bool any = false;
    while (read(r->fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
        any = true;
    if (!any)
        return;
    notify_reloading();
    (void)reload_again(r);
    notify_send("READY=1");
}

int reload_start(const reload_context *context, reload **ret)
{
    sigset_t set = hangup();
    reload *r = calloc(1, sizeof(*r));
    if (!r)
        return MCP_ENOMEM;
    r->c = *context;
    r->fd = -1;
    counts.read_at = (int64_t)time(NULL);
    if (r->c.workers) { /* the supervisor gets the signal */
        *ret = r;
        return MCP_OK;
    }
    r->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (r->fd >= 0)
        r->poll = r->c.host->poll_start(r->fd, on_readable, r, r->c.host->user);
    if (!r->poll) {
        reload_stop(r);
        reload_free(r);
        return MCP_EIO;
    }
    *ret = r;
    return MCP_OK;
}

void reload_stop(reload *r)
{
    if (!r)
        return;
    if (r->poll)
        r->c.host->poll_stop(r->poll, r->c.host->user);
    if (r->fd >= 0)
        close(r->fd);
    r->poll = NULL;
    r->fd = -1;
}

void reload_free(reload *r)
{
    if (!r)
        return;
    reading_free(r->last);
    free(r);
}
