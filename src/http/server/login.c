/* login.c: finds out who sent a request. Calls `authenticate` of the program, stores the answer,
 * and ends the streams of tokens that expire.
 *
 * The program may answer within `authenticate` or later. A later answer only wakes the connection,
 * whose next tick continues with the request. So a program may answer at any time.
 */
#include <mcp/auth.h>

#include "auth/challenge.h"
#include "http/server/http_session.h"
#include "protocol/identity.h"

/* ---- the question ---------------------------------------------------------------------------- */

const char *mcp_http_login_method(const mcp_http_login *login)
{
    return llhttp_method_name((llhttp_method_t)mcp__http_connection_of(login)->http_method);
}

const char *mcp_http_login_url(const mcp_http_login *login)
{
    mcp_http_connection *c = mcp__http_connection_of(login);
    const char *url = c->http->urls[c->target];
    if (!url || !c->head.view.len || c->url)
        return c->url ? c->url : url;
    mcp__buf b;
    mcp__buf_init(&b, c->http->allocator, 0);
    mcp__buf_str(&b, mcp_str_from(c->http->options.public_url));
    mcp__buf_str(&b, mcp__http_text(&c->head, c->head.path));
    c->url = b.failed ? NULL : mcp__strdup(c->http->allocator, mcp__buf_view(&b));
    mcp__buf_free(&b);
    return c->url;
}

const char *mcp_http_login_client(const mcp_http_login *login)
{
    return mcp__http_caller(mcp__http_connection_of(login));
}

bool mcp_http_login_header(const mcp_http_login *login, const char *name, mcp_str *value)
{
    return mcp__http_find(&mcp__http_connection_of(login)->head, name, value);
}

void mcp_http_login_on_cancel(mcp_http_login *login, void (*fn)(mcp_http_login *login, void *user),
                              void *user)
{
    login->cancel = fn;
    login->cancel_user = user;
}

void mcp__http_login_init(mcp_http_connection *c)
{
    c->expires_at = INT64_MAX;
    c->head.options = &c->http->options;
}

bool mcp__http_ask(mcp_http_connection *c, mcp__http_refusal *why)
{
    const mcp_http_options *o = &c->http->options;
    /* Limits of wrong logins apply to the client, not to its proxy. */
    if (mcp__http_is_forwarded(c) && (*why = mcp__http_count_client(c)) != MCP__HTTP_FINE)
        return false;
    c->login = (mcp_http_login){0};
    c->is_authenticating = true;
    if (o->authenticate)
        o->authenticate(&c->login, o->user);
    else
        mcp_resource_server_authenticate(&c->login, o->resource_server);
    *why = (mcp__http_refusal)c->login_result;
    return c->is_authenticating;
}

int64_t mcp__http_login_deadline(const mcp_http_connection *c)
{
    if (!c->is_authenticating)
        return INT64_MIN;
    int64_t due = mcp__http_after(c->since, c->http->options.login_ms);
    return c->ended ? MCP__MIN(due, mcp__http_after(c->ended_at, MCP__HTTP_HALF_CLOSED_MS)) : due;
}

void mcp__http_login_due(mcp_http_connection *c)
{
    if (!c->is_authenticating)
        mcp__http_run_asked(c);
    else if (c->ended)
        mcp__http_close(c, MCP_HTTP_CLOSE);
    else {
        c->login_result = MCP__HTTP_SLOW_LOGIN;
        mcp__http_refuse_early(c, MCP__HTTP_SLOW_LOGIN);
    }
}

void mcp__http_login_cancel(mcp_http_connection *c)
{
    if (!c->is_authenticating)
        return;
    c->is_authenticating = false;
    if (c->login.cancel)
        c->login.cancel(&c->login, c->login.cancel_user);
}

void mcp__http_login_reset(mcp_http_connection *c)
{
    const mcp_allocator *a = c->http->allocator;
    c->principal = NULL;
    c->expires_at = INT64_MAX;
    c->login_result = MCP__HTTP_FINE;
    if (c->url)
        mcp__release(a, c->url);
    c->url = NULL;
    if (c->denial)
        mcp__release(a, c->denial);
    c->denial = NULL;
}

void mcp__http_login_free(mcp_http_connection *c)
{
    mcp__http_login_reset(c);
    mcp_identity_unref(c->identity);
    c->identity = NULL;
    mcp__rs_recent_clear(&c->recent, c->http->allocator);
}

/* ---- the answer ------------------------------------------------------------------------------ */

static void answer(mcp_http_login *login, mcp__http_refusal why)
{
    mcp_http_connection *c = mcp__http_connection_of(login);
    c->is_authenticating = false;
    c->login_result = (uint8_t)why;
    if (c->phase != MCP__HTTP_ASKING)
        return; /* `authenticate` is still running */
    mcp__http_touch(c->http);
    mcp__http_wake(c->http, &c->timer);
}

