/* remember.c: the record of a client, and which token in it is used.
 *
 * Everything is changed under the lock of the store: the record is read again, changed and replaced.
 * A token that another process has saved meanwhile is therefore seen, and never lost.
 */
#include "auth/client/oauth_client.h"
#include "protocol/scope.h"

/* ---- the token in use ------------------------------------------------------------------------ */

/* Returns whether the options allow this token. */
static bool fits(const mcp_oauth_client *c, const mcp__record_grant *g)
{
    mcp_str issuer = mcp_str_from(c->o.issuer), id = mcp_str_from(c->o.client_id);
    return (!issuer.len || mcp_str_eq(issuer, g->issuer)) &&
           (!id.len || mcp_str_eq(id, g->client_id));
}

static const mcp__record_grant *newest(const mcp_oauth_client *c)
{
    for (size_t i = 0; i < c->record.n_grants; i++) {
        if (fits(c, &c->record.grants[i]))
            return &c->record.grants[i];
    }
    return NULL;
}

void mcp__oauth_use(mcp_oauth_client *c, const mcp__record_grant *grant)
{
    if (grant && !grant->access_token.len && !grant->refresh_token.len)
        grant = NULL;
    c->grant = grant;
    mcp_str token = grant ? grant->access_token : (mcp_str){0};
    if (c->generation && c->token.ptr && mcp_str_eq(token, mcp__buf_view(&c->token)))
        return;
    mcp__buf_wipe(&c->token);
    mcp__buf_str(&c->token, token);
    c->generations++;
    c->generation = token.len && !c->token.failed ? c->generations : 0;
}

/* ---- reading --------------------------------------------------------------------------------- */

static void give(void *arg, mcp_str record)
{
    mcp__buf_str(arg, record);
}

static int load_text(mcp_oauth_client *c, mcp__buf *text, mcp_error *error)
{
    mcp_error why = {0};
    if (!c->store.load) {
        mcp__buf_str(text, mcp__buf_view(&c->text));
    } else {
        int rc = c->store.load(c->name, give, text, c->store.user, &why);
        if (rc < 0 && rc != MCP_ENOTFOUND)
            return mcp__fail(error, rc, 0, "%s", why.text[0] ? why.text : mcp_error_text(rc));
    }
    return text->failed ? mcp__fail(error, text->failed, 0, "the stored login: %s",
                                    mcp_error_text(text->failed))
                        : MCP_OK;
}

/* Replaces c->record, and finds the token in use again. */
static int read_text(mcp_oauth_client *c, mcp_str text, mcp_error *error)
{
    mcp__record record;
    mcp__oauth_fault fault = mcp__record_read(&record, text, &c->allocator, error);
    if (fault != MCP__OAUTH_OK) {
        mcp__record_clear(&record);
        return mcp__oauth_fault_code(fault);
    }
    const mcp__record_grant *old = c->grant, *grant = NULL;
    if (old)
        grant = mcp__record_find_grant(&record, old->issuer, old->resource, old->client_id);
    size_t i = grant ? (size_t)(grant - record.grants) : 0;
    mcp__record_clear(&c->record);
    c->record = record;
    mcp__oauth_use(c, grant ? &c->record.grants[i] : c->loaded ? NULL : newest(c));
    c->loaded = true;
    return MCP_OK;
}

static bool same(const mcp__buf *a, const mcp__buf *b)
{
    return a->len == b->len &&
           (!a->len || (a->ptr && b->ptr && memcmp(a->ptr, b->ptr, a->len) == 0));
}

/* Remembers the text that is stored now. *text gets the one before. */
static void know_stored(mcp_oauth_client *c, mcp__buf *text)
{
    mcp__buf old = c->text;
    c->text = *text;
    *text = old;
    c->unsaved = false;
}

int mcp__oauth_load(mcp_oauth_client *c, bool again, mcp_error *error)
{
    mcp__buf text;
    if (c->loaded && !again)
        return MCP_OK;
    mcp__buf_init(&text, &c->allocator, MCP__RECORD_BYTES);
    int rc = load_text(c, &text, error);
    /* What could not be saved counts until somebody else changes the record. */
    bool keep = c->unsaved && same(&text, &c->text);
    if (rc == MCP_OK && !keep) {
        rc = read_text(c, mcp__buf_view(&text), error);
        if (rc == MCP_OK)
            know_stored(c, &text);
    }
    mcp__buf_wipe(&text);
    return rc;
}

/* ---- LOCK ------------------------------------------------------------------------------------ */

