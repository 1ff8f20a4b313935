/* oauth.c: answers logins with a resource server (mcp/auth.h), and serves its metadata. */
#include "auth/resource/resource.h"
#include "http/server/http_session.h"

static void on_answer(const mcp__rs_answer *answer, void *user)
{
    mcp_http_login *login = user;
    mcp_http_login_on_cancel(login, NULL, NULL);
    if (answer->nonce)
        (void)mcp_http_login_set_nonce(login, answer->nonce);
    if (!answer->status) {
        mcp_http_login_accept(login, answer->identity);
        return;
    }
    mcp_http_denial denial = {
        .size = sizeof(denial),
        .status = answer->status,
        .challenges = answer->challenges,
        .n_challenges = answer->n_challenges,
        .retry_after_s = answer->retry_s,
        .message = answer->message,
        .reason = answer->reason,
        .issuer = answer->issuer,
        .key = answer->key,
        .principal = answer->principal,
    };
    mcp_http_login_refuse(login, &denial);
}

static void on_cancel(mcp_http_login *login, void *user)
{
    (void)login;
    mcp__rs_login_cancel(user);
}

static mcp__rs_view *view_of(const mcp_http_connection *c, const mcp_resource_server *server)
{
    return mcp__rs_view_find(server, mcp__http_text(&c->head, c->head.view));
}

void mcp_resource_server_authenticate(mcp_http_login *login, void *server)
{
    mcp_http_connection *c = mcp__http_connection_of(login);
    mcp__rs_view *view = view_of(c, server);
    mcp_str authorization = mcp__http_header(&c->head, MCP__HTTP_AUTHORIZATION);
    mcp_identity *known = mcp__rs_recall(server, &c->recent, view, authorization);
    if (known) {
        mcp_http_login_accept(login, known);
        return;
    }
    mcp__rs_question question = {
        .authorization = authorization,
        .method = mcp_http_login_method(login),
        .url = view ? NULL : mcp_http_login_url(login),
        .view = view,
        .client = mcp_http_login_client(login),
        .answer = on_answer,
        .user = login,
        .recent = &c->recent,
        .allocator = c->http->allocator,
    };
    (void)mcp_http_login_header(login, "DPoP", &question.proof);
    mcp__rs_login *open = mcp__rs_ask(server, &question);
    if (open)
        mcp_http_login_on_cancel(login, on_cancel, open);
}

/* Returns the metadata at the path of the request, or NULL. */
static const char *metadata_of(const mcp_http_connection *c)
{
    const mcp_http_options *o = &c->http->options;
    const char *view;
    const char *text =
        mcp__rs_metadata_at(o->resource_server, mcp__http_text(&c->head, c->head.path), &view);
    bool exists = !view || (o->has_view && o->has_view(mcp_str_from(view), o->user));
    return exists ? text : NULL;
}

bool mcp__http_is_metadata(const mcp_http_connection *c)
{
    return metadata_of(c) != NULL;
}

const char *mcp__http_metadata_url(const mcp_http_connection *c)
{
    const mcp_resource_server *server = c->http->options.resource_server;
    const mcp__rs_view *view = server ? view_of(c, server) : NULL;
    return view ? mcp__rs_metadata_url(server, view) : c->http->options.resource_metadata;
}

void mcp__http_answer_resource(mcp_http_connection *c)
{
    bool is_question = c->http_method == HTTP_OPTIONS;
    mcp__http_answer a = {.status = is_question ? 204 : 200, .preflight = is_question};
    a.lines = MCP_STR("Access-Control-Allow-Origin: *\r\nCache-Control: max-age=300\r\n");
    if (!is_question) {
        a.type = "application/json";
        a.body = mcp_str_from(metadata_of(c));
    }
    mcp__http_respond(c, &a);
}