/* Sets c->expires_at, which is a time of the endpoint's monotonic clock. */
static mcp__http_refusal set_expiry(mcp_http_connection *c, const mcp_identity *identity)
{
    mcp_http *http = c->http;
    int64_t expires = mcp_identity_expires_ms(identity);
    if (!expires)
        return MCP__HTTP_FINE;
    if (!http->options.wall)
        return MCP__HTTP_NO_LOGIN;
    int64_t wall = http->options.wall(http->wall_user), now = mcp__http_now(http);
    if (expires <= wall)
        return MCP__HTTP_UNAUTHORIZED;
    int64_t left = wall < 0 ? expires : expires - wall;
    c->expires_at = left < INT64_MAX - now ? now + left : INT64_MAX;
    return MCP__HTTP_FINE;
}

mcp__http_refusal mcp__http_identify(mcp_http_connection *c, mcp_identity *identity)
{
    mcp_identity *before = c->identity;
    mcp_str view = mcp__http_text(&c->head, c->head.view);
    if (view.len &&
        mcp__identity_in_view(identity ? identity : c->http->nobody, view, &identity) != MCP_OK)
        return MCP__HTTP_NO_MEMORY;
    /* Usually all requests of a connection have the same identity. */
    if (identity != before) {
        c->identity = mcp_identity_ref(identity);
        mcp_identity_unref(before);
    }
    c->is_identified = true;
    c->principal = mcp_identity_principal(identity);
    return MCP__HTTP_FINE;
}

void mcp_http_login_accept(mcp_http_login *login, mcp_identity *identity)
{
    mcp_http_connection *c = mcp__http_connection_of(login);
    if (!c->is_authenticating)
        return;
    mcp__http_refusal why = set_expiry(c, identity);
    if (!why)
        why = mcp__http_identify(c, identity);
    if (!why)
        c->authenticated = true;
    answer(login, why);
}

static mcp__http_refusal refusal_of(int status)
{
    switch (status) {
    case 400: return MCP__HTTP_BAD_LOGIN;
    case 403: return MCP__HTTP_FORBIDDEN;
    case 429: return MCP__HTTP_MANY_LOGINS;
    case 503: return MCP__HTTP_NO_LOGIN;
    default: return MCP__HTTP_UNAUTHORIZED;
    }
}

static bool is_printable(const char *text)
{
    for (; *text; text++) {
        if ((unsigned char)*text < ' ' || *text == 127)
            return false;
    }
    return true;
}

bool mcp__http_is_quotable(const char *text)
{
    for (; text && *text; text++) {
        if (*text <= ' ' || *text > '~' || *text == '"' || *text == '\\')
            return false;
    }
    return true;
}

/* Writes the header lines, followed by the message. Returns the length of the header lines. */
static size_t put_denial(const mcp_http_denial *d, mcp__buf *b, bool *challenges)
{
    size_t start = b->len;
    for (size_t i = 0; i < d->n_challenges; i++) {
        if (d->challenges[i] && is_printable(d->challenges[i]))
            mcp__buf_printf(b, "WWW-Authenticate: %s\r\n", d->challenges[i]);
    }
    *challenges = b->len > start;
    if (d->retry_after_s)
        mcp__buf_printf(b, "Retry-After: %u\r\n", d->retry_after_s);
    size_t length = b->len - start;
    mcp__buf_str(b, mcp_str_from(d->message));
    return length;
}

/* Stores what the program determined for the answer. `d` may be NULL. Returns false if out of
 * memory. */
static bool keep(mcp_http_connection *c, const char *nonce, const mcp_http_denial *d)
{
    const mcp_allocator *a = c->http->allocator;
    const char *const notes[] = {d ? d->reason : NULL, d ? d->issuer : NULL, d ? d->key : NULL,
                                 d ? d->principal : NULL};
    size_t at = nonce ? strlen(nonce) + 1 : 0, lines = 0, end;
    bool challenges = false;
    mcp__buf b;
    mcp__buf_init(&b, a, SIZE_MAX);
    if (nonce)
        mcp__buf_add(&b, nonce, at);
    if (d)
        lines = put_denial(d, &b, &challenges);
    end = b.len;
    for (size_t i = 0; i < MCP__COUNT(notes); i++)
        mcp__buf_str(&b, mcp_str_from(notes[i]));
    mcp__http_denial *stored = b.failed ? NULL : mcp__alloc(a, sizeof(*stored) + b.len);
    if (stored) {
        if (b.len)
            memcpy(stored->text, b.ptr, b.len);
        stored->denied = d != NULL;
        stored->challenges = challenges;
        stored->retries = d && d->retry_after_s;
        stored->nonce = nonce ? stored->text : NULL;
        stored->lines = (mcp_str){stored->text + at, lines};
        stored->message = (mcp_str){stored->text + at + lines, end - at - lines};
        mcp_str *const to[] = {&stored->reason, &stored->issuer, &stored->key, &stored->principal};
        for (size_t i = 0; i < MCP__COUNT(notes); i++) {
            *to[i] = (mcp_str){stored->text + end, mcp_str_from(notes[i]).len};
            end += to[i]->len;
        }
        mcp__release(a, c->denial);
        c->denial = stored;
    }
    mcp__buf_free(&b);
    return stored != NULL;
}