void mcp__oauth_unlock(mcp_oauth_client *c)
{
    mcp__oauth_flow *f = &c->flow;
    bool held = f->locking || f->locked;
    f->locking = f->locked = false;
    if (held && c->store.unlock)
        c->store.unlock(c, c->name, c->store.user);
}

mcp__oauth_step mcp__oauth_with_lock(mcp_oauth_client *c, mcp__oauth_step step)
{
    c->flow.after = step;
    return MCP__STEP_LOCK;
}

static mcp__oauth_step begin_lock(mcp_oauth_client *c)
{
    mcp__oauth_flow *f = &c->flow;
    if (f->locked || !c->store.lock) {
        f->locked = true;
        return f->after;
    }
    f->locking = true;
    int rc = c->store.lock(c, c->name, c->store.user);
    if (rc == MCP_PENDING)
        return MCP__STEP_WAIT;
    f->locking = false;
    if (rc < 0)
        return mcp__oauth_failed_with(c, rc, "the stored login cannot be locked: %s",
                                      mcp_error_text(rc));
    f->locked = true;
    return f->after;
}

void mcp_oauth_client_locked(mcp_oauth_client *client, int rc)
{
    if (!client || !client->flow.locking)
        return;
    mcp__oauth_flow *f = &client->flow;
    f->locking = false;
    f->locked = rc >= 0;
    if (f->ending) /* the timer ends the authorization */
        return;
    if (rc < 0)
        mcp__oauth_failed_with(client, rc, "the stored login cannot be locked: %s",
                               mcp_error_text(rc));
    if (mcp__oauth_later(client, 0, rc < 0 ? MCP__STEP_ABORT : f->after) < 0) {
        mcp__oauth_no_memory(client);
        mcp__oauth_end(client, MCP_ENOMEM);
    }
}

const mcp__oauth_work mcp__oauth_work_lock = {begin_lock, NULL};

/* ---- SAVE ------------------------------------------------------------------------------------ */

mcp__oauth_step mcp__oauth_save(mcp_oauth_client *c, mcp__oauth_saving what, mcp__oauth_step step)
{
    c->flow.saving = what;
    c->flow.after_save = step;
    return mcp__oauth_with_lock(c, MCP__STEP_SAVE);
}

/* Fills in the grant for flow.token. `asked` gets the scopes that were asked for so far. */
static void make_grant(mcp_oauth_client *c, const mcp__record_grant *old, mcp__buf *requested,
                       mcp__record_grant *ret)
{
    const mcp__oauth_flow *f = &c->flow;
    const mcp__token_answer *t = &f->token;
    bool same_scopes = f->refreshed && old, keeps = mcp__oauth_keeps_self(c);
    if (old && !same_scopes)
        mcp__oauth_add_scopes(requested, old->requested);
    if (!same_scopes)
        mcp__oauth_add_scopes(requested, mcp__buf_view(&f->scope));
    mcp_str scope = same_scopes ? old->scope : mcp__buf_view(&f->scope);
    *ret = (mcp__record_grant){.issuer = f->issuer.issuer,
                               .resource = f->resource,
                               .client_id = f->self.id,
                               .client_secret = keeps ? f->self.secret : (mcp_str){0},
                               .client_key = keeps ? f->self.key_text : (mcp_str){0},
                               .access_token = t->access_token,
                               .refresh_token = t->refresh_token,
                               .scope = t->has_scope ? t->scope : scope,
                               .requested = same_scopes ? old->requested : mcp__buf_view(requested),
                               .dpop = t->dpop,
                               .dpop_key = f->dpop ? mcp__buf_view(&c->prover_text) : (mcp_str){0},
                               .expires =
                                   t->expires_in >= 0 ? mcp__oauth_seconds(c) + t->expires_in : 0,
                               .token_endpoint = f->issuer.token};
    if (c->o.grant == MCP_OAUTH_CODE && !f->self.registered && !f->self.is_new)
        ret->redirect_uri =
            f->refreshed && old ? old->redirect_uri : mcp_str_from(c->o.redirect_uri);
    if (!ret->refresh_token.len && same_scopes)
        ret->refresh_token = old->refresh_token;
}

static void make_client(const mcp_oauth_client *c, mcp__record_client *ret)
{
    const mcp__oauth_flow *f = &c->flow;
    *ret = (mcp__record_client){.issuer = f->issuer.issuer,
                                .id = f->registered.id,
                                .secret = f->registered.secret,
                                .method = f->registered.method,
                                .redirect_uri = mcp_str_from(c->o.redirect_uri),
                                .token_endpoint = f->issuer.token,
                                .secret_expires =
                                    MCP__MIN(f->registered.secret_expires, MCP__RECORD_SECONDS)};
}

