/* check.c: checks tokens that are not in the cache. A token is checked once for all requests that
 * have it. */
#include "auth/resource/resource.h"

/* ---- life ------------------------------------------------------------------------------------ */

static mcp_str key_of(const mcp__token_id *id)
{
    return (mcp_str){(const char *)id->mac, sizeof(id->mac)};
}

static size_t cost_of(size_t len)
{
    return sizeof(mcp__rs_check) + 4 * len; /* with the claims, decoded and parsed */
}

static mcp__rs_check *check_new(mcp_resource_server *rs, const mcp__token_id *id, mcp_str token,
                                mcp__rs_view *view, mcp__rs_address *address)
{
    mcp__rs_check *check = mcp__zalloc(rs->allocator, sizeof(*check) + token.len + 1);
    if (!check)
        return NULL;
    memcpy(check->text, token.ptr, token.len);
    check->len = token.len;
    check->id = *id;
    check->job.rs = rs;
    check->forgotten = rs->forgotten;
    mcp__list_init(&check->job.link);
    mcp__list_init(&check->waiting);
    mcp__list_init(&check->logins);
    mcp__buf_init(&check->body, rs->allocator, MCP__INTROSPECT_BYTES);
    if (mcp__map_add(&rs->checks, key_of(&check->id), check) != MCP_OK) {
        mcp__release(rs->allocator, check);
        return NULL;
    }
    check->job.address = address;
    check->view = mcp__rs_view_ref(view);
    rs->pending_bytes += cost_of(token.len);
    return check;
}

static void check_free(mcp__rs_check *check)
{
    mcp_resource_server *rs = check->job.rs;
    mcp__rs_source_unlimit(check);
    mcp__list_remove(&check->waiting);
    mcp__map_remove(&rs->checks, key_of(&check->id));
    rs->pending_bytes -= cost_of(check->len);
    mcp__token_clear(&check->token);
    mcp__buf_free(&check->body);
    mcp__jwk_set_unref(check->keys);
    mcp__rs_known_clear(&check->known);
    mcp__rs_address_unref(rs, check->job.address);
    mcp__rs_view_unref(check->view);
    mcp__release(rs->allocator, check);
}

/* Adds the result of the check to the cache. */
static void remember(mcp__rs_check *check)
{
    mcp_resource_server *rs = check->job.rs;
    int64_t now = mcp__rs_wall(rs), longest = MCP__TOKEN_CACHE_S;
    bool good = check->known.why == MCP__ACCEPTED;
    if (!good)
        longest = MCP__RS_REFUSED_S;
    else if (check->issuer->introspection_url)
        longest = MCP__TOKEN_CACHE_ANSWER_S;
    mcp__rs_known *known = mcp__alloc(rs->allocator, sizeof(*known));
    if (!known)
        return;
    *known = check->known;
    mcp_identity_ref(known->identity);
    if (mcp__token_cache_put(rs->known, &check->id, known, sizeof(*known) + check->bytes,
                             good ? check->expires : INT64_MAX, longest, now) == MCP_OK)
        return;
    mcp__rs_known_clear(known);
    mcp__release(rs->allocator, known);
}

void mcp__rs_check_finish(mcp__rs_check *check, mcp__refused why, unsigned retry_s)
{
    mcp_resource_server *rs = check->job.rs;
    check->known.why = why;
    if (why != MCP__ACCEPTED)
        mcp__rs_known_clear(&check->known);
    if (mcp__rs_is_fault(why))
        mcp__rs_address_failed(rs, check->job.address);
    if (check->forgotten == rs->forgotten && (why == MCP__ACCEPTED || mcp__rs_is_fault(why)))
        remember(check);
    while (!mcp__list_empty(&check->logins)) {
        mcp__rs_login *login = mcp__container(check->logins.next, mcp__rs_login, link);
        mcp__list_remove(&login->link);
        mcp__rs_login_continue(login, &check->known, retry_s);
    }
    check_free(check);
}

