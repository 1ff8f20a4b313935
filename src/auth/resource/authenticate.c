/* authenticate.c: receives requests, looks up their tokens in the cache, and stores requests that
 * wait. */
#include "auth/resource/resource.h"

/* ---- what is known of a token ---------------------------------------------------------------- */

void mcp__rs_known_clear(mcp__rs_known *known)
{
    mcp_identity_unref(known->identity);
    known->identity = NULL;
}

/* Returns whether a request with this scheme may use a token, apart from its proof. */
static mcp__refused check_known(const mcp_resource_server *rs, const mcp__rs_known *known,
                                mcp__auth_scheme scheme)
{
    mcp__claims claims = {.jkt = mcp_str_from(known->jkt)};
    if (known->why != MCP__ACCEPTED)
        return known->why;
    if (claims.jkt.len && rs->options.dpop == MCP_DPOP_OFF)
        return MCP__REFUSED_BINDING;
    if (!claims.jkt.len && rs->options.dpop == MCP_DPOP_REQUIRED)
        return MCP__REFUSED_NOT_BOUND;
    return mcp__auth_check_scheme(scheme, &claims);
}

static mcp__refused check_scopes(const mcp_resource_server *rs, const mcp_identity *identity)
{
    return mcp_identity_has_scopes(identity, rs->options.required_scopes) ? MCP__ACCEPTED
                                                                          : MCP__REFUSED_SCOPE;
}

/* ---- logins ---------------------------------------------------------------------------------- */

static void login_free(mcp__rs_login *login)
{
    mcp_resource_server *rs = login->job.rs;
    if (login->ended)
        *login->ended = true;
    mcp__rs_known_clear(&login->known);
    mcp__rs_address_unref(rs, login->job.address);
    mcp__rs_view_unref(login->question.view);
    mcp__release(rs->allocator, login);
}

void mcp__rs_login_finish(mcp__rs_login *login, mcp__refused why, unsigned retry_s)
{
    mcp_resource_server *rs = login->job.rs;
    if (why == MCP__ACCEPTED)
        why = check_scopes(rs, login->known.identity);
    if (!login->cancelled)
        mcp__rs_answer_to(rs, &login->question, login->scheme, why, &login->known, retry_s);
    login_free(login);
}

void mcp__rs_login_continue(mcp__rs_login *login, const mcp__rs_known *known, unsigned retry_s)
{
    mcp_resource_server *rs = login->job.rs;
    login->check = NULL;
    login->known = *known;
    mcp_identity_ref(login->known.identity);
    mcp__refused why = check_known(rs, known, login->scheme);
    if (why == MCP__ACCEPTED && login->scheme == MCP__SCHEME_DPOP)
        mcp__rs_prove(login);
    else
        mcp__rs_login_finish(login, why, retry_s);
}

void mcp__rs_login_cancel(mcp__rs_login *login)
{
    login->cancelled = true;
    if (login->check)
        mcp__rs_check_leave(login);
    else if (!mcp__rs_job_stop(&login->job))
        return; /* the login is freed when the job has ended */
    login_free(login);
}

/* Makes a login. It stores the token and the proof only if the proof has to be checked. */
static mcp__rs_login *login_new(mcp_resource_server *rs, const mcp__rs_question *question,
                                mcp__auth_scheme scheme, mcp_str token)
{
    bool dpop = scheme == MCP__SCHEME_DPOP;
    /* A proof that is too long is truncated here, and refused because of its length. */
    mcp_str proof = {question->proof.ptr, MCP__MIN(question->proof.len, MCP__TOKEN_BYTES + 1)};
    mcp_str url = mcp_str_from(question->url);
    size_t room = dpop ? token.len + proof.len + url.len : 0;
    mcp__rs_login *login = mcp__zalloc(rs->allocator, sizeof(*login) + room + 1);
    if (!login)
        return NULL;
    login->job.rs = rs;
    mcp__list_init(&login->job.link);
    mcp__list_init(&login->link);
    login->question = *question;
    mcp__rs_view_ref(question->view);
    login->scheme = scheme;
    if (dpop) {
        memcpy(login->text, token.ptr, token.len);
        if (proof.len)
            memcpy(login->text + token.len, proof.ptr, proof.len);
        login->texts[0] = (mcp_str){login->text, token.len};
        login->texts[1] = (mcp_str){login->text + token.len, proof.len};
        if (url.len)
            login->question.url = memcpy(login->text + token.len + proof.len, url.ptr, url.len);
    }
    return login;
}