/* Writes the text of the record after the change. */
static int put_change(mcp_oauth_client *c, mcp__buf *to, mcp_error *error)
{
    const mcp__oauth_flow *f = &c->flow;
    const mcp__record_grant *old = mcp__oauth_own_grant(c);
    const mcp__record_client *own = mcp__oauth_own_client(c);
    const mcp__record_client *before = mcp__record_find_client(&c->record, f->issuer.issuer);
    mcp__record_change change = {0};
    mcp__record_grant grant = {0};
    mcp__record_client client = {0};
    mcp__record_pin pin = {.client_id = mcp_str_from(c->o.client_id),
                           .issuer = f->issuer.issuer,
                           .token_endpoint = f->issuer.token};
    mcp__buf requested;
    mcp__buf_init(&requested, &c->allocator, 0);
    switch (f->saving) {
    case MCP__SAVE_GRANT:
        make_grant(c, old, &requested, &grant);
        change.grant = &grant;
        if (f->self.is_new)
            make_client(c, &client);
        else if (own)
            client = *own, client.tried = false;
        if (f->self.is_new && before && before != own)
            change.forget_grant =
                mcp__record_find_grant(&c->record, f->issuer.issuer, f->resource, before->id);
        change.client = f->self.is_new || (own && own->tried && !f->refreshed) ? &client : NULL;
        break;
    case MCP__SAVE_TRIED:
        if (own)
            client = *own, client.tried = true;
        change.client = own ? &client : NULL;
        break;
    case MCP__SAVE_CLIENT:
        make_client(c, &client);
        change.client = &client;
        break;
    case MCP__SAVE_NO_CLIENT:
        client.issuer = f->issuer.issuer;
        client.id = f->self.id;
        change.forget_client = &client;
        MCP__FALLTHROUGH;
    case MCP__SAVE_NO_GRANT: change.forget_grant = old; break;
    case MCP__SAVE_PIN: /* not if another process was faster */
        change.pin = mcp__record_find_pin(&c->record, pin.client_id) ? NULL : &pin;
        break;
    }
    int rc = requested.failed
                 ? mcp__fail(error, requested.failed, 0, "the scopes: %s",
                             mcp_error_text(requested.failed))
                 : mcp__oauth_fault_code(mcp__record_put(to, &c->record, &change, error));
    mcp__buf_free(&requested);
    return rc;
}

static int replace(mcp_oauth_client *c, mcp__buf *text, mcp_error *error)
{
    mcp_error why = {0};
    if (c->store.save) {
        int rc = c->store.save(c->name, mcp__buf_view(text), c->store.user, &why);
        if (rc < 0)
            return mcp__fail(error, rc, 0, "the login cannot be stored: %.200s",
                             why.text[0] ? why.text : mcp_error_text(rc));
    }
    know_stored(c, text);
    return MCP_OK;
}

static mcp__oauth_step begin_save(mcp_oauth_client *c)
{
    mcp__oauth_flow *f = &c->flow;
    mcp__buf text;
    mcp__buf_init(&text, &c->allocator, MCP__RECORD_BYTES);
    int loaded = mcp__oauth_load(c, true, &f->error);
    /* A token that has arrived is used even if the store fails: the one before may be spent. */
    int rc = f->saving == MCP__SAVE_GRANT ? MCP_OK : loaded;
    if (rc == MCP_OK)
        rc = put_change(c, &text, &f->error);
    if (rc == MCP_OK && f->saving == MCP__SAVE_GRANT)
        mcp__oauth_use(c, NULL); /* the new one is used below */
    mcp_str view = mcp__buf_view(&text);
    if (rc == MCP_OK)
        rc = read_text(c, view, &f->error);
    if (rc == MCP_OK && f->saving == MCP__SAVE_GRANT)
        mcp__oauth_use(c, mcp__oauth_own_grant(c));
    int saved = rc == MCP_OK && loaded == MCP_OK ? replace(c, &text, &f->error) : loaded;
    if (rc == MCP_OK && saved < 0 && f->saving == MCP__SAVE_GRANT)
        c->unsaved = true;
    mcp__buf_wipe(&text);
    mcp__oauth_unlock(c);
    if (rc < 0)
        return MCP__STEP_FAILED;
    /* The token can be used although it was not stored. Only a login promises that it is. */
    if (saved < 0 && c->host.log)
        c->host.log("warning", f->error.text, c->host.user);
    bool needed = f->why == MCP__WHY_LOGIN || f->saving == MCP__SAVE_PIN;
    return saved < 0 && needed ? MCP__STEP_FAILED : f->after_save;
}

const mcp__oauth_work mcp__oauth_work_save = {begin_save, NULL};