void mcp__rs_check_leave(mcp__rs_login *login)
{
    mcp__rs_check *check = login->check;
    mcp__list_remove(&login->link);
    login->check = NULL;
    if (!mcp__list_empty(&check->logins) || !mcp__rs_job_stop(&check->job))
        return; /* the job continues, because its result will be cached */
    mcp__rs_introspect_stop(check);
    check_free(check);
}

void mcp__rs_check_drop(mcp__rs_check *check)
{
    bool runs = !mcp__rs_job_stop(&check->job);
    mcp__rs_introspect_stop(check);
    if (!runs) {
        mcp__rs_check_finish(check, MCP__REFUSED_AWAY, 1);
        return;
    }
    check->known.why = MCP__REFUSED_AWAY;
    while (!mcp__list_empty(&check->logins)) {
        mcp__rs_login *login = mcp__container(check->logins.next, mcp__rs_login, link);
        mcp__list_remove(&login->link);
        mcp__rs_login_finish(login, MCP__REFUSED_AWAY, 1);
    }
}

/* ---- the job --------------------------------------------------------------------------------- */

static void verify(mcp__rs_job *job)
{
    mcp__rs_check *check = mcp__container(job, mcp__rs_check, job);
    mcp__token *token = &check->token;
    mcp__buf *json = &token->jws.payload;
    mcp__refused why = mcp__token_check(token, mcp__rs_rules(check), check->keys, check->now);
    if (why == MCP__ACCEPTED) {
        mcp__buf_char(json, '\0');
        why = json->failed ? MCP__REFUSED_NO_MEMORY
                           : mcp__rs_identify(check, token->doc, &token->claims, json->ptr);
    }
    check->known.why = why;
}

static void verified(mcp__rs_job *job, bool ran)
{
    mcp__rs_check *check = mcp__container(job, mcp__rs_check, job);
    mcp_resource_server *rs = job->rs;
    mcp__refused why = ran ? check->known.why : MCP__REFUSED_BUSY;
    mcp__jwk_set_unref(check->keys);
    check->keys = NULL;
    if (rs->freed) {
        check_free(check);
        return;
    }
    rs->usage.verified += ran;
    /* If a token names no key and was signed with no key of the set, the set may be old. */
    if (why == MCP__REFUSED_SIGNATURE && !check->token.jws.kid.len && !check->issuer->is_fixed) {
        check->tried = check->with;
        mcp__rs_check_keys(check);
        return;
    }
    mcp__rs_check_finish(check, why, 1);
}

void mcp__rs_check_run(mcp__rs_check *check, void (*run)(mcp__rs_job *job),
                       void (*done)(mcp__rs_job *job, bool ran))
{
    check->now = mcp__rs_wall(check->job.rs);
    check->job.run = run;
    check->job.done = done;
    mcp__rs_job_start(&check->job);
}

/* ---- keys ------------------------------------------------------------------------------------ */

static void run_with(mcp__rs_check *check)
{
    check->keys = mcp__jwk_set_ref(check->issuer->keys.set);
    check->with = check->issuer->keys.from;
    mcp__claims_clear(&check->token.claims);
    mcp__claims_init(&check->token.claims, check->job.rs->allocator);
    mcp__rs_check_run(check, verify, verified);
}

void mcp__rs_check_keys(mcp__rs_check *check)
{
    mcp__rs_issuer *issuer = check->issuer;
    mcp__keyset *keys = &issuer->keys;
    const mcp__jws *jws = &check->token.jws;
    uint64_t now = (uint64_t)mcp__rs_now(check->job.rs);
    mcp__rs_source_unlimit(check);
    if (issuer->is_fixed || (check->tried && keys->from > check->tried)) {
        run_with(check);
        return;
    }
    mcp__keyset_answer answer = check->tried
                                    ? mcp__keyset_ask_again(keys, check->since, now)
                                    : mcp__keyset_ask(keys, jws->kid, jws->alg, check->since, now);
    if (answer == MCP__KEYSET_WAIT) {
        mcp__list_append(&issuer->waiting, &check->waiting);
        mcp__rs_source_wake(issuer);
    } else if (answer == MCP__KEYSET_AWAY && mcp__rs_source_limit(check)) {
        return;
    } else if (answer == MCP__KEYSET_AWAY) {
        if (check->tried)
            mcp__rs_address_failed(check->job.rs, check->job.address);
        mcp__rs_check_finish(check, MCP__REFUSED_AWAY,
                             (unsigned)mcp__keyset_retry_after(keys, now));
    } else if (check->tried) {
        mcp__rs_check_finish(check, MCP__REFUSED_SIGNATURE, 0);
    } else {
        mcp__rs_source_wake(issuer); /* the set may be refreshed meanwhile */
        run_with(check);
    }
}