/* ---- questions ------------------------------------------------------------------------------- */

static mcp__refused read_header(const mcp_resource_server *rs, mcp_str value,
                                mcp__auth_scheme *scheme, mcp_str *token)
{
    *scheme = MCP__SCHEME_BEARER;
    if (mcp_str_eq(value, MCP_STR("\n")))
        return MCP__REFUSED_SCHEME; /* several headers */
    mcp__refused why = mcp__auth_split(value, scheme, token);
    if (why == MCP__ACCEPTED && *scheme == MCP__SCHEME_DPOP && rs->options.dpop == MCP_DPOP_OFF)
        return MCP__REFUSED_NO_TOKEN;
    if (why == MCP__ACCEPTED && token->len > MCP__TOKEN_BYTES)
        return MCP__REFUSED_SIZE;
    return why;
}

/* Makes a request wait for the check of its token or proof, unless the check ends at once. */
static mcp__rs_login *wait_for(mcp_resource_server *rs, const mcp__rs_question *question,
                               mcp__auth_scheme scheme, mcp_str token, const mcp__token_id *id,
                               const mcp__rs_known *known)
{
    bool ended = false;
    unsigned retry_s = 1;
    mcp__rs_login *login = login_new(rs, question, scheme, token);
    if (!login) {
        mcp__rs_answer_to(rs, question, scheme, MCP__REFUSED_NO_MEMORY, NULL, 1);
        return NULL;
    }
    login->ended = &ended;
    if (scheme == MCP__SCHEME_DPOP &&
        !(login->job.address = mcp__rs_address_get(rs, mcp_str_from(question->client)))) {
        mcp__rs_login_finish(login, MCP__REFUSED_BUSY, 1);
        return NULL;
    }
    mcp__refused why = MCP__ACCEPTED;
    if (known)
        mcp__rs_login_continue(login, known, 0);
    else
        why = mcp__rs_check_for(rs, login, id, token, question->client, &retry_s);
    if (why != MCP__ACCEPTED)
        mcp__rs_login_finish(login, why, retry_s);
    if (ended)
        return NULL;
    login->ended = NULL;
    return login;
}

mcp__rs_login *mcp__rs_ask(mcp_resource_server *rs, const mcp__rs_question *question)
{
    mcp__auth_scheme scheme;
    mcp_str token;
    mcp__token_id id;
    mcp__refused why = read_header(rs, question->authorization, &scheme, &token);
    if (why == MCP__ACCEPTED &&
        !mcp__token_cache_id(rs->known, mcp__rs_view_number(question->view), token, &id))
        why = MCP__REFUSED_NO_MEMORY;
    const mcp__rs_known *known =
        why == MCP__ACCEPTED ? mcp__token_cache_get(rs->known, &id, mcp__rs_wall(rs)) : NULL;
    rs->usage.known += known != NULL;
    if (why == MCP__ACCEPTED && known) {
        why = check_known(rs, known, scheme);
        if (why == MCP__ACCEPTED && scheme == MCP__SCHEME_BEARER)
            why = check_scopes(rs, known->identity);
        else if (why == MCP__ACCEPTED)
            return wait_for(rs, question, scheme, token, &id, known);
        if (why == MCP__ACCEPTED)
            mcp__rs_remember(rs, question, &id);
        mcp__rs_answer_to(rs, question, scheme, why, known, 0);
        return NULL;
    }
    if (why == MCP__ACCEPTED && !mcp__auth_is_token(token))
        why = MCP__REFUSED_SCHEME;
    if (why == MCP__ACCEPTED)
        return wait_for(rs, question, scheme, token, &id, NULL);
    mcp__rs_answer_to(rs, question, scheme, why, NULL, 0);
    return NULL;
}