int mcp_http_login_set_nonce(mcp_http_login *login, const char *nonce)
{
    if (!nonce || !*nonce || !mcp__http_is_quotable(nonce))
        return MCP_EINVAL;
    return keep(mcp__http_connection_of(login), nonce, NULL) ? MCP_OK : MCP_ENOMEM;
}

void mcp_http_login_refuse(mcp_http_login *login, const mcp_http_denial *denial)
{
    mcp_http_connection *c = mcp__http_connection_of(login);
    mcp_http_denial d;
    if (!c->is_authenticating)
        return;
    if (MCP__TAKE_OPTIONAL(&d, denial, mcp_http_denial, NULL) != MCP_OK)
        d = (mcp_http_denial){0};
    bool plain = !d.n_challenges && !d.retry_after_s && !d.message && !d.reason && !d.issuer &&
                 !d.key && !d.principal;
    bool stored = plain || keep(c, c->denial ? c->denial->nonce : NULL, &d);
    answer(login, stored ? refusal_of(d.status) : MCP__HTTP_NO_MEMORY);
}

const mcp__http_denial *mcp__http_denial_of(const mcp_http_connection *c, mcp__http_refusal why)
{
    bool ours = why >= MCP__HTTP_UNAUTHORIZED && why <= MCP__HTTP_NO_LOGIN;
    return ours && c->denial && c->denial->denied ? c->denial : NULL;
}

/* ---- scopes ---------------------------------------------------------------------------------- */

void mcp__http_put_scope_challenge(const mcp_http_connection *c, const char *scopes,
                                   mcp__buf *lines)
{
    mcp__auth_scheme scheme;
    mcp_str token;
    mcp_str given = mcp__http_header(&c->head, MCP__HTTP_AUTHORIZATION);
    if (mcp__auth_header(given, &scheme, &token) != MCP__ACCEPTED)
        scheme = MCP__SCHEME_BEARER;
    mcp__buf_lit(lines, "WWW-Authenticate: ");
    mcp__challenge_put(lines,
                       &(mcp__challenge){.scheme = scheme,
                                         .why = MCP__REFUSED_SCOPE,
                                         .scopes = mcp_str_from(scopes),
                                         .metadata_url = mcp_str_from(mcp__http_metadata_url(c))});
    mcp__buf_lit(lines, "\r\n");
}

/* ---- the end of a token ---------------------------------------------------------------------- */

int64_t mcp__http_stream_expiry(const mcp_http_connection *c)
{
    bool is_open = c->phase == MCP__HTTP_STREAMING;
    return is_open && (c->stream_only || c->http_method == HTTP_GET) ? c->expires_at : INT64_MAX;
}

void mcp__http_end_stream(mcp_http_connection *c)
{
    mcp__http_peer *peer = c->session ? c->session->peer : mcp__relay_of(c) ? NULL : c->peer;
    if (peer)
        mcp__channel_flush(peer->channel, c->http->now);
    if (peer && !c->session)
        mcp_channel_close(peer->channel, c->http->now); /* sends the result of the listen request */
    if (c->phase == MCP__HTTP_STREAMING)
        mcp__http_sse_end(c, 0);
}

size_t mcp_http_end_token(mcp_http *http, const char *token, int64_t now)
{
    size_t ended = 0;
    mcp__http_enter(http, now);
    for (mcp__link *l = http->connections.next; token && l != &http->connections; l = l->next) {
        mcp_http_connection *c = mcp__container(l, mcp_http_connection, link);
        const char *own = c->principal ? mcp_identity_token(c->identity) : NULL;
        if (!own || strcmp(own, token) != 0)
            continue;
        int64_t before = c->expires_at;
        c->expires_at = INT64_MIN;
        if (mcp__http_stream_expiry(c) == INT64_MAX) {
            c->expires_at = before; /* the connection has no such stream */
            continue;
        }
        mcp__http_wake(http, &c->timer);
        ended++;
    }
    mcp__http_leave(http);
    mcp__http_call_wake(http);
    return ended;
}

/* ---- URLs ------------------------------------------------------------------------------------ */

int mcp__http_urls_set(mcp_http *http)
{
    const mcp_http_options *o = &http->options;
    const char *const paths[MCP__HTTP_TARGETS] = {
        [MCP__HTTP_ENDPOINT] = o->path,
        [MCP__HTTP_DUPLEX] = o->sse_path,
        [MCP__HTTP_METRICS] = "/metrics",
    };
    for (size_t i = 0; i < MCP__HTTP_TARGETS && o->public_url; i++) {
        if (!paths[i])
            continue;
        mcp__buf b;
        mcp__buf_init(&b, http->allocator, 0);
        mcp__buf_str(&b, mcp_str_from(o->public_url));
        mcp__buf_str(&b, mcp_str_from(paths[i]));
        http->urls[i] = b.failed ? NULL : mcp__strdup(http->allocator, mcp__buf_view(&b));
        mcp__buf_free(&b);
        if (!http->urls[i])
            return MCP_ENOMEM;
    }
    return MCP_OK;
}

void mcp__http_urls_free(mcp_http *http)
{
    for (size_t i = 0; i < MCP__HTTP_TARGETS; i++)
        mcp__release(http->allocator, http->urls[i]);
}