/* ---- the start ------------------------------------------------------------------------------- */

/* The key id of a token that is refused helps its administrator. Of a token that names another
 * issuer nothing is noted. Opaque tokens have neither. */
static void note_key(mcp__rs_check *check)
{
    const mcp_json *iss = mcp_json_get(mcp_json_root(check->token.doc), "iss");
    mcp_str kid = check->token.jws.kid, own = check->job.rs->rules[check->issuer->index].issuer;
    size_t len = MCP__MIN(kid.len, (size_t)MCP__RS_KID);
    if (iss && !mcp_str_eq(mcp_json_string(iss), own))
        return;
    check->known.issuer = check->issuer;
    if (len)
        memcpy(check->known.kid, kid.ptr, len);
    check->known.kid[len] = '\0';
}

/* Reads the token, and starts its check with the keys or the introspection endpoint of its
 * issuer. */
static void begin(mcp__rs_check *check)
{
    mcp_resource_server *rs = check->job.rs;
    mcp__refused why =
        mcp__token_read(&check->token, (mcp_str){check->text, check->len}, rs->allocator);
    const mcp_json *claims = mcp_json_root(check->token.doc);
    const mcp__token_rules *rules = NULL;
    if (why == MCP__ACCEPTED)
        rules = mcp__token_rules_for(&check->token, rs->rules, rs->n_issuers);
    bool nameless = why != MCP__ACCEPTED || !mcp_json_get(claims, "iss");
    if (rs->opaque && nameless && why != MCP__REFUSED_NO_MEMORY)
        rules = &rs->rules[rs->opaque->index];
    else if (why == MCP__ACCEPTED && !rules)
        why = MCP__REFUSED_ISSUER;
    if (!rules) {
        mcp__rs_check_finish(check, why, 1);
        return;
    }
    check->issuer = &rs->issuers[rules - rs->rules];
    note_key(check);
    check->since = check->issuer->keys.begun;
    if (check->issuer->introspection_url)
        mcp__rs_introspect(check);
    else
        mcp__rs_check_keys(check);
}

mcp__refused mcp__rs_check_for(mcp_resource_server *rs, mcp__rs_login *login,
                               const mcp__token_id *id, mcp_str token, const char *client,
                               unsigned *retry_s)
{
    mcp__rs_check *check = mcp__map_get(&rs->checks, key_of(id));
    if (check) {
        login->check = check;
        mcp__list_append(&check->logins, &login->link);
        return MCP__ACCEPTED;
    }
    if (rs->pending_bytes + cost_of(token.len) > rs->options.max_pending_bytes)
        return MCP__REFUSED_BUSY;
    mcp__rs_address *address = mcp__rs_address_get(rs, mcp_str_from(client));
    if (!address)
        return MCP__REFUSED_BUSY;
    bool blocked = mcp__rs_address_is_blocked(rs, address, retry_s);
    if (!blocked)
        check = check_new(rs, id, token, login->question.view, address);
    if (!check) {
        mcp__rs_address_unref(rs, address);
        return blocked ? MCP__REFUSED_THROTTLED : MCP__REFUSED_NO_MEMORY;
    }
    login->check = check;
    mcp__list_append(&check->logins, &login->link);
    begin(check);
    return MCP__ACCEPTED;
}
